/**
 * Keys that move with their state, in a running process: what the core of an owner tells about them (`core/moves/seam.ts`), done.
 *
 *     core        stream ────────────────────► stop ──────────────────────► freeze ────► handed ────► departed
 *     carrier       └─ caughtUp ─┐                                            └─ sealed, acknowledged
 *     application                └─ onDepart ─┐  └─ work ends ─ onDepart ─┐
 *     said                                caughtUp                     stopped
 *
 * The carrier (`key-carrier.ts`) has the state and the connections. This file has the rest: it holds back guarded work while its keys are stopped,
 * and calls the application.
 *
 * **Why the next owner reads no old store.** `stopped` is said when no guarded work is under way on the keys and `onDepart` has been called after that, and
 * has not failed. From `stop` on no new guarded work begins, but for work that is awaited by work under way. In the last stop of a drain work may
 * still be under way: its signal was aborted, and from the freeze on it fails its last check.
 *
 * **Why no caller waits for ever.** Callers are held back from the stop until the ticket is over, by `abandon`, `resume`, `departed` or `returned`. The core
 * tells one of them, or the keys lapse or are dropped, which ends it too ({@link MovingKeys.over}). A caller's own wait has an end besides (`key-queue.ts`).
 *
 * What is called of the application is called in a turn of its own: the core must not be entered from within itself.
 */

import { AssertionError } from '../../../runtime/assert.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { Histogram } from '../../../runtime/metrics.ts';
import { pause } from '../../../runtime/pause.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { NumberedSpan } from '../../core/messages.ts';
import type { MoveEffect, MoveInput } from '../../core/moves/seam.ts';
import type { HeldKeys } from '../owner/held-keys.ts';
import type { KeyQueue } from '../owner/key-queue.ts';
import type { UpcallContext } from '../owner/upcalls.ts';
import type { Carried, KeyCarrier } from './key-carrier.ts';

/** What `onDepart` is told besides the ranges. */
export interface DepartContext extends UpcallContext {
  /** No guarded work is under way, nor begins: what is flushed now is the last there is. */
  readonly isStopped: boolean;
}

/** A function of the application for keys that are about to move. */
export type DepartUpcall = (ranges: RangeSet, context: DepartContext) => Promise<void> | void;

/** @internal */
export interface MovingKeysAround {
  /** Undefined if no other owner can reach this one: then no ticket comes. */
  readonly carrier: KeyCarrier | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly queue: KeyQueue;
  readonly held: HeldKeys;
  readonly onDepart: DepartUpcall | undefined;
  /** How many are sent at a time. */
  readonly maxAtOnce: number;
  /** Tells the core. */
  say(input: MoveInput): void;
}

/** All but the news of keys that have arrived, which are served like keys that were granted. */
type Executed = Exclude<MoveEffect, { do: 'arriving' }>;
type Stream = Extract<MoveEffect, { do: 'stream' }>;

interface Departure {
  /** Less those of which it is known what became of them. */
  ranges: RangeSet;
  /** Not told to the carrier yet, because others are under way. */
  waiting: Stream | undefined;
  /** The call of `onDepart` while the keys are served, so that little is left for the stop. */
  firstFlush: 'to come' | 'running' | 'done';
  /** Since when callers wait; undefined: they do not. */
  heldSince: Instant | undefined;
  /** Of the present call of `onDepart`, or of the present stop. */
  stop: AbortController;
  isWaitingForWork: boolean;
  /** The target has everything. */
  isHanded: boolean;
}

/** The part of the last stop that work under way has to end in; the rest is for `onDepart`. */
const WORK_SHARE = 0.5;
const STOP_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const NOTHING: Carried = { items: 0, bytes: 0 };

/** @internal */
export class MovingKeys {
  readonly #around: MovingKeysAround;
  readonly #departures = new Map<string, Departure>();
  /** Ranges, since the process began. */
  movedOut = 0;
  movedIn = 0;
  /** For how many seconds callers had to wait. */
  readonly stops: Histogram = new Histogram(STOP_BOUNDS);

