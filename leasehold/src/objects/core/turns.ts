/**
 * The owner's half of calls: the objects that this process holds, and one turn after another on each.
 *
 * **One turn at a time for each position.** Keys with the same tag, and objects of several kinds under one key, have the same position of the
 * ring, hence the same lease, hence the same queue. A call is one turn; a read is a turn that changes nothing.
 *
 *     frame ─► waiting ─► its turn would begin ─► run ─► finished ─► reply
 *                             ├─ the key is not held since the frame's number: refused
 *                             ├─ its time is over, or it was cancelled: refused, nothing was done
 *                             ├─ it ran before: the kept result
 *                             └─ it may have run before, and that cannot be known: unknown
 *
 * **Why a call runs at most once** in the history of an object that is kept. Two frames of one call never run it twice:
 *
 *  1. *On one owner.* The question whether the call ran is asked when the turn would begin, not when the frame arrives, for then the first run may still be
 *     under way. The result of every run is kept with the object (`kept-results.ts`), also of a run in which the lease lapsed, because the object kept what the run changed; and
 *     for a result that was dropped a repetition is told that the outcome is unknown.
 *  2. *On two owners.* The state and the results move together, as they were between two turns. A frame that reaches an owner whose tenure began after the
 *     frame's number is refused, so a late frame cannot run after the key has left and come back.
 *  3. *After a loss.* The new owner has neither the changes nor the result. A repetition whose caller knows of the loss is answered as unknown, unless the call is idempotent.
 *  4. *Late frames.* A caller that has a new link repeats calls there; the greeting of the new link silences the earlier one, and its frames that wait. Greetings are
 *     numbered, and answered before the first call is sent: a greeting that is late itself has no calls behind it, and silences no later link.
 *
 * **Why every frame is answered**, unless its link breaks: each way out of the picture sends. A turn whose memory was dropped or whose lease lapsed says
 * `uncertain`, and the caller repeats the call.
 *
 * **Why a deleted object's results do not go with it.** A repeated call must not run on the empty object. So the results of an object that was deleted, or
 * ended by `ttlMs`, are kept as all others. When the last is gone the object's memory of dropped ones would go too; instead this owner keeps the
 * greatest number of them, the *floor*, for all objects that begin later. The floor moves with the objects.
 *
 * **Why no turn waits for itself.** A call carries the positions whose turns wait for it. A call to one of those is refused at once. Two chains of calls that wait
 * for each other are not found: their deadlines end them.
 *
 * This file does no I/O. The state of an object is a *slot* that it never looks into: the surroundings run the handler with the slot, then say {@link Turns.finished}. Whether
 * a key is held is asked of the tenure at each instant that matters.
 */

import { present } from '../../runtime/assert.ts';
import type { Hash } from '../../runtime/keys/position.ts';
import { type Instant, later, soonest } from '../../runtime/time.ts';
import { type Due, DueQueue } from './due-queue.ts';
import { KeptResults, type ResultBounds, type ResultsCopy } from './kept-results.ts';
import {
  type Answer,
  type CallFrame,
  type CancelFrame,
  type ConfirmFrame,
  type ObjectName,
  type Refusal,
  THROUGH_MAX,
  type ToCaller,
  type ToOwner,
} from './messages.ts';

/** May this process act for a position? Answers are good for the instant of the question. */
export interface Tenure {
  /** The lease number, if the position is held. */
  numberOf(position: Hash, now: Instant): number | undefined;
  /** The position is held, and has been since this process held it under the number. */
  isContinuous(position: Hash, number: number, now: Instant): boolean;
}

/** What the core must know of a kind. */
export interface KindRules {
  readonly calls: ReadonlySet<string>;
  readonly reads: ReadonlySet<string>;
  readonly maxObjects: number;
  /** After which without a call the state ends; Infinity: never. */
  readonly ttlMs: number;
  /** After which without a turn the state leaves the memory; Infinity: never. */
  readonly idleAfterMs: number;
}

