/**
 * May this request go on? The decision of one process, and of four processes with one limit.
 *
 * One process, beside rate-limiter-flexible in memory: requests that are allowed, requests that are denied, and a million keys. The peer's
 * `consume` is awaited, because a promise is its only answer. Ours is measured twice: `tryConsume`, which answers in the same call,
 * and `consume`, awaited as the peer's is.
 *
 * Four processes, beside rate-limiter-flexible and express-rate-limit with Redis (`support/limits/limiters.ts` says how they are set up):
 * decisions a second, the time of a decision about a new key, and the longest wait when a server dies. For ours that server is one of the four
 * processes, which owns a quarter of the keys and stays away; for the others it is the Redis, which is there again after two seconds.
 */

import { memoryUsage } from 'node:process';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { AsyncDisposableStack } from '../leasehold/src/runtime/async-disposable-stack.ts';
import { ratelimit } from '../leasehold/src/ratelimit/shell/ratelimit.ts';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { Fleet, PROCESSES } from './support/limits/fleet.ts';
import type { LimiterKind } from './support/limits/limiters.ts';
import { machineConditions } from './support/machine.ts';
import { installed, leftOut } from './support/processes/peers.ts';
import { median } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';

const PEER = 'rate-limiter-flexible';
const HOT_KEYS = 1_000;
const MANY_KEYS = 1_000_000;
const CALLS = 200_000;
const ROUNDS = 7;
const FLEET_ROUNDS = 3;
/** So high that no request is denied, and so low that all are. */
const MUCH = 1_000_000;
const LITTLE = 1;

const RIVALS: readonly { readonly kind: LimiterKind; readonly name: string }[] = [
  { kind: 'flexible', name: `${PEER}, Redis` },
  { kind: 'insured', name: `${PEER}, Redis, insured` },
  { kind: 'express', name: 'express-rate-limit, Redis' },
];

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
  return new Map([...rates].map(([name, each]) => [name, median(each)]));
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
    const ratio = ours / peer;
    return {
      ...{
        metric: `${name}, ${what}`,
        unit: 'decisions/s',
        ours,
        peers: [{ name: PEER, value: peer }],
        ratio,
      },
      ...{ goal: `${times} times the peer`, met: ratio >= times },
    };
  });
}

interface ManyKeys {
  readonly perSecond: number;
  readonly bytes: number;
}

/** The first request of each of a million keys, and the memory that they take. */
async function takeMany(decide: Decide, keys: readonly string[]): Promise<ManyKeys> {
  globalThis.gc?.();
  const usedBytes = (): number => memoryUsage().heapUsed + memoryUsage().arrayBuffers;
  const beforeBytes = usedBytes();
  const startedMs = performance.now();
  for (const key of keys) {
    const decided = decide(key);
    if (decided instanceof Promise) await decided;
  }
  const perSecond = (1_000 * keys.length) / (performance.now() - startedMs);
  globalThis.gc?.();
  return { perSecond, bytes: (usedBytes() - beforeBytes) / keys.length };
}

async function manyKeys(): Promise<readonly Figure[]> {
  const keys = keysOf(MANY_KEYS);
  const limiter = ratelimit({ limit: 100, per: '1d', maxKeys: 2 * MANY_KEYS });
  const ours = await takeMany((key) => limiter.tryConsume(key), keys);
  const rival = new RateLimiterMemory({ points: 100, duration: 86_400 });
  const peer = await takeMany((key) => rival.consume(key), keys);
  const figure = (metric: string, unit: string, own: number, other: number, ratio: number): Figure => ({
    ...{ metric, unit, ours: own, peers: [{ name: PEER, value: other }], ratio },
  });
  const what = 'a million keys, without the keys themselves';
  return [
    figure(
      'a million new keys',
      'decisions/s',
      ours.perSecond,
      peer.perSecond,
      ours.perSecond / peer.perSecond,
    ),
    figure(what, 'bytes a key', ours.bytes, peer.bytes, peer.bytes / ours.bytes),
    // Referenced until here, so that no collection could take either.
    ...(limiter.keys === MANY_KEYS ? [] : [figure('keys remembered', 'keys', limiter.keys, MANY_KEYS, 0)]),
  ];
}

interface FleetFigures {
  readonly name: string;
  readonly perSecond: number;
  readonly cpuMicros: number;
  readonly asksPerThousand: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  /** Requests without a decision, of those for hot keys and when a server died. */
  readonly undecidedHot: number;
  readonly undecidedLost: number;
}

interface Contestant {
  readonly name: string;
  readonly fleet: Fleet;
  readonly perSecond: number[];
  readonly cpuMicros: number[];
  readonly asksPerThousand: number[];
  undecided: number;
}

