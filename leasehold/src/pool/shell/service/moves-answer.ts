/** The answers of the API about moves: what is under way, what owners intend, and what came of an order. */

import type { ManagerObservation } from '../../core/manager/observation.ts';
import type { Intent } from '../../core/messages.ts';
import type { MovePhase } from '../../core/moves/tickets.ts';
import type { MemberOrder } from '../../core/table.ts';
import type { Order } from '../manager/order-owner.ts';
import { type WrittenRange, writeRange } from './events.ts';

export interface MovesAnswer {
  readonly pool: string;
  /** What is sent counts from the beginning of this term. */
  readonly term: number;
  readonly position: number;
  /** Whether keys of this pool can move with their state already. */
  readonly canMove: boolean;
  /** Moves under way; null unless this Manager leads. */
  readonly moves: readonly MoveAnswer[] | null;
  /** Of owners that move keys or want to, or that were asked about; null unless this Manager leads. */
  readonly owners: readonly MoverAnswer[] | null;
}

export interface MoveAnswer extends WrittenRange {
  readonly ticket: string;
  readonly number: number;
  readonly from: string;
  readonly fromName: string;
  readonly to: string;
  readonly toName: string;
  readonly phase: MovePhase;
  /** Sent so far. */
  readonly bytes: number;
}

export interface MoverAnswer {
  readonly incarnation: string;
  readonly name: string;
  /** Null if this leader has not heard the owner yet. */
  readonly movesKeys: boolean | null;
  readonly intent: Intent;
  /** What an operator has ordered. */
  readonly order: MemberOrder | null;
  /** How many ranges it still has. */
  readonly ranges: number;
  /** How many owners could take its keys; null as long as this leader does not know. */
  readonly targets: number | null;
  readonly sentBytes: number;
}

/** An order that is in the log. */
export interface OrderAnswer {
  readonly pool: string;
  readonly owner: string;
  readonly incarnation: string;
  readonly order: Order['kind'];
}

/** @param name of the owner that is asked about */
export function movesAnswer(seen: ManagerObservation, pool: string, name: string | undefined): MovesAnswer {
  const table = seen.state.pool(pool);
  const observed = seen.moves(pool);
  const takingPart = new Set(observed?.underway.flatMap(({ from, to }) => [from, to]));
  const isMeant = ({ incarnation, intent, ...member }: NonNullable<typeof observed>['members'][number]) =>
    name === undefined ? intent !== 'stay' || takingPart.has(incarnation) : member.name === name;
  return {
    ...{ pool, term: seen.term, position: seen.state.position, canMove: table.hasMoves },
    moves:
      observed?.underway
        .filter((move) => name === undefined || move.fromName === name || move.toName === name)
        .map(({ start, end, ...move }) => ({ ...writeRange({ start, end }), ...move })) ?? null,
    owners:
      observed?.members.filter(isMeant).map(({ movesKeys, order, targets, ...member }) => ({
        ...{ ...member, movesKeys: movesKeys ?? null, order: order ?? null, targets: targets ?? null },
        ranges: table.rowsOf(member.incarnation).length,
      })) ?? null,
  };
}
