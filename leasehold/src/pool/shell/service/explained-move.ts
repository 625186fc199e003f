/**
 * How a key came to its owner, what is taking it elsewhere and why, and what would become of it if its owner died now: the part of an explanation that
 * changes with moves.
 *
 * **Why** is told from the same facts as the policy is asked with: what the owner intends or is ordered, and whether another process has its name. The log does not
 * have reasons of moves that are over, so nothing is said of those.
 *
 * **If the owner died** the same policy answers, for the table without it. It cannot know whether the owner is started again: a new process
 * under the same name may come first.
 *
 * A Manager does not hear whether a source has stopped already, so a move is waiting, streaming or handed over here.
 */

import type { Hash } from '../../../runtime/keys/position.ts';
import { isToBeEmpty } from '../../core/manager/intent.ts';
import { hasSuccessor } from '../../core/manager/namesakes.ts';
import type { ManagerObservation, OwnerObservation } from '../../core/manager/observation.ts';
import type { MoverObservation } from '../../core/manager/pool-moves.ts';
import type { OwnerAddress } from '../../core/messages.ts';
import type { ObservedMove } from '../../core/moves/tickets.ts';
import { sticky } from '../../core/policy/sticky.ts';
import type { PoolTable, Row } from '../../core/table.ts';
import { publicPart } from './events.ts';
import { spanAt } from './shares.ts';

export interface ExplainedMove {
  /** How the owner got the keys under this number; null if nobody owns them. */
  readonly arrived: 'granted' | 'moved' | 'returned' | null;
  /** Null if no move of the key is under way, and unless this Manager leads. */
  readonly moving: {
    readonly ticket: string;
    readonly to: OwnerAddress;
    readonly phase: ObservedMove['phase'];
    /** Sent so far, for all keys of the move. */
    readonly bytes: number;
  } | null;
  /** Why the policy wants the key where it wants it; null unless this Manager leads. */
  readonly why: string | null;
  /** Null if nobody owns the key, if the owner was not heard yet, and unless this Manager leads. */
  readonly ifOwnerDied: {
    readonly goesTo: OwnerAddress | null;
    readonly afterMs: number;
    /** All its state is at the next owner already. */
    readonly keepsState: boolean;
  } | null;
}

export interface KeyInView {
  readonly pool: string;
  readonly position: Hash;
  readonly row: Row;
  readonly owner: OwnerObservation | undefined;
  /** The incarnation that the policy wants; undefined if unknown. */
  readonly wanted: string | undefined;
  readonly keptForMs: number | null;
}

export function explainedMove(seen: ManagerObservation, key: KeyInView): ExplainedMove {
  const table = seen.state.pool(key.pool);
  const move = moveOf(seen, key);
  const to = move === undefined ? undefined : addressIn(table, move.to);
  return {
    arrived: howArrived(key.row),
    moving:
      move === undefined || to === undefined || to === null
        ? null
        : { ticket: move.ticket, to, phase: move.phase, bytes: move.bytes },
    why: seen.role === 'leading' ? why(seen, key, table) : null,
    ifOwnerDied: ifOwnerDied(seen, key, table, move),
  };
}

function howArrived({ owner, ticket, continues }: Row): ExplainedMove['arrived'] {
  if (owner === undefined) return null;
  if (ticket !== undefined) return 'moved';
  return continues.length > 0 ? 'returned' : 'granted';
}

const moveOf = (seen: ManagerObservation, { pool, position, row }: KeyInView): ObservedMove | undefined =>
  seen
    .moves(pool)
    ?.underway.find(({ start, end, number }) => number === row.number && start <= position && position < end);

function ifOwnerDied(
  seen: ManagerObservation,
  { pool, position, owner, keptForMs }: KeyInView,
  table: PoolTable,
  move: ObservedMove | undefined,
): ExplainedMove['ifOwnerDied'] {
  if (owner === undefined || keptForMs === null || seen.role !== 'leading') return null;
  // The words of source and target outlive the source.
  if (move?.phase === 'handed') return { goesTo: addressIn(table, move.to), afterMs: 0, keepsState: true };
  const heir = spanAt(seen.heirs(pool, owner.incarnation), position)?.incarnation;
  return { goesTo: addressIn(table, heir), afterMs: keptForMs, keepsState: false };
}

/** Only the placement that lets keys stay has reasons for each of them. Of the others the name and the members say everything. */
function why(seen: ManagerObservation, key: KeyInView, table: PoolTable): string | null {
  const { pool, owner, wanted } = key;
  if (wanted === undefined) return 'no owner takes keys';
  if (seen.policy(pool) !== sticky.name)
    return `the policy ${seen.policy(pool)} places each key by the owners there are`;
  if (owner === undefined) return 'keys without an owner go to the owner with the least of the ring';
  const mover = seen.moves(pool)?.members.find(({ incarnation }) => incarnation === owner.incarnation);
  return wanted === owner.incarnation ? whyItStays(owner, mover) : whyItGoes(owner, mover, table);
}

function whyItStays({ name }: OwnerObservation, mover: MoverObservation | undefined): string {
  const by = mover?.order === undefined ? '' : ', as an operator has ordered';
  switch (mover?.intent) {
    case 'cordoned':
      return `${name} takes no more keys${by}, and keeps those it has`;
    case 'draining':
    case 'emptying':
      return `${name} is to hand all its keys over${by}, but no owner takes keys`;
    default:
      return 'keys stay where they are, unless their owner hands all over or a quiet pool is uneven';
  }
}

function whyItGoes(owner: OwnerObservation, mover: MoverObservation | undefined, table: PoolTable): string {
  const { name, incarnation, isLeaving } = owner;
  if (isLeaving) return `${name} leaves`;
  if (hasSuccessor(incarnation, table.members)) return `another process has joined as ${name} since`;
  if (mover?.order === 'released')
    return `${name} is to give back, without its state, what it has not handed over, as an operator has ordered`;
  const member = table.members.get(incarnation);
  if (isToBeEmpty(member, { intent: mover?.intent, leaving: isLeaving }))
    return member?.order === 'emptying'
      ? `${name} is to hand all its keys over, as an operator has ordered`
      : `${name} drains: it hands all its keys over before it leaves`;
  return 'the pool is quiet and uneven, so an owner with less of the ring takes some over';
}

/** A member's address, as others may know it. */
export function addressIn(table: PoolTable, incarnation: string | undefined): OwnerAddress | null {
  const member = incarnation === undefined ? undefined : table.members.get(incarnation);
  return member === undefined ? null : publicPart(member);
}
