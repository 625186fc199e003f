/**
 * Everything that a member has of a resource, in one place: what its acceptor has promised and written
 * (`register.ts`), and what its own process wants of it (`claim.ts`).
 *
 *     resource ──► entry ──┬── promised, written, lease     the acceptor's: until they may be forgotten
 *                          └── claim                        the proposer's: for as long as somebody here wants it, or has it
 *
 * Neither writes what is the other's. The proposer reads what the acceptor has, as a hint of what others do and never as
 * an answer: for that it asks, like anybody else. They are found together because there are millions of resources, so
 * that to find one is to wait for memory, several times over; and who takes a lease asks its own acceptor, too.
 *
 * An entry is there for as long as there is something in it. Who has taken something out says so ({@link
 * Table.tidy}); and who holds on to an entry beyond the input that it was found in may hold on to one that is no
 * longer there. A claim may, for as long as it is in it.
 */

import type { Ballot } from './ballot.ts';
import type { Claim } from './claim.ts';
import type { Lease } from './lease.ts';

export class Entry {
  readonly resource: string;
  /** The acceptor's: undefined if it has promised nothing, or has forgotten it. */
  promised: Ballot | undefined;
  written: Ballot | undefined;
  lease: Lease | undefined;
  /** The proposer's. */
  claim: Claim | undefined;

  constructor(resource: string) {
    this.resource = resource;
  }
}

export class Table {
  readonly #entries = new Map<string, Entry>();

  find(resource: string): Entry | undefined {
    return this.#entries.get(resource);
  }

  findOrAdd(resource: string): Entry {
    let entry = this.#entries.get(resource);
    if (entry === undefined) {
      entry = new Entry(resource);
      this.#entries.set(resource, entry);
    }
    return entry;
  }

  /** Something was taken out of it: it goes if nothing is left. */
  tidy({ resource, promised, claim }: Entry): void {
    if (promised === undefined && claim === undefined) this.#entries.delete(resource);
  }

  entries(): Iterable<Entry> {
    return this.#entries.values();
  }
}
