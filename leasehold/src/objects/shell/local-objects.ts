/**
 * Objects in one process, without a pool: for unit tests of an application, and for a first look.
 *
 *     objects(Room).get('a').say('hello')
 *        │ arguments as bytes                              handler(room, 'hello')
 *        ▼                                                       ▲
 *     caller core ── frame ──► turns core ── run ──► turn runner ─┘
 *          ▲                       │
 *          └─────── reply ─────────┘
 *
 * Both halves are the cores of a pool, with one link that never breaks and keys that are always held. So what an application may rely on here holds
 * there too: one turn at a time, arguments and results copied, a call at most once, cycles refused, deadlines. What does not happen here: a call that has to
 * be repeated, a move, a loss.
 */

import { nodeRuntime } from '../../node/runtime.ts';
import { present, unreachable } from '../../runtime/assert.ts';
import { alarmOn, Driver } from '../../runtime/driver.ts';
import { InvalidArgumentError, invalidOption, type LeaseholdError } from '../../runtime/errors.ts';
import { Closing } from '../../runtime/handle.ts';
import type { Hash } from '../../runtime/keys/position.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import * as is from '../../runtime/option-kinds.ts';
import { type OptionTable, optional, or, required, resolveOptions } from '../../runtime/option-table.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { earliest, type Instant, later } from '../../runtime/time.ts';
import { type CallEnd, Caller, type CallerEffect, type CallRequest } from '../core/caller.ts';
import { type AnyKind, type CheckedDefinition, definitionOf, type Objects } from '../core/define-object.ts';
import { callError, closed } from '../core/errors.ts';
import { Turns, type TurnsEffect } from '../core/turns.ts';
import { readAnswer } from '../wire/thrown.ts';
import { ObjectSlot } from './object-slot.ts';
import { type AskedCall, RemoteObjects } from './remote-objects.ts';
import { type SlotTurn, TurnRunner } from './turn-runner.ts';

/** What {@link localObjects} takes. */
export interface LocalObjectsOptions {
  /** The kinds whose objects can be called. */
  kinds: readonly AnyKind[];

  /** How many objects of a kind may exist at once. A call to one more fails with `BUSY`. @default 1_000_000 */
  maxObjects?: number | undefined;

  /** After this many milliseconds without a call, an object's state ends. @default never */
  ttlMs?: number | undefined;

  /** After this many milliseconds without a call or read, an object leaves the memory but for its saved state. @default never */
  idleAfterMs?: number | undefined;

  /** The clock and the timers, for tests. @default those of this process */
  runtime?: Pick<Runtime, 'now' | 'wakeAt'> | undefined;
}

/** @internal */
export const LOCAL_OBJECTS_OPTIONS: OptionTable<LocalObjectsOptions, 'maxObjects'> = {
  kinds: required(is.anything('a list of what `defineObject` returned, with names that differ')),
  maxObjects: or(1_000_000, is.whole(1)),
  ttlMs: optional(is.duration, 'never'),
  idleAfterMs: optional(is.duration, 'never'),
  runtime: optional(is.anything(), 'those of this process'),
};

/** Objects in this process alone. */
export interface LocalObjects extends AsyncDisposable {
  /**
   * The objects of a kind.
   *
   * @throws {InvalidArgumentError} `INVALID_KIND` for a kind that is not among `kinds`
   */
  objects<K extends AnyKind>(kind: K): Objects<K>;
  /** Refuses calls that have not begun, asks running handlers to stop by `held.signal`, and waits for them, at most a second. */
  close(): Promise<void>;
  /** Resolves when the objects are closed. */
  readonly closed: Promise<LeaseholdError | undefined>;
}

/**
 * Objects in this process alone.
 *
 * @throws {InvalidArgumentError} naming the first rule that is broken
 */
export function localObjects(options: LocalObjectsOptions): LocalObjects {
  const resolved = resolveOptions('', options, LOCAL_OBJECTS_OPTIONS);
  const definitions = definitionsOf(options.kinds);
  const { maxObjects, ttlMs = Number.POSITIVE_INFINITY, idleAfterMs = Number.POSITIVE_INFINITY } = resolved;
  const limits = { maxObjects, ttlMs, idleAfterMs };
  return new LocalHandle(definitions, limits, (options.runtime ?? nodeRuntime()) as Runtime);
}

