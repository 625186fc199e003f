/**
 * One attempt of a source to bring the state of a ticket to the target: one line, one snapshot, one count of frames.
 *
 *     dialling ─► proving ─► naming ─► snapshot ─► rounds ─► following ─► sealed
 *                                                    ▲          │
 *                                                    └──resume──┘
 *
 * **Nothing is sent before the target is proved** but the hello, and nothing of the state before the target has proved this source too, and reads all of its names.
 *
 * **Nothing is missing in the frames of a sealed attempt.** Each state notes its changes from before it reads the first item of its snapshot. What was
 * read from the snapshot, and what `changes` gave, waits in one queue, and leaves it in that order; so a later form of an item comes after an earlier one. In
 * the turn of the freeze no reader or writer of the keys passes a check any more: then {@link Attempt.seal} takes the last changes of every state,
 * and makes frames of the whole queue.
 *
 * **Rounds.** While the snapshot was sent, items have changed; while those are sent, others do. A round is what has changed since the last one. If a
 * round is small, a short stop will do: fewer than 1,000 items, and no more bytes than the line takes in 30 ms. If the eighth is not, the keys
 * change faster than the line carries them. After the last round, changes follow every 20 ms, so that little is left for the stop whenever it comes.
 *
 * **Back-pressure.** At most 4 MiB of frames are unacknowledged, and a target acknowledges what it has staged. One chunk leaves in a turn of the event loop,
 * because encoding it takes time from requests; but the frames of the stop leave at once, as no request to these keys can be served before.
 *
 * A peer that is alive but has nothing to take for a long time hears an empty chunk now and then. It goes through the stage like any other, so
 * the acknowledgement shows that the target is well.
 */

import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import { type LeaseholdError, MalformedMessageError, RefusedError } from '../../../runtime/errors.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { Signer, Verifier } from '../../../runtime/signing.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import { type AtEndOfTurn, OncePerTurn } from '../../../runtime/turn.ts';
import { TransportClosedError } from '../../../node/tcp/errors.ts';
import { isTransferProof, proveTransfer, type TransferFacts } from '../../core/moves/proof.ts';
import {
  CHUNK_ITEMS_MAX,
  type Digest,
  decodeFromTarget,
  encodeFromSource,
  type FromSource,
  type FromTarget,
  WINDOW_BYTES,
} from '../../wire/transfer.ts';
import { type CarriedState, reason, Uncarriable } from './carried-state.ts';
import type { Carriage, DialledEnd, Line } from './carriage.ts';
import { FrameDigest, isSameDigest } from './frame-digest.ts';
import { type Chunk, ItemQueue } from './item-queue.ts';
import type { SendLimits } from './send-limits.ts';

const ROUNDS_MAX = 8;
/** So few that a short stop will do. */
const FEW_ITEMS = 1_000;
/** So much is little on any line. */
const FEW_BYTES = 64 * 1024;
const STOP_MS = 30;
const FOLLOW_EVERY_MS = 20;
/** Of a snapshot, in one turn. */
const BATCHES_PER_TURN = 64;
/** The most that a frame has besides its items, and besides 5 bytes an item. */
const HEAD_BYTES = 32;

export interface AttemptDependencies {
  readonly pool: string;
  readonly signer: Signer;
  readonly verifier: Verifier;
  readonly carriage: Carriage;
  readonly runtime: Runtime;
  readonly atEndOfTurn: AtEndOfTurn;
  /** 16 random bytes, in hexadecimal. */
  readonly newNonce: () => string;
  readonly limits: SendLimits;
  readonly stallTimeoutMs: number;
  /** Items and bytes of items that were sent. */
  counted(items: number, bytes: number): void;
}

/** What this attempt is for. */
export interface AttemptOrder {
  readonly ticket: string;
  readonly keys: RangeSet;
  readonly to: string;
  readonly toName: string;
  readonly address: string;
  readonly attempt: number;
  readonly states: readonly CarriedState[];
}

/** Told by an attempt. After `lost` and `failed` it tells nothing more. */
export interface AttemptListener {
  caughtUp(): void;
  acknowledged(digest: Digest): void;
  progressed(): void;
  /** The line is lost; another attempt may do better. */
  lost(why: string): void;
  /** Another attempt would end like this one. */
  failed(why: string): void;
}

type Phase =
  | 'dialling'
  | 'proving'
  | 'naming'
  | 'snapshot'
  | 'rounds'
  | 'following'
  | 'sealed'
  | 'acknowledged'
  | 'over';

