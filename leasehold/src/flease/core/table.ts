/**
 * Everything that a member stores for one resource, in one entry: the promise and the written lease of its acceptor
 * (`register.ts`), and the requests of its own process (`resource-state.ts`).
 *
 *     resource ──► entry ──┬── promised, written, lease     the acceptor's: until they may be forgotten
 *                          └── state                        the proposer's: while this process wants or holds the resource
 *
 * Acceptor and proposer never write each other's part. The proposer reads the acceptor's part as a hint about other
 * members and never as an answer: for an answer it asks its acceptor like any other. Both parts share an entry
 * because there are millions of resources: each look-up is several cache misses, and a proposer always asks its own
 * acceptor too.
 *
 * An entry exists while anything is in it. Code that has removed a part calls {@link Table.tidy}. Code that keeps an
 * entry beyond the input that found it may keep one that is no longer in the table; only a `ResourceState` may, as
 * long as the entry refers to it.
 */

import type { Ballot } from './ballot.ts';
import type { Lease } from './lease.ts';

/** `State`: of no interest to the acceptor. */
export class Entry<State = unknown> {
  readonly resource: string;
  /** The acceptor's: undefined if nothing was promised, or the promise was forgotten. */
  promised: Ballot | undefined;
  written: Ballot | undefined;
  lease: Lease | undefined;
  /** The proposer's. */
  state: State | undefined;

  constructor(resource: string) {
    this.resource = resource;
  }
}

export class Table<State = unknown> {
  readonly #entries = new Map<string, Entry<State>>();

  find(resource: string): Entry<State> | undefined {
    return this.#entries.get(resource);
  }

  findOrAdd(resource: string): Entry<State> {
    let entry = this.#entries.get(resource);
    if (entry === undefined) {
      entry = new Entry<State>(resource);
      this.#entries.set(resource, entry);
    }
    return entry;
  }

  /** Call after removing a part: deletes the entry if nothing is left. */
  tidy({ resource, promised, state }: Entry<State>): void {
    if (promised === undefined && state === undefined) this.#entries.delete(resource);
  }

  entries(): Iterable<Entry<State>> {
    return this.#entries.values();
  }
}
