/**
 * How many milliseconds the holders of a key cost a writer at each member, from round trips alone.
 *
 * A write goes to the leader, from there to everybody, and everybody tells the member that took the write: three delays. The write is over
 * when a majority, every holder and that member itself have told:
 *
 *     latency(o, H) = d(o, leader) + max over H, o and the nearest majority of  d(leader, q) + d(q, o)        d: half a round trip
 *     added(o, H)   = latency(o, H) - latency(o, leader alone)
 *
 * Members are numbered from 0 here, without gaps, and a set of members is a number with a bit for each.
 */

export class Latencies {
  readonly members: number;
  readonly leader: number;
  /** Sets of members with the leader in them. */
  readonly sets: readonly number[];
  /** How long a read takes at a member that has to ask the leader. */
  readonly remoteReadMs: readonly number[];
  readonly #added: Float64Array;

  /** @param roundTrips by two members, in milliseconds */
  constructor(roundTrips: readonly (readonly number[])[], leader: number) {
    const members = roundTrips.length;
    this.members = members;
    this.leader = leader;
    const all = 2 ** members;
    this.sets = Array.from({ length: all }, (_, set) => set).filter((set) => contains(set, leader));
    const delay = (one: number, other: number): number =>
      one === other ? 0 : (roundTrips[one]?.[other] as number) / 2;
    this.remoteReadMs = roundTrips.map((_, member) => 2 * delay(member, leader));
    this.#added = new Float64Array(members * all);
    for (let origin = 0; origin < members; origin += 1) {
      const told = roundTrips.map((_, by) => delay(leader, by) + delay(by, origin));
      const nearest = [...told].sort((a, b) => a - b)[Math.floor(members / 2)] as number;
      const latency = (set: number): number =>
        told.reduce(
          (latest, ms, by) => (contains(set, by) || by === origin ? Math.max(latest, ms) : latest),
          nearest,
        );
      const least = latency(2 ** leader);
      for (const set of this.sets) this.#added[origin * all + set] = latency(set) - least;
    }
  }

  /** By how much longer a write of this member takes than if the leader alone held the key. */
  addedMs(origin: number, set: number): number {
    return this.#added[origin * 2 ** this.members + set] as number;
  }
}

export const contains = (set: number, member: number): boolean => ((set >> member) & 1) === 1;
