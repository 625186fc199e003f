/**
 * Those who waited behind the one that a lease was left for. They stand in line with that one from then on; but if it
 * is dead, nobody tells them, and what they know is that the lease before lasts on.
 *
 *     left for c ├──── 3 answers + skew ────┤ b, d: look
 *                c has it: they find it, and stand in line there anyway
 *
 * So whoever has given it back remembers them, until what was left may be had by anybody, and then has them look:
 * unless its own acceptor knows that somebody has had it since. They would find just that, all of them at once, and
 * think the less of the next word.
 */

import { Agenda } from './agenda.ts';
import type { Table } from './table.ts';

export interface Left {
  readonly resource: string;
  /** Of the lease that was left. */
  readonly number: number;
  /** Who waited behind the heir. */
  readonly line: readonly string[];
  /** When it may be had by anybody. */
  readonly atMs: number;
}

export class Succession {
  readonly #left = new Map<string, Left>();
  readonly #agenda: Agenda<Left>;

  /** @param stretchMs how late somebody may be told */
  constructor(stretchMs: number) {
    this.#agenda = new Agenda(stretchMs);
  }

  get nextMs(): number {
    return this.#agenda.nextMs;
  }

  add(left: Left): void {
    this.#left.set(left.resource, left);
    this.#agenda.add(left.atMs, left);
  }

  /**
   * Those whose time has come, unless they were left behind once more since, or somebody has had it.
   *
   * @param table what our own acceptor has, too
   */
  due(nowMs: number, table: Table): readonly Left[] {
    const due = this.#agenda.due(nowMs).filter((left) => this.#left.get(left.resource) === left);
    for (const { resource } of due) this.#left.delete(resource);
    return due.filter(({ resource, number }) => (table.find(resource)?.lease?.number ?? 0) <= number);
  }

  clear(): void {
    this.#left.clear();
    this.#agenda.clear();
  }
}
