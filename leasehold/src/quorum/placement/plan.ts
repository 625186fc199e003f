/**
 * A plan of the leader: which objects and slices should change their holders, by the reports of all members.
 *
 * Only objects that differ from their slice are in the table of a configuration. A slice is chosen by what its other objects do
 * together; at first every slice is held by all, because holding costs nothing until somebody writes, and a fifth of a site's reads go to
 * keys that the site never read before. Objects that nobody reports any more return to their slice, so the table stays small.
 *
 * The work is done in steps of some milliseconds, so that calls are answered in between: one report is read in a step, or a thousand
 * objects are judged. The result is handed out in parts of at most 4,096 objects, those that gain most first; each part is one
 * configuration, and the next one follows when that is committed.
 */

import { bit, EVERYBODY, type Mask, type Member, type PlacementChange } from '../core/configuration.ts';
import { Chooser, type Traffic } from './choice.ts';
import { Latencies } from './latencies.ts';
import { sliceOf, SLICES, type Usage } from './usage.ts';

/** Objects in one change. */
const OBJECTS_PER_CHANGE = 4_096;

/** Objects in the table of a configuration: 1 MB. */
export const OBJECTS_TRACKED = 65_536;

/** Objects that are judged in one step. */
const OBJECTS_PER_STEP = 1_024;

/**
 * Slices are much alike, and with one weight all of them would change their holders at once, each way, with every move of the weight. So
 * each has a share of the weight, up to this one: as the weight moves, slices follow one by one. The share is below 1 because
 * reads of keys that were never seen before come from everywhere.
 */
const SLICE_WEIGHT = 0.5;

export interface PlanInput {
  readonly members: readonly Member[];
  /** The seat of the leader. */
  readonly leader: number;
  /** The newest report of every member, by storage id. */
  readonly reports: ReadonlyMap<string, Usage>;
  readonly weight: number;
  readonly slices: readonly Mask[];
  readonly objects: ReadonlyMap<number, Mask>;
}

interface Move {
  readonly object: number;
  /** Undefined: as its slice. */
  readonly holders: Mask | undefined;
  readonly gain: number;
}

export class Plan {
  readonly #input: PlanInput;
  readonly #count: number;
  readonly #seats: readonly number[];
  readonly #chooser: Chooser;
  /** The place of each object that somebody reports. */
  readonly #places = new Map<number, number>();
  readonly #objects: Uint32Array;
  /** By place and member. */
  readonly #traffic: Traffic;
  /** By slice and member. */
  readonly #sliceTraffic: Traffic;
  readonly #leaderSet: number;
  #steps = 0;
  #moves: Move[] = [];
  #slices: readonly Mask[] | undefined;

  /** A plan, unless a member has not reported or a round trip is not known: then the placement stays as it is. */
  static of(input: PlanInput): Plan | undefined {
    const { members, reports } = input;
    const isKnown = members.every(({ storage }) => {
      const report = reports.get(storage);
      return members.every(
        (other) => other.storage === storage || report?.roundTrips.has(other.storage) === true,
      );
    });
    return isKnown ? new Plan(input) : undefined;
  }

