/**
 * The state of one incarnation of an owner, and its way to other owners: a simple stream in place of the shell's transfer channel.
 *
 * A source sends numbered frames of an attempt: what is there, then what has changed, and in the turn of the freeze the last changes. It repeats
 * what is not acknowledged, and begins another attempt when that does not help. A target takes frames of a ticket that its core
 * was told of, from the owner that its core was told, in order, of the latest attempt; and acknowledges the last one with the digest of all.
 */

import { highOf, lowOf } from '../../../runtime/keys/position.ts';
import type { Transport } from '../../../runtime/runtime.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import type { Network } from '../../../sim/network.ts';
import type { World } from '../../../sim/world.ts';
import type { NumberedSpan } from '../../core/messages.ts';
import type { MoveInput, MovableName } from '../../core/moves/seam.ts';
import type { OwnerEffect } from '../../core/owner/owner.ts';
import type { CarriedIncarnation, Carrier, OwnerNode } from '../nodes.ts';
import { type Item, keysIn, mixed, POSITIONS, Store } from './items.ts';

interface Frame {
  readonly sequence: number;
  readonly items: readonly Item[];
  readonly isLast: boolean;
}

export type CarriedMessage =
  | {
      readonly kind: 'frame';
      readonly from: string;
      readonly to: string;
      readonly ticket: string;
      readonly attempt: number;
      /** Of the items. A target that does not read it has no use for them. */
      readonly version: number;
      readonly frame: Frame;
    }
  | {
      readonly kind: 'acknowledged';
      readonly to: string;
      readonly ticket: string;
      readonly attempt: number;
      readonly sequence: number;
      readonly digest: string | undefined;
    };

interface Stream {
  readonly ticket: string;
  readonly keys: readonly number[];
  readonly to: string;
  readonly address: string;
  attempt: number;
  queue: number[];
  dirty: Set<number>;
  frames: Frame[];
  acknowledged: number;
  digest: string;
  progressAt: Instant;
  phase: 'streaming' | 'stopping' | 'frozen';
  /** When the stop has to be over, and whether work under way is waited for. */
  by: Instant | undefined;
  isLastStop: boolean;
  isCaughtUp: boolean;
}

interface Stage {
  readonly from: string;
  attempt: number;
  next: number;
  digest: string;
  items: Map<number, Item>;
  isComplete: boolean;
}

const FRAME_KEYS = 3;
const PUMP_MS = 4;
const STUCK_MS = 120;
const MOST_ATTEMPTS = 3;
/** So little that a short stop will do. */
const FEW = 3;

/** What a world wants of its carriers. */
export interface CarrierWorld {
  readonly world: World;
  readonly transfers: Network<CarriedMessage>;
  wrote(key: number, version: number | undefined): void;
  told(node: OwnerNode, effect: OwnerEffect): void;
  tookUp(node: OwnerNode, spans: readonly NumberedSpan[]): void;
}

export class SimulatedCarrier implements Carrier {
  readonly store: Store = new Store();
  readonly #around: CarrierWorld;
  readonly #one: CarriedIncarnation;
  readonly #transport: Transport<CarriedMessage, CarriedMessage>;
  readonly #working = new Map<number, number>();
  readonly #streams = new Map<string, Stream>();
  readonly #stages = new Map<string, Stage>();
  readonly #names: readonly MovableName[];
  drainUntil: Instant | undefined;

  constructor(around: CarrierWorld, one: CarriedIncarnation, names: readonly MovableName[]) {
    this.#around = around;
    this.#one = one;
    this.#names = names;
    this.#transport = one.runtime.transport(around.transfers);
    this.#transport.listen((from, message) => this.#hear(from, message));
    this.mayMove(true);
  }