interface Sent {
  readonly sequence: number;
  readonly bytes: number;
  /** Whether its acknowledgement means that the stream goes on, and not only that the target is alive. */
  readonly isProgress: boolean;
}

export class Attempt implements DialledEnd {
  readonly #order: AttemptOrder;
  readonly #given: AttemptDependencies;
  readonly #listener: AttemptListener;
  readonly #queue: ItemQueue;
  readonly #frames = new FrameDigest();
  readonly #facts: Omit<TransferFacts, 'channel'>;
  readonly #dialled: Disposable;
  readonly #pump: OncePerTurn;
  readonly #soon = (): void => this.#pump.soon();
  readonly #reading = new AbortController();
  #phase: Phase = 'dialling';
  #line: Line | undefined;
  #isTargetProved = false;
  /** Taken from the queue, but not sent yet for want of room or time. */
  #chunk: Chunk | undefined;
  /** Frames of the stop that wait for the window. */
  #stop: { readonly frame: Uint8Array; readonly sequence: number }[] = [];
  #sealed: Digest | undefined;
  #unacknowledged: Sent[] = [];
  #unacknowledgedBytes = 0;
  /** States whose snapshot was begun: the first so many. */
  #begun = 0;
  #iterator: AsyncIterator<readonly unknown[]> | undefined;
  #isReading = false;
  #batchesInTurn = 0;
  #round = 0;
  #roundItems = 0;
  #bytesBeforeRound = 0;
  #bytesSent = 0;
  /** For the bandwidth: how long anything was unacknowledged, and how much was acknowledged. */
  #busyMs = 0;
  #busySince: Instant | undefined;
  #bytesAcknowledged = 0;
  #progressAt: Instant;
  #sentAt: Instant;
  #throttled: Disposable | undefined;
  #following: Disposable | undefined;
  #looking: Disposable | undefined;

  constructor(order: AttemptOrder, given: AttemptDependencies, listener: AttemptListener) {
    this.#order = order;
    this.#given = given;
    this.#listener = listener;
    this.#queue = new ItemQueue(order.states);
    this.#pump = new OncePerTurn(given.atEndOfTurn, () => this.#guarded(() => this.#send()));
    const { ticket, to, toName, address } = order;
    const { pool, signer, runtime, carriage } = given;
    this.#facts = { nonce: given.newNonce(), pool, ticket, from: signer.incarnation, to };
    this.#progressAt = this.#sentAt = runtime.now();
    this.#look();
    this.#dialled = carriage.dial(address, toName, this);
  }

  /** The states whose snapshot was begun. */
  get begun(): readonly CarriedState[] {
    return this.#order.states.slice(0, this.#begun);
  }

  get bytesSent(): number {
    return this.#bytesSent;
  }

  // The line.

  /** @internal */
  opened(line: Line): void {
    const { ticket, from, to, nonce } = this.#facts;
    this.#line = line;
    this.#phase = 'proving';
    this.#progress();
    this.#say({ kind: 'hello', ticket, from, to, nonce, attempt: this.#order.attempt });
  }

  /** @internal */
  closed(why: LeaseholdError): void {
    if (this.#phase === 'over' || this.#phase === 'acknowledged') return;
    const { address } = this.#order;
    const told = `the connection to ${address} is over: ${reason(why)}`;
    if (why.retryable) this.#end(() => this.#listener.lost(told));
    else this.#fail(told);
  }

  /** @internal */
  received(frame: Uint8Array): void {
    this.#guarded(() => this.#hear(decodeFromTarget(frame)));
  }

  #hear(message: FromTarget): void {
    if (this.#phase === 'over' || this.#phase === 'acknowledged') return;
    switch (message.kind) {
      case 'refused':
        this.#fail(`${this.#order.address} refuses (${message.code}): ${reason(message.why)}`);
        return;
      case 'proof':
        this.#prove(message);
        return;
      case 'ready':
        if (this.#phase !== 'proving' || !this.#isTargetProved) throw outOfTurn(message.kind);
        this.#phase = 'naming';
        this.#progress();
        this.#sendFrame({
          kind: 'names',
          sequence: this.#frames.next,
          names: this.#order.states.map(({ name, version }) => ({ name, version })),
        });
        return;
      case 'acknowledged':
        this.#acknowledge(message.sequence);
        return;
      case 'staged':
        this.#heardStaged(message.digest);
        return;
    }
  }

