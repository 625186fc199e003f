/**
 * How soon a group knows that a server is gone, and what a group costs that only waits: 3, 10 and 50 servers on this machine, with the default
 * durations. `support/membership/fleet.ts` says which servers share a process; `MEMBERSHIP_PROCESSES=own` gives each one its own.
 *
 * A *silent crash* is a process that is stopped (SIGSTOP): nothing closes the connections. Beside every server, in the same process, runs a
 * detector after SWIM with memberlist's settings for local networks (`support/membership/swim.ts`), so both see the same crash at the same
 * instant on an equally busy machine. The detectors know of a crash when every other one has declared the server dead; the group, when
 * every other server has delivered the view without the crashed one. *Acting* has no peer: a detector has no leases.
 *
 * And how soon a thousand clients of three servers know of one more.
 *
 * To try this out: `MEMBERSHIP_SIZES=3 MEMBERSHIP_CRASHES=1 MEMBERSHIP_CLIENTS=0`; `MEMBERSHIP_SIZES=` measures the clients and the groups on etcd only,
 * and `MEMBERSHIP_ETCD_SIZES=` leaves those on etcd out.
 */

import process from 'node:process';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { Crowd } from './support/membership/crowd.ts';
import { Fleet, spreadOf } from './support/membership/fleet.ts';
import { measureOnEtcd } from './support/membership/on-etcd.ts';
import { machineConditions } from './support/machine.ts';
import { median } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';

const SIZES = (process.env['MEMBERSHIP_SIZES'] ?? '3,10,50').split(',').filter(Boolean).map(Number);
const ETCD_SIZES = (process.env['MEMBERSHIP_ETCD_SIZES'] ?? '3,10').split(',').filter(Boolean).map(Number);
const CRASHES = Number(process.env['MEMBERSHIP_CRASHES'] ?? 5);
const IDLE_MS = Number(process.env['MEMBERSHIP_IDLE_MS'] ?? 10_000);
const PEER = 'SWIM, memberlist’s LAN settings';
const CLIENTS = Number(process.env['MEMBERSHIP_CLIENTS'] ?? 1_000);
const CLIENT_PROCESSES = 4;
const JOINS = Number(process.env['MEMBERSHIP_JOINS'] ?? 5);
const GOALS = { viewMs: 1_500, actsMs: 3_000, killedMs: 100, corePercent: 3, joinMs: 500 };
/** The cost of a core is a goal for the largest group that is supported. */
const LARGEST = 50;

type Report = (line: string) => void;

const atMost = (limit: number, unit: string, ours: number) => ({
  goal: `at most ${limit} ${unit}`,
  met: ours <= limit,
});

async function measure(size: number, workshop: Workshop, report: Report): Promise<readonly Figure[]> {
  report(`${size} servers: starting …`);
  const fleet = await Fleet.start(workshop, size);
  try {
    report(`${size} servers: idle …`);
    const idle = await fleet.idle(IDLE_MS);
    const [killed, views, acts, dead]: number[][] = [[], [], [], []];
    for (let crash = 1; crash <= CRASHES; crash += 1) {
      const killedMs = await fleet.killOne();
      killed?.push(killedMs);
      const silent = await fleet.stopOne();
      views?.push(silent.viewMs);
      acts?.push(silent.actsMs);
      dead?.push(silent.deadMs);
      report(
        `${size} servers, crash ${crash} of ${CRASHES}: killed ${killedMs.toFixed(0)} ms; silent: view ${silent.viewMs.toFixed(0)}, acts ${silent.actsMs.toFixed(0)}, SWIM ${silent.deadMs.toFixed(0)} ms`,
      );
    }
    const of = (values: readonly number[] | undefined): number => median(values ?? []);
    const figure = (metric: string, unit: string, ours: number, peer?: number): Figure => ({
      ...{ metric: `${size} servers: ${metric}`, unit, ours },
      peers: peer === undefined ? [] : [{ name: PEER, value: peer }],
      ratio: peer === undefined ? undefined : peer / ours,
    });
    return [
      {
        ...figure('silent crash to the new view at all others', 'ms', of(views), of(dead)),
        ...atMost(GOALS.viewMs, 'ms', of(views)),
      },
      {
        ...figure('silent crash to all others acting', 'ms', of(acts)),
        ...atMost(GOALS.actsMs, 'ms', of(acts)),
      },
      {
        ...figure('killed process to the new view at all others', 'ms', of(killed)),
        ...atMost(GOALS.killedMs, 'ms', of(killed)),
      },
      {
        ...figure('idle, of a core, a server', '%', idle.corePercent),
        ...(size === LARGEST ? atMost(GOALS.corePercent, '%', idle.corePercent) : {}),
      },
      figure('idle, sent by a server', 'messages/s', idle.messagesPerSecond, idle.swim.messagesPerSecond),
      figure('idle, sent by a server', 'bytes/s', idle.bytesPerSecond, idle.swim.bytesPerSecond),
    ];
  } finally {
    await fleet.stop();
  }
}