  /** Whether state can be brought here and taken away. */
  mayMove(may: boolean): void {
    const { core, node } = this.#one;
    core.transfer = may ? { address: node.name, names: this.#names } : undefined;
  }

  /** Hands everything over; what is left at the deadline is lost. */
  drain(forMs: number | undefined): void {
    const { node, runtime } = this.#one;
    if (forMs === undefined) {
      this.drainUntil = undefined;
      node.tell((core, now) => core.drain(undefined, now));
      return;
    }
    const until = later(runtime.now(), forMs);
    this.drainUntil = until;
    node.tell((core, now) => core.drain(until, now));
    runtime.wakeAt(until, () => {
      if (this.drainUntil === until) node.leave();
    });
  }

  /** A target runs out of memory, and drops what it has staged. */
  dropImports(): boolean {
    let hasDropped = false;
    for (const [ticket, stage] of this.#stages) {
      if (!stage.isComplete) continue;
      hasDropped = true;
      this.#stages.set(ticket, newStage(stage.from));
      this.#say({ is: 'unstaged', ticket });
    }
    return hasDropped;
  }

  hasImport(ticket: string, digest: string): boolean {
    const stage = this.#stages.get(ticket);
    return stage?.isComplete === true && stage.digest === digest;
  }

  /** In the middle of something that a fault can disturb. */
  get isBusy(): boolean {
    const isStopped = [...this.#streams.values()].some(({ phase }) => phase !== 'streaming');
    return isStopped || [...this.#stages.values()].some(({ isComplete }) => isComplete);
  }

  get hasHanded(): boolean {
    return this.#one.core.pieces.some(({ phase }) => phase === 'handed');
  }

  /** Work on a key: checks, takes a while, checks again, writes. */
  work(key: number, version: number | undefined, ms: number, isGuarded: boolean): boolean {
    const { node, runtime } = this.#one;
    const at = POSITIONS[key] ?? 0n;
    const number = node.check(at);
    if (number === undefined) return false;
    const isStopping = this.#one.core.pieceAt(highOf(at), lowOf(at))?.phase === 'stopping';
    if (isGuarded && isStopping) return false; // It waits until the table has answered.
    if (isGuarded) this.#working.set(key, (this.#working.get(key) ?? 0) + 1);
    runtime.wakeAt(later(runtime.now(), ms), () => {
      if (isGuarded) this.#working.set(key, (this.#working.get(key) ?? 1) - 1);
      if (!node.checkContinuous(at, number)) return;
      this.store.set([key, version]);
      this.#touched(key);
      this.#around.wrote(key, version);
    });
    return true;
  }

  #touched(key: number): void {
    for (const stream of this.#streams.values()) if (stream.keys.includes(key)) stream.dirty.add(key);
  }

  takenUp(spans: readonly NumberedSpan[]): void {
    this.#around.tookUp(this.#one.node, spans);
  }

  execute(effect: OwnerEffect): void {
    this.#around.told(this.#one.node, effect);
    switch (effect.do) {
      case 'dropped':
      case 'departed':
        this.store.forget(effect.spans);
        break;
      case 'stream':
        this.#begin({ ...effect, keys: keysIn([effect.span]) });
        break;
      case 'stop':
      case 'resume':
      case 'freeze':
      case 'handed':
      case 'abandon':
        this.#steer(effect);
        break;
      case 'receive':
        this.#stages.set(effect.ticket, newStage(effect.from));
        break;
      case 'commit': {
        const items = this.#stages.get(effect.ticket)?.items ?? new Map<number, Item>();
        for (const key of keysIn(effect.spans)) this.store.set(items.get(key) ?? [key, undefined]);
        this.#stages.delete(effect.ticket);
        break;
      }
      case 'discard':
        this.#stages.delete(effect.ticket);
        break;
    }
  }

  #steer(effect: OwnerEffect & { readonly do: 'stop' | 'resume' | 'freeze' | 'handed' | 'abandon' }): void {
    const stream = this.#streams.get(effect.ticket);
    if (stream === undefined) return;
    if (effect.do === 'stop') {
      stream.phase = 'stopping';
      stream.by = effect.by;
      stream.isLastStop = effect.isLast;
    } else if (effect.do === 'resume') {
      stream.phase = 'streaming';
      stream.isCaughtUp = false;
    } else if (effect.do === 'freeze') {
      stream.phase = 'frozen';
      this.#send(stream, [...stream.dirty], true);
      this.#say({ is: 'sealed', ticket: effect.ticket, digest: stream.digest });
    } else this.#streams.delete(effect.ticket);
  }

  #begin({ ticket, keys, to, address }: Pick<Stream, 'ticket' | 'keys' | 'to' | 'address'>): void {
    const stream: Stream = {
      ...{ ticket, keys, to, address, attempt: 0, queue: [], dirty: new Set(), frames: [], acknowledged: 0 },
      ...{ digest: '', progressAt: this.#one.runtime.now(), phase: 'streaming', by: undefined },
      ...{ isLastStop: false, isCaughtUp: false },
    };
    this.#streams.set(ticket, stream);
    this.#restart(stream);
  }

  #restart(stream: Stream): void {
    stream.attempt += 1;
    if (stream.attempt > MOST_ATTEMPTS) {
      this.#say({ is: 'failed', ticket: stream.ticket, why: 'three attempts failed' });
      return;
    }
    stream.queue = stream.keys.filter((key) => this.store.get(key) !== undefined);
    stream.dirty = new Set();
    stream.frames = [];
    stream.acknowledged = 0;
    stream.digest = '';
    stream.progressAt = this.#one.runtime.now();
    this.#pump(stream, stream.attempt);
  }

  #send(stream: Stream, keys: readonly number[], isLast: boolean): void {
    const items = keys.map((key): Item => [key, this.store.get(key)]);
    const frame = { sequence: stream.frames.length + 1, items, isLast };
    stream.digest = mixed(stream.digest, frame);
    stream.frames.push(frame);
    stream.dirty = new Set(isLast ? [] : [...stream.dirty].filter((key) => !keys.includes(key)));
    this.#push(stream, frame);
  }

