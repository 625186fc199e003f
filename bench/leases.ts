/**
 * How fast many leases can be had, one for each resource: from a Flease group of three, by redlock on three Redis, from a
 * ZooKeeper of three with and without `forceSync`, and from an etcd of three. All are real processes on one machine, and all are up
 * all the time; they are measured in turn, round after round.
 *
 * Then, as the authors of Flease did: how the rate holds when another program keeps the disk busy, which only
 * those notice who wait for it. All are up then, too, and that is what counts; ours is measured once more when the others
 * are gone, to be told beside it. And how long a lease of ours is without a holder when its holder is killed.
 *
 * To try it out: `LEASES_SHARE=0.1` makes batches of a tenth, `LEASES_OF='redlock;etcd'` measures only these. Without ours there are no
 * figures, and what the others did is among the conditions.
 */

import process from 'node:process';
import type { Bench, BenchResult, BenchTools } from '../scripts/bench/bench.ts';
import { assertRealDisk, CHUNK_BYTES, DiskLoad, EVERY_MS, syncMs, WRITERS } from './support/leases/disk.ts';
import { etcd } from './support/leases/etcd.ts';
import { failovers, KILLS, LEASES, TIMES } from './support/leases/failover.ts';
import { batchFigures, diskFigure, failoverFigures } from './support/leases/figures.ts';
import { flease, OURS } from './support/leases/flease.ts';
import type { LeasePeer, PeerKind } from './support/leases/peer.ts';
import { redlock, redlockPipelined } from './support/leases/redlock.ts';
import { SlowDisk } from './support/leases/slow-disk.ts';
import { Standings } from './support/leases/standings.ts';
import {
  type BatchMeasured,
  type Turn,
  IN_FLIGHT,
  measureBatch,
  OTHERS_PERCENT_MAX,
  rateOf,
  TRIES_MAX,
  takeTurn,
} from './support/leases/turn.ts';
import { zooKeeper, zooKeeperWithoutSync } from './support/leases/zookeeper.ts';
import { machineConditions } from './support/machine.ts';
import { median } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';

const SHARE = Number(process.env['LEASES_SHARE'] ?? 1);
const KINDS: readonly PeerKind[] = [flease, redlock, redlockPipelined, zooKeeperWithoutSync, zooKeeper, etcd];
const ONLY: readonly string[] = process.env['LEASES_OF']?.split(';') ?? KINDS.map(({ name }) => name);

const ROUNDS = 5;
const scaled = (leases: number): number => Math.max(1, Math.round(leases * SHARE));
const [SMALL, MIDDLE, LARGE] = [1_000, 10_000, 50_000].map(scaled) as [number, number, number];
const SIZES: readonly number[] = [SMALL, MIDDLE, LARGE];
/** A small batch is soon over, and so there are several in a turn. */
const TURN: readonly number[] = [SMALL, SMALL, SMALL, MIDDLE, LARGE];
/** For ours all are: the largest within a second, which the others take ten for, and a tenth of a second is no measure. */
const TURN_OF_OURS: readonly number[] = [...TURN, MIDDLE, MIDDLE, LARGE, LARGE];
/** For whom the largest would take more than twenty seconds. */
const SLOW: readonly string[] = [etcd.name];
/** So long everybody practises at first, so that its code is compiled, theirs too; and when its turn has come, for it was idle since. */
const PRACTICE_MS = 8_000 * Math.min(1, SHARE * 2);
const WARM_UP_MS: number = PRACTICE_MS / 8;

const DISK_TURN: readonly number[] = [scaled(10_000)];
/** Ours would be over before the disk has noticed. */
const DISK_TURN_OF_OURS: readonly number[] = [LARGE, LARGE, LARGE, LARGE, LARGE];
/** As many with the idle disk first as with the busy one. */
const DISK_PAIRS = 8;
const DISK_KINDS: readonly string[] = [OURS, zooKeeper.name, zooKeeperWithoutSync.name];

type Report = (line: string) => void;

const count = (sizes: readonly number[]): string =>
  sizes.map((leases) => leases.toLocaleString('en')).join(' + ');

function sizesFor(name: string): readonly number[] {
  if (name === OURS) return TURN_OF_OURS;
  return SLOW.includes(name) ? TURN.filter((leases) => leases !== LARGE) : TURN;
}

const said = ({ leases, perSecond, p50Ms, p99Ms, clientMicros, serverMicros }: BatchMeasured): string =>
  `${leases.toLocaleString('en')} at ${perSecond.toFixed(0)}/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${clientMicros.toFixed(0)} + ${serverMicros.toFixed(0)} µs`;

/** As many batches as there is time for. */
async function practise(peer: LeasePeer, forMs: number): Promise<void> {
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs) await measureBatch(peer, MIDDLE);
}

