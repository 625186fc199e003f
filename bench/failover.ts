/**
 * What becomes of a pool whose Managers share an etcd when the one that leads is killed, stands still, is cut
 * from etcd, or etcd itself loses its leader: how long there is no leader, and whether anybody is harmed by it.
 *
 * Real processes on one machine: three Managers with the default durations on three members of etcd, a hundred owners,
 * two hundred look-ups, and clients that ask for keys all the time. Nobody may notice: every lease
 * is held all along, under its number, by one owner; no request is refused; no loss is reported. Before that an owner is
 * killed together with the leader a few times, and that loss every look-up must report.
 *
 * A full run takes a quarter of an hour. `FAULTS_SHARE=0.05` makes that share of the faults, to try it out.
 */

import process from 'node:process';
import { installed } from '../leasehold/src/etcd/testing/etcd-cluster.ts';
import { resolveDurations } from '../leasehold/src/pool/core/options.ts';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { etcdElection } from './support/failover/etcd-election.ts';
import { type Join, joins, joinsOnFile } from './support/failover/joins.ts';
import { QUORUM_OWNERS, type QuorumFailover, quorumFailover } from './support/failover/quorum-failover.ts';
import { FailoverScene, type Fault, LOOKUPS, MANAGERS, OWNERS, POOL } from './support/failover/scene.ts';
import { machineConditions } from './support/machine.ts';
import { nowMs, pause } from './support/processes/conversation.ts';
import { leftOut } from './support/processes/peers.ts';
import { median } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';

const SHARE = Number(process.env['FAULTS_SHARE'] ?? 1);
const KILLS = 100;
const OTHERS = 20;
const QUORUM_KILLS = 40;
const DEATHS = 3;
const JOINS = 5;
const ELECTIONS = 20;

const MEDIAN_GOAL_MS = 3_000;
const GREATEST_GOAL_MS = 5_000;
/** Faults do not keep time with anything. */
const BETWEEN_MS = 300;

/** So much of what a Manager said is shown. */
const WORD_LENGTH = 220;
const withoutName = (warning: string): string => warning.replace(/^owner-\d+: /, '');

type Report = (line: string) => void;

interface Kind {
  readonly name: string;
  readonly times: number;
  readonly make: (scene: FailoverScene) => Promise<Fault>;
}

const ETCD_KILLED = 'etcd’s leader killed';
const CUT = 'leader cut from etcd';

const KINDS: readonly Kind[] = [
  { name: 'leader killed', times: KILLS, make: (scene) => scene.killLeader() },
  { name: 'leader stopped', times: OTHERS, make: (scene) => scene.stopLeader() },
  { name: CUT, times: OTHERS, make: (scene) => scene.cutLeader() },
  { name: ETCD_KILLED, times: OTHERS, make: (scene) => scene.killEtcdLeader() },
];

const scaled = (times: number): number => Math.max(1, Math.round(times * SHARE));
const ms = (value: number): string => `${value.toFixed(0)} ms`;
const seldom = (index: number, of: number): boolean =>
  index + 1 === of || (index + 1) % Math.ceil(of / 10) === 0;

/**
 * From the fault to the first answer of a new leader. Where the leader may go on, it is the time in which nobody was
 * answered, if there was no other.
 */
const withoutLeaderMs = ({ newLeaderMs, silenceMs }: Fault): number => newLeaderMs ?? silenceMs;

async function makeFaults(scene: FailoverScene, kind: Kind, report: Report): Promise<readonly Fault[]> {
  const times = scaled(kind.times);
  const faults: Fault[] = [];
  const again = async (): Promise<void> => {
    await scene.settled();
    await scene.watch();
  };
  for (let index = 0; index < times; index += 1) {
    await pause(BETWEEN_MS * Math.random());
    faults.push(await observed(scene, report, () => kind.make(scene), again));
    if (seldom(index, times))
      report(`${kind.name}, ${index + 1} of ${times}: ${summary(faults)}; ${harm(scene)}`);
  }
  return faults;
}

const summary = (faults: readonly Fault[]): string => {
  const all = faults.map(withoutLeaderMs);
  return `p50 ${ms(median(all))}, at most ${ms(Math.max(...all))}`;
};

const harm = ({ findings }: FailoverScene): string =>
  findings.harm.length === 0 ? 'nobody harmed' : findings.harm.join('; ');