  #prove(proof: FromTarget & { readonly kind: 'proof' }): void {
    const line = this.#line;
    if (this.#phase !== 'proving' || this.#isTargetProved || line === undefined) throw outOfTurn('proof');
    const { signer, verifier } = this.#given;
    const facts: TransferFacts = { ...this.#facts, channel: line.channel };
    if (!isTransferProof(proof, 'target', facts, verifier)) {
      this.#fail(`the process at ${this.#order.address} is not the target: it did not prove its incarnation`);
      return;
    }
    this.#isTargetProved = true;
    this.#progress();
    this.#say({ kind: 'proof', ...proveTransfer(signer, 'source', facts) });
  }

  #acknowledge(sequence: number): void {
    const last = this.#unacknowledged.at(-1);
    if (last === undefined || sequence > last.sequence) throw outOfTurn(`acknowledgement ${sequence}`);
    let bytes = 0;
    while ((this.#unacknowledged[0]?.sequence ?? Number.POSITIVE_INFINITY) <= sequence) {
      const sent = this.#unacknowledged.shift() as Sent;
      bytes += sent.bytes;
      if (sent.isProgress) this.#progress();
    }
    this.#unacknowledgedBytes -= bytes;
    this.#bytesAcknowledged += bytes;
    if (this.#unacknowledged.length === 0) this.#rest();
    this.#given.limits.acknowledged(bytes);
    if (this.#phase === 'naming') this.#phase = 'snapshot';
    this.#listener.progressed();
    if (this.#phase === 'sealed') this.#sendStop();
    else this.#soon();
  }

  #heardStaged(digest: Digest): void {
    if (this.#phase !== 'sealed' || this.#sealed === undefined || this.#stop.length > 0)
      throw outOfTurn('staged');
    if (!isSameDigest(digest, this.#sealed)) {
      this.#fail(`${this.#order.address} has staged something else than was sent to it`);
      return;
    }
    this.#phase = 'acknowledged';
    this.#release();
    this.#listener.acknowledged(digest);
  }

  // What is sent.

  #say(message: FromSource): void {
    this.#line?.send(encodeFromSource(message));
    this.#sentAt = this.#given.runtime.now();
  }

  /** Sends the next thing, if there is room and time for it. Called at the end of a turn. */
  #send(): void {
    this.#batchesInTurn = 0;
    if (this.#phase !== 'snapshot' && this.#phase !== 'rounds' && this.#phase !== 'following') return;
    this.#chunk ??= this.#queue.take();
    if (this.#chunk !== undefined) {
      if (!this.#maySend(sizeOf(this.#chunk))) return;
      this.#sendChunk(this.#chunk, true);
      this.#chunk = undefined;
      this.#soon();
    }
    this.#goOn();
  }

  #maySend(bytes: number): boolean {
    if (!this.#fitsWindow(bytes)) return false; // Asked again at the next acknowledgement.
    const { limits, runtime } = this.#given;
    if (!limits.hasRoom(bytes, this.#soon)) return false;
    const waitMs = limits.waitMs();
    if (waitMs === 0) return true;
    this.#throttled ??= runtime.wakeAt(later(runtime.now(), waitMs), () => {
      this.#throttled = undefined;
      this.#soon();
    });
    return false;
  }

  #fitsWindow(bytes: number): boolean {
    return this.#unacknowledged.length === 0 || this.#unacknowledgedBytes + bytes <= WINDOW_BYTES;
  }

  #sendChunk(chunk: Chunk, isProgress: boolean): void {
    const { frame, sequence } = this.#framed(chunk);
    this.#put(frame, sequence, isProgress);
  }

  #framed({ place, items, bytes }: Chunk): { readonly frame: Uint8Array; readonly sequence: number } {
    const sequence = this.#frames.next;
    const frame = encodeFromSource({ kind: 'chunk', sequence, place, items });
    this.#frames.add(frame, items);
    this.#bytesSent += bytes;
    this.#given.counted(items.length, bytes);
    return { frame, sequence };
  }

  #sendFrame(message: FromSource & { readonly sequence: number }): void {
    const frame = encodeFromSource(message);
    this.#frames.add(frame);
    this.#put(frame, message.sequence, true);
  }

  #put(frame: Uint8Array, sequence: number, isProgress: boolean): void {
    const { limits, runtime } = this.#given;
    this.#busySince ??= runtime.now();
    this.#unacknowledged.push({ sequence, bytes: frame.length, isProgress });
    this.#unacknowledgedBytes += frame.length;
    limits.left(frame.length);
    this.#line?.send(frame);
    this.#sentAt = runtime.now();
  }

  // The snapshot, and what changes.

