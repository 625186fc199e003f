/**
 * Connections that have not introduced themselves yet. There may be so many; if there is one more, the oldest of the address
 * that has the most is closed, and not the newcomer. So a crowd of silent strangers makes room for whoever comes next, and an
 * honest peer, which introduces itself at once, gets in unless a whole crowd arrives within one round trip.
 */

export class PendingConnections<T> {
  readonly #most: number;
  /** By address, the oldest first. */
  readonly #byAddress = new Map<string, Set<T>>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the connection that has to make room, if one has to. */
  add(connection: T, address: string): T | undefined {
    let pending = this.#byAddress.get(address);
    if (pending === undefined) this.#byAddress.set(address, (pending = new Set()));
    pending.add(connection);
    this.#size += 1;
    return this.#size > this.#most ? this.#oldestOfBusiest() : undefined;
  }

  delete(connection: T, address: string): void {
    const pending = this.#byAddress.get(address);
    if (pending?.delete(connection) !== true) return;
    this.#size -= 1;
    if (pending.size === 0) this.#byAddress.delete(address);
  }

  #oldestOfBusiest(): T | undefined {
    let busiest: Set<T> | undefined;
    for (const pending of this.#byAddress.values()) {
      if (busiest === undefined || pending.size > busiest.size) busiest = pending;
    }
    return busiest?.values().next().value;
  }
}
