/**
 * A plan of the leader: which objects and slices should change their holders, by the reports of all members.
 *
 * Only objects that differ from their slice are in the table of a configuration. A slice is chosen by what its other objects do
 * together; at first every slice is held by all, because holding costs nothing until somebody writes, and a fifth of a site's reads go to
 * keys that the site never read before. Objects that nobody reports any more return to their slice, so the table stays small.
 *
 * The work is done in steps of some milliseconds, so that calls are answered in between: a few thousand objects are read from a report in
 * a step, or a thousand are judged. The result is handed out in parts of at most 4,096 objects, those that gain most first; each part
 * is one configuration, and the next one follows when that is committed.
 *
 * The table has room for 65,536 objects. When it is full, an object comes in for one that nobody reports any more, or else for one that gains clearly
 * less from being there; if there is none, the object stays with its slice.
 */

import {
  bit,
  EVERYBODY,
  type Mask,
  type Member,
  OBJECTS_MAX,
  type ReaderMapChange,
} from '../configuration.ts';
import { Chooser, type Traffic } from './choice.ts';
import { Latencies } from './latencies.ts';
import { Ranked } from './ranked.ts';
import { sliceOf, SLICES, type Usage } from './usage.ts';

/** Objects in one change. */
const OBJECTS_PER_CHANGE = 4_096;

/** Objects that are judged in one step, and that are read from a report or looked up in the table. */
const JUDGED_PER_STEP = 1_024;
const READ_PER_STEP = 4_096;

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
  readonly #work: Generator<undefined, void>;
  readonly #moves = new Ranked<Move>();
  /** Objects that are in the table, by what they gain from being there; those that nobody reports; and those that had to make room. */
  readonly #tracked = new Ranked<number>();
  readonly #forgotten: number[] = [];
  readonly #displaced = new Set<number>();
  #slices: readonly Mask[] | undefined;

  /** A plan, if one is possible. */
  static of(input: PlanInput): Plan | undefined {
    return isPossible(input.members, input.reports) ? new Plan(input) : undefined;
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
    this.#work = this.#steps();
  }

  /** Does a part of the work; true when all is done. */
  step(): boolean {
    return this.#work.next().done === true;
  }

  *#steps(): Generator<undefined, void> {
    for (let member = 0; member < this.#count; member += 1) yield* this.#readReport(member);
    for (let place = 0; place < this.#places.size; place += 1) {
      if (place % JUDGED_PER_STEP === 0) yield;
      this.#judge(place);
    }
    let seen = 0;
    for (const object of this.#input.objects.keys()) {
      if (seen % READ_PER_STEP === 0) yield;
      seen += 1;
      if (!this.#places.has(object)) this.#forgotten.push(object);
    }
    this.#judgeSlices();
  }

  /** How many objects are to change their holders. */
  get movesLeft(): number {
    return this.#moves.size + this.#forgotten.length;
  }

  /** The next part, for the table as it is at present: it may be another than that of the plan. */
  next(table: ReadonlyMap<number, Mask>, weight: number): ReaderMapChange | undefined {
    const objects = new Map<number, Mask | undefined>();
    let { size } = table;
    while (objects.size < OBJECTS_PER_CHANGE) {
      const move = this.#nextMove(table, size);
      if (move === undefined) break;
      const { object, holders } = move;
      if (holders === undefined && !table.has(object)) continue;
      size += holders === undefined ? -1 : table.has(object) ? 0 : 1;
      objects.set(object, holders);
    }
    const slices = this.#slices;
    this.#slices = undefined;
    const isNothing = objects.size === 0 && slices === undefined;
    return isNothing ? undefined : { mode: 'changed', slices, objects, weight };
  }

  /** The move that gains most; if the table is full and the move needs room, one that makes room comes first. */
  #nextMove(table: ReadonlyMap<number, Mask>, size: number): Move | undefined {
    for (;;) {
      const move = this.#moves.takeMost();
      if (move !== undefined && this.#displaced.has(move.object)) continue;
      const needsRoom = move?.holders !== undefined && !table.has(move.object);
      if (move !== undefined && !(needsRoom && size >= OBJECTS_MAX)) return move;
      const object = this.#forgotten.pop() ?? this.#displace(move);
      if (object !== undefined) {
        if (move !== undefined) this.#moves.add(move.gain, move);
        return { object, holders: undefined, gain: 0 };
      }
      if (move === undefined) return undefined; // Else everything in the table is worth as much, and the object stays with its slice.
    }
  }

  #displace(move: Move | undefined): number | undefined {
    const object = move && this.#tracked.takeBelow(move.gain);
    if (object !== undefined) this.#displaced.add(object);
    return object;
  }

  *#readReport(member: number): Generator<undefined, void> {
    const { storage } = this.#input.members[member] as Member;
    const { objects, sliceReads, sliceWrites } = this.#input.reports.get(storage) as Usage;
    for (const [at, { object, reads, writes }] of objects.entries()) {
      if (at % READ_PER_STEP === 0) yield;
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
      if (own !== undefined) this.#moves.add(gain, { object, holders: undefined, gain });
      return;
    }
    if (holders !== present) this.#moves.add(gain, { object, holders: this.#maskOf(holders), gain });
    if (own !== undefined) this.#tracked.add(this.#chooser.advantage(holders, ofSlice), object);
    // The rest of the slice is judged without the object.
    const { reads, writes } = this.#sliceTraffic;
    for (let member = 0; member < this.#count; member += 1) {
      const at = slice * this.#count + member;
      reads[at] = (reads[at] as number) - (this.#traffic.reads[first + member] as number);
      writes[at] = (writes[at] as number) - (this.#traffic.writes[first + member] as number);
    }
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

/** No plan is possible while a member has not reported or a round trip is not known: then the placement stays as it is. */
export const isPossible = (members: readonly Member[], reports: ReadonlyMap<string, Usage>): boolean =>
  members.every(({ storage }) => {
    const report = reports.get(storage);
    return members.every(
      (other) => other.storage === storage || report?.roundTrips.has(other.storage) === true,
    );
  });

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

const trafficOf = (size: number): Traffic => ({
  reads: new Float64Array(size),
  writes: new Float64Array(size),
});