  /** Fetches more to send, or ends a round. */
  #goOn(): void {
    if (this.#phase === 'snapshot') {
      this.#read();
      return;
    }
    const isSent = this.#chunk === undefined && this.#queue.size === 0;
    if (this.#phase !== 'rounds' || !isSent || this.#unacknowledged.length > 0) return;
    if (this.#round > 0 && this.#isRoundSmall()) this.#follow();
    else if (this.#round === ROUNDS_MAX)
      this.#fail(
        `too busy: after ${ROUNDS_MAX} rounds ${this.#roundItems} items still change while as many are sent`,
      );
    else {
      this.#round += 1;
      this.#bytesBeforeRound = this.#bytesSent;
      this.#roundItems = this.#takeChanges();
      this.#progress();
      this.#soon();
    }
  }

  /** Reads one more batch, if there is room for it in the queue. */
  #read(): void {
    if (this.#isReading || this.#queue.size >= CHUNK_ITEMS_MAX) return;
    const iterator = (this.#iterator ??= this.#beginSnapshot());
    if (iterator === undefined) {
      this.#phase = 'rounds';
      this.#soon();
      return;
    }
    this.#isReading = true;
    this.#batchesInTurn += 1;
    const place = this.#begun - 1;
    promised(() => iterator.next()).then(
      (result) => this.#guarded(() => this.#hasRead(place, result)),
      (thrown: unknown) =>
        this.#guarded(() => {
          throw this.#snapshotFailed(place, thrown);
        }),
    );
  }

  #beginSnapshot(): AsyncIterator<readonly unknown[]> | undefined {
    const place = this.#begun;
    const next = this.#order.states[place];
    if (next === undefined) return undefined;
    this.#begun += 1;
    try {
      return next.state.snapshot(this.#order.keys, this.#reading.signal)[Symbol.asyncIterator]();
    } catch (thrown) {
      throw this.#snapshotFailed(place, thrown);
    }
  }

