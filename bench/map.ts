/**
 * State by key in memory: `leasedMap` beside a plain `Map` behind the same lease check, which is what one would write instead, and beside
 * `lru-cache` behind that check, for its limits and its TTL.
 *
 * The check comes first in all of them, because nobody may read without it: `isHeld` of the handle that guarded work has. A plain `Map` is
 * wrong after a loss; it is here for what a `leasedMap` adds to a check and a `Map`. As in guarded work, the handle and the text of the key
 * were made a moment ago, and something of the value is read.
 *
 * Bytes are those of an entry without the key and the value, which exist before: heap in use after a collection, before and after, in the
 * mean of several sizes.
 */

import { Buffer } from 'node:buffer';
import { memoryUsage } from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LRUCache } from 'lru-cache';
import type { HeldKey } from '../leasehold/src/pool/shell/owner/held-keys.ts';
import type { PoolOwner } from '../leasehold/src/pool/shell/owner/pool-owner.ts';
import { Random } from '../leasehold/src/sim/random.ts';
import type { Bench, BenchResult, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';
import { poolOwnerOf, serverNames, tableRows } from './support/pool.ts';
import { Race } from './support/race.ts';

const SERVERS = 10;
const ENTRIES = 100_000;
/** A `Map` doubles its room when it is full, so a single size would be a good one for the one and a bad one for the other. */
const MANY_ENTRIES = [600_000, 700_000, 850_000, 1_000_000];
const ROUNDS = 15;
const PRACTICE = 3;
const HELPINGS = 4;
const BATCH = 500;
const TTL_MS = 3_600_000;
const TIMES_THE_GET = 1.3;
const BYTES_MORE = 60;

interface Value {
  readonly of: number;
}

/** A store behind a check, as guarded work would use it. */
interface Store {
  readonly name: string;
  get(held: HeldKey): Value | undefined;
  set(held: HeldKey, value: Value): unknown;
}

const PLAIN = 'plain Map';
const LRU = 'lru-cache';
const LRU_TTL = 'lru-cache, ttl';
const OURS = 'leasedMap';
const OURS_TTL = 'leasedMap, ttlMs';
const OURS_EVICT = 'leasedMap, evict';

function checked(held: HeldKey): string {
  if (!held.isHeld()) throw new Error('every key is held here');
  return held.key as string;
}

function plain(): Store {
  const map = new Map<string, Value>();
  return {
    name: PLAIN,
    get: (held) => map.get(checked(held)),
    set: (held, value) => map.set(checked(held), value),
  };
}

function lru(max: number, ttl: number): Store {
  const cache = new LRUCache<string, Value>(ttl === 0 ? { max } : { max, ttl });
  return {
    name: ttl === 0 ? LRU : LRU_TTL,
    get: (held) => cache.get(checked(held)),
    set: (held, value) => cache.set(checked(held), value),
  };
}

const thousands = (counts: readonly number[]): string =>
  counts.map((count) => count.toLocaleString('en')).join('; ');

/**
 * Node has the function only for a flag, which may be given while it runs. Twice, because a collection that had begun before keeps what died since: the map
 * that was measured before, as large as this one, would be taken off this one.
 */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
}

const STORES: Readonly<Record<string, (owner: PoolOwner, most: number) => Store>> = {
  [PLAIN]: () => plain(),
  [OURS]: (owner) => ({ name: OURS, ...methodsOf(owner.leasedMap<Value>()) }),
  [OURS_TTL]: (owner) => ({
    name: OURS_TTL,
    ...methodsOf(owner.leasedMap<Value>(undefined, { ttlMs: TTL_MS })),
  }),
  [OURS_EVICT]: (owner, maxEntries) => ({
    name: OURS_EVICT,
    ...methodsOf(owner.leasedMap<Value>(undefined, { maxEntries, whenFull: 'evict' })),
  }),
  [LRU]: (_, most) => lru(most, 0),
  [LRU_TTL]: (_, most) => lru(most, TTL_MS),
};

const methodsOf = (map: ReturnType<typeof PoolOwner.prototype.leasedMap<Value>>): Omit<Store, 'name'> => ({
  get: (held) => map.get(held),
  set: (held, value) => map.set(held, value),
});

/** Keys that the owner holds. */
function keysFor(owner: PoolOwner, count: number): readonly string[] {
  const keys: string[] = [];
  for (let index = 0; keys.length < count; index += 1) {
    const key = `user-${index}`;
    if (owner.check(key) !== undefined) keys.push(key);
  }
  return keys;
}

/** The same key as another string: the keys of requests are made of bytes a moment ago. */
const madeAgain = (key: string): string => Buffer.from(key, 'latin1').toString('latin1');

