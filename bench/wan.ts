/**
 * Five sites far apart, with the round trips of the quorum-leases paper: where are reads served, and how long do writes take, with
 * the leader's lease, with leases on everything at every site (Megastore), and with automatic placement (quorum leases)?
 *
 * Twice: in simulated time with the replicas as they ship, at the paper's size; and with real processes, disks and delayed links. The peers
 * are the same code with other readers, as in the paper, and the paper's own figures where it prints them. At the end a holder is lost.
 *
 * To try it out: `WAN_SHARE=0.05`. `WAN_ONLY=simulated` or `WAN_ONLY=real` leaves the other out.
 */

import { loadavg } from 'node:os';
import process from 'node:process';
import {
  LEADER,
  remoteReadMs,
  type Site,
  SITES,
  writeMs,
} from '../leasehold/src/quorum/simulation/sites/round-trips.ts';
import {
  type Distribution,
  PERCENTILES,
  shareAtLeast,
  type SiteSummary,
} from '../leasehold/src/quorum/simulation/sites/summary.ts';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';
import { Workshop } from './support/processes/workshop.ts';
import { lacking, playReal, type Real } from './support/wan/real.ts';
import {
  CLIENTS,
  HALVES,
  KEYS,
  type Load,
  LOADS,
  loadWords,
  type Mode,
  type Played,
} from './support/wan/scenarios.ts';
import { type Simulated, simulate } from './support/wan/simulated.ts';

const SHARE = Number(process.env['WAN_SHARE'] ?? 1);
const ONLY = process.env['WAN_ONLY'];

/** Local reads in the paper, in percent, at 10 % writes by Zipf's law. */
const PAPER: Readonly<Record<Site, number>> = { JP: 81, CA: 95, OR: 89, VA: 89, IRL: 81 };

const LEASES: Readonly<Record<Mode, string>> = {
  leader: 'leader lease',
  all: 'Megastore lease',
  automatic: 'quorum leases',
  halves: 'two quorums',
};

const percent = (share: number): number => 100 * share;

/** The runs of one load, by the kind of lease. */
class Runs {
  readonly #played: readonly Played[];
  readonly #where: string;
  readonly load: Load;

  constructor(where: string, played: readonly Played[], load: Load) {
    this.#where = where;
    this.load = load;
    this.#played = played.filter(
      (each) => each.distribution === load.distribution && each.writeShare === load.writeShare,
    );
  }

  of(mode: Mode): readonly SiteSummary[] {
    return this.#played.find((each) => each.mode === mode)?.summaries ?? [];
  }

  site(mode: Mode, site: Site): SiteSummary {
    return this.of(mode).find((each) => each.site === site) as SiteSummary;
  }

  name(metric: string): string {
    return `${this.#where}: ${metric}, ${loadWords(this.load)}`;
  }

  /** The figure of quorum leases beside that of the others. */
  figure(metric: string, unit: string, value: (mode: Mode) => number, goal?: { least: number }): Figure {
    const ours = value('automatic');
    return {
      ...{ metric: this.name(metric), unit, ours },
      peers: (['leader', 'all', 'halves'] as const)
        .filter((mode) => this.of(mode).length > 0)
        .map((mode) => ({ name: LEASES[mode], value: value(mode) })),
      goal: goal && `at least ${goal.least} ${unit}`,
      met: goal && ours >= goal.least,
    };
  }
}

/** At 10 % writes the aims are ours, at 50 % the paper's; for uniform loads the paper has none. */
function goalsOf({ distribution, writeShare }: Load): { readonly local?: number; readonly writes?: number } {
  if (distribution === 'uniform') return {};
  return writeShare > 0.3 ? { local: 80, writes: 70 } : { local: 90, writes: 70 };
}

function shareFigures(runs: Runs): Figure[] {
  const { local, writes } = goalsOf(runs.load);
  const isPapers = runs.load.distribution === 'zipf' && runs.load.writeShare < 0.3;
  const least = (value: number | undefined) => (value === undefined ? undefined : { least: value });
  return [
    ...SITES.map((site) => {
      const share = (mode: Mode): number => percent(runs.site(mode, site).localShare);
      const figure = runs.figure(`reads answered at once in ${site}`, '%', share, least(local));
      return isPapers
        ? { ...figure, peers: [...figure.peers, { name: 'paper', value: PAPER[site] }] }
        : figure;
    }),
    runs.figure(
      'writes at their minimum latency',
      '%',
      (mode) => percent(shareAtLeast(runs.of(mode))),
      least(writes),
    ),
  ];
}

/** Figure 6, for every load: how long reads and writes take at each site. */
function latencyFigures(runs: Runs): Figure[] {
  const at = ({ percentiles }: Distribution, percentile: (typeof PERCENTILES)[number]): number =>
    percentiles[PERCENTILES.indexOf(percentile)] as number;
  return SITES.flatMap((site) =>
    (['reads', 'writes'] as const).flatMap((kind) => [
      runs.figure(`${kind} in ${site}, mean`, 'ms', (mode) => runs.site(mode, site)[kind].mean),
      ...([10, 50, 90, 99] as const).map((percentile) =>
        runs.figure(`${kind} in ${site}, p${percentile}`, 'ms', (mode) =>
          at(runs.site(mode, site)[kind], percentile),
        ),
      ),
    ]),
  );
}