  #push({ ticket, attempt, to, address }: Stream, frame: Frame): void {
    const from = this.#one.node.incarnation;
    const version = this.#names[0]?.version ?? 0;
    this.#transport.send(address, { kind: 'frame', from, to, ticket, attempt, version, frame });
  }

  #pump(stream: Stream, attempt: number): void {
    const { runtime } = this.#one;
    if (this.#streams.get(stream.ticket) !== stream || stream.attempt !== attempt) return;
    const isStuck = runtime.now() >= later(stream.progressAt, STUCK_MS);
    const isAcknowledged = stream.acknowledged === stream.frames.length;
    if (stream.phase === 'stopping') this.#tryToStop(stream);
    else if (stream.phase === 'streaming') {
      if (stream.queue.length > 0) this.#send(stream, stream.queue.splice(0, FRAME_KEYS), false);
      else if ((!isAcknowledged && isStuck) || this.#breaks(stream)) {
        this.#restart(stream);
        return;
      } else if (isAcknowledged && stream.dirty.size > FEW) this.#send(stream, [...stream.dirty], false);
      else if (isAcknowledged && !stream.isCaughtUp) {
        stream.isCaughtUp = true;
        this.#say({ is: 'caughtUp', ticket: stream.ticket });
      }
    }
    for (const frame of stream.frames.slice(stream.acknowledged))
      if (runtime.random() < 0.3) this.#push(stream, frame);
    runtime.wakeAt(later(runtime.now(), PUMP_MS), () => this.#pump(stream, attempt));
  }

  /** The connection breaks when everything was sent once: now and then, and only at the first attempt. */
  #breaks({ attempt, isCaughtUp, frames }: Stream): boolean {
    return attempt === 1 && !isCaughtUp && frames.length > 0 && this.#one.runtime.random() < 0.04;
  }

  #tryToStop({ ticket, keys, by, isLastStop }: Stream): void {
    const now = this.#one.runtime.now();
    const isAtWork = keys.some((key) => (this.#working.get(key) ?? 0) > 0);
    const isUrgent = isLastStop && by !== undefined && now >= later(by, -2 * PUMP_MS - 30);
    if (!isAtWork || isUrgent) this.#say({ is: 'stopped', ticket });
  }

  #hear(from: string, message: CarriedMessage): void {
    const { node, runtime } = this.#one;
    if (message.to !== node.incarnation) return;
    const { ticket, attempt } = message;
    if (message.kind === 'acknowledged') {
      const stream = this.#streams.get(ticket);
      if (stream === undefined || stream.attempt !== attempt) return;
      if (message.sequence > stream.acknowledged) stream.progressAt = runtime.now();
      stream.acknowledged = Math.max(stream.acknowledged, message.sequence);
      if (message.digest !== undefined) this.#say({ is: 'acknowledged', ticket, digest: message.digest });
      return;
    }
    const stage = this.#stages.get(ticket);
    if (stage === undefined || stage.from !== message.from) return;
    if (attempt > stage.attempt && !stage.isComplete) {
      stage.attempt = attempt;
      stage.next = 1;
      stage.digest = '';
      stage.items = new Map();
    }
    if (attempt !== stage.attempt) return;
    const isRead = this.#names.some(
      ({ version, reads }) => version === message.version || reads.includes(message.version),
    );
    this.#stageFrame(ticket, stage, message.frame, isRead);
    const digest = stage.isComplete ? stage.digest : undefined;
    const sequence = stage.next - 1;
    this.#transport.send(from, { kind: 'acknowledged', to: message.from, ticket, attempt, sequence, digest });
  }

  #stageFrame(ticket: string, stage: Stage, frame: Frame, isRead: boolean): void {
    if (stage.isComplete || frame.sequence !== stage.next) return;
    stage.next += 1;
    stage.digest = mixed(stage.digest, frame);
    for (const item of isRead ? frame.items : []) stage.items.set(item[0], item);
    if (!frame.isLast) return;
    stage.isComplete = true;
    this.#say({ is: 'staged', ticket, digest: stage.digest });
  }

  #say(input: MoveInput): void {
    this.#one.input((core, now) => core.hearMove(input, now));
  }
}

const newStage = (from: string): Stage => ({
  ...{ from, attempt: 0, next: 1, digest: '', items: new Map(), isComplete: false },
});
