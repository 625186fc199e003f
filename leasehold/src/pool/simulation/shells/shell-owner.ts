/**
 * One application as a simulated process: the production `PoolOwner` on a simulated clock and network, that loads and
 * flushes by upcalls, guards work on a few keys, keeps entries in leased maps, replaces them by version, and watches the signals of its handles.
 */

import { ClosedError, LeaseLostError, NotOwnerError } from '../../../runtime/errors.ts';
import { silent } from '../../../runtime/logger.ts';
import { type Key, keyHash } from '../../../runtime/keys/hash.ts';
import type { Hash } from '../../../runtime/keys/position.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import { later } from '../../../runtime/time.ts';
import type { SimClock } from '../../../sim/clock.ts';
import { SimProcess, type SimRuntime } from '../../../sim/process.ts';
import type { FromManager } from '../../core/messages.ts';

import type { HeldKey } from '../../shell/owner/held-keys.ts';
import { LeasedMap } from '../../shell/state/leased-map.ts';
import { resolveLeasedMap } from '../../shell/state/leased-map-options.ts';
import { PoolOwner } from '../../shell/owner/pool-owner.ts';
import type { NodeDependencies } from '../nodes.ts';
import type { Ledger, Remembered, Work } from './ledger.ts';

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
  /** Anything that is not supposed to be thrown. */
  failed(error: unknown): void;
}

/** How many calls an application makes side by side. */
const CALLERS = 4;
/** Fewer entries than there are keys. */
const SMALL = 3;

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

  leave(): void {
    this.process.perform(() => void this.#owner?.close().catch((error) => this.#options.failed(error)));
  }

  #start(runtime: SimRuntime, incarnation: string): void {
    const { network, channels, durations, managers } = this.#around;
    const { name, keys } = this.#options;
    this.#calls.clear();
    const transport = runtime.transport(network);
    const serving = new Map<Hash, Serving>();
    const owner = new PoolOwner({
      ...{ durations, runtime, logger: silent, addresses: { current: managers } },
      identity: { pool: 'pool', incarnation, name, url: `http://${name}`, proof: undefined },
      dialer: {
        send: (to, message) => {
          channels.connect(name, to, 'pool', incarnation);
          transport.send(to, message);
        },
        listen: (callback) => transport.listen((from, message) => callback(from, message as FromManager)),
      },
      application: this.#application(runtime, serving),
      surface: (error) => this.#options.failed(error),
      close: async () => {},
    });
    this.#owner = owner;
    // Of the second map the owner does not know, so no entry is ever freed there: only the check protects its readers.
    const unfreed = new LeasedMap<Remembered>({
      ...{ name: undefined, leases: owner.leases, runtime, freezes: false },
      settings: resolveLeasedMap(undefined, {}),
    });
    const small = { ttlMs: this.#options.idleMs, maxEntries: SMALL, whenFull: 'evict' } as const;
    const freed = [owner.leasedMap<Remembered>(), owner.leasedMap<Remembered>('small', small)];
    const tracked: Tracked = { runtime, owner, maps: [unfreed, ...freed], serving, incarnation };
    for (let caller = 0; caller < CALLERS; caller += 1) void this.#call(tracked, keys);
  }

  /** Loads and flushes, each of which takes a while, and notes what may be worked on. */
  #application(runtime: SimRuntime, serving: Map<Hash, Serving>) {
    const { keys, upcallMs } = this.#options;
    const { world } = this.#around;
    const positions = keys.map((key) => keyHash(key));
    const note = (ranges: RangeSet, to: Serving | undefined, from?: Serving): void => {
      for (const position of positions) {
        if (!ranges.has(position) || (from !== undefined && serving.get(position) !== from)) continue;
        if (to === undefined) serving.delete(position);
        else serving.set(position, to);
      }
    };
    return {
      onGrant: async (ranges: RangeSet) => {
        world.count('upcalls, granted');
        note(ranges, 'loading');
        await pause(runtime, upcallMs);
        note(ranges, 'ready', 'loading');
      },
      onRevoke: async (ranges: RangeSet) => {
        world.count('upcalls, revoked');
        note(ranges, 'asked back');
        await pause(runtime, upcallMs);
      },
      onLost: (ranges: RangeSet) => {
        world.count('upcalls, lost');
        note(ranges, undefined);
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
          await this.#work(tracked, held);
          work.endedAtMs = world.trueMs;
        });
        if (work !== undefined) this.#options.ledger.succeeded(work);
      } catch (error) {
        if (error instanceof LeaseLostError) world.count('work lost');
        else if (error instanceof ClosedError) return;
        else if (!(error instanceof NotOwnerError)) this.#options.failed(error);
      } finally {
        this.#calls.delete(call);
      }
    }
  }

  #begin({ serving, incarnation }: Tracked, { key, number }: HeldKey): Work {
    const { world } = this.#around;
    const position = keyHash(key);
    const state = serving.get(position);
    if (state !== 'ready')
      throw world.broken(
        'upcalls-in-order',
        `${incarnation} works on a key that is ${state ?? 'not granted'}`,
      );
    return { position, by: incarnation, number, beganAtMs: world.trueMs, endedAtMs: world.trueMs };
  }

  async #work({ runtime, maps, incarnation }: Tracked, held: HeldKey): Promise<void> {
    const { ledger, workMs } = this.#options;
    for (const map of maps) {
      const found = map.get(held);
      if (found !== undefined) ledger.remembers(keyHash(held.key), incarnation, found);
    }
    await pause(runtime, workMs, held.signal);
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
  readonly serving: ReadonlyMap<Hash, Serving>;
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
