/**
 * Exclusive ownership of 1, 10 and 100 million keys by ten owners: how long it takes to establish, and
 * what has to be said to keep it, beside one lease per key in Redis and in etcd.
 *
 * Ours are leases on ranges, so the number of keys enters nowhere but in the check at the end, where
 * every owner is asked for every key. The peers are measured with ten thousand keys each and scaled
 * linearly, which flatters them: neither would do a hundred million renewals every three seconds.
 */

import { resolveDurations } from '../leasehold/src/pool/core/options.ts';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { ItemsFleet, type Rate } from './support/items/fleet.ts';
import { inEtcd, inRedis, type LeasePerKey, measureLeases } from './support/items/lease-per-key.ts';
import { type Ownership, type Sample, sampleOf } from './support/items/sample.ts';
import { machineConditions } from './support/machine.ts';
import { leftOut, openEtcd, openRedis } from './support/processes/peers.ts';
import { median } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';

const OWNERS = 10;
const ITEMS: readonly number[] = [1_000_000, 10_000_000, 100_000_000];
const ESTABLISHED_TIMES = 7;
const KEPT_MS = 30_000;
/** Of this many items at most, every one is checked; of more than that a sample is. */
const CHECKED_ALL_UP_TO = 10_000_000;
const SAMPLE = 1_000_000;

const REDIS_KEYS = 10_000;
const REDIS_IN_FLIGHT = 256;
const ETCD_KEYS = 10_000;
const ETCD_IN_FLIGHT = 64;

const TIMES_FEWER_MESSAGES = 1_000;
const TIMES_FEWER_BYTES = 100;
const GROWTH = 1.5;

const { leaseMs, renewEveryMs } = resolveDurations();
/** How often a lease per key is renewed: at a third of it. */
const PEER_RENEWS_EVERY_MS = leaseMs / 3;
/** None is to end while it is measured how fast they can be taken. */
const PEER_LEASE_MS = 120_000;

type Report = (line: string) => void;

interface Kept {
  readonly items: number;
  readonly establishedMs: number;
  readonly rate: Rate;
  readonly sample: Sample;
  readonly ownership: Ownership;
  /** While the owners had more to do than the machine could. */
  readonly crowded: Ownership;
}

const millions = (items: number): string => `${items / 1e6} million keys`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;

const counts = ({ exactlyOne, none, several }: Ownership): string =>
  `${exactlyOne} with one owner, ${several} with several, ${none} with none`;

async function ours(workshop: Workshop, report: Report): Promise<{ kept: Kept[]; ranges: number }> {
  const fleet = await ItemsFleet.open(workshop, OWNERS);
  const times = new Map(ITEMS.map((items) => [items, [] as number[]]));
  const kept: Kept[] = [];
  let ranges = 0;
  await fleet.establish('practice');
  await fleet.leave();
  // In turn, so that a busy minute of the machine falls on all alike.
  for (let time = 1; time <= ESTABLISHED_TIMES; time += 1) {
    for (const items of ITEMS) {
      times.get(items)?.push(await fleet.establish(`${items}-items-${time}`));
      if (time < ESTABLISHED_TIMES) {
        await fleet.leave();
        continue;
      }
      const establishedMs = median(times.get(items) ?? []);
      report(`${millions(items)}: established in ${seconds(establishedMs)}; keeping them`);
      const rate = await fleet.keep(KEPT_MS);
      ranges = await fleet.ranges();
      const sample = sampleOf(items, items <= CHECKED_ALL_UP_TO ? items : SAMPLE);
      report(`${millions(items)}: asking ${OWNERS} owners for ${sample.count.toLocaleString('en')} of them`);
      const ownership = await fleet.check(sample, 'in turn');
      report(`${millions(items)}: ${counts(ownership)}`);
      const crowded = await fleet.check(sampleOf(items, SAMPLE), 'at once');
      report(`${millions(items)}, ${SAMPLE} of them asked for by all owners at once: ${counts(crowded)}`);
      kept.push({ items, establishedMs, rate, sample, ownership, crowded });
      await fleet.leave();
    }
  }
  return { kept, ranges };
}

async function theirs(workshop: Workshop, report: Report): Promise<readonly LeasePerKey[]> {
  const measured: LeasePerKey[] = [];
  const note = (peer: LeasePerKey): void => {
    measured.push(peer);
    report(`${peer.keys} keys in ${peer.name}: ${rates(peer)}`);
  };
  const redis = await openRedis(workshop);
  if (redis === undefined) report(leftOut('redis-server'));
  else {
    const load = { keys: REDIS_KEYS, inFlight: REDIS_IN_FLIGHT };
    note(await measureLeases(inRedis(redis, PEER_LEASE_MS), load));
    redis.disconnect();
  }
  const etcd = await openEtcd(workshop);
  if (etcd === undefined) report(leftOut('etcd'));
  else {
    const load = { keys: ETCD_KEYS, inFlight: ETCD_IN_FLIGHT };
    note(await measureLeases(inEtcd(etcd, PEER_LEASE_MS), load));
  }
  return measured;
}