export interface TurnsOptions<Slot> {
  readonly tenure: Tenure;
  readonly kinds: ReadonlyMap<string, KindRules>;
  /** The slot of an object that does not exist yet. */
  readonly newSlot: (name: ObjectName) => Slot;
  /** For the next owner; made between two turns. */
  readonly copySlot: (slot: Slot) => Slot;
  readonly bounds?: ResultBounds;
}

/** An object between two turns, for the next owner. */
export interface Envelope<Slot> extends ObjectName {
  readonly position: Hash;
  readonly exists: boolean;
  readonly slot: Slot;
  readonly results: ResultsCopy;
}

export type AbortReason = 'over' | 'cancelled' | 'lost' | 'closed';

/** A turn for the surroundings to run. */
export interface Turn<Slot> extends ObjectName {
  readonly position: Hash;
  readonly name: string;
  readonly args: Uint8Array;
  readonly isRead: boolean;
  /** The object begins with this turn. */
  readonly isNew: boolean;
  readonly slot: Slot;
  /** The lease number under which the turn began. */
  readonly number: number;
  /** What calls from within the turn carry. */
  readonly through: readonly Hash[];
  readonly until: Instant;
}

/** How a turn ended. */
export interface TurnEnd {
  readonly answer: Answer;
  /** `none`: the object could not be made or loaded, so it is as it was. */
  readonly change: 'kept' | 'deleted' | 'none';
}

export type TurnsEffect<Slot> =
  | { readonly do: 'send'; readonly link: string; readonly message: ToCaller }
  | { readonly do: 'welcome'; readonly link: string }
  | { readonly do: 'run'; readonly turn: Turn<Slot> }
  | { readonly do: 'abort'; readonly turn: Turn<Slot>; readonly why: AbortReason }
  | { readonly do: 'evict'; readonly slot: Slot; readonly name: ObjectName };

interface Waiting extends Due {
  readonly is: 'waiting';
  readonly seat: Seat<unknown>;
  readonly frame: CallFrame;
  readonly link: string;
  readonly caller: string;
  readonly until: Instant;
}

interface Running<Slot> extends Due, Turn<Slot> {
  readonly is: 'running';
  readonly seat: Seat<Slot>;
  readonly record: ObjectRecord<Slot>;
  readonly from: Waiting;
}

interface ObjectRecord<Slot> extends Due {
  readonly is: 'record';
  readonly seat: Seat<Slot>;
  readonly name: ObjectName;
  exists: boolean;
  isEvicted: boolean;
  slot: Slot;
  results: KeptResults;
  /** Of the last call. */
  touchedAt: Instant;
  /** Of the last turn. */
  usedAt: Instant;
}

/** One position: its queue, and the objects there. */
interface Seat<Slot> {
  readonly position: Hash;
  readonly waiting: Set<Waiting>;
  readonly records: Map<string, ObjectRecord<Slot>>;
  turn: Running<Slot> | undefined;
  /** While the position moves: the objects as they were before the turn under way; undefined if that turn began before the move. */
  before: readonly Envelope<Slot>[] | undefined;
  /** The memory is gone: a turn that ends now changes nothing. */
  isDropped: boolean;
}

type Includes = (position: Hash) => boolean;

const recordKey = ({ kind, key }: ObjectName): string => `${kind} ${key}`;

export class Turns<Slot> {
  readonly #options: TurnsOptions<Slot>;
  readonly #seats = new Map<Hash, Seat<Slot>>();
  readonly #due = new DueQueue<Waiting | Running<Slot> | ObjectRecord<Slot>>();
  readonly #callerOf = new Map<string, string>();
  readonly #linkOf = new Map<string, { readonly link: string; readonly nth: number }>();
  #effects: TurnsEffect<Slot>[] = [];
  readonly #sizes = new Map<string, number>();
  #floor = 0;
  #moving: Includes | undefined;
  #isClosed = false;

  constructor(options: TurnsOptions<Slot>) {
    this.#options = options;
  }

  get wakeAt(): Instant | undefined {
    return this.#due.nextAt;
  }

  /** How many objects of a kind exist. */
  sizeOf(kind: string): number {
    return this.#sizes.get(kind) ?? 0;
  }