  private constructor(input: PlanInput) {
    const { members, leader, reports, weight, slices } = input;
    // An operator may have given fewer slices: each then stands for several.
    const all = Array.from({ length: SLICES }, (_, slice) => slices[slice & (slices.length - 1)] as Mask);
    this.#input = { ...input, slices: all };
    this.#count = members.length;
    this.#seats = members.map(({ seat }) => seat);
    const usages = members.map(({ storage }) => reports.get(storage) as Usage);
    const roundTrips = usages.map(({ roundTrips: own }, one) =>
      members.map(({ storage }, other) => {
        const back = usages[other]?.roundTrips.get((members[one] as Member).storage);
        return one === other ? 0 : Math.min(own.get(storage) as number, back as number);
      }),
    );
    const latencies = new Latencies(roundTrips, this.#seats.indexOf(leader));
    const writesPerRead = usages.map(
      ({ sliceReads, sliceWrites }) => sum(sliceWrites) / Math.max(1, sum(sliceReads)),
    );
    this.#chooser = new Chooser(latencies, weight, writesPerRead);
    const room = usages.reduce((objects, usage) => objects + usage.objects.length, 0);
    this.#objects = new Uint32Array(room);
    this.#traffic = trafficOf(room * this.#count);
    this.#sliceTraffic = trafficOf(SLICES * this.#count);
    this.#leaderSet = 2 ** this.#seats.indexOf(leader);
  }

  /** Does a part of the work; true when all is done. */
  step(): boolean {
    const at = this.#steps;
    this.#steps += 1;
    if (at < this.#count) {
      this.#readReport(at);
      return false;
    }
    const from = (at - this.#count) * OBJECTS_PER_STEP;
    const to = Math.min(this.#places.size, from + OBJECTS_PER_STEP);
    for (let place = from; place < to; place += 1) this.#judge(place);
    if (to < this.#places.size) return false;
    this.#forgetUnused();
    this.#judgeSlices();
    this.#moves.sort((a, b) => a.gain - b.gain);
    return true;
  }

  /** How many objects are to change their holders. */
  get movesLeft(): number {
    return this.#moves.length;
  }

  /** The next part, for a table that has so many objects at present. */
  next(tracked: number, weight: number): PlacementChange | undefined {
    const objects = new Map<number, Mask | undefined>();
    let size = tracked;
    while (objects.size < OBJECTS_PER_CHANGE) {
      const move = this.#moves.pop();
      if (move === undefined) break;
      const isNew = !this.#input.objects.has(move.object);
      if (isNew && size >= OBJECTS_TRACKED) continue;
      size += isNew ? 1 : move.holders === undefined ? -1 : 0;
      objects.set(move.object, move.holders);
    }
    const slices = this.#slices;
    this.#slices = undefined;
    const isNothing = objects.size === 0 && slices === undefined;
    return isNothing ? undefined : { mode: 'changed', slices, objects, weight };
  }

  #readReport(member: number): void {
    const { storage } = this.#input.members[member] as Member;
    const { objects, sliceReads, sliceWrites } = this.#input.reports.get(storage) as Usage;
    for (const { object, reads, writes } of objects) {
      let place = this.#places.get(object);
      if (place === undefined) {
        place = this.#places.size;
        this.#places.set(object, place);
        this.#objects[place] = object;
      }
      this.#traffic.reads[place * this.#count + member] = reads;
      this.#traffic.writes[place * this.#count + member] = writes;
    }
    for (let slice = 0; slice < SLICES; slice += 1) {
      this.#sliceTraffic.reads[slice * this.#count + member] = sliceReads[slice] ?? 0;
      this.#sliceTraffic.writes[slice * this.#count + member] = sliceWrites[slice] ?? 0;
    }
  }

  #judge(place: number): void {
    const object = this.#objects[place] as number;
    const slice = sliceOf(object);
    const ofSlice = this.#setOf(this.#input.slices[slice] as Mask);
    const own = this.#input.objects.get(object);
    const present = own === undefined ? ofSlice : this.#setOf(own);
    const first = place * this.#count;
    const holders = this.#chooser.choose(this.#traffic, first, present);
    const { gain } = this.#chooser;
    if (holders === ofSlice) {
      if (own !== undefined) this.#moves.push({ object, holders: undefined, gain });
      return;
    }
    if (holders !== present) this.#moves.push({ object, holders: this.#maskOf(holders), gain });
    // The rest of the slice is judged without the object.
    const { reads, writes } = this.#sliceTraffic;
    for (let member = 0; member < this.#count; member += 1) {
      const at = slice * this.#count + member;
      reads[at] = (reads[at] as number) - (this.#traffic.reads[first + member] as number);
      writes[at] = (writes[at] as number) - (this.#traffic.writes[first + member] as number);
    }
  }

  #forgetUnused(): void {
    for (const object of this.#input.objects.keys())
      if (!this.#places.has(object)) this.#moves.push({ object, holders: undefined, gain: 0 });
  }

  #judgeSlices(): void {
    const masks = this.#input.slices.map((mask, slice) => {
      const present = this.#setOf(mask);
      const share = (SLICE_WEIGHT * (slice + 1)) / SLICES;
      const holders = this.#chooser.choose(this.#sliceTraffic, slice * this.#count, present, share);
      return holders === present ? mask : this.#maskOf(holders);
    });
    if (masks.some((mask, slice) => mask !== this.#input.slices[slice])) this.#slices = masks;
  }

  /** Seats as a set of members, the leader among them. */
  #setOf(mask: Mask): number {
    const seats = this.#seats;
    let set = 0;
    for (let member = 0; member < seats.length; member += 1)
      if ((mask & bit(seats[member] as number)) !== 0) set |= 1 << member;
    return set | this.#leaderSet;
  }

  /** All members stand for everybody: who joins later holds these, too. */
  #maskOf(set: number): Mask {
    if (set === 2 ** this.#count - 1) return EVERYBODY;
    let mask = 0;
    this.#seats.forEach((seat, member) => {
      if (((set >> member) & 1) === 1) mask |= bit(seat);
    });
    return mask;
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

const trafficOf = (size: number): Traffic => ({
  reads: new Float64Array(size),
  writes: new Float64Array(size),
});