/** Says at once what went wrong with a fault, since afterwards nobody can ask; and sees to it that it counts once. */
async function observed<T>(
  scene: FailoverScene,
  report: Report,
  make: () => Promise<T>,
  again: () => Promise<unknown> = async () => {},
): Promise<T> {
  const [before, warned, sinceMs] = [harm(scene), scene.findings.warnings.length, nowMs()];
  const made = await make();
  if (harm(scene) === before) return made;
  report(`HARM: ${harm(scene)}`);
  report(`  it took ${ms(nowMs() - sinceMs)} in all: ${JSON.stringify(made)}`);
  report(`  owners and look-ups: ${counted(scene.findings.warnings.slice(warned).map(withoutName))}`);
  for (const word of scene.words(sinceMs)) report(`  ${word.slice(0, WORD_LENGTH)}`);
  await again();
  return made;
}

function timeFigures(kind: string, faults: readonly Fault[], peer?: readonly number[]): readonly Figure[] {
  const all = faults.map(withoutLeaderMs);
  const figure = (what: string, of: (values: readonly number[]) => number, goalMs: number): Figure => ({
    metric: `${kind}: without a leader, ${what} of ${all.length}`,
    unit: 'ms',
    ours: of(all),
    peers: peer === undefined ? [] : [{ name: 'a 2 s key in etcd', value: of(peer) }],
    ratio: peer === undefined ? undefined : of(peer) / of(all),
    goal: `at most ${goalMs} ms`,
    met: of(all) <= goalMs,
  });
  return [
    figure('median', median, MEDIAN_GOAL_MS),
    figure('greatest', (values) => Math.max(...values), GREATEST_GOAL_MS),
  ];
}

/** Managers that keep their log among themselves, beside those on etcd in the same run. */
function quorumFigures(quorum: QuorumFailover, onEtcd: readonly Fault[]): readonly Figure[] {
  const etcd = onEtcd.map(withoutLeaderMs);
  const figure = (what: string, of: (values: readonly number[]) => number, goalMs: number): Figure => ({
    metric: `leader killed, log in the Managers (quorum): without a leader, ${what} of ${quorum.newLeaderMs.length}`,
    ...{ unit: 'ms', ours: of(quorum.newLeaderMs), peers: [{ name: 'Managers on etcd', value: of(etcd) }] },
    ratio: of(etcd) / of(quorum.newLeaderMs),
    goal: `at most ${goalMs} ms`,
    met: of(quorum.newLeaderMs) <= goalMs,
  });
  return [
    figure('median', median, MEDIAN_GOAL_MS),
    figure('greatest', (values) => Math.max(...values), GREATEST_GOAL_MS),
    none('leases lost, doubled or changed, log in the Managers (quorum)', quorum.faults),
  ];
}

const none = (metric: string, found: readonly string[]): Figure => ({
  ...{ metric, unit: 'times', ours: found.length, peers: [] },
  ...{ goal: 'none', met: found.length === 0 },
});

const joinFigures = (onEtcd: readonly Join[], onFile: readonly Join[]): readonly Figure[] => {
  const figure = (metric: string, unit: string, of: (join: Join) => number): Figure => {
    const [ours, file] = [onEtcd, onFile].map((all) => median(all.map(of))) as [number, number];
    const peers = [{ name: 'on a file', value: file }];
    return { metric, unit, ours, peers, ratio: file / ours };
  };
  return [
    figure(`owner ${OWNERS + 1} joins: its first grant`, 'ms', ({ firstMs }) => firstMs),
    figure(`owner ${OWNERS + 1} joins: its last grant`, 'ms', ({ lastMs }) => lastMs),
    figure(`owner ${OWNERS + 1} joins: writes`, 'writes', ({ writes }) => writes),
  ];
};

/** What was found, each kind of word once, with how often. */
function counted(words: readonly string[]): string {
  const kinds = [...new Set(words)]
    .slice(0, 8)
    .map((kind) => `${words.filter((each) => each === kind).length} × ${kind}`);
  return kinds.length === 0 ? 'none' : kinds.join('; ');
}