function speeds(owner: PoolOwner, report: (line: string) => void): readonly Figure[] {
  const random = new Random(1);
  const keys = keysFor(owner, ENTRIES);
  const stores = Object.values(STORES).map((make) => make(owner, 2 * ENTRIES));
  for (const store of stores)
    for (const key of keys) store.set(owner.hold(key) as HeldKey, { of: key.length });
  /** As guarded work has it. */
  const someHandle = (): HeldKey =>
    owner.hold(madeAgain(keys[Math.floor(random.next() * keys.length)] as string)) as HeldKey;
  const options = {
    items: (count: number) => Array.from({ length: count }, someHandle),
    rounds: ROUNDS,
    practice: PRACTICE,
    helpings: HELPINGS,
  };
  report('get');
  const get = Race.run(
    stores.map(({ name, get: read }) => ({
      ...{ name, batch: BATCH },
      run: (handles: readonly HeldKey[]) => sumOf(read, handles),
    })),
    options,
  );
  report('set');
  const set = Race.run(
    stores.map(({ name, set: write }) => ({
      ...{ name, batch: BATCH },
      run: (handles: readonly HeldKey[]) => {
        for (const held of handles) write(held, { of: 1 });
      },
    })),
    options,
  );
  const figure = (what: string, race: Race, name: string, peer: string): Figure => ({
    metric: `${what}, ${name}: ${race.ratio(name, peer).toFixed(2)} times ${peer}`,
    unit: 'ns',
    ours: race.nanoseconds(name),
    peers: [PLAIN, LRU, LRU_TTL].map((each) => ({ name: each, value: race.nanoseconds(each) })),
    ratio: 1 / race.ratio(name, peer),
  });
  const goal = {
    goal: `at most ${TIMES_THE_GET} times ${PLAIN}`,
    met: get.ratio(OURS, PLAIN) <= TIMES_THE_GET,
  };
  return [
    { ...figure('get', get, OURS, PLAIN), ...goal },
    figure('get', get, OURS_TTL, LRU_TTL),
    figure('get', get, OURS_EVICT, LRU),
    figure('set', set, OURS, PLAIN),
    figure('set', set, OURS_TTL, LRU_TTL),
    figure('set', set, OURS_EVICT, LRU),
  ];
}

function sumOf(read: Store['get'], handles: readonly HeldKey[]): number {
  let sum = 0;
  for (const held of handles) sum += read(held)?.of ?? Number.NaN;
  if (Number.isNaN(sum)) throw new Error('an entry is missing');
  return sum;
}

function bytesOf(owner: PoolOwner, keys: readonly string[], name: string): number {
  const usedBytes = (): number => memoryUsage().heapUsed + memoryUsage().arrayBuffers;
  const value = { of: 1 };
  collectGarbage();
  const beforeBytes = usedBytes();
  const store = STORES[name]?.(owner, keys.length);
  if (store === undefined) throw new Error(`there is no ${name}`);
  for (const key of keys) store.set(owner.hold(key) as HeldKey, value);
  collectGarbage();
  const bytes = (usedBytes() - beforeBytes) / keys.length;
  if (store.get(owner.hold(keys[0] as string) as HeldKey) === undefined)
    throw new Error('an entry is missing');
  return bytes;
}

function sizes(rows: ReturnType<typeof tableRows>): readonly Figure[] {
  const keys = keysFor(poolOwnerOf(rows), Math.max(...MANY_ENTRIES));
  const measured = new Map(
    Object.keys(STORES).map((name) => {
      const each = MANY_ENTRIES.map((count) => bytesOf(poolOwnerOf(rows), keys.slice(0, count), name));
      return [name, each.reduce((sum, bytes) => sum + bytes, 0) / each.length] as const;
    }),
  );
  const bytes = (name: string): number => measured.get(name) ?? Number.NaN;
  const figure = (name: string, peer: string): Figure => {
    const more = bytes(name) - bytes(PLAIN);
    return {
      metric: `an entry, ${name}: ${more.toFixed(0)} more than ${PLAIN}`,
      unit: 'bytes',
      ours: bytes(name),
      peers: [PLAIN, LRU, LRU_TTL].map((each) => ({ name: each, value: bytes(each) })),
      ratio: bytes(peer) / bytes(name),
      goal: `at most ${BYTES_MORE} more than ${PLAIN}`,
      met: more <= BYTES_MORE,
    };
  };
  return [figure(OURS, PLAIN), figure(OURS_TTL, LRU_TTL), figure(OURS_EVICT, LRU)];
}

function run(report: (line: string) => void): BenchResult {
  const all = tableRows(serverNames(SERVERS));
  const rows = all.filter(({ owner }) => owner === all[0]?.owner);
  report(`${ROUNDS} rounds of ${Object.keys(STORES).join('; ')}`);
  const quick = speeds(poolOwnerOf(rows), report);
  report(`bytes of ${thousands(MANY_ENTRIES)} entries`);
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      entries: `${ENTRIES.toLocaleString('en')}, drawn; for bytes ${thousands(MANY_ENTRIES)}`,
      spans: `${rows.length}, one owner’s of ${all.length}`,
      check: 'isHeld of a handle, for every store',
    },
    figures: [...quick, ...sizes(rows)],
  };
}

export const bench: Bench = {
  name: 'map',
  describe: 'a `leasedMap` beside a plain `Map` and `lru-cache`, all behind a lease check: time and bytes',
  run,
};