  constructor(around: MovingKeysAround) {
    this.#around = around;
  }

  /** Whether other owners can reach this one. */
  get canMove(): boolean {
    return this.#around.carrier !== undefined;
  }

  get sent(): Carried {
    return this.#around.carrier?.sent ?? NOTHING;
  }

  get received(): Carried {
    return this.#around.carrier?.received ?? NOTHING;
  }

  /** Whether a move waits for the end of guarded work. */
  get isWaitingForWork(): boolean {
    return [...this.#departures.values()].some((departure) => departure.isWaitingForWork);
  }

  execute(effect: Executed): void {
    switch (effect.do) {
      case 'stream':
        this.#stream(effect);
        break;
      case 'stop':
        void this.#stop(effect);
        break;
      case 'resume':
        this.#carrier.execute(effect);
        this.#letGoOn(effect.ticket, 'the keys are served on');
        break;
      case 'freeze':
        this.#carrier.execute(effect);
        break;
      case 'handed':
        this.#hand(effect.ticket);
        this.#carrier.execute(effect);
        break;
      case 'abandon':
        this.#abandon(effect);
        break;
      case 'receive':
      case 'discard':
        this.#carrier.execute(effect);
        break;
      case 'commit':
        this.#carrier.execute(effect);
        this.movedIn += effect.spans.length;
        break;
      case 'departed':
        this.#carrier.execute(effect);
        this.movedOut += effect.spans.length;
        this.over(effect.spans);
        break;
      case 'returned':
        this.#carrier.execute(effect);
        this.over(effect.spans);
        break;
    }
  }

  /** The carrier says something. The first time that little is left to send, the application is asked to leave little to flush. */
  hear(input: MoveInput): void {
    const departure = input.is === 'caughtUp' ? this.#departures.get(input.ticket) : undefined;
    const { onDepart, say } = this.#around;
    if (departure === undefined || departure.firstFlush === 'done' || onDepart === undefined) say(input);
    else if (departure.firstFlush === 'to come') void this.#flushFirst(input, departure, onDepart);
  }

  /** Nothing of these keys moves any more; callers that wait go on, or find that the keys are not here. */
  over(spans: readonly Span[]): void {
    const ranges = RangeSet.of(spans);
    this.#around.queue.release(ranges);
    for (const [ticket, departure] of [...this.#departures]) {
      if (!departure.isHanded) continue;
      departure.ranges = departure.ranges.subtract(ranges);
      if (!departure.ranges.isEmpty) continue;
      this.#letGoOn(ticket, 'the move is over');
      this.#departures.delete(ticket);
    }
  }

  /** These keys are lost, also if they were handed over: the carrier waits for no answer of the table any more. */
  dropped(spans: readonly NumberedSpan[]): void {
    const ranges = RangeSet.of(spans);
    const isHanded = [...this.#departures.values()].some(
      (departure) => departure.isHanded && !departure.ranges.intersect(ranges).isEmpty,
    );
    if (isHanded) this.#carrier.execute({ do: 'departed', spans });
    this.over(spans);
  }

  close(): void {
    for (const { stop } of this.#departures.values()) stop.abort(staying('the owner is closed'));
    this.#departures.clear();
  }

  get #carrier(): KeyCarrier {
    const { carrier } = this.#around;
    if (carrier === undefined)
      throw new AssertionError('an owner that is reached by none was told of a move');
    return carrier;
  }

  #stream(effect: Stream): void {
    const isNext = this.#hasRoom;
    this.#departures.set(effect.ticket, {
      ...{ ranges: RangeSet.of([effect.span]), waiting: isNext ? undefined : effect },
      ...{ firstFlush: 'to come', heldSince: undefined, stop: new AbortController() },
      ...{ isWaitingForWork: false, isHanded: false },
    });
    if (isNext) this.#carrier.execute(effect);
  }

  /** One that is stopped waits for work, and has next to nothing to send. */
  get #hasRoom(): boolean {
    const sending = [...this.#departures.values()].filter(
      ({ waiting, heldSince, isHanded }) => waiting === undefined && heldSince === undefined && !isHanded,
    );
    return sending.length < this.#around.maxAtOnce;
  }

  /** One is over, or needs no bandwidth any more. */
  #streamNext(): void {
    for (const departure of this.#departures.values()) {
      const { waiting } = departure;
      if (waiting === undefined) continue;
      if (!this.#hasRoom) return;
      departure.waiting = undefined;
      this.#carrier.execute(waiting);
    }
  }

  async #stop({ ticket, by, isLast }: Extract<MoveEffect, { do: 'stop' }>): Promise<void> {
    const { queue, held, runtime, onDepart, say } = this.#around;
    const departure = this.#departures.get(ticket);
    if (departure === undefined) return;
    const { ranges } = departure;
    const stop = new AbortController();
    departure.stop = stop;
    departure.heldSince ??= runtime.now();
    queue.hold(ranges);
    this.#streamNext();
    if (isLast) held.lost(ranges);
    departure.isWaitingForWork = true;
    const ends = [queue.idle(ranges, stop.signal)];
    if (isLast) ends.push(pause(runtime, (by - runtime.now()) * WORK_SHARE, stop.signal).catch(() => {}));
    await Promise.race(ends);
    if (stop.signal.aborted) return; // Another stop may wait by now.
    departure.isWaitingForWork = false;
    const why = onDepart && (await this.#depart(ranges, onDepart, stop.signal, true));
    if (stop.signal.aborted) return;
    say(why === undefined ? { is: 'stopped', ticket } : { is: 'stopFailed', ticket, why });
  }

  async #flushFirst(input: MoveInput, departure: Departure, onDepart: DepartUpcall): Promise<void> {
    const { signal } = departure.stop;
    departure.firstFlush = 'running';
    const why = await this.#depart(departure.ranges, onDepart, signal, false);
    departure.firstFlush = 'done';
    if (signal.aborted) return;
    this.#around.say(why === undefined ? input : { is: 'failed', ticket: input.ticket, why });
  }

  /** Why it failed. */
  async #depart(
    ranges: RangeSet,
    onDepart: DepartUpcall,
    signal: AbortSignal,
    isStopped: boolean,
  ): Promise<string | undefined> {
    await Promise.resolve();
    if (signal.aborted) return undefined;
    try {
      await onDepart(ranges, { signal, isStopped });
      return undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      const why = `onDepart failed: ${String(error)}`;
      this.#around.logger.error('onDepart failed, so the keys do not move', { why: String(error) });
      return why;
    }
  }

  #hand(ticket: string): void {
    const departure = this.#departures.get(ticket);
    if (departure !== undefined) departure.isHanded = true;
    this.#streamNext();
  }

  #abandon(effect: Extract<MoveEffect, { do: 'abandon' }>): void {
    const { ticket, why } = effect;
    const isKnown = this.#departures.get(ticket)?.waiting === undefined;
    if (isKnown) this.#carrier.execute(effect);
    this.#around.logger.debug('keys do not move for now', { ticket, why });
    this.#letGoOn(ticket, why);
    this.#departures.delete(ticket);
    this.#streamNext();
  }

  /** Callers wait no longer. */
  #letGoOn(ticket: string, why: string): void {
    const departure = this.#departures.get(ticket);
    if (departure === undefined) return;
    departure.stop.abort(staying(why));
    departure.isWaitingForWork = false;
    if (departure.heldSince === undefined) return;
    this.stops.observe((this.#around.runtime.now() - departure.heldSince) / 1_000);
    departure.heldSince = undefined;
    this.#around.queue.release(departure.ranges);
  }
}

const staying = (why: string): DOMException =>
  new DOMException(`the keys do not move now: ${why}`, 'AbortError');