async function run(report: Report, tools: BenchTools): Promise<BenchResult> {
  if (installed('etcd') === undefined) throw new Error(leftOut('etcd'));
  await using workshop = new Workshop(tools);
  await using scene = await FailoverScene.open(workshop, report);
  const { findings, grounds } = scene;
  if (grounds.lacking !== undefined)
    report(`LEFT OUT: no Manager is cut from etcd, for want of ${grounds.lacking}`);

  const peer = await etcdElection(scene.cluster, ELECTIONS);
  report(`a key under a 2 s lease passes on in p50 ${ms(median(peer))}, at most ${ms(Math.max(...peer))}`);
  const onFile = await joinsOnFile(workshop, {
    owners: OWNERS,
    register: scene.registerPath,
    times: scaled(JOINS),
  });
  const onEtcd = await joins(
    workshop,
    {
      ...{ managers: scene.managers, pool: POOL },
      written: () => scene.revision(),
      settled: () => scene.settled(),
    },
    scaled(JOINS),
  );
  report(`one more owner has its keys after ${ms(median(onEtcd.map(({ lastMs }) => lastMs)))} on etcd`);

  const told: number[] = [];
  for (let death = 0; death < scaled(DEATHS); death += 1) {
    told.push(await observed(scene, report, () => scene.killLeaderAndOwner()));
    report(
      `leader and an owner killed at once: all look-ups told after ${ms(told.at(-1) ?? 0)}; ${harm(scene)}`,
    );
  }

  const made: (readonly [Kind, readonly Fault[]])[] = [];
  await scene.watch();
  for (const kind of KINDS) {
    if (kind.name === CUT && grounds.lacking !== undefined) continue;
    made.push([kind, await makeFaults(scene, kind, report)]);
  }
  await scene.rest();
  const quorum = await quorumFailover(workshop, scene.registerPath, scaled(QUORUM_KILLS));
  report(
    `leader killed, log in the Managers: p50 ${ms(median(quorum.newLeaderMs))}, at most ${ms(Math.max(...quorum.newLeaderMs))}`,
  );
  const onEtcdKilled = made.find(([{ name }]) => name === 'leader killed')?.[1] ?? [];

  const steps = made.map(([{ name }, faults]) => {
    const silences = faults.map(({ silenceMs }) => silenceMs);
    const changes = faults.filter(({ newLeaderMs }) => newLeaderMs !== undefined).length;
    return [
      name,
      `${changes} of ${faults.length} brought a new leader; nobody was answered for p50 ${ms(median(silences))}, at most ${ms(Math.max(...silences))}`,
    ] as const;
  });
  const { leaseMs } = resolveDurations();
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      processes: `${MANAGERS} Managers${grounds.lacking === undefined ? ', each in a network namespace of its own' : ''}, 3 members of etcd, ${OWNERS} owners in 3 processes, ${LOOKUPS} look-ups with clients in 2; one machine, default durations`,
      clock:
        'from the fault to the first answer of a new leader to an owner; where etcd’s leader was killed and the Manager went on leading, the longest time in which no owner was answered, which the pauses between reports are part of',
      ...Object.fromEntries(steps),
      watched: `${findings.looks} looks at all leases, ${findings.requests} requests, ${scene.writes} writes; a lease of ${leaseMs} ms never had less than ${ms(findings.leastLeftMs)} left`,
      'log in the Managers': `3 Managers with a replica each, on loopback, no other server; ${QUORUM_OWNERS} owners in one process`,
      'leader and owner killed': `${told.length} times; every look-up told after ${told.map(ms).join(', ')}`,
      'owners’ and look-ups’ warnings': counted(findings.warnings.map(withoutName)),
      'writes at a join': `etcd’s revisions ${onEtcd.map(({ writes }) => writes).join(', ')} (in 3 s before, when nobody joined: ${onEtcd.map(({ idleWrites }) => idleWrites).join(', ')}), batches in a file ${onFile.map(({ writes }) => writes).join(', ')}`,
      'a 2 s key in etcd': `${peer.length} holders killed at different times after a renewal: until a candidate that watches has the key; nothing is read and nobody is told`,
      ...(grounds.lacking === undefined ? {} : { 'left out': `leader cut from etcd: ${grounds.lacking}` }),
    },
    figures: [
      ...made.flatMap(([{ name }, faults]) =>
        timeFigures(name, faults, name === ETCD_KILLED ? undefined : peer),
      ),
      ...quorumFigures(quorum, onEtcdKilled),
      none('leases lost, doubled or changed', findings.leases),
      none('stale writes', findings.stale),
      none('requests refused', findings.refused),
      none('losses reported that were none', findings.falseLosses),
      none('losses not reported', findings.unreported),
      ...joinFigures(onEtcd, onFile),
    ],
  };
}

export const bench: Bench = {
  name: 'failover',
  describe:
    'Managers on etcd, and on their own: the leader killed, stopped, cut off; how long without one, and whom it harms',
  run,
};