const rates = ({ takenPerSecond, renewedPerSecond, bytesPerRenewal }: LeasePerKey): string =>
  `${takenPerSecond.toFixed(0)} taken/s, ${renewedPerSecond.toFixed(0)} renewed/s, ${bytesPerRenewal.toFixed(0)} bytes a renewal and its answer`;

function figuresOf(kept: readonly Kept[], peers: readonly LeasePerKey[]): Figure[] {
  const renewalsPerSecond = (items: number): number => items / (PEER_RENEWS_EVERY_MS / 1_000);
  const beside = (what: string, ours: number, of: (peer: LeasePerKey) => number) => {
    const values = peers.map((peer) => ({ name: `${peer.name}, scaled`, value: of(peer) }));
    const best = Math.min(...values.map(({ value }) => value));
    return { metric: what, ours, peers: values, ratio: peers.length === 0 ? undefined : best / ours };
  };
  const least = kept[0]?.establishedMs ?? Number.NaN;
  return kept.flatMap(({ items, establishedMs, rate, sample, ownership, crowded }): Figure[] => {
    const messages = beside(
      `${millions(items)}: messages to keep them`,
      rate.messagesPerSecond,
      () => 2 * renewalsPerSecond(items),
    );
    const fewer = ({ ratio = 0 }: { readonly ratio?: number | undefined }, times: number) => ({
      goal: `at least ${times} times fewer than the best peer${peers.length === 0 ? ', but none is here' : ''}`,
      met: ratio >= times,
    });
    const bytes = beside(
      `${millions(items)}: bytes to keep them`,
      rate.bytesPerSecond / 1_000,
      ({ bytesPerRenewal }) => (renewalsPerSecond(items) * bytesPerRenewal) / 1_000,
    );
    return [
      {
        ...beside(
          `${millions(items)}: time to establish`,
          establishedMs / 1_000,
          ({ takenPerSecond }) => items / takenPerSecond,
        ),
        unit: 's',
        goal: `at most ${GROWTH} times that of ${millions(ITEMS[0] ?? 0)}`,
        met: establishedMs <= GROWTH * least,
      },
      { ...messages, unit: 'messages/s', ...fewer(messages, TIMES_FEWER_MESSAGES) },
      { ...bytes, unit: 'KB/s', ...fewer(bytes, TIMES_FEWER_BYTES) },
      {
        metric: `${millions(items)}: with exactly one owner, of ${sample.count / 1e6} million checked`,
        unit: 'keys',
        ours: ownership.exactlyOne,
        peers: [],
        goal: 'all',
        met: ownership.exactlyOne === sample.count,
      },
      {
        metric: `${millions(items)}: with more than one owner, however they were asked`,
        unit: 'keys',
        ours: ownership.several + crowded.several,
        peers: [],
        goal: 'none',
        met: ownership.several + crowded.several === 0,
      },
      {
        metric: `${millions(items)}: with none at times, of ${SAMPLE / 1e6} million, all owners busy at once`,
        unit: 'keys',
        ours: crowded.none,
        peers: [],
        goal: 'none',
        met: crowded.none === 0,
      },
    ];
  });
}

async function run(report: Report, tools: BenchTools): Promise<BenchResult> {
  await using workshop = new Workshop(tools);
  const peers = await theirs(workshop, report);
  const { kept, ranges } = await ours(workshop, report);
  const found = (name: string, program: 'redis-server' | 'etcd', how: string): string => {
    const peer = peers.find((each) => each.name === name);
    return peer === undefined ? leftOut(program) : `${rates(peer)}; measured with ${peer.keys} keys, ${how}`;
  };
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      ours: `${OWNERS} owner processes and a Manager on a file, which syncs; leases of ${leaseMs} ms on ${ranges} ranges, reported every ${renewEveryMs} ms; no look-ups`,
      'time to establish': `from telling all owners to join until all keys are owned and nothing moves any more; median of ${ESTABLISHED_TIMES}, in turn`,
      'to keep': `both directions, counted by the Manager over ${KEPT_MS / 1_000} s, with frames but without the headers of TCP`,
      checked: `check for every key at all ${OWNERS} owners, one after another; of ${millions(ITEMS.at(-1) ?? 0)} only every 100th. All at once they keep each other from running, and an owner held up between two readings of its clocks takes that for a suspension of the machine: it lets go until the Manager answers`,
      peers: `one lease of ${leaseMs} ms per key, renewed every ${PEER_RENEWS_EVERY_MS} ms, one server, one client; SCALED LINEARLY from the keys measured, whether or not a server could do as much`,
      Redis: found('Redis', 'redis-server', `${REDIS_IN_FLIGHT} in flight, nothing on disk`),
      etcd: found(
        'etcd',
        'etcd',
        `${ETCD_IN_FLIGHT} in flight over its JSON gateway, one member, which syncs`,
      ),
    },
    figures: figuresOf(kept, peers),
  };
}

export const bench: Bench = {
  name: 'items',
  describe: 'exclusive ownership of up to 100 million keys, beside one lease per key in Redis and etcd',
  run,
};