function definitionsOf(kinds: readonly AnyKind[]): ReadonlyMap<string, CheckedDefinition> {
  if (!Array.isArray(kinds)) throw invalidOption('kinds', kinds, 'it must be a list of kinds');
  const definitions = new Map<string, CheckedDefinition>();
  for (const definition of kinds.map(definitionOf)) {
    const { name } = definition;
    if (definitions.has(name))
      throw invalidOption('kinds', name, 'two kinds have that name; give each its own');
    definitions.set(name, definition);
  }
  return definitions;
}

/** The only link there is. */
const LINK = 'local';
const CALLER = 'local';
/** Keys are held under one number from beginning to end. */
const NUMBER = 1;
const CLOSE_MS = 1_000;
/** No machine is found suspended: nothing here is leased. */
const UNSUSPENDED = { wasSuspended: () => false, looksSuspended: () => false };

interface LocalRequest extends CallRequest {
  readonly timeoutMs: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly signal: AbortSignal | undefined;
}

class LocalHandle implements LocalObjects {
  readonly #definitions: ReadonlyMap<string, CheckedDefinition>;
  readonly #runtime: Runtime;
  readonly #turns: Turns<ObjectSlot>;
  readonly #turnsDriver: Driver<TurnsEffect<ObjectSlot>>;
  readonly #caller: Caller<LocalRequest>;
  readonly #callerDriver: Driver<CallerEffect<LocalRequest>>;
  readonly #running = new Map<SlotTurn, TurnRunner>();
  readonly #unsettled = new Set<LocalRequest>();
  readonly #closing = new Closing();
  #whenIdle: (() => void) | undefined;

