/**
 * An operator orders what becomes of the keys of one owner: to take no more, to hand over all it has, or to take keys again.
 *
 * An order is about the process that has the name now, is in the log, and ends with the process. So it survives a change of the leader, and a server that is
 * started again takes keys. A drained owner stays, without keys: an operator who wants to stop it can do so without losing anything, and one who
 * has changed his mind says so.
 *
 * An owner whose keys do not move with their state is not ordered to do anything: its keys could only be taken from it with a loss.
 */

import { RefusedError } from '../../../runtime/errors.ts';
import type { ManagerDriver } from '../../core/manager/driver.ts';
import type { Manager } from '../../core/manager/manager.ts';
import { latestByName } from '../../core/manager/namesakes.ts';
import type { MemberOrder } from '../../core/table.ts';
import { notLeading } from '../errors.ts';

/** What an operator wants of an owner. */
export type Order =
  /** To take no more keys; or to take keys again, also after a drain. */
  | { readonly kind: 'cordon' | 'uncordon'; readonly owner: string }
  | {
      /** To hand over all keys with their state, and to take no more. */
      readonly kind: 'drain';
      readonly owner: string;
      /** `lose`: what has not been handed over by now is given back without its state. @default stay */
      readonly otherwise?: 'lose' | 'stay' | undefined;
    };

export interface OrderOptions {
  readonly core: Pick<Manager, 'role' | 'term' | 'state' | 'order' | 'isOrdering' | 'observe'>;
  readonly driver: Pick<ManagerDriver, 'input'>;
  /** Resolves when `isSo` is true; rejects if the Manager cannot go on. */
  until(isSo: () => boolean): Promise<true>;
  leader(): string | undefined;
}

/** Resolves when the order is in the log: with the incarnation that it is about. */
export async function orderOwner(pool: string, order: Order, options: OrderOptions): Promise<string> {
  const { core, driver, until } = options;
  const { term } = core;
  if (core.role !== 'leading') throw notLeading(options.leader());
  const incarnation = incarnationOf(pool, order, options);
  driver.input((now) => core.order(pool, incarnation, memberOrder(order), now));
  await until(() => core.term !== term || !core.isOrdering(pool, incarnation));
  if (core.term !== term) throw notLeading(options.leader(), false);
  if (!core.state.pool(pool).members.has(incarnation)) throw unknownOwner(pool, order.owner, core);
  return incarnation;
}

function memberOrder(order: Order): MemberOrder | undefined {
  if (order.kind === 'drain') return order.otherwise === 'lose' ? 'released' : 'emptying';
  return order.kind === 'cordon' ? 'cordoned' : undefined;
}

/** @throws {RefusedError} */
function incarnationOf(pool: string, { kind, owner }: Order, { core }: OrderOptions): string {
  const member = latestByName(core.state.pool(pool).members).get(owner);
  if (member === undefined) throw unknownOwner(pool, owner, core);
  const about = core
    .observe()
    .moves(pool)
    ?.members.find((one) => one.incarnation === member.incarnation);
  if (kind !== 'uncordon' && about?.movesKeys === false) throw cannotMove(pool, owner);
  return member.incarnation;
}

/** No owner of the pool has this name. Nothing was changed. */
function unknownOwner(pool: string, owner: string, { state }: Pick<Manager, 'state'>): RefusedError {
  const owners = [...latestByName(state.pool(pool).members).keys()].sort();
  const some = owners.length === 0 ? 'it has none' : `there are ${owners.slice(0, 20).join(', ')}`;
  return new RefusedError('UNKNOWN_OWNER', `the pool "${pool}" has no owner "${owner}"; ${some}`, {
    module: 'manager',
    details: { pool, owner, owners },
  });
}

/** The keys of this owner cannot go to another with their state. Nothing was changed. */
const cannotMove = (pool: string, owner: string): RefusedError =>
  new RefusedError(
    'CANNOT_MOVE',
    `keys of ${owner} in the pool "${pool}" do not move with their state, so an order could only lose it: let the owner join with moves (joinPool({ moves: true })), or stop it`,
    { module: 'manager', details: { pool, owner } },
  );