  #snapshotFailed(place: number, thrown: unknown): Uncarriable {
    return new Uncarriable(`the snapshot of ${this.#nameOf(place)} failed: ${reason(thrown)}; mend snapshot`);
  }

  #hasRead(place: number, { done, value }: IteratorResult<readonly unknown[]>): void {
    this.#isReading = false;
    if (this.#phase !== 'snapshot') return;
    if (done === true) {
      this.#iterator = undefined;
      this.#progress();
      this.#soon();
      return;
    }
    if (!Array.isArray(value)) throw this.#snapshotFailed(place, 'a batch is no array of items');
    if (value.length > 0) this.#progress();
    this.#queue.push(place, value);
    if (this.#batchesInTurn < BATCHES_PER_TURN && this.#queue.size < CHUNK_ITEMS_MAX) this.#read();
    this.#soon();
  }

  /** How many. */
  #takeChanges(): number {
    const { states, keys } = this.#order;
    const before = this.#queue.size;
    for (const [place, { name, state }] of states.entries()) {
      try {
        this.#queue.push(place, state.changes(keys));
      } catch (thrown) {
        throw new Uncarriable(`changes of ${name} failed: ${reason(thrown)}; mend changes`);
      }
    }
    return this.#queue.size - before;
  }

  #isRoundSmall(): boolean {
    if (this.#roundItems >= FEW_ITEMS) return false;
    const bytesPerMs = this.#busyMs > 0 ? this.#bytesAcknowledged / this.#busyMs : Number.POSITIVE_INFINITY;
    return this.#bytesSent - this.#bytesBeforeRound <= Math.max(FEW_BYTES, bytesPerMs * STOP_MS);
  }

  #follow(): void {
    this.#phase = 'following';
    this.#followLater();
    this.#listener.caughtUp();
  }

  #followLater(): void {
    const { runtime } = this.#given;
    this.#following = runtime.wakeAt(later(runtime.now(), FOLLOW_EVERY_MS), () =>
      this.#guarded(() => {
        this.#followLater();
        if (this.#chunk !== undefined || this.#queue.size > 0) return;
        if (this.#takeChanges() > 0) this.#soon();
      }),
    );
  }

  /** The stop took too long; `caughtUp` is told again. */
  resume(): void {
    if (this.#phase !== 'following') return;
    this.#phase = 'rounds';
    this.#round = 0;
    this.#following?.[Symbol.dispose]();
    this.#soon();
  }

  /**
   * In the turn of the freeze: makes the last frames.
   *
   * @throws {Uncarriable} if the last changes cannot be sent
   */
  seal(): Digest {
    if (this.#phase !== 'following') throw new Uncarriable('the snapshot is not sent yet');
    this.#takeChanges();
    this.#following?.[Symbol.dispose]();
    this.#throttled?.[Symbol.dispose]();
    this.#throttled = undefined;
    for (let chunk = this.#chunk ?? this.#queue.take(); chunk !== undefined; chunk = this.#queue.take())
      this.#stop.push(this.#framed(chunk));
    this.#chunk = undefined;
    const { digest, next: sequence } = this.#frames;
    this.#stop.push({ frame: encodeFromSource({ kind: 'last', sequence, digest }), sequence });
    this.#sealed = digest;
    this.#phase = 'sealed';
    this.#progress();
    this.#sendStop();
    return digest;
  }

  #sendStop(): void {
    for (let next = this.#stop[0]; next !== undefined; next = this.#stop[0]) {
      if (!this.#fitsWindow(next.frame.length)) return;
      this.#stop.shift();
      this.#put(next.frame, next.sequence, true);
    }
  }

  // Time.

  #progress(): void {
    this.#progressAt = this.#given.runtime.now();
  }

  #rest(): void {
    if (this.#busySince === undefined) return;
    this.#busyMs += this.#given.runtime.now() - this.#busySince;
    this.#busySince = undefined;
  }

  /** Looks four times in each time limit whether the stream goes on. */
  #look(): void {
    const { runtime, stallTimeoutMs } = this.#given;
    this.#looking = runtime.wakeAt(later(runtime.now(), stallTimeoutMs / 4), () => {
      this.#look();
      this.#guarded(() => this.#lookNow());
    });
  }

  #lookNow(): void {
    const { runtime, stallTimeoutMs } = this.#given;
    const now = runtime.now();
    const stalls = this.#whatStalls();
    if (stalls === undefined) this.#progress();
    else if (now >= later(this.#progressAt, stallTimeoutMs)) {
      this.#fail(`${stalls} made no progress for ${stallTimeoutMs} ms`);
      return;
    }
    const isSending = this.#phase === 'snapshot' || this.#phase === 'rounds' || this.#phase === 'following';
    const isQuiet = this.#unacknowledged.length === 0 && now >= later(this.#sentAt, stallTimeoutMs / 4);
    if (isSending && isQuiet) this.#sendChunk({ place: 0, items: [], bytes: 0 }, false);
  }

  /** What this attempt waits for; undefined while it waits for nothing, or for its own limits. */
  #whatStalls(): string | undefined {
    if (this.#isReading && this.#queue.size === 0 && this.#chunk === undefined)
      return `the snapshot of ${this.#nameOf(this.#begun - 1)}`;
    const isMeeting = this.#phase === 'dialling' || this.#phase === 'proving' || this.#phase === 'naming';
    const isWaiting = isMeeting || this.#unacknowledged.length > 0;
    return isWaiting ? `the target at ${this.#order.address}` : undefined;
  }

  #nameOf(place: number): string {
    return this.#order.states[place]?.name ?? 'the state';
  }

  // The end.

  /** Runs this unless the attempt is over; what is thrown ends it. */
  #guarded(run: () => void): void {
    if (this.#phase === 'over') return;
    try {
      run();
    } catch (thrown) {
      if (thrown instanceof MalformedMessageError)
        this.#fail(`${this.#order.address} speaks another protocol: ${reason(thrown)}`);
      else if (thrown instanceof Uncarriable || thrown instanceof RefusedError) this.#fail(thrown.message);
      else throw thrown;
    }
  }

  #fail(why: string): void {
    this.#end(() => this.#listener.failed(why));
  }

  #end(tell: () => void): void {
    if (this.#phase === 'over') return;
    this[Symbol.dispose]();
    tell();
  }

  #release(): void {
    for (const timer of [this.#throttled, this.#following, this.#looking]) timer?.[Symbol.dispose]();
    this.#given.limits.acknowledged(this.#unacknowledgedBytes);
    this.#unacknowledged = [];
    this.#unacknowledgedBytes = 0;
    this.#stop = [];
  }

  /** Tells nothing any more, and closes the line. */
  [Symbol.dispose](): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#release();
    this.#reading.abort();
    this.#line?.close(new TransportClosedError('the attempt is over'));
    this.#dialled[Symbol.dispose]();
    // It may have begun something that it wants to end; nobody waits for it, and its failure changes nothing.
    promised(() => this.#iterator?.return?.()).catch(() => {});
  }
}

const sizeOf = ({ items, bytes }: Chunk): number => HEAD_BYTES + 5 * items.length + bytes;

/** What is thrown at once is a rejection, too. */
const promised = async <T>(call: () => T | Promise<T>): Promise<T> => call();

const outOfTurn = (what: string): RefusedError =>
  new RefusedError('NOT_ALLOWED', `the target said ${what} out of turn`, { module: 'pool' });
