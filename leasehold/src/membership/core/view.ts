/**
 * A view: a set of processes that all proposed exactly this set.
 *
 * The id of a view has three parts: the greatest number among its proposals, the sum of the numbers, and a digest of the members and
 * their numbers. A server proposes with a number above all numbers ever seen there, so the first two
 * parts grow from view to view at every server. They have a fixed number of digits, so ids compare by `<`. Numbers begin at the wall clock of a start (in milliseconds, which no group uses up), so they also grow from one
 * group to the next if all servers restart and no wall clock goes back. No promise but the fencing numbers of shards (`shards.ts`) rests on that. A client says the greatest number that it has had to each server to which it attaches itself, before that server
 * lists it; so they grow at every client too, also where it moves to a server that has just started. The digest separates two views whose numbers are equal by chance, as they
 * may be on the two sides of a partition.
 */

import { digest } from '../../runtime/digest.ts';
import { type Attachment, type ClientList, clientsOf } from './attachment.ts';
import { keyOf, type MemberId, type Membership } from './incarnation.ts';
import type { Proposal, ServerRecord } from './messages.ts';
import type { RecordTable } from './record-table.ts';

export interface MemberView extends Membership {
  readonly id: string;
  readonly greatestNumber: number;
  readonly sumOfNumbers: number;
  /** The clients of all members, sorted by name, each once. */
  readonly clients: readonly Attachment[];
  /** The parts of the toolkit in which each member takes part, by its name. */
  readonly parts: ReadonlyMap<string, readonly string[]>;
  /** The members that have gone through the same views as this server since they last acted. */
  readonly kept: readonly MemberId[];
}

const DIGEST_LENGTH = 16;
const RADIX = 36;

/** The view that these records make up, which may be the one that is known; undefined while they disagree. */
export function viewOf(
  own: Proposal,
  records: readonly (ServerRecord | undefined)[],
  self: string,
  known?: MemberView,
): MemberView | undefined {
  // Most often one of them disagrees, so nothing else is worked out before.
  if (records.some((record) => record?.proposal.key !== own.key)) return undefined;
  // A member whose list has changed since its proposal proposes anew. With the later list members would differ in what a view contains.
  if (records.some((record, at) => record?.list.version !== own.members[at]?.listVersion)) return undefined;
  let [greatestNumber, sumOfNumbers, text] = [0, 0, ''];
  const kept: MemberId[] = [];
  const lists: ClientList[] = [];
  const chainKey = chainKeyOf(own.chain);
  for (const record of records) {
    if (record === undefined) return undefined;
    const { number, chain } = record.proposal;
    greatestNumber = Math.max(greatestNumber, number);
    sumOfNumbers += number;
    lists.push(record.list);
    text += `${keyOf(record)}@${number} `;
    const isKept = record.name === self || (chainKey !== '' && chainKeyOf(chain) === chainKey);
    if (isKept) kept.push({ name: record.name, incarnation: record.incarnation });
  }
  const id = `${digits(greatestNumber, 9)}.${digits(sumOfNumbers, 11)}.${digest(text).slice(0, DIGEST_LENGTH)}`;
  if (known?.id === id) return known;
  const clients = clientsOf(lists);
  const parts = new Map(records.map((record) => [record?.name ?? '', record?.list.parts ?? []]));
  return { key: own.key, members: own.members, id, greatestNumber, sumOfNumbers, kept, clients, parts };
}

/** The first part of the id of a view; 0 for a text that is no id. */
export const greatestNumberIn = (id: string): number => Number.parseInt(id, RADIX) || 0;

/** Enough for every number, and for the sum over as many servers as a list may name (`wire/bounds.ts`). */
const digits = (number: number, count: number): string => number.toString(RADIX).padStart(count, '0');

/** Whether every server that is proposed here proposes the same set. */
export const isAgreed = (own: Proposal | undefined, table: Pick<RecordTable, 'ofProcess'>): boolean =>
  own?.members.every((each) => table.ofProcess(each)?.proposal.key === own.key) === true;

const chainKeyOf = (chain: readonly Membership[]): string => chain.map(({ key }) => key).join('|');