async function race(peers: readonly LeasePeer[], report: Report): Promise<Standings> {
  const standings = new Standings();
  for (const peer of peers) {
    report(`${peer.name}: practice`);
    await practise(peer, PRACTICE_MS);
  }
  const ours = peers.find(({ name }) => name === OURS);
  const others = peers.filter((peer) => peer !== ours);
  const turnOf = async (peer: LeasePeer, round: number): Promise<Turn> => {
    await practise(peer, WARM_UP_MS);
    const turn = await takeTurn(peer, sizesFor(peer.name), report);
    const largest = turn.batches.at(-1) as BatchMeasured;
    report(
      `round ${round + 1} of ${ROUNDS}, ${peer.name}: ${said(largest)}; others ${turn.othersPercent.toFixed(0)} % of a core`,
    );
    return turn;
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const peer of others.length === 0 ? [undefined] : others) {
      const own = ours && (await turnOf(ours, round));
      if (own !== undefined) standings.addOurs(own);
      if (peer !== undefined) standings.addTheirs(peer.name, await turnOf(peer, round), own);
    }
  }
  return standings;
}

interface DiskFindings {
  readonly shares: ReadonlyMap<string, number>;
  readonly told: string;
}

/**
 * A batch while somebody writes to memory and one while the same is written to the disk, a few times, each first in turn; the ratio
 * of each pair.
 */
async function withBusyDisk(
  workshop: Workshop,
  peers: readonly LeasePeer[],
  report: Report,
): Promise<DiskFindings> {
  const load = await DiskLoad.open(workshop);
  const pids = peers.flatMap(({ client, servers }) => [client.pid, ...servers]);
  using slow = SlowDisk.under(workshop.directory, [...pids, load.pid]);
  const shares = new Map<string, number[]>(peers.map(({ name }) => [name, []]));
  const rates = new Map<string, string[]>(peers.map(({ name }) => [name, []]));
  const [megabytes, othersIdle, othersBusy]: [number[], number[], number[]] = [[], [], []];
  for (let pair = 0; pair < DISK_PAIRS; pair += 1) {
    for (const peer of peers) {
      const sizes = peer.name === OURS ? DISK_TURN_OF_OURS : DISK_TURN;
      const turn = async (): Promise<Turn> => {
        await practise(peer, WARM_UP_MS);
        return takeTurn(peer, sizes, report, [load.pid]);
      };
      const idleFirst = pair % 2 === 0 ? await load.during('memory', turn) : undefined;
      const { done: busy, written } = await load.during('disk', turn);
      const { done: idle } = idleFirst ?? (await load.during('memory', turn));
      shares.get(peer.name)?.push(rateOf(busy) / rateOf(idle));
      rates.get(peer.name)?.push(`${rateOf(idle).toFixed(0)} → ${rateOf(busy).toFixed(0)}`);
      megabytes.push(written.megabytesPerSecond);
      othersIdle.push(idle.othersPercent);
      othersBusy.push(busy.othersPercent);
      report(
        `${peer.name}: ${rateOf(idle).toFixed(0)}/s, ${rateOf(busy).toFixed(0)}/s while the disk takes ${written.megabytesPerSecond.toFixed(1)} MB/s; others ${idle.othersPercent.toFixed(0)} and ${busy.othersPercent.toFixed(0)} % of a core`,
      );
    }
  }
  const told = [...rates].map(([name, each]) => `${name} ${each.join(', ')}`).join('; ');
  return {
    shares: new Map([...shares].map(([name, each]) => [name, median(each)])),
    told: `${DISK_PAIRS} pairs of ${count(DISK_TURN)} leases (of ours ${count(DISK_TURN_OF_OURS)}), in leases/s idle → busy: ${told}; busy: another process, ${WRITERS} times at once, writes ${CHUNK_BYTES / 1_024} KB and syncs, every ${EVERY_MS} ms if the disk can, and came to ${median(megabytes).toFixed(1)} MB/s; idle: it writes the same to memory; others took ${median(othersIdle).toFixed(0)} % of a core idle, ${median(othersBusy).toFixed(0)} % busy; ${slow.told}`,
  };
}

/** All of them side by side, which is what counts; then ours alone, to be told. None of them is there afterwards. */
async function onBusyDisk(
  workshop: Workshop,
  peers: readonly LeasePeer[],
  report: Report,
): Promise<DiskFindings | undefined> {
  const onDisk = peers.filter(({ name }) => DISK_KINDS.includes(name));
  const ours = onDisk.find(({ name }) => name === OURS);
  const others = peers.filter((peer) => peer !== ours);
  const beside = onDisk.length === 0 ? undefined : await withBusyDisk(workshop, onDisk, report);
  for (const peer of others) await peer.close();
  if (beside === undefined || ours === undefined || others.length === 0) {
    await ours?.close();
    return beside;
  }
  report(`${OURS}: the same, with nobody else there`);
  const alone = await withBusyDisk(workshop, [ours], report);
  await ours.close();
  const share = alone.shares.get(OURS)?.toFixed(2);
  return {
    shares: beside.shares,
    told: `${beside.told}. With nobody else there it is ${share} for ours: ${alone.told}`,
  };
}