  /**
   * A caller has opened a link, its `nth`. Calls may follow once the greeting is answered (`welcome`). What the caller sent on an earlier link is not
   * heard any more; and a greeting that a later one has overtaken is not answered.
   */
  greet(_now: Instant, link: string, caller: string, nth: number): readonly TurnsEffect<Slot>[] {
    const earlier = this.#linkOf.get(caller);
    if (earlier !== undefined) {
      if (nth < earlier.nth) return this.#take();
      this.#callerOf.delete(earlier.link);
    }
    this.#linkOf.set(caller, { link, nth });
    this.#callerOf.set(link, caller);
    this.#effects.push({ do: 'welcome', link });
    return this.#take();
  }

  linkBroken(_now: Instant, link: string): readonly TurnsEffect<Slot>[] {
    const caller = this.#callerOf.get(link);
    this.#callerOf.delete(link);
    if (caller !== undefined && this.#linkOf.get(caller)?.link === link) this.#linkOf.delete(caller);
    return this.#take();
  }

  receive(now: Instant, link: string, frame: ToOwner): readonly TurnsEffect<Slot>[] {
    const caller = this.#callerOf.get(link);
    if (caller === undefined) return this.#take();
    if (frame.do === 'call') this.#hearCall(now, link, caller, frame);
    else if (frame.do === 'cancel') this.#hearCancel(link, frame);
    else this.#hearConfirm(now, caller, frame);
    return this.#take();
  }

  /** The handler of a turn has ended. */
  finished(now: Instant, turn: Turn<Slot>, end: TurnEnd): readonly TurnsEffect<Slot>[] {
    const running = turn as Running<Slot>;
    this.#due.set(running, undefined);
    const { seat } = running;
    if (seat.isDropped) {
      this.#answer(running.from, { do: 'uncertain', counter: running.from.frame.counter });
      return this.#take();
    }
    seat.turn = undefined;
    seat.before = undefined;
    this.#apply(now, running, end);
    this.#next(now, seat);
    return this.#take();
  }

  wake(now: Instant): readonly TurnsEffect<Slot>[] {
    for (let due = this.#due.take(now); due !== undefined; due = this.#due.take(now)) {
      if (due.is === 'waiting') this.#refuse(due, 'over');
      else if (due.is === 'running') this.#abort(due, 'over');
      else this.#review(now, due);
    }
    return this.#take();
  }

  /** Deadlines that passed in the suspension are found late; whether keys are still held is asked of the tenure. */
  suspended(now: Instant): readonly TurnsEffect<Slot>[] {
    return this.wake(now);
  }

  /** Lets the state of an idle object leave the memory now. False if it does not exist, or has a turn. */
  canEvict(name: ObjectName, position: Hash): boolean {
    const record = this.#seats.get(position)?.records.get(recordKey(name));
    return record?.exists === true && record.seat.turn?.record !== record;
  }

  evict(_now: Instant, name: ObjectName, position: Hash): readonly TurnsEffect<Slot>[] {
    const record = this.#seats.get(position)?.records.get(recordKey(name));
    if (record !== undefined && this.canEvict(name, position)) this.#evict(record);
    return this.#take();
  }

  /** Keys of these positions are about to move: from now on a turn that is cut off can be taken back. */
  beginMove(includes: Includes): void {
    this.#moving = includes;
  }

  endMove(): void {
    this.#moving = undefined;
  }

  /**
   * The objects of these positions, as they were at the end of their last turn, and the floor. Undefined if that is not known: a turn under way
   * began before the move.
   */
  envelopes(
    now: Instant,
    includes: Includes,
  ): { objects: readonly Envelope<Slot>[]; floor: number } | undefined {
    const objects: Envelope<Slot>[] = [];
    for (const seat of this.#seats.values()) {
      if (!includes(seat.position)) continue;
      const envelopes = seat.turn === undefined ? this.#copy(now, seat) : seat.before;
      if (envelopes === undefined) return undefined;
      objects.push(...envelopes);
    }
    return { objects, floor: this.#floor };
  }

  /** The memory of these positions is gone: they were lost, or have another owner. */
  drop(includes: Includes): readonly TurnsEffect<Slot>[] {
    for (const seat of [...this.#seats.values()]) {
      if (!includes(seat.position)) continue;
      seat.isDropped = true;
      this.#seats.delete(seat.position);
      for (const waiting of [...seat.waiting]) this.#refuse(waiting, 'not-held');
      for (const record of seat.records.values()) {
        this.#due.set(record, undefined);
        if (record.exists) this.#count(record, -1);
      }
      if (seat.turn !== undefined) this.#abort(seat.turn, 'lost');
    }
    return this.#take();
  }

  /** Objects from their last owner, before the first call on any of them. */
  arrive(now: Instant, objects: readonly Envelope<Slot>[], floor: number): readonly TurnsEffect<Slot>[] {
    this.#floor = Math.max(this.#floor, floor);
    for (const { kind, key, position, exists, slot, results } of objects) {
      const seat = this.#seatAt(position);
      const record = this.#newRecord(now, seat, { kind, key }, slot);
      record.results = KeptResults.from(results, now, this.#options.bounds);
      if (exists) this.#begin(record);
      this.#settle(record);
    }
    return this.#take();
  }

  /** No turn begins any more; those under way are asked to stop. */
  close(): readonly TurnsEffect<Slot>[] {
    this.#isClosed = true;
    for (const seat of this.#seats.values()) {
      for (const waiting of [...seat.waiting]) this.#refuse(waiting, 'closed');
      if (seat.turn !== undefined) this.#abort(seat.turn, 'closed');
    }
    return this.#take();
  }

  #take(): readonly TurnsEffect<Slot>[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  // Frames.

  #hearCall(now: Instant, link: string, caller: string, frame: CallFrame): void {
    const why = this.#refusalAtOnce(frame);
    const { counter, position } = frame;
    if (why !== undefined) {
      this.#effects.push({ do: 'send', link, message: { do: 'refused', counter, why } });
      return;
    }
    const seat = this.#seatAt(position);
    const until = later(now, frame.leftMs);
    const waiting: Waiting = { is: 'waiting', seat, frame, link, caller, until, dueAt: undefined, place: -1 };
    seat.waiting.add(waiting);
    this.#due.set(waiting, until);
    this.#next(now, seat);
  }

  #refusalAtOnce({ kind, name, position, through }: CallFrame): Refusal | undefined {
    if (this.#isClosed) return 'closed';
    const rules = this.#options.kinds.get(kind);
    if (rules === undefined || !(rules.calls.has(name) || rules.reads.has(name))) return 'no-such-call';
    if (through.includes(position)) return 'cycle';
    return through.length >= THROUGH_MAX ? 'too-far' : undefined;
  }

  #hearCancel(link: string, { counter, position, why }: CancelFrame): void {
    const seat = this.#seats.get(position);
    if (seat === undefined) return;
    const isMeant = (from: Waiting): boolean => from.link === link && from.frame.counter === counter;
    for (const waiting of seat.waiting) if (isMeant(waiting)) this.#refuse(waiting, why);
    if (seat.turn !== undefined && isMeant(seat.turn.from)) this.#abort(seat.turn, why);
    this.#forgetSeat(seat);
  }

  #hearConfirm(now: Instant, caller: string, { results }: ConfirmFrame): void {
    for (const { position, counter, ...name } of results) {
      const record = this.#seats.get(position)?.records.get(recordKey(name));
      if (record === undefined) continue;
      record.results.confirm(caller, counter);
      this.#review(now, record);
    }
  }

  // Turns.

  /** Begins the next turn, if none is under way. */
  #next(now: Instant, seat: Seat<Slot>): void {
    for (const waiting of seat.waiting) {
      if (seat.turn !== undefined) return;
      this.#leave(waiting);
      if (this.#callerOf.get(waiting.link) !== undefined) this.#decide(now, seat, waiting);
    }
    this.#forgetSeat(seat);
  }

  #decide(now: Instant, seat: Seat<Slot>, waiting: Waiting): void {
    const { frame } = waiting;
    const record = seat.records.get(recordKey(frame));
    const isRead = this.#options.kinds.get(frame.kind)?.reads.has(frame.name) === true;
    const number = this.#options.tenure.numberOf(seat.position, now);
    const message =
      this.#whyNotNow(now, seat, waiting) ?? (isRead ? undefined : this.#whyNotAgain(record, waiting));
    if (message !== undefined) this.#answer(waiting, message);
    else this.#run(now, record ?? this.#newRecord(now, seat, frame), waiting, number ?? frame.number, isRead);
  }

