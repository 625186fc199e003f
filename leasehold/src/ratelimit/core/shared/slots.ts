/**
 * Which server owns a key, of those that share limits in a view: the server with the highest hash of the key's slot and its name (rendezvous hashing). All members of a view
 * compute the same owner, and when a server goes only its own keys get another owner.
 *
 * A key falls into one of {@link SLOTS} slots, so that a decision costs one hash and not one for each member.
 */

import { hashKey } from '../../../runtime/keys/hash.ts';

export const SLOTS = 1_024;

const hash = new Uint32Array(4);

function hashOf(text: string): number {
  hashKey(text, hash);
  return hash[0] ?? 0;
}

/** Limiters are apart: the same key may have another owner in another limiter. */
export const slotOf = (limiter: string, key: string): number => hashOf(`${limiter}/${key}`) % SLOTS;

/** Of a key with braces only the part inside is hashed. In a server's name braces mean nothing, and all slots would have one owner. */
const withoutBraces = (name: string): string => name.replaceAll('{', '\\(').replaceAll('}', '\\)');

/** The owners of all slots among these servers, each computed when first asked for. */
export class SlotOwners {
  readonly #members: readonly string[];
  readonly #owners: (string | undefined)[] = Array<string | undefined>(SLOTS).fill(undefined);

  /** @param members sorted by name */
  constructor(members: readonly string[]) {
    this.#members = members;
  }

  /** Undefined if there are no members. */
  ownerOf(slot: number): string | undefined {
    this.#owners[slot] ??= this.#compute(slot);
    return this.#owners[slot];
  }

  #compute(slot: number): string | undefined {
    let owner: string | undefined;
    let highest = -1;
    for (const name of this.#members) {
      const rank = hashOf(`${slot} ${withoutBraces(name)}`);
      if (rank > highest) [owner, highest] = [name, rank];
    }
    return owner;
  }
}