/** What each did, for whoever wants more than the figures. */
function told(standings: Standings, name: string): string {
  const values = SIZES.flatMap((leases) => {
    const found = (of: (batch: BatchMeasured) => number): number | undefined =>
      name === OURS ? standings.ours(leases, of) : standings.theirs(name, leases, of);
    const value = (of: (batch: BatchMeasured) => number): number => found(of) ?? Number.NaN;
    if (found(({ perSecond }) => perSecond) === undefined) return [];
    return said({
      leases,
      perSecond: value(({ perSecond }) => perSecond),
      p50Ms: value(({ p50Ms }) => p50Ms),
      p99Ms: value(({ p99Ms }) => p99Ms),
      clientMicros: value(({ clientMicros }) => clientMicros),
      serverMicros: value(({ serverMicros }) => serverMicros),
    });
  });
  return values.join('; ');
}

function quietness(standings: Standings): string {
  const { turns } = standings;
  const discarded = turns.reduce((sum, turn) => sum + turn.discarded, 0);
  const loud = turns.filter(({ othersPercent }) => othersPercent > OTHERS_PERCENT_MAX).length;
  const most = Math.max(...turns.map(({ othersPercent }) => othersPercent));
  return `${discarded} turns discarded because they took more than ${OTHERS_PERCENT_MAX} % of a core; at most ${most.toFixed(0)} % in those that count, with the systems that wait for their turn${loud === 0 ? '' : `, of which ${loud} were not quieter in ${TRIES_MAX} tries`}`;
}

async function started(workshop: Workshop, report: Report): Promise<readonly LeasePeer[]> {
  const peers: LeasePeer[] = [];
  for (const kind of KINDS.filter(({ name }) => ONLY.includes(name))) {
    const missing = kind.missing();
    if (missing === undefined) peers.push(await kind.start(workshop));
    else report(missing);
  }
  return peers;
}

async function run(report: Report, tools: BenchTools): Promise<BenchResult> {
  assertRealDisk();
  await using workshop = new Workshop(tools);
  const diskMs = syncMs(workshop.directory);
  report(`starting ${ONLY.join(', ')}`);
  const peers = await started(workshop, report);
  const standings = await race(peers, report);
  const disk = await onBusyDisk(workshop, peers, report);
  const isOurs = ONLY.includes(OURS);
  const kills = scaled(KILLS);
  const tookMs = isOurs ? await failovers(workshop, kills, report) : [];
  const absent = KINDS.filter(({ name }) => !peers.some((peer) => peer.name === name));
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      asked: `by one process, ${IN_FLIGHT} at a time, each for a resource of its own that nobody asked for before; nothing is renewed or runs out meanwhile, and everybody gives everything back between two batches, which is not counted. All are up all the time, and clients and servers share the cores`,
      rounds: `${ROUNDS}, everybody in turn, ours before each of the others, after practice of ${PRACTICE_MS / 1_000} s each, and of ${WARM_UP_MS / 1_000} s before each turn; a turn is ${count(TURN)} leases (of ours ${count(TURN_OF_OURS)}, since it is soon over; ${SLOW.join(', ')}: without the last, which would take more than 20 s). The median of a turn and of the rounds, and ratios of two turns that follow each other`,
      'client + servers': 'processor time, for a lease',
      disk: `a write of 4 KB is synced in ${diskMs.toFixed(2)} ms`,
      'other processes': quietness(standings),
      ...Object.fromEntries(peers.map(({ name, setting }) => [name, `${setting}. ${told(standings, name)}`])),
      ...(disk === undefined ? {} : { 'busy disk': disk.told }),
      ...(isOurs
        ? {
            'holders killed': `${kills}, each with ${LEASES} leases of t_max ${TIMES.leaseMs} ms with ε ${TIMES.clockSkewMs} ms, while another member asks for all of them; a group of its own`,
          }
        : {}),
      ...Object.fromEntries(absent.map((kind) => [kind.name, kind.missing() ?? 'LEFT OUT on demand'])),
    },
    figures: [
      ...batchFigures(standings, SIZES),
      ...(disk === undefined ? [] : diskFigure(disk.shares)),
      ...(isOurs ? failoverFigures(tookMs) : []),
    ],
  };
}

export const bench: Bench = {
  name: 'leases',
  describe:
    'leases by the thousand from a Flease group, beside redlock, ZooKeeper and etcd; and the failover of ours',
  run,
};
