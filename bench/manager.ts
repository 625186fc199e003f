/**
 * What a Manager costs: alone on one core, its clients on the other, at the papers' pace (owners
 * report every 15 s, look-ups sync every 30 s), durable on a file.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { type FleetCommand, Pinned } from './support/fleet/fleet.ts';
import { machineConditions } from './support/machine.ts';
import { cpuPercent, processCost } from './support/process-cost.ts';

const SIZES: readonly { readonly owners: number; readonly lookups: number }[] = [
  { owners: 500, lookups: 2_000 },
  { owners: 1_000, lookups: 4_000 },
  { owners: 2_000, lookups: 8_000 },
  { owners: 3_000, lookups: 12_000 },
];
/** After so many have come, V8 compiles and cleans up for a while: that is no steady state. */
const SETTLE_MS = 60_000;
const STEADY_MS = 30_000;
const CHURN_MS = 60_000;
const RESTART_MS = 120_000;
const HALF_A_CORE = 50;
/** A Manager at its core's limit answers late: with this much left, leases are renewed in time while everybody comes back. */
const RESTART_PERCENT = 25;
const MEAN_LIFE_MS = 8 * 3_600_000;
/** One restart in 11.5 s among 2,500 processes: what it costs is the table for one newcomer and one change for the others. */
const CHURN_TIMES = 2;
/** Centrifuge 5.2: 2,016 look-ups restarted within 32 minutes, not 2. */
const RESTART_OF_THE_PAPER = { name: 'Centrifuge, in 32 minutes, peak', value: 5_000 };
/** PRS 7.1: 500 owners with 2,000 look-ups, where memory was the bound. */
const LARGEST_OF_THE_PAPER = { name: 'PRS, on a server of 2003', value: 500 };

interface Cost {
  readonly percent: number;
  readonly residentMb: number;
  readonly kilobytesPerSecond: number;
}

class Setting implements AsyncDisposable {
  readonly manager: Pinned;
  readonly fleet: Pinned;
  readonly port: number;
  readonly #directory: string;

  private constructor(manager: Pinned, fleet: Pinned, port: number, directory: string) {
    this.manager = manager;
    this.fleet = fleet;
    this.port = port;
    this.#directory = directory;
  }

  static async open({ bundle }: BenchTools): Promise<Setting> {
    const directory = mkdtempSync(join(tmpdir(), 'leasehold-bench-'));
    process.once('exit', () => rmSync(directory, { recursive: true, force: true })); // Also when broken off.
    const manager = new Pinned(await bundle('bench/support/fleet/manager-process.ts'), 0, [directory]);
    const { port } = await manager.heard<{ port: number }>();
    const fleet = new Pinned(await bundle('bench/support/fleet/fleet-process.ts'), 1);
    return new Setting(manager, fleet, port, directory);
  }