  #whyNotNow(now: Instant, seat: Seat<Slot>, { frame, until }: Waiting): ToCaller | undefined {
    const { counter, number } = frame;
    if (!this.#options.tenure.isContinuous(seat.position, number, now))
      return { do: 'refused', counter, why: 'not-held' };
    return now >= until ? { do: 'refused', counter, why: 'over' } : undefined;
  }

  /** The kept result, if the call ran; `unknown`, if it may have run; undefined, if it must run. */
  #whyNotAgain(record: ObjectRecord<Slot> | undefined, waiting: Waiting): ToCaller | undefined {
    const { frame, caller } = waiting;
    const { counter } = frame;
    const answer = record?.results.find(caller, counter);
    if (answer !== undefined) return { do: 'reply', counter, answer };
    const why = this.#whyUnknown(record, frame, caller);
    if (why !== undefined) return { do: 'unknown', counter, why };
    const { maxObjects } = present(this.#options.kinds.get(frame.kind), 'a kind that was checked');
    const isFull = record?.exists !== true && this.sizeOf(frame.kind) >= maxObjects;
    return isFull ? { do: 'refused', counter, why: 'full' } : undefined;
  }

  #whyUnknown(
    record: ObjectRecord<Slot> | undefined,
    { isRepeated, isIdempotent, hasLost, counter, first }: CallFrame,
    caller: string,
  ): 'forgotten' | 'lost' | undefined {
    if (!isRepeated || isIdempotent) return undefined;
    const isForgotten =
      record === undefined ? first <= this.#floor : record.results.isForgotten(caller, counter, first);
    if (isForgotten) return 'forgotten';
    return hasLost ? 'lost' : undefined;
  }

  #run(now: Instant, record: ObjectRecord<Slot>, from: Waiting, number: number, isRead: boolean): void {
    const { seat } = record;
    if (this.#moving?.(seat.position) === true) seat.before = this.#copy(now, seat);
    if (record.isEvicted) record.isEvicted = false;
    const { frame, until } = from;
    const turn: Running<Slot> = {
      ...{ is: 'running', seat, record, from, number, isRead, until, dueAt: undefined, place: -1 },
      ...{ kind: frame.kind, key: frame.key, position: seat.position, name: frame.name, args: frame.args },
      ...{ isNew: !record.exists, slot: record.slot, through: [...frame.through, seat.position] },
    };
    seat.turn = turn;
    this.#due.set(record, undefined);
    this.#due.set(turn, until);
    this.#effects.push({ do: 'run', turn });
  }

  /** The end of a turn whose memory counts. Whether its key is held now decides only what is said. */
  #apply(now: Instant, running: Running<Slot>, { answer, change }: TurnEnd): void {
    const { record, seat, from, number, isRead } = running;
    const { counter } = from.frame;
    const isHeld = this.#options.tenure.isContinuous(seat.position, number, now);
    record.usedAt = now;
    if (!isRead) {
      if (change === 'kept' && !record.exists) this.#begin(record);
      if (change === 'deleted') this.#end(record);
      record.touchedAt = now;
      record.results.keep(from.caller, counter, answer, number, now);
    }
    this.#answer(from, isHeld ? { do: 'reply', counter, answer } : { do: 'uncertain', counter });
    this.#settle(record);
  }

  #refuse(waiting: Waiting, why: Refusal): void {
    this.#leave(waiting);
    this.#answer(waiting, { do: 'refused', counter: waiting.frame.counter, why });
  }

  #answer({ link }: Waiting, message: ToCaller): void {
    if (this.#callerOf.has(link)) this.#effects.push({ do: 'send', link, message });
  }

  #abort(turn: Running<Slot>, why: AbortReason): void {
    this.#due.set(turn, undefined);
    this.#effects.push({ do: 'abort', turn, why });
  }

  #leave(waiting: Waiting): void {
    waiting.seat.waiting.delete(waiting);
    this.#due.set(waiting, undefined);
  }

  // Objects.

  #seatAt(position: Hash): Seat<Slot> {
    let seat = this.#seats.get(position);
    if (seat === undefined) {
      const [waiting, records] = [new Set<Waiting>(), new Map<string, ObjectRecord<Slot>>()];
      seat = { position, waiting, records, turn: undefined, before: undefined, isDropped: false };
      this.#seats.set(position, seat);
    }
    return seat;
  }

  #newRecord(now: Instant, seat: Seat<Slot>, { kind, key }: ObjectName, slot?: Slot): ObjectRecord<Slot> {
    const name: ObjectName = { kind, key };
    const record: ObjectRecord<Slot> = {
      ...{ is: 'record', seat, name, exists: false, isEvicted: false, dueAt: undefined, place: -1 },
      slot: slot ?? this.#options.newSlot(name),
      results: new KeptResults(this.#floor, this.#options.bounds),
      ...{ touchedAt: now, usedAt: now },
    };
    seat.records.set(recordKey(name), record);
    return record;
  }

  #begin(record: ObjectRecord<Slot>): void {
    record.exists = true;
    this.#count(record, 1);
  }

  #count({ name: { kind } }: ObjectRecord<Slot>, by: number): void {
    this.#sizes.set(kind, this.sizeOf(kind) + by);
  }

  /** The state ends; the results stay. */
  #end(record: ObjectRecord<Slot>): void {
    if (record.exists) this.#count(record, -1);
    record.exists = false;
    record.slot = this.#options.newSlot(record.name);
  }

  #evict(record: ObjectRecord<Slot>): void {
    record.isEvicted = true;
    this.#effects.push({ do: 'evict', slot: record.slot, name: record.name });
  }

  /** Results whose time is over, a state whose time is over, a state that nobody uses. */
  #review(now: Instant, record: ObjectRecord<Slot>): void {
    if (record.seat.turn?.record === record) return; // Looked at again when the turn has ended.
    record.results.dropDue(now);
    const { endsAt, idleAt } = this.#times(record);
    if (endsAt !== undefined && now >= endsAt) this.#end(record);
    else if (idleAt !== undefined && now >= idleAt) this.#evict(record);
    this.#settle(record);
  }

  /** Forgets a record of which nothing is left but a number, or says when to look at it next. */
  #settle(record: ObjectRecord<Slot>): void {
    const { seat, results } = record;
    if (!record.exists && results.isEmpty) {
      this.#floor = Math.max(this.#floor, results.highestDropped);
      this.#due.set(record, undefined);
      seat.records.delete(recordKey(record.name));
      this.#forgetSeat(seat);
      return;
    }
    const { endsAt, idleAt } = this.#times(record);
    this.#due.set(record, soonest(results.dueAt, soonest(endsAt, idleAt)));
  }

  #times({ name, exists, isEvicted, touchedAt, usedAt }: ObjectRecord<Slot>): {
    readonly endsAt: Instant | undefined;
    readonly idleAt: Instant | undefined;
  } {
    if (!exists) return { endsAt: undefined, idleAt: undefined };
    const { ttlMs, idleAfterMs } = present(this.#options.kinds.get(name.kind), 'the kind of an object');
    const idleAt = isEvicted ? undefined : finite(later(usedAt, idleAfterMs));
    return { endsAt: finite(later(touchedAt, ttlMs)), idleAt };
  }

  #forgetSeat(seat: Seat<Slot>): void {
    if (seat.records.size > 0 || seat.waiting.size > 0 || seat.turn !== undefined || seat.isDropped) return;
    this.#seats.delete(seat.position);
  }

  #copy(now: Instant, seat: Seat<Slot>): readonly Envelope<Slot>[] {
    return [...seat.records.values()].map(({ name, exists, slot, results }) => ({
      ...name,
      ...{ position: seat.position, exists, slot: this.#options.copySlot(slot), results: results.copy(now) },
    }));
  }
}

const finite = (at: Instant): Instant | undefined => (at === Number.POSITIVE_INFINITY ? undefined : at);
