/**
 * A view: a set of processes that all proposed exactly this set.
 *
 * The id of a view has three parts: the greatest number among its proposals, the sum of the numbers, and a digest of the members and
 * their numbers. A server proposes with a number above all numbers ever seen there, so the first two
 * parts grow from view to view at every server. The digest separates two views whose numbers are equal by chance, as they
 * may be on the two sides of a partition.
 */

import { digest } from '../../runtime/digest.ts';
import { type Attachment, type ClientList, clientsOf } from './attachment.ts';
import { keyOf, type MemberId, type Membership } from './incarnation.ts';
import type { Proposal, ServerRecord } from './messages.ts';
import type { RecordTable } from './record-table.ts';

export interface View extends Membership {
  readonly id: string;
  readonly greatestNumber: number;
  readonly sumOfNumbers: number;
  /** The clients of all members, sorted by name, each once. */
  readonly clients: readonly Attachment[];
  /** The members that have gone through the same views as this server since they last acted. */
  readonly kept: readonly MemberId[];
}

const DIGEST_LENGTH = 16;

/** The view that these records make up, which may be the one that is known; undefined while they disagree. */
export function viewOf(
  own: Proposal,
  records: readonly (ServerRecord | undefined)[],
  self: string,
  known?: View,
): View | undefined {
  // Most often one of them disagrees, so nothing else is worked out before.
  if (records.some((record) => record?.proposal.key !== own.key)) return undefined;
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
  const id = `${greatestNumber}.${sumOfNumbers}.${digest(text).slice(0, DIGEST_LENGTH)}`;
  if (known?.id === id) return known;
  const clients = clientsOf(lists);
  return { key: own.key, members: own.members, id, greatestNumber, sumOfNumbers, kept, clients };
}

/** Whether every server that is proposed here proposes the same set. */
export const isAgreed = (own: Proposal | undefined, table: Pick<RecordTable, 'ofProcess'>): boolean =>
  own?.members.every((each) => table.ofProcess(each)?.proposal.key === own.key) === true;

const chainKeyOf = (chain: readonly Membership[]): string => chain.map(({ key }) => key).join('|');
