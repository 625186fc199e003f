/**
 * Where a key is, and why: the chain from the key's characters to a server, each step as a fact for programs and as a
 * sentence for people.
 *
 *     key ──tag rule──► hashed text ──hash──► place on the ring ──table──► row ──► owner
 *                                                    └────────policy────► wanted owner
 *
 * Table and policy may disagree for a while, and then the last sentences say how the Manager is resolving the
 * difference: by a move with the state, or by asking the keys back (`explained-move.ts`).
 */

import { present, unreachable } from '../../../runtime/assert.ts';
import { keyHash, tagOf } from '../../../runtime/keys/hash.ts';
import { formatHash, type Hash } from '../../../runtime/keys/position.ts';
import type { ManagerObservation } from '../../core/manager/observation.ts';
import type { MovesObservation } from '../../core/manager/pool-moves.ts';
import type { OwnerAddress } from '../../core/messages.ts';
import type { PoolTable, Row } from '../../core/table.ts';
import { msUntil, waitsMs } from './answers.ts';
import { claimantPoint } from './claim.ts';
import { type WrittenRange, writeRange } from './events.ts';
import { addressIn, type ExplainedMove, explainedMove } from './explained-move.ts';
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

export interface ExplainAnswer extends KeyAnswer, ExplainedMove {
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
  const keptForMs = owner?.holdUntil === undefined ? null : msUntil(owner.holdUntil, now);
  const facts: Facts = {
    ...keyAnswer(source, seen, pool, key),
    rangePercent: percent(shareOf(row)),
    changedAt: row.changedAt,
    isRecalled: owner !== undefined && spanAt(owner.recalled, position) !== undefined,
    heardAgoMs: owner?.lastHeardAt === undefined ? null : msUntil(now, owner.lastHeardAt),
    keptForMs,
    policy: {
      name: policyName,
      wants,
      isSatisfied: wanted === undefined ? null : wanted === row.owner,
      claimedBy: claimedBy === undefined ? null : { ...claimedBy, hash: formatHash(claimedBy.hash) },
    },
    ...explainedMove(seen, { pool, position, row, owner, wanted, keptForMs }),
  };
  return { ...facts, sentences: sentences(facts, seen, source.settings(pool).durations.renewEveryMs) };
}

function sentences(facts: Facts, seen: ManagerObservation, renewEveryMs: number): readonly string[] {
  if (facts.waitsMs !== null) return [whereItLies(facts), ...whyNotKnown(facts, facts.waitsMs)];
  return [
    whereItLies(facts),
    inWhichRange(facts),
    whoOwnsIt(facts),
    whatWasLost(facts),
    howOwnerIs(facts, renewEveryMs),
    whatPolicyWants(facts, seen.role),
    whatIsBeingDone(facts, seen),
    whatIfOwnerDied(facts, seen),
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

function whoOwnsIt({ owner, number, arrived }: Facts): string {
  if (owner === null || arrived === null) return 'Nobody owns that range at the moment.';
  return `Its owner is ${owner.name} at ${owner.url || 'no url'} (incarnation ${owner.incarnation}), under lease number ${number}: ${HOW_ARRIVED[arrived]} by commit ${number} of the Manager's log, every earlier owner had a lower number, and every later one will have a higher one.`;
}

const HOW_ARRIVED: Readonly<Record<NonNullable<ExplainAnswer['arrived']>, string>> = {
  granted: 'the range was granted',
  moved: 'the range moved there with its state',
  returned: 'the range, which this owner had under an earlier number, stayed with its state',
};

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

function whatPolicyWants({ policy, why }: Facts, role: ManagerObservation['role']): string {
  if (role !== 'leading') {
    return 'Only the leader knows where the policy wants it, and this Manager does not lead.';
  }
  if (policy.wants === null) return 'The policy has no owner to give it to.';
  const { wants, claimedBy } = policy;
  return claimedBy === null
    ? `The policy (${policy.name}) wants it at ${wants.name}: ${why ?? 'it does not say why'}.`
    : `The policy (${policy.name}) wants it at ${wants.name}: of all points of all owners the nearest at or before it is ${claimedBy.name}'s point ${claimedBy.point}, at ${claimedBy.hash}.`;
}

function whatIsBeingDone(facts: Facts, seen: ManagerObservation): string | undefined {
  const { policy, owner, isRecalled, moving } = facts;
  if (seen.role !== 'leading' || policy.wants === null) return undefined;
  if (owner !== null && moving !== null) return whatMoves(owner, moving);
  if (policy.isSatisfied === true) return 'It is where the policy wants it.';
  if (owner === null) return `It will be granted to ${policy.wants.name} with one of the next commits.`;
  if (isRecalled)
    return `It has been recalled: ${owner.name} was asked to give it back, and then it will be granted to ${policy.wants.name}.`;
  return howItWillGo(owner, policy.wants, seen.moves(facts.pool));
}

function whatMoves({ name }: OwnerAddress, { to, phase, bytes }: NonNullable<Facts['moving']>): string {
  switch (phase) {
    case 'waiting':
      return `It is about to move to ${to.name} with its state, as soon as both know of each other.`;
    case 'streaming':
      return `It is moving to ${to.name}: ${name} has sent ${bytes} bytes of state so far, and serves it until it has sent all.`;
    case 'handed':
      return `It is moving to ${to.name}, which has its state: ${name} serves it no more, and the commit that makes ${to.name} its owner follows.`;
    default:
      return unreachable(phase);
  }
}

/** Keys of an owner that moves state wait for their turn; those of others are asked back. */
function howItWillGo(
  { name, incarnation }: OwnerAddress,
  wants: OwnerAddress,
  moves: MovesObservation | undefined,
): string {
  const mover = moves?.members.find((member) => member.incarnation === incarnation);
  if (moves?.canMove !== true || mover?.movesKeys === false || mover?.order === 'released')
    return `It will be recalled from ${name} and then granted to ${wants.name}.`;
  return mover?.targets === 0
    ? `It stays with ${name} as long as no owner can take its state.`
    : `It will move to ${wants.name} with its state, when it is its turn.`;
}

function whatIfOwnerDied({ owner, ifOwnerDied }: Facts, seen: ManagerObservation): string | undefined {
  if (owner === null || ifOwnerDied === null) return undefined;
  const { goesTo, afterMs, keepsState } = ifOwnerDied;
  if (goesTo === null) return `If ${owner.name} died now, no other owner could take it.`;
  if (keepsState) return `If ${owner.name} died now, it would go to ${goesTo.name} with its state.`;
  const isProvable = seen.owners.some((each) => each.incarnation === owner.incarnation && each.isProvable);
  const when = isProvable
    ? `as soon as its death is proved, or in ${seconds(afterMs)}`
    : `in ${seconds(afterMs)}`;
  return `If ${owner.name} died now and was not started again, it would lose its state and go to ${goesTo.name} ${when}.`;
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Every position has a row. */
function rowAt(table: PoolTable, position: Hash): Row {
  return present(spanAt(table.rows, position), `the row that has ${formatHash(position)}`);
}
