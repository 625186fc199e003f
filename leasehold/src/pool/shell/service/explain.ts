/**
 * Where a key is, and why: the chain from the key's characters to a server, each step as a fact for programs and as a
 * sentence for people.
 *
 *     key ──tag rule──► hashed text ──hash──► place on the ring ──table──► row ──► owner
 *                                                    └────────policy────► wanted owner
 *
 * Table and policy may disagree for a while, and then the last sentences say how the Manager is resolving the
 * difference.
 */

import { present } from '../../../runtime/assert.ts';
import { keyHash, tagOf } from '../../../runtime/keys/hash.ts';
import { formatHash, type Hash } from '../../../runtime/keys/position.ts';
import type { ManagerObservation } from '../../core/manager/observation.ts';
import type { OwnerAddress } from '../../core/messages.ts';
import type { PoolTable, Row } from '../../core/table.ts';
import { msUntil, waitsMs } from './answers.ts';
import { claimantPoint } from './claim.ts';
import { publicPart, type WrittenRange, writeRange } from './events.ts';
import { percent, shareOf, spanAt } from './shares.ts';
import type { ApiSource } from './source.ts';

export interface KeyAnswer {
  readonly pool: string;
  /** Null when a place on the ring was asked for. */
  readonly key: string | null;
  /** The part in braces that alone is hashed; null if the key is hashed whole. */
  readonly tag: string | null;
  readonly hash: string;
  readonly range: WrittenRange;
  readonly owner: OwnerAddress | null;
  /** The lease number: the position of the commit that granted the keys; 0 if never granted. */
  readonly number: number;
  /** The position of the commit at which they last lost their state; 0 if never. */
  readonly lostAt: number;
  readonly position: number;
  /** How much longer the key's owner is unknown; null, unless a leader waits for the grants of earlier leaders. */
  readonly waitsMs: number | null;
}

export interface ExplainAnswer extends KeyAnswer {
  readonly rangePercent: number;
  readonly changedAt: number;
  readonly isRecalled: boolean;
  readonly heardAgoMs: number | null;
  readonly keptForMs: number | null;
  readonly policy: {
    readonly name: string;
    /** Null if unknown here, or if there is no owner at all. */
    readonly wants: OwnerAddress | null;
    readonly isSatisfied: boolean | null;
    /** The point on the ring that claims the key, for consistent hashing. */
    readonly claimedBy: {
      readonly name: string;
      readonly point: number;
      readonly hash: string;
    } | null;
  };
  readonly sentences: readonly string[];
}

export function keyAnswer(
  source: ApiSource,
  seen: ManagerObservation,
  pool: string,
  key: string | Hash,
): KeyAnswer {
  const table = seen.state.pool(pool);
  const position = keyHash(key);
  const row = rowAt(table, position);
  return {
    pool,
    key: typeof key === 'string' ? key : null,
    tag: typeof key === 'string' ? (tagOf(key) ?? null) : null,
    hash: formatHash(position),
    range: writeRange(row),
    owner: addressIn(table, row.owner),
    number: row.number,
    lostAt: row.lostAt,
    position: seen.state.position,
    waitsMs: waitsMs(source, seen),
  };
}

export function explainAnswer(
  source: ApiSource,
  seen: ManagerObservation,
  pool: string,
  key: string | Hash,
): ExplainAnswer {
  const table = seen.state.pool(pool);
  const position = keyHash(key);
  const row = rowAt(table, position);
  const now = source.now();
  const owner = seen.owners.find((each) => each.pool === pool && each.incarnation === row.owner);
  const wanted = spanAt(seen.target(pool), position)?.incarnation;
  const wants = addressIn(table, wanted);
  const policyName = seen.policy(pool);
  const { virtualNodes } = source.settings(pool);
  const claimedBy =
    wants !== null && policyName === 'consistent-hashing' && virtualNodes !== undefined
      ? claimantPoint(wants.name, virtualNodes, position)
      : undefined;
  const facts: Omit<ExplainAnswer, 'sentences'> = {
    ...keyAnswer(source, seen, pool, key),
    rangePercent: percent(shareOf(row)),
    changedAt: row.changedAt,
    isRecalled: owner !== undefined && spanAt(owner.recalled, position) !== undefined,
    heardAgoMs: owner?.lastHeardAt === undefined ? null : msUntil(now, owner.lastHeardAt),
    keptForMs: owner?.holdUntil === undefined ? null : msUntil(owner.holdUntil, now),
    policy: {
      name: policyName,
      wants,
      isSatisfied: wanted === undefined ? null : wanted === row.owner,
      claimedBy: claimedBy === undefined ? null : { ...claimedBy, hash: formatHash(claimedBy.hash) },
    },
  };
  return { ...facts, sentences: sentences(facts, seen, source.settings(pool).durations.renewEveryMs) };
}