async function measureClients(workshop: Workshop, report: Report): Promise<readonly Figure[]> {
  report(`${CLIENTS} clients: starting …`);
  const crowd = await Crowd.start(workshop, CLIENTS, CLIENT_PROCESSES);
  try {
    const corePercent = await crowd.idlePercent();
    const joins: { readonly seenMs: number; readonly actsMs: number }[] = [];
    for (let join = 1; join <= JOINS; join += 1) {
      const joined = await crowd.joinOne();
      joins.push(joined);
      report(
        `${CLIENTS} clients, join ${join} of ${JOINS}: seen by all after ${joined.seenMs.toFixed(0)} ms, all act after ${joined.actsMs.toFixed(0)} ms`,
      );
    }
    const metric = (what: string): string => `${CLIENTS} clients of 3 servers: ${what}`;
    const seenMs = median(joins.map((joined) => joined.seenMs));
    const none = { peers: [], ratio: undefined };
    return [
      {
        ...{ metric: metric('a join is known to all'), unit: 'ms', ours: seenMs, ...none },
        ...atMost(GOALS.joinMs, 'ms', seenMs),
      },
      {
        ...{ metric: metric('all act again after a join'), unit: 'ms' },
        ...{ ours: median(joins.map(({ actsMs }) => actsMs)), ...none },
      },
      { metric: metric('idle, of a core, a server'), unit: '%', ours: corePercent, ...none },
    ];
  } finally {
    await crowd.stop();
  }
}

async function run(report: Report, tools: BenchTools): Promise<BenchResult> {
  await using workshop = new Workshop(tools);
  const figures: Figure[] = [];
  for (const size of SIZES) figures.push(...(await measure(size, workshop, report)));
  if (CLIENTS > 0) figures.push(...(await measureClients(workshop, report)));
  figures.push(...(await measureOnEtcd({ sizes: ETCD_SIZES, crashes: CRASHES }, workshop, report)));
  return {
    name: 'membership',
    conditions: {
      ...machineConditions(),
      ...{ 'crashes of each kind': CRASHES, 'ms of idling': IDLE_MS, leaseMs: 1_500, heartbeatMs: 250 },
      ...Object.fromEntries(SIZES.map((size) => [`processes of ${size} servers`, spreadOf(size)])),
      ...(CLIENTS > 0 ? { 'processes of clients': CLIENT_PROCESSES, joins: JOINS } : {}),
      network: 'loopback; figures are medians, so a busy machine makes them upper bounds',
      peer: `${PEER}: probe every 1 s, timeout 0.5 s, 3 indirect probes, suspicion × 4, gossip every 0.2 s to 3; written for this measurement, over UDP, JSON. The time to a dead server follows from these settings, as ours follows from downMs: the ratio compares settings, not protocols`,
    },
    figures,
  };
}

export const bench: Bench = {
  name: 'membership',
  describe:
    'How soon a group has a view without a crashed server, beside a SWIM detector with memberlist’s settings (the ratio compares settings, not protocols).',
  run,
};
