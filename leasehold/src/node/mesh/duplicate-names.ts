/**
 * Two processes that run under one name at the same time. No protocol of this toolkit is safe with them, and each would take the
 * answers of one for those of the other.
 *
 * A restart looks similar for a moment: the connection of the old process may outlive it, until the silence is noticed. So two
 * incarnations of one name count as two processes only after both have been connected for longer than a connection
 * survives without a word from the other side.
 *
 * The two may never hear each other: the peers dial only one address of the name. A peer to which both are connected is the witness. The
 * witness refuses the incarnation that connected last, so that this process learns of the other one and can leave.
 */

import { type Instant, later } from '../../runtime/time.ts';

interface Inbound {
  readonly name: string;
  readonly incarnation: string;
  readonly since: Instant;
}

export class DuplicateNames {
  readonly #afterMs: number;
  readonly #connections = new Map<string, Inbound>();
  /** How many connections there are under each name. */
  readonly #counts = new Map<string, number>();

  /** @param silentAfterMs after how much silence a connection is closed */
  constructor(silentAfterMs: number) {
    this.#afterMs = 2 * silentAfterMs;
  }

  connected(connection: string, name: string, incarnation: string, now: Instant): void {
    this.#connections.set(connection, { name, incarnation, since: now });
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  disconnected(connection: string): void {
    const name = this.#connections.get(connection)?.name;
    if (name === undefined) return;
    this.#connections.delete(connection);
    const left = (this.#counts.get(name) ?? 1) - 1;
    if (left === 0) this.#counts.delete(name);
    else this.#counts.set(name, left);
  }

  /** If two live processes use this name: the incarnation that connected last. */
  laterOf(name: string, now: Instant): string | undefined {
    if ((this.#counts.get(name) ?? 0) < 2) return undefined;
    // In the order of connecting, which is the order of the map.
    const old = new Set<string>();
    for (const { name: its, incarnation, since } of this.#connections.values()) {
      if (its === name && now >= later(since, this.#afterMs)) old.add(incarnation);
    }
    return old.size > 1 ? [...old].at(-1) : undefined;
  }
}