function sentences(
  facts: Omit<ExplainAnswer, 'sentences'>,
  seen: ManagerObservation,
  renewEveryMs: number,
): readonly string[] {
  if (facts.waitsMs !== null) return [whereItLies(facts), ...whyNotKnown(facts, facts.waitsMs)];
  return [
    whereItLies(facts),
    inWhichRange(facts),
    whoOwnsIt(facts),
    whatWasLost(facts),
    howOwnerIs(facts, renewEveryMs),
    whatPolicyWants(facts, seen.role),
    whatIsBeingDone(facts, seen.role),
  ].filter((sentence) => sentence !== undefined);
}

type Facts = Omit<ExplainAnswer, 'sentences'>;

function whereItLies({ key, tag, hash }: Facts): string {
  if (key === null) return `You asked for ${hash} on the ring.`;
  return tag === null
    ? `The key "${key}" is hashed whole and lies at ${hash} on the ring.`
    : `Of the key "${key}" only the part in braces, "${tag}", is hashed; it lies at ${hash} on the ring, together with every other key that has {${tag}} as its first braces.`;
}

const inWhichRange = ({ range, rangePercent }: Facts): string =>
  `That is in the range [${range.start}, ${range.end}), ${rangePercent} % of the ring.`;

function whoOwnsIt({ owner, number }: Facts): string {
  if (owner === null) return 'Nobody owns that range at the moment.';
  return `Its owner is ${owner.name} at ${owner.url || 'no url'} (incarnation ${owner.incarnation}), under lease number ${number}: the range was granted by commit ${number} of the Manager's log, every earlier owner had a lower number, and every later one will have a higher one.`;
}

/** The table may be wrong for owners with keys of which the log does not know. */
const whyNotKnown = ({ owner }: Facts, forMs: number): readonly string[] => [
  `Its owner is not known yet: this Manager has just begun to lead, and waits ${seconds(forMs)} more for leases of an earlier Manager to expire. An owner with such a lease may serve the key until then; after that, the range is granted anew.`,
  ...(owner === null
    ? []
    : [`In the log that this Manager found, which may be older, its owner is ${owner.name}.`]),
];

function whatWasLost({ lostAt, number, owner }: Facts): string {
  if (lostAt === 0) return 'Its keys have never lost their state.';
  return owner !== null && lostAt === number
    ? `Its keys lost their state at commit ${lostAt}, the same that granted them to the present owner, which therefore started without it.`
    : `Its keys last lost their state at commit ${lostAt}.`;
}

function howOwnerIs({ owner, heardAgoMs, keptForMs }: Facts, renewEveryMs: number): string | undefined {
  if (owner === null) return undefined;
  if (heardAgoMs === null) return `This Manager has not heard ${owner.name} itself.`;
  const ago = `${owner.name} was last heard ${seconds(heardAgoMs)} ago`;
  if (heardAgoMs <= 2 * renewEveryMs) return `${ago}, which is as it should be.`;
  const kept = keptForMs === null ? '' : `; its keys are kept for it for another ${seconds(keptForMs)}`;
  return `${ago}, although it should report every ${seconds(renewEveryMs)}${kept}.`;
}

function whatPolicyWants({ policy }: Facts, role: ManagerObservation['role']): string {
  if (role !== 'leading') {
    return 'Only the leader knows where the policy wants it, and this Manager does not lead.';
  }
  if (policy.wants === null) return 'The policy has no owner to give it to.';
  const { wants, claimedBy } = policy;
  return claimedBy === null
    ? `The policy (${policy.name}) wants it at ${wants.name}.`
    : `The policy (${policy.name}) wants it at ${wants.name}: of all points of all owners the nearest at or before it is ${claimedBy.name}'s point ${claimedBy.point}, at ${claimedBy.hash}.`;
}

function whatIsBeingDone(facts: Facts, role: ManagerObservation['role']): string | undefined {
  const { policy, owner, isRecalled } = facts;
  if (role !== 'leading' || policy.wants === null) return undefined;
  if (policy.isSatisfied === true) return 'It is where the policy wants it.';
  if (owner === null) return `It will be granted to ${policy.wants.name} with one of the next commits.`;
  return isRecalled
    ? `It has been recalled: ${owner.name} was asked to give it back, and then it will be granted to ${policy.wants.name}.`
    : `It will be recalled from ${owner.name} and then granted to ${policy.wants.name}.`;
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Every position has a row. */
function rowAt(table: PoolTable, position: Hash): Row {
  return present(spanAt(table.rows, position), `the row that has ${formatHash(position)}`);
}

function addressIn(table: PoolTable, incarnation: string | undefined): OwnerAddress | null {
  const member = incarnation === undefined ? undefined : table.members.get(incarnation);
  return member === undefined ? null : publicPart(member);
}