  /** What the Manager costs while the fleet does this. */
  async cost(command: FleetCommand): Promise<Cost> {
    const start = await this.fleet.perform({ do: 'wait', ms: 0 });
    const before = processCost(this.manager.pid);
    const end = await this.fleet.perform(command);
    const after = processCost(this.manager.pid);
    const kilobytes = ((end.bytesIn ?? 0) - (start.bytesIn ?? 0)) / 1_000;
    return {
      percent: cpuPercent(before, after),
      residentMb: after.residentBytes / 1e6,
      kilobytesPerSecond: kilobytes / ((after.atMs - before.atMs) / 1_000),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fleet[Symbol.asyncDispose]();
    await this.manager[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

async function run(report: (line: string) => void, tools: BenchTools): Promise<BenchResult> {
  process.once('SIGINT', () => process.exit(130)); // The processes end with the channel to them.
  process.once('SIGTERM', () => process.exit(143));
  const figures: Figure[] = [];
  const at = (owners: number, lookups: number): string => `${owners} owners + ${lookups} look-ups`;
  const most = (metric: string, unit: string, ours: number, limit: number): void => {
    figures.push({ metric, unit, ours, peers: [], goal: `at most ${limit} ${unit}`, met: ours <= limit });
  };

  {
    await using setting = await Setting.open(tools);
    const { port } = setting;
    await setting.fleet.perform({ do: 'grow', port, owners: 200, lookups: 2_016 });
    report('200 owners and 2,016 look-ups restart within 2 minutes');
    const cost = await setting.cost({ do: 'restart-all', port, withinMs: RESTART_MS });
    report(`${cost.percent.toFixed(1)} % of a core, ${cost.kilobytesPerSecond.toFixed(0)} KB/s`);
    most(
      '2,016 look-ups and 200 owners restarted in 2 minutes',
      '% of a core',
      cost.percent,
      RESTART_PERCENT,
    );
    figures.push({
      metric: 'the same, sent by the Manager',
      unit: 'KB/s',
      ours: cost.kilobytesPerSecond,
      peers: [RESTART_OF_THE_PAPER],
      ratio: cost.kilobytesPerSecond / RESTART_OF_THE_PAPER.value,
      goal: `no more than the paper’s peak, ${RESTART_OF_THE_PAPER.value} KB/s`,
      met: cost.kilobytesPerSecond <= RESTART_OF_THE_PAPER.value,
    });
  }
  const steady: { readonly owners: number; readonly lookups: number; readonly cost: Cost }[] = [];
  {
    await using setting = await Setting.open(tools);
    const { port } = setting;
    for (const { owners, lookups } of SIZES) {
      report(`${at(owners, lookups)}: connecting`);
      await setting.fleet.perform({ do: 'grow', port, owners, lookups });
      await setting.fleet.perform({ do: 'wait', ms: SETTLE_MS });
      const cost = await setting.cost({ do: 'wait', ms: STEADY_MS });
      steady.push({ owners, lookups, cost });
      report(
        `${at(owners, lookups)}: ${cost.percent.toFixed(2)} % of a core, ${cost.residentMb.toFixed(0)} MB`,
      );
      if (cost.percent > HALF_A_CORE) break;
      if (owners !== 500) continue;
      most(`steady, ${at(owners, lookups)}`, '% of a core', cost.percent, 3);
      most(`memory, ${at(owners, lookups)}`, 'MB', cost.residentMb, 150);
      const everyMs = MEAN_LIFE_MS / (owners + lookups);
      const churn = await setting.cost({ do: 'churn', port, everyMs, forMs: CHURN_MS });
      report(`a death every ${(everyMs / 1_000).toFixed(1)} s: ${churn.percent.toFixed(2)} % of a core`);
      const times = churn.percent / cost.percent;
      most(`churn, mean life 8 h, over the steady cost, ${at(owners, lookups)}`, 'times', times, CHURN_TIMES);
      const { delaysMs = [] } = await setting.fleet.perform({ do: 'spread', port, times: 20 });
      const sorted = [...delaysMs].sort((one, other) => one - other);
      const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY;
      const p50 = sorted[Math.floor(sorted.length * 0.5)] ?? Number.POSITIVE_INFINITY;
      report(
        `a change reaches ${lookups} look-ups: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, of ${sorted.length}`,
      );
      most(`a change reaches ${lookups} look-ups, p99`, 'ms', p99, 250);
    }
  }
  const held = steady.filter(({ cost }) => cost.percent <= HALF_A_CORE).at(-1);
  figures.push({
    metric: 'largest pool at half a core',
    unit: 'owners, with 4 look-ups each',
    ours: held?.owners ?? 0,
    peers: [LARGEST_OF_THE_PAPER],
    ratio: (held?.owners ?? 0) / LARGEST_OF_THE_PAPER.value,
    goal: 'at least 2000',
    met: (held?.owners ?? 0) >= 2_000,
  });
  const [smallest] = steady;
  const largest = steady.at(-1);
  if (smallest !== undefined && largest !== undefined) {
    const growth = largest.cost.percent / smallest.cost.percent / (largest.owners / smallest.owners);
    most(`cost against size, ${largest.owners} owners to ${smallest.owners}`, 'times linear', growth, 1.25);
  }
  const table = steady.map(
    ({ owners, lookups, cost }) =>
      [
        at(owners, lookups),
        `${cost.percent.toFixed(2)} % of a core, ${cost.residentMb.toFixed(0)} MB, ${cost.kilobytesPerSecond.toFixed(0)} KB/s out`,
      ] as const,
  );
  return {
    name: 'manager',
    conditions: {
      ...machineConditions(),
      placement: 'Manager alone on core 0, all clients in one process on core 1',
      'look-ups': 'keep their place in the log but no table; they do not unpack rows',
      ...Object.fromEntries(table),
    },
    figures,
  };
}

export const bench: Bench = {
  name: 'manager',
  describe: 'what a Manager costs in processor and memory, against the papers’ pools and upward',
  run,
};