const derivedFigure = (metric: string, ours: number, derived: number): Figure => ({
  ...{ metric, unit: 'ms', ours, peers: [{ name: 'derived', value: derived }], ratio: derived / ours },
  goal: 'within a tenth of the derived value',
  met: Math.abs(ours - derived) <= derived / 10,
});

/** Fixed readers: the latencies that follow from the round trips must be met within a tenth. */
function derivedFigures(where: string, runs: Runs): Figure[] {
  const p50 = ({ percentiles }: Distribution): number => percentiles[PERCENTILES.indexOf(50)] as number;
  const figure = (metric: string, ours: number, derived: number): Figure =>
    derivedFigure(`${where}: ${metric}`, ours, derived);
  return SITES.flatMap((site) => [
    ...(site === LEADER
      ? []
      : [
          figure(
            `leader lease, read in ${site}, p50`,
            p50(runs.site('leader', site).reads),
            remoteReadMs(site),
          ),
        ]),
    figure(
      `leader lease, write in ${site}, p50`,
      p50(runs.site('leader', site).writes),
      writeMs(site, [LEADER]),
    ),
    figure(
      `Megastore lease, write in ${site}, p50`,
      p50(runs.site('all', site).writes),
      writeMs(site, SITES),
    ),
  ]);
}

/** Two quorums: half of the writes wait for one of them, the other half for the other, so the quartiles are the latencies of the two. */
function quorumFigures(runs: Runs): Figure[] {
  return SITES.flatMap((site) => {
    const { percentiles } = runs.site('halves', site).writes;
    const derived = HALVES.map((half) => writeMs(site, half)).sort((a, b) => a - b);
    return ([25, 75] as const).map((percentile, at) =>
      derivedFigure(
        runs.name(`two quorums, write in ${site}, p${percentile}`),
        percentiles[PERCENTILES.indexOf(percentile)] as number,
        derived[at] as number,
      ),
    );
  });
}

/** Figure 7: which writes wait for a lost holder, and for how long. */
function lossFigures(
  where: string,
  how: string,
  { heldMs, otherMs }: { readonly heldMs: number; readonly otherMs: number },
  mostMs: number,
): Figure[] {
  const figure = (metric: string, ours: number, most: number, peers: Figure['peers']): Figure => ({
    ...{ metric: `${where}: longest write ${metric} when ${how}`, unit: 'ms', ours, peers },
    ratio: peers[0] && peers[0].value / ours,
    goal: `at most ${most} ms`,
    met: ours <= most,
  });
  return [
    figure('of what a holder held,', heldMs, mostMs, [{ name: 'paper', value: 9_000 }]),
    figure('of other keys,', otherMs, 1_000, []),
  ];
}

function simulatedFigures({ played, powerLoss, stuckDisk }: Simulated): Figure[] {
  const all = LOADS.map((load) => new Runs('simulated', played, load));
  const first = all[0] as Runs;
  return [
    ...all.flatMap(shareFigures),
    ...derivedFigures('simulated', first),
    ...all.filter(({ load }) => load.distribution === 'uniform').flatMap(quorumFigures),
    ...all.flatMap(latencyFigures),
    ...lossFigures('simulated', 'it loses power', powerLoss, 3_000),
    ...lossFigures('simulated', 'its disk hangs', stuckDisk, 4_500),
  ];
}

function realFigures({ played, killed, stopped, stuckDisk }: Real): Figure[] {
  const runs = new Runs('processes', played, LOADS[0] as Load);
  return [
    ...shareFigures(runs),
    ...derivedFigures('processes', runs),
    ...latencyFigures(runs),
    ...lossFigures('processes', 'it is killed', killed, 3_000),
    ...lossFigures('processes', 'it is stopped', stopped, 3_000),
    ...(stuckDisk === undefined ? [] : lossFigures('processes', 'its disk hangs', stuckDisk, 4_500)),
  ];
}

async function run(report: (line: string) => void, tools: BenchTools): Promise<BenchResult> {
  await using workshop = new Workshop(tools);
  const why = ONLY === 'simulated' ? 'left out' : await lacking();
  if (why !== undefined) report(`no real processes: ${why}`);
  const loadBefore = loadavg()[0]?.toFixed(1) ?? '';
  const simulated = ONLY === 'real' ? undefined : await simulate(workshop, SHARE, report);
  const real = why === undefined ? await playReal(workshop, SHARE, report) : undefined;
  return {
    name: 'wan',
    conditions: {
      ...machineConditions(),
      'load average before': loadBefore,
      ...{ keys: KEYS, 'clients a site': CLIENTS, 'share of the paper’s size': SHARE },
      'real processes': why ?? 'in network namespaces, links delayed in user space',
      'at once': 'from memory, and not held for a write under way',
      'minimum latency, simulated': 'at most a twentieth above what follows from the round trips',
      'minimum latency, processes':
        'at most a fifth above the median of a key that is written by one client and read by nobody, at the same time; with fixed readers, above that of the leader lease',
    },
    figures: [
      ...(simulated === undefined ? [] : simulatedFigures(simulated)),
      ...(real === undefined ? [] : realFigures(real)),
    ],
  };
}

export const bench: Bench = {
  name: 'wan',
  describe:
    'Five sites far apart: local reads and latencies of quorum leases beside leader and Megastore leases.',
  run,
};
