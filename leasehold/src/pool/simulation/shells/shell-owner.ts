/**
 * One application as a simulated process: the production `PoolOwner` on a simulated clock and network, that loads and
 * flushes by upcalls, guards work on a few keys, keeps entries in leased maps, replaces them by version, and watches the signals of its handles.
 */

import { ClosedError, LeaseLostError, NotOwnerError, UnavailableError } from '../../../runtime/errors.ts';
import { silent } from '../../../runtime/logger.ts';
import { type Key, keyHash } from '../../../runtime/keys/hash.ts';
import type { Hash } from '../../../runtime/keys/position.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import { later } from '../../../runtime/time.ts';
import type { SimClock } from '../../../sim/clock.ts';
import { SimProcess, type SimRuntime } from '../../../sim/process.ts';
import type { FromManager } from '../../core/messages.ts';
import { MoveCarrier } from '../../shell/moves/move-carrier.ts';
import type { MoveRules } from '../../shell/moves/moves-options.ts';
import type { DepartContext } from '../../shell/moves/moving-keys.ts';
import type { HeldKey } from '../../shell/owner/held-keys.ts';
import { LeasedMap } from '../../shell/state/leased-map.ts';
import { resolveLeasedMap } from '../../shell/state/leased-map-options.ts';
import type { ItemCodec } from '../../shell/state/movable.ts';
import { PoolOwner } from '../../shell/owner/pool-owner.ts';
import type { SimulatedLines } from '../moves/simulated-lines.ts';
import type { NodeDependencies } from '../nodes.ts';
import { Items } from './items.ts';
import type { ItemsLedger } from './items-ledger.ts';
import type { Ledger, Remembered, Work } from './ledger.ts';
import { carriageSigner, carriageVerifier, processCarriage } from './process-carriage.ts';

export interface ShellOwnerOptions {
  readonly name: string;
  readonly clock: SimClock;
  readonly lateMs: number;
  readonly keys: readonly string[];
  readonly ledger: Ledger;
  /** How long work, loading and flushing take at most. */
  readonly workMs: number;
  readonly upcallMs: number;
  /** How long an application pauses between two calls, at most. */
  readonly idleMs: number;
  /** Undefined if keys do not move with their state. */
  readonly moving?: ShellMoving | undefined;
  /** Anything that is not supposed to be thrown. */
  failed(error: unknown): void;
}

/** How an application moves keys, and what it keeps under them. */
export interface ShellMoving {
  readonly lines: SimulatedLines;
  readonly rules: MoveRules;
  readonly items: ItemsLedger;
}

/** How many calls an application makes side by side. */
const CALLERS = 4;
/** Fewer entries than there are keys. */
const SMALL = 3;

/** A carrier without progress for so long gives a stream up. */
const STALL_MS = 2_000;

/** Items bring their own. */
const NO_CODEC: ItemCodec<unknown> = {
  encode: () => {
    throw new Error('there is no other state');
  },
  decode: () => {
    throw new Error('there is no other state');
  },
};

/** What one incarnation remembers. */
interface State {
  readonly serving: Map<Hash, Serving>;
  readonly items: Items;
  /** Keys for which `onDepart` was done in a stop, and on which nothing was worked since. */
  readonly flushed: Set<Hash>;
}

type Serving = 'loading' | 'ready' | 'asked back';

export class ShellOwner {
  readonly process: SimProcess;
  readonly #around: NodeDependencies;
  readonly #options: ShellOwnerOptions;
  #owner: PoolOwner | undefined;
  /** Calls of this incarnation that have not ended, with when they began. */
  readonly #calls = new Map<object, number>();

  constructor(around: NodeDependencies, options: ShellOwnerOptions) {
    this.#around = around;
    this.#options = options;
    this.process = new SimProcess(around.world, {
      ...options,
      start: (runtime, incarnation) => this.#start(runtime, `${options.name}.${incarnation}`),
    });
  }

  /** When the oldest call began that has not ended; undefined if there is none. */
  get oldestCallMs(): number | undefined {
    return this.process.alive && this.#calls.size > 0 ? Math.min(...this.#calls.values()) : undefined;
  }

  /** Whether this application can work on the key now. */
  serves(key: Key): boolean {
    return this.process.running && this.#owner?.check(key) !== undefined;
  }

