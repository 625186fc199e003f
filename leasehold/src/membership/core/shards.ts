/**
 * Which parts of a fixed number belong to which server of a group.
 *
 *     view {a b c}, 64 shards      a 22, b 21, c 21
 *        c dies ┆
 *     view {a b}                   c's 21 shards rest until nobody can act on a promise to c; then a 32, b 32
 *
 * A server holds a shard at an instant if the server *acts* in a view in which the shard is its own, and at most one view can act at that instant in the world.
 *
 * **Why no two servers hold a shard at once.**
 *
 *  1. In one view, every shard has one owner: the owners follow from the names of the members alone ({@link ShardOwners}).
 *  2. Views in which servers act at the same instant share no server (`member.ts`). So if each of two such views had more than half of the servers
 *     that there can be (`maxServers`), the two would share one. Hence only one view of that size acts at an instant, and in smaller views no server holds anything. With a registry at most
 *     one view acts in the world (`agreement/by-registry.ts`), and no number is needed.
 *
 * So a shard that moves rests between two holders, without a rule of its own: the next view acts when no promise to the earlier holder can be acted on any more, or as soon as
 * the earlier holder has agreed to the next view, or has left.
 *
 * A server that *continues* holds nothing. What continues is proved for the kept members alone, and the other side may have the majority.
 *
 * **The fencing number** of a holder is the greatest number in the id of its view. Let the holder of a shard change from V to W. Two majorities have a server in common. That server
 * proposed W's set after V, with a number above all that it had seen, V's among them. If it restarted in between, its numbers began anew at its wall clock, above all earlier numbers unless
 * that clock went back or proposals came more often than once a millisecond. So while one server of the majority goes on, the number needs no clock, and otherwise it is as good as the wall clocks of servers that restart. With a
 * registry V and W may share no server; then the number grows if a server of W has ever heard a record of V's servers, which a server that started beside them has.
 *
 * **Even within one, and moved as little as can be told from names.** Rendezvous hashing moves the fewest, and is uneven: of 64 shards one of five servers may have 20. An assignment that is
 * even and moves the fewest needs the assignment before, on which members that come together from different views do not agree. So each shard goes to the server of its highest rank
 * that has room: all pairs of shard and server in the order of their ranks, and a server has room for the even part. Measured (`shards.test.ts`): of 64 shards at most 4 more than the fewest, for every size up to 12.
 */

import { hashKey } from '../../runtime/keys/hash.ts';
import type { Standing } from './effects.ts';
import { greatestNumberIn } from './view.ts';

/** Pairs of shards and servers are sorted at each change of members: with this number and 50 servers in some 50 ms. */
export const SHARDS_MAX = 1_024;

const hash = new Uint32Array(4);

function hashOf(text: string): number {
  hashKey(text, hash);
  return hash[0] ?? 0;
}

/** The shard of a key. */
export const shardOf = (key: string, count: number): number => hashOf(key) % count;

/** Of a key with braces only the part inside is hashed. In a server's name braces mean nothing. */
const withoutBraces = (name: string): string => name.replaceAll('{', '\\(').replaceAll('}', '\\)');

/** The owners of all shards among these members. */
export class ShardOwners {
  readonly #owners: readonly string[];

  /** @param members sorted by name, at least one */
  constructor(members: readonly string[], count: number) {
    const pairs = members.flatMap((name) =>
      Array.from({ length: count }, (_, shard) => ({
        ...{ name, shard, rank: hashOf(`${shard} ${withoutBraces(name)}`) },
      })),
    );
    pairs.sort(
      (one, other) => other.rank - one.rank || one.shard - other.shard || (one.name < other.name ? -1 : 1),
    );
    const least = Math.floor(count / members.length);
    /** So many servers have one more. */
    let larger = count % members.length;
    const owners: string[] = Array<string>(count).fill('');
    const counts = new Map<string, number>();
    for (const { name, shard } of pairs) {
      const own = counts.get(name) ?? 0;
      if (owners[shard] !== '' || own > least || (own === least && larger === 0)) continue;
      if (own === least) larger -= 1;
      owners[shard] = name;
      counts.set(name, own + 1);
    }
    this.#owners = owners;
  }

  ownerOf(shard: number): string | undefined {
    return this.#owners[shard];
  }

  of(name: string): number[] {
    return this.#owners.flatMap((owner, shard) => (owner === name ? [shard] : []));
  }
}

/** What a member of a group says of itself at one instant. */
export interface ShardStanding {
  readonly standing: Standing;
  readonly view: { readonly id: string; readonly members: readonly string[] } | undefined;
}

export interface HeldShards {
  readonly shards: ReadonlySet<number>;
  /** Greater than the number of every earlier holder. */
  readonly number: number;
}

const NOTHING: HeldShards = { shards: new Set(), number: 0 };

/** One server, and which shards it holds. */
export class ShardHolder {
  readonly #name: string;
  readonly #count: number;
  /** How many servers there can be; undefined if at most one view acts in the world. */
  readonly #maxServers: number | undefined;
  #members = '';
  #owners: ShardOwners | undefined;
  #own: ReadonlySet<number> = new Set();

  constructor(name: string, count: number, maxServers: number | undefined) {
    this.#name = name;
    this.#count = count;
    this.#maxServers = maxServers;
  }

  /** At this instant only. */
  held({ standing, view }: ShardStanding): HeldShards {
    if (view === undefined || standing !== 'acts' || !this.#mayHold(view.members.length)) return NOTHING;
    this.ownersIn(view.members);
    return { shards: this.#own, number: greatestNumberIn(view.id) };
  }

  /** Worked out once for each set of members. */
  ownersIn(members: readonly string[]): ShardOwners {
    const key = members.join('\n');
    if (this.#owners !== undefined && key === this.#members) return this.#owners;
    this.#owners = new ShardOwners(members, this.#count);
    this.#members = key;
    this.#own = new Set(this.#owners.of(this.#name));
    return this.#owners;
  }

  /** More servers than there can be: then half of them may be a smaller part than it seems. */
  #mayHold(members: number): boolean {
    const maxServers = this.#maxServers;
    return maxServers === undefined || (2 * members > maxServers && members <= maxServers);
  }
}