/** All fleets run all the time; those that are not measured have nothing to do. */
async function measureFleets(
  fleets: readonly Contestant[],
  report: (line: string) => void,
): Promise<FleetFigures[]> {
  for (let round = 1; round <= FLEET_ROUNDS; round += 1) {
    report(`hot keys, round ${round} …`);
    for (const each of fleets) {
      const { calls, perSecond, denied, failed, cpuMicros, asks } = await each.fleet.hotKeys(HOT_KEYS);
      if (denied > 0) throw new Error(`${each.name} denied ${denied} requests below the limit`);
      each.perSecond.push(perSecond);
      each.cpuMicros.push(cpuMicros);
      each.asksPerThousand.push((1_000 * asks) / calls);
      each.undecided += failed;
    }
  }
  const figures: FleetFigures[] = [];
  for (const { name, fleet, perSecond, cpuMicros, asksPerThousand, undecided } of fleets) {
    report(`cold keys, and the death of a server: ${name} …`);
    const cold = await fleet.coldKeys();
    const lost = await fleet.loss();
    figures.push({
      ...{ name, perSecond: median(perSecond), cpuMicros: median(cpuMicros), undecidedHot: undecided },
      asksPerThousand: median(asksPerThousand),
      p50Ms: median(cold.map(({ p50Ms }) => p50Ms)),
      p99Ms: Math.max(...cold.map(({ p99Ms }) => p99Ms)),
      longestMs: Math.max(...lost.map(({ longestMs }) => longestMs)),
      undecidedLost: lost.reduce((sum, { failed }) => sum + failed, 0),
    });
  }
  return figures;
}

function fleetFigures(ours: FleetFigures, rivals: readonly FleetFigures[]): readonly Figure[] {
  const peersBy = (of: (each: FleetFigures) => number): Figure['peers'] =>
    rivals.map((each) => ({ name: each.name, value: of(each) }));
  const best = (peers: Figure['peers'], choose: (...values: number[]) => number): number =>
    choose(...peers.map(({ value }) => value));
  const perSecond = peersBy((each) => each.perSecond);
  const times = ours.perSecond / best(perSecond, Math.max);
  const lower = (
    metric: string,
    of: (each: FleetFigures) => number,
    mostMs?: number,
    unit: string = 'ms',
  ): Figure => {
    const peers = peersBy(of);
    const figure = { metric, unit, ours: of(ours), peers, ratio: best(peers, Math.min) / of(ours) };
    return mostMs === undefined
      ? figure
      : { ...figure, goal: `at most ${mostMs} ms`, met: of(ours) <= mostMs };
  };
  const told = (metric: string, of: (each: FleetFigures) => number): Figure => ({
    ...{ metric, unit: 'requests', ours: of(ours), peers: peersBy(of) },
  });
  return [
    {
      ...{
        metric: `${HOT_KEYS} hot keys, ${PROCESSES} processes`,
        unit: 'decisions/s',
        ours: ours.perSecond,
      },
      ...{ peers: perSecond, ratio: times, goal: '10 times the best peer', met: times >= 10 },
    },
    lower('processor time of a decision, servers included', (each) => each.cpuMicros, undefined, 'µs'),
    lower('asks for 1,000 decisions', (each) => each.asksPerThousand, undefined, 'messages'),
    lower('a cold key, p50', (each) => each.p50Ms, 1),
    lower('a cold key, p99', (each) => each.p99Ms),
    lower('longest wait when a server dies', (each) => each.longestMs, 100),
    told('requests for hot keys without a decision', (each) => each.undecidedHot),
    told('requests without a decision when a server dies', (each) => each.undecidedLost),
  ];
}

async function manyProcesses(report: (line: string) => void, tools: BenchTools): Promise<readonly Figure[]> {
  await using workshop = new Workshop(tools);
  const hasRedis = installed('redis-server') !== undefined;
  if (!hasRedis) report(leftOut('redis-server'));
  await using opened = new AsyncDisposableStack();
  const fleets: Contestant[] = [];
  for (const { kind, name } of [
    { kind: 'leasehold' as const, name: 'leasehold' },
    ...(hasRedis ? RIVALS : []),
  ]) {
    report(`four processes of ${name} start …`);
    const fleet = opened.use(await Fleet.start(workshop, kind));
    fleets.push({ name, fleet, perSecond: [], cpuMicros: [], asksPerThousand: [], undecided: 0 });
  }
  const [ours, ...rivals] = await measureFleets(fleets, report);
  return ours === undefined ? [] : fleetFigures(ours, rivals);
}

export const bench: Bench = {
  name: 'ratelimit',
  describe:
    'A decision about a request, beside rate-limiter-flexible and express-rate-limit, in memory and with Redis.',
  async run(report, tools): Promise<BenchResult> {
    report('allowed …');
    const allowed = await figuresFor('allowed', MUCH, 2);
    report('denied …');
    const denied = await figuresFor('denied', LITTLE, 5);
    report('a million keys …');
    const many = await manyKeys();
    const shared = await manyProcesses(report, tools);
    return {
      name: 'ratelimit',
      conditions: {
        ...{ 'hot keys': HOT_KEYS, calls: CALLS, rounds: ROUNDS, 'rounds of four processes': FLEET_ROUNDS },
        ...machineConditions(),
        peers: `${PEER} 11.4.0, express-rate-limit 8.7.4 with rate-limit-redis 6.0.1, ioredis 6.0.0 with enableAutoPipelining`,
        'bytes a key':
          globalThis.gc === undefined
            ? 'without collections; NODE_OPTIONS=--expose-gc for exact ones'
            : 'after a collection',
      },
      figures: [...allowed, ...denied, ...many, ...shared],
    };
  },
};