  /** Hands over what it can in so many milliseconds, then leaves; or serves on, if that is not all. */
  drain(timeoutMs: number, otherwise: 'lose' | 'stay'): void {
    this.process.perform(
      () =>
        void this.#owner?.drain({ timeoutMs, otherwise }).catch((error) => {
          const isTold = error instanceof ClosedError || error instanceof UnavailableError;
          if (!isTold) this.#options.failed(error);
        }),
    );
  }

  leave(): void {
    this.process.perform(() => void this.#owner?.close().catch((error) => this.#options.failed(error)));
  }

  #start(runtime: SimRuntime, incarnation: string): void {
    const { network, channels, durations, managers } = this.#around;
    const { name, keys, moving } = this.#options;
    this.#calls.clear();
    const transport = runtime.transport(network);
    const state: State = { serving: new Map(), items: new Items(), flushed: new Set() };
    moving?.items.began(incarnation, state.flushed);
    const carrier = moving && this.#carrier(runtime, incarnation, moving);
    const owner: PoolOwner = new PoolOwner({
      ...{ durations, runtime, logger: silent, addresses: { current: managers } },
      identity: { pool: 'pool', incarnation, name, url: `http://${name}`, proof: undefined },
      dialer: {
        send: (to, message) => {
          channels.connect(name, to, 'pool', incarnation);
          transport.send(to, message);
        },
        listen: (callback) => transport.listen((from, message) => callback(from, message as FromManager)),
      },
      application: this.#application(runtime, state),
      moving: moving && { rules: moving.rules, carrier },
      surface: (error) => this.#options.failed(error),
      close: async () => {},
    });
    this.#owner = owner;
    if (moving !== undefined) owner.movable('items', state.items);
    // Of the second map the owner does not know, so no entry is ever freed there: only the check protects its readers.
    const unfreed = new LeasedMap<Remembered>({
      ...{ name: undefined, leases: owner.leases, runtime, freezes: false },
      settings: resolveLeasedMap(undefined, {}),
    });
    const small = { ttlMs: this.#options.idleMs, maxEntries: SMALL, whenFull: 'evict' } as const;
    const freed = [
      owner.leasedMap<Remembered>(moving && 'large'),
      owner.leasedMap<Remembered>('small', small),
    ];
    const tracked: Tracked = { runtime, owner, maps: [unfreed, ...freed], state, incarnation };
    for (let caller = 0; caller < CALLERS; caller += 1) void this.#call(tracked, keys);
  }

  #carrier(runtime: SimRuntime, incarnation: string, { lines }: ShellMoving): MoveCarrier {
    let nonces = 0;
    return new MoveCarrier({
      ...{ pool: 'pool', runtime, logger: silent, defaultCodec: NO_CODEC, stallTimeoutMs: STALL_MS },
      ...{ signer: carriageSigner(incarnation), verifier: carriageVerifier },
      carriage: processCarriage(lines, this.process, runtime),
      atEndOfTurn: (callback) => void runtime.wakeAt(runtime.now(), callback),
      newNonce: () => {
        nonces += 1;
        return nonces.toString(16).padStart(32, '0');
      },
      say: (input) => this.#owner?.hearMove(input),
    });
  }

  /** Loads and flushes, each of which takes a while, and notes what may be worked on. */
  #application(runtime: SimRuntime, { serving, items, flushed }: State) {
    const { keys, upcallMs, moving } = this.#options;
    const { world } = this.#around;
    const positions = keys.map((key) => keyHash(key));
    const note = (ranges: RangeSet, to: Serving | undefined, from?: Serving): void => {
      for (const position of positions) {
        if (!ranges.has(position) || (from !== undefined && serving.get(position) !== from)) continue;
        if (to === undefined) serving.delete(position);
        else serving.set(position, to);
      }
    };
    items.onMoved = (keys) => note(keys, undefined);
    const load = async (ranges: RangeSet): Promise<void> => {
      note(ranges, 'loading');
      await pause(runtime, upcallMs);
      note(ranges, 'ready', 'loading');
    };
    const moves = {
      onArrive: (ranges: RangeSet) => {
        world.count('upcalls, arrived');
        return load(ranges);
      },
      onDepart: async (ranges: RangeSet, { isStopped }: DepartContext) => {
        world.count(isStopped ? 'upcalls, departing in a stop' : 'upcalls, about to depart');
        await pause(runtime, isStopped ? upcallMs / 4 : upcallMs);
        if (runtime.random() < 0.1) throw new Error('the store does not answer');
        if (isStopped) for (const position of positions) if (ranges.has(position)) flushed.add(position);
      },
    };
    return {
      ...(moving && moves),
      onGrant: (ranges: RangeSet) => {
        world.count('upcalls, granted');
        return load(ranges);
      },
      onRevoke: async (ranges: RangeSet) => {
        world.count('upcalls, revoked');
        note(ranges, 'asked back');
        await pause(runtime, upcallMs);
      },
      onLost: (ranges: RangeSet) => {
        world.count('upcalls, lost');
        note(ranges, undefined);
        items.forget(ranges);
      },
    };
  }

  /** One caller after the other, for as long as the process lives: a dead one's timers never go off. */
  async #call(tracked: Tracked, keys: readonly string[]): Promise<void> {
    const { runtime, owner } = tracked;
    const { world } = this.#around;
    for (;;) {
      await pause(runtime, this.#options.idleMs);
      const text = keys[Math.floor(runtime.random() * keys.length)] as string;
      const key: Key = runtime.random() < 0.5 ? text : keyHash(text);
      const call = {};
      this.#calls.set(call, world.trueMs);
      let work: Work | undefined;
      try {
        await owner.guard(key, async (held) => {
          work = this.#begin(tracked, held);
          await this.#work(tracked, held, work);
          work.endedAtMs = world.trueMs;
        });
        if (work !== undefined) this.#succeeded(work);
      } catch (error) {
        if (error instanceof LeaseLostError) world.count('work lost');
        else if (error instanceof ClosedError) return;
        else if (!(error instanceof NotOwnerError)) this.#options.failed(error);
      } finally {
        this.#calls.delete(call);
      }
    }
  }

  #succeeded(work: Work): void {
    const { ledger, moving } = this.#options;
    ledger.succeeded(work);
    if (work.item !== undefined) moving?.items.acknowledged(work.position, work.item.version);
  }

  #begin({ state, incarnation }: Tracked, { key, number }: HeldKey): Work {
    const { world } = this.#around;
    const position = keyHash(key);
    const serving = state.serving.get(position);
    if (serving !== 'ready')
      throw world.broken(
        'upcalls-in-order',
        `${incarnation} works on a key that is ${serving ?? 'not granted'}`,
      );
    this.#options.moving?.items.found(position, incarnation, state.items.get(position));
    state.flushed.delete(position);
    return { position, by: incarnation, number, beganAtMs: world.trueMs, endedAtMs: world.trueMs };
  }

  async #work({ runtime, maps, state, incarnation }: Tracked, held: HeldKey, work: Work): Promise<void> {
    const { ledger, workMs, moving } = this.#options;
    for (const map of maps) {
      const found = map.get(held);
      if (found !== undefined) ledger.remembers(keyHash(held.key), incarnation, found);
    }
    await pause(runtime, workMs, held.signal);
    if (moving !== undefined && held.isHeld()) {
      state.flushed.delete(work.position);
      const version = runtime.random() < 0.2 ? undefined : moving.items.nextVersion();
      state.items.set(work.position, version);
      moving.items.wrote(work.position, version);
      work.item = { version };
    }
    const own = { by: incarnation, atMs: this.#around.world.trueMs };
    // Some work asks nothing more, so that only `guard` can find that its lease is lost.
    if (runtime.random() >= 0.7) return;
    for (const map of maps) map.set(held, own);
    const [map] = maps;
    const position = keyHash(held.key);
    const seen = ledger.someVersion(position, runtime.random());
    const version = map.versionOf(held);
    if (version !== undefined) ledger.saw(position, { ...own, version });
    if (seen !== undefined && map.replace(held, own, { ifVersion: seen.version }))
      ledger.replaced(position, incarnation, seen);
  }
}

interface Tracked {
  readonly runtime: SimRuntime;
  readonly owner: PoolOwner;
  readonly maps: readonly [LeasedMap<Remembered>, ...LeasedMap<Remembered>[]];
  readonly state: State;
  readonly incarnation: string;
}

/** Up to so long; some work stops when its signal aborts, and some takes no notice. */
function pause(runtime: SimRuntime, atMostMs: number, signal?: AbortSignal): Promise<void> {
  const heeds = signal !== undefined && runtime.random() < 0.3;
  return new Promise((resolve) => {
    runtime.wakeAt(later(runtime.now(), atMostMs * runtime.random()), resolve);
    if (heeds) signal.addEventListener('abort', () => resolve());
  });
}
