/**
 * May this request go on? The decision of one process, beside rate-limiter-flexible in memory: requests that are allowed, requests that are
 * denied, and a million keys.
 *
 * The peer's `consume` is awaited, because it rejects a denial and a promise is the only way to be told. Ours is measured twice: `tryConsume`,
 * which answers in the same call, and `consume`, awaited as the peer's is.
 */

import { memoryUsage } from 'node:process';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { ratelimit } from '../leasehold/src/ratelimit/shell/ratelimit.ts';
import type { Bench, BenchResult, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';

const PEER = 'rate-limiter-flexible';
const HOT_KEYS = 1_000;
const MANY_KEYS = 1_000_000;
const CALLS = 200_000;
const ROUNDS = 7;
/** So high that no request is denied, and so low that all are. */
const MUCH = 1_000_000;
const LITTLE = 1;

type Decide = (key: string) => unknown;

const keysOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `customer-${index}`);

/** Decisions a second: the median of several rounds, which take turns. */
async function race(
  contestants: Readonly<Record<string, Decide>>,
  keys: readonly string[],
): Promise<Map<string, number>> {
  const rates = new Map(Object.keys(contestants).map((name) => [name, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, decide] of Object.entries(contestants)) {
      const startedMs = performance.now();
      for (let call = 0; call < CALLS; call += 1) {
        const decided = decide(keys[call % keys.length] as string);
        if (decided instanceof Promise) await decided;
      }
      // The first round is practice.
      if (round > 0) rates.get(name)?.push((1_000 * CALLS) / (performance.now() - startedMs));
    }
  }
  return new Map([...rates].map(([name, each]) => [name, each.sort((a, b) => a - b)[ROUNDS >> 1] ?? 0]));
}

function contestants(limit: number): Readonly<Record<string, Decide>> {
  const ours = ratelimit({ limit, per: '1d', burst: limit, maxKeys: 2 * MANY_KEYS });
  const peer = new RateLimiterMemory({ points: limit, duration: 86_400 });
  return {
    tryConsume: (key) => ours.tryConsume(key),
    consume: (key) => ours.consume(key),
    [PEER]: (key) => peer.consume(key).catch(() => undefined),
  };
}

async function figuresFor(what: string, limit: number, times: number): Promise<readonly Figure[]> {
  const rates = await race(contestants(limit), keysOf(HOT_KEYS));
  const peer = rates.get(PEER) ?? 0;
  return ['tryConsume', 'consume'].map((name) => {
    const ours = rates.get(name) ?? 0;
    const figure = {
      metric: `${name}, ${what}`,
      unit: 'decisions/s',
      ours,
      peers: [{ name: PEER, value: peer }],
    };
    const ratio = ours / peer;
    return name === 'tryConsume'
      ? { ...figure, ratio, goal: `${times} times the peer`, met: ratio >= times }
      : { ...figure, ratio };
  });
}

function manyKeys(): readonly Figure[] {
  const keys = keysOf(MANY_KEYS);
  const limiter = ratelimit({ limit: 100, per: '1d', maxKeys: 2 * MANY_KEYS });
  globalThis.gc?.();
  const beforeBytes = memoryUsage().heapUsed + memoryUsage().arrayBuffers;
  const startedMs = performance.now();
  for (const key of keys) limiter.tryConsume(key);
  const perSecond = (1_000 * MANY_KEYS) / (performance.now() - startedMs);
  globalThis.gc?.();
  const bytes = (memoryUsage().heapUsed + memoryUsage().arrayBuffers - beforeBytes) / MANY_KEYS;
  return [
    { metric: 'a million new keys', unit: 'decisions/s', ours: perSecond, peers: [] },
    { metric: 'a million keys, without the keys themselves', unit: 'bytes a key', ours: bytes, peers: [] },
  ];
}

export const bench: Bench = {
  name: 'ratelimit',
  describe: 'A decision about a request, beside rate-limiter-flexible in memory.',
  async run(report): Promise<BenchResult> {
    report('allowed …');
    const allowed = await figuresFor('allowed', MUCH, 2);
    report('denied …');
    const denied = await figuresFor('denied', LITTLE, 5);
    report('a million keys …');
    const many = manyKeys();
    return {
      name: 'ratelimit',
      conditions: {
        ...{ 'hot keys': HOT_KEYS, calls: CALLS, rounds: ROUNDS, ...machineConditions() },
        peer: `${PEER} 11.4.0, memory`,
      },
      figures: [...allowed, ...denied, ...many],
    };
  },
};
