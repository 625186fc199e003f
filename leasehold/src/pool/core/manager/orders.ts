/**
 * Orders of an operator that are not in the log yet. The last one to a member counts; one to an owner that is no member is dropped.
 */

import type { MemberOrder, PoolTable, TableRecord } from '../table.ts';

type Members = PoolTable['members'];

export class Orders {
  readonly #open = new Map<string, Map<string, MemberOrder | undefined>>();

  give(pool: string, incarnation: string, order: MemberOrder | undefined): void {
    const orders = this.#open.get(pool) ?? new Map<string, MemberOrder | undefined>();
    this.#open.set(pool, orders.set(incarnation, order));
  }

  has(pool: string, incarnation: string): boolean {
    return this.#open.get(pool)?.has(incarnation) === true;
  }

  /** What is to be written. */
  records(pool: string, members: Members): readonly TableRecord[] {
    return [...(this.#open.get(pool) ?? [])].flatMap(([incarnation, order]): TableRecord[] => {
      const member = members.get(incarnation);
      return member === undefined || member.order === order ? [] : [{ kind: 'order', incarnation, order }];
    });
  }

  /** Forgets those that the table fulfils, or that nobody is there for. */
  keepOpen(pool: string, members: Members): void {
    const orders = this.#open.get(pool);
    if (orders === undefined) return;
    for (const [incarnation, order] of orders) {
      const member = members.get(incarnation);
      if (member === undefined || member.order === order) orders.delete(incarnation);
    }
    if (orders.size === 0) this.#open.delete(pool);
  }
}