  constructor(
    definitions: ReadonlyMap<string, CheckedDefinition>,
    limits: { readonly maxObjects: number; readonly ttlMs: number; readonly idleAfterMs: number },
    runtime: Runtime,
  ) {
    this.#definitions = definitions;
    this.#runtime = runtime;
    const kinds = new Map(
      [...definitions].map(([name, { calls, reads }]) => [
        name,
        { calls: new Set(Object.keys(calls)), reads: new Set(Object.keys(reads)), ...limits },
      ]),
    );
    this.#turns = new Turns({
      tenure: { numberOf: () => NUMBER, isContinuous: () => true },
      kinds,
      newSlot: () => new ObjectSlot(),
      copySlot: (slot) => slot.copy(),
    });
    this.#caller = new Caller({
      routes: { find: () => ({ link: LINK, number: NUMBER, lostAt: 0 }) },
      ...{ cancelMs: 0, retryMs: 1, confirmMs: 1_000 },
    });
    const shared = {
      guard: UNSUSPENDED,
      clock: runtime,
      alarm: (wake: () => void) => alarmOn(runtime, wake),
    };
    this.#turnsDriver = new Driver({
      ...shared,
      core: this.#turns,
      execute: (effect) => this.#executeTurns(effect),
    });
    this.#callerDriver = new Driver({
      ...shared,
      core: this.#caller,
      execute: (effect) => this.#executeCaller(effect),
    });
    this.#turnsDriver.input((now) => this.#turns.greet(now, LINK, CALLER, 1));
  }

  get closed(): Promise<LeaseholdError | undefined> {
    return this.#closing.closed;
  }

  objects<K extends AnyKind>(kind: K): Objects<K> {
    return this.#objects(kind, undefined);
  }

  close(): Promise<void> {
    return this.#closing.close(() => this.#stop());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #objects<K extends AnyKind>(kind: K, within: SlotTurn | undefined): Objects<K> {
    const definition = definitionOf(kind);
    if (this.#definitions.get(definition.name) !== definition) {
      const message = `the kind ${definition.name} is not served here: give it to localObjects, in kinds`;
      throw new InvalidArgumentError('INVALID_KIND', message, { module: 'objects' });
    }
    return new RemoteObjects(kind, {
      ask: (call) => this.#ask(call, within),
      evict: (name, key, position) => this.#evict(name, key, position),
      sizeOf: (name) => this.#turns.sizeOf(name),
    });
  }

  #ask(call: AskedCall, within: SlotTurn | undefined): Promise<unknown> {
    if (this.#closing.isOver) return Promise.reject(closed(`${call.name} of ${call.kind} was not run`));
    if (call.signal?.aborted === true) return Promise.reject(call.signal.reason);
    return new Promise((resolve, reject) => {
      const now = this.#runtime.now();
      const ownUntil = later(now, call.timeoutMs);
      const until: Instant = within === undefined ? ownUntil : earliest(ownUntil, within.until);
      const through = within?.through ?? [];
      const settled = (): void => {
        giveUp[Symbol.dispose]();
        this.#unsettled.delete(request);
      };
      const request: LocalRequest = {
        ...call,
        ...{ through, until },
        resolve: (value) => (settled(), resolve(value)),
        reject: (error) => (settled(), reject(error)),
      };
      const giveUp = onAbort(call.signal, () =>
        this.#callerDriver.input((at) => this.#caller.cancel(at, request)),
      );
      this.#unsettled.add(request);
      this.#callerDriver.input((at) => this.#caller.call(at, request));
    });
  }

  #evict(kind: string, key: string, position: Hash): boolean {
    const name = { kind, key };
    const isThere = this.#turns.canEvict(name, position);
    this.#turnsDriver.input((now) => this.#turns.evict(now, name, position));
    return isThere;
  }

  #executeCaller(effect: CallerEffect<LocalRequest>): void {
    if (effect.do === 'send') {
      const { frame } = effect;
      this.#turnsDriver.input((now) => this.#turns.receive(now, LINK, frame));
    } else settle(effect.request, effect.end);
  }

  #executeTurns(effect: TurnsEffect<ObjectSlot>): void {
    switch (effect.do) {
      case 'send': {
        const { message } = effect;
        this.#callerDriver.input((now) => this.#caller.receive(now, LINK, message));
        break;
      }
      case 'welcome':
        break; // The one link is open from the beginning.
      case 'run':
        this.#run(effect.turn);
        break;
      case 'abort':
        this.#running.get(effect.turn)?.abort(effect.why);
        break;
      case 'evict':
        effect.slot.evict();
        break;
      default:
        unreachable(effect);
    }
  }

  #run(turn: SlotTurn): void {
    const definition = present(this.#definitions.get(turn.kind), 'the kind of a call that was checked');
    const runner = new TurnRunner(
      {
        isHeld: () => !this.#closing.isOver,
        objects: (kind, within) => this.#objects(kind, within),
      },
      definition,
      turn,
    );
    this.#running.set(turn, runner);
    void runner.run().then((end) => {
      this.#running.delete(turn);
      this.#turnsDriver.input((now) => this.#turns.finished(now, turn, end));
      if (this.#running.size === 0) this.#whenIdle?.();
    });
  }

  async #stop(): Promise<void> {
    this.#turnsDriver.input(() => this.#turns.close());
    if (this.#running.size > 0)
      await new Promise<void>((resolve) => {
        const limit = this.#runtime.wakeAt(later(this.#runtime.now(), CLOSE_MS), resolve);
        this.#whenIdle = () => {
          limit[Symbol.dispose]();
          resolve();
        };
      });
    this.#turnsDriver.stop();
    this.#callerDriver.stop();
    for (const request of [...this.#unsettled]) settle(request, { is: 'unknown', why: 'closed' });
  }
}

function settle(request: LocalRequest, end: CallEnd): void {
  if (end.is === 'answered') {
    const answer = readAnswer(end.answer);
    if ('error' in answer) request.reject(answer.error);
    else request.resolve(answer.value);
  } else if (end.is === 'failed' && end.why === 'cancelled') request.reject(request.signal?.reason);
  else request.reject(callError(request, end, request.timeoutMs));
}
