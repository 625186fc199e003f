/**
 * What it spares a leader that look-ups can be with any Manager: the processor time of the one that leads, with ten
 * thousand look-ups across three Managers on etcd, beside a single Manager on a file that has them all.
 *
 * At the papers' pace, as in `manager.ts`. The Manager that is measured is alone on one core; everybody else,
 * etcd and the standbys too, is on the other.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { EtcdCluster, installed } from '../leasehold/src/etcd/testing/etcd-cluster.ts';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { Pinned } from './support/fleet/fleet.ts';
import { machineConditions } from './support/machine.ts';
import { cpuPercent, processCost } from './support/process-cost.ts';
import { leftOut } from './support/processes/peers.ts';

/**
 * A leader that has a third of the look-ups would cost a third, if look-ups were all that it serves and being the leader
 * of others cost nothing. That it costs less than a Manager that has them all says nothing; what is gained beyond half does.
 */
const SHARE_GOAL = 0.5;

/** A share of the look-ups, to try it out. */
const SHARE = Number(process.env['LOOKUPS_SHARE'] ?? 1);
const LOOKUPS = Math.round(10_000 * SHARE);
const OWNERS = 100;
const SETTLE_MS = 45_000 * SHARE;
const STEADY_MS = 30_000 * SHARE;
const CHURN_MS = 30_000 * SHARE;
const CHURN_EVERY_MS = 2_000;
const CLIENTS_CORE = 1;

type Report = (line: string) => void;

interface Cost {
  readonly steady: number;
  readonly churn: number;
  readonly residentMb: number;
}

interface Started {
  readonly port: number;
}

/** What the leader costs, once everybody is there. */
async function costOf(
  leader: Pinned,
  fleet: Pinned,
  port: number,
  lookupPorts: readonly number[],
): Promise<Cost> {
  await fleet.perform({ do: 'grow', port, owners: OWNERS, lookups: LOOKUPS, lookupPorts });
  await fleet.perform({ do: 'wait', ms: SETTLE_MS });
  const start = processCost(leader.pid);
  await fleet.perform({ do: 'wait', ms: STEADY_MS });
  const steady = processCost(leader.pid);
  await fleet.perform({ do: 'churn', port, everyMs: CHURN_EVERY_MS, forMs: CHURN_MS });
  const end = processCost(leader.pid);
  return {
    steady: cpuPercent(start, steady),
    churn: cpuPercent(steady, end),
    residentMb: end.residentBytes / 1e6,
  };
}

async function alone(tools: BenchTools, directory: string): Promise<Cost> {
  const bundle = await tools.bundle('bench/support/fleet/manager-process.ts');
  await using manager = new Pinned(bundle, 0, [join(directory, 'alone')]);
  const { port } = await manager.heard<Started>();
  await using fleet = new Pinned(await tools.bundle('bench/support/fleet/fleet-process.ts'), CLIENTS_CORE);
  return await costOf(manager, fleet, port, [port]);
}

async function shared(tools: BenchTools): Promise<Cost> {
  await using cluster = await EtcdCluster.start({ under: ['taskset', '-c', String(CLIENTS_CORE)] });
  const store = `etcd://${cluster.endpoints.map((endpoint) => new URL(endpoint).host).join(',')}/standbys`;
  const bundle = await tools.bundle('bench/support/fleet/manager-process.ts');
  await using leader = new Pinned(bundle, 0, [store, 'leading']);
  const first = await leader.heard<Started>();
  await using second = new Pinned(bundle, CLIENTS_CORE, [store]);
  await using third = new Pinned(bundle, CLIENTS_CORE, [store]);
  const standbys = await Promise.all([second, third].map((standby) => standby.heard<Started>()));
  await using fleet = new Pinned(await tools.bundle('bench/support/fleet/fleet-process.ts'), CLIENTS_CORE);
  const ports = [first, ...standbys].map(({ port }) => port);
  return await costOf(leader, fleet, first.port, ports);
}

const said = ({ steady, churn, residentMb }: Cost): string =>
  `${steady.toFixed(2)} % of a core, ${churn.toFixed(2)} % while somebody dies every ${CHURN_EVERY_MS / 1_000} s, ${residentMb.toFixed(0)} MB`;

async function run(report: Report, tools: BenchTools): Promise<BenchResult> {
  if (installed('etcd') === undefined) throw new Error(leftOut('etcd'));
  const directory = mkdtempSync(join(tmpdir(), 'leasehold-bench-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  process.once('SIGINT', () => process.exit(130)); // The processes end with the channel to them.
  process.once('SIGTERM', () => process.exit(143));
  report(`${LOOKUPS} look-ups and ${OWNERS} owners with one Manager on a file`);
  const one = await alone(tools, directory);
  report(said(one));
  report('the same with three Managers on etcd, look-ups evenly among them');
  const three = await shared(tools);
  report(said(three));
  const figure = (metric: string, unit: string, of: (cost: Cost) => number): Figure => ({
    ...{
      metric: `the leader, ${metric}`,
      unit,
      ours: of(three),
      peers: [{ name: 'one Manager', value: of(one) }],
    },
    ratio: of(one) / of(three),
    goal: `at most ${SHARE_GOAL} times one Manager alone; it has a third of the look-ups`,
    met: of(three) <= SHARE_GOAL * of(one),
  });
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      placement: 'the Manager that is measured alone on core 0; etcd, standbys and all clients on core 1',
      pool: `${OWNERS} owners, ${LOOKUPS} look-ups, at the papers’ pace; look-ups keep their place in the log but no table`,
      'one Manager on a file': said(one),
      'the leader of three on etcd': said(three),
    },
    figures: [
      figure('steady', '% of a core', ({ steady }) => steady),
      figure(`while somebody dies every ${CHURN_EVERY_MS / 1_000} s`, '% of a core', ({ churn }) => churn),
      {
        ...figure('memory', 'MB', ({ residentMb }) => residentMb),
        ...{ goal: undefined, met: undefined }, // Most of it is Node itself.
      },
    ],
  };
}

export const bench: Bench = {
  name: 'standbys',
  describe: 'what a leader on etcd is spared when look-ups are spread over three Managers',
  run,
};
