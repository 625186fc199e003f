/**
 * How long keys are without an owner when one is killed with `kill -9`: under `leasehold run`, without
 * a supervisor, and restarted under the same name with the lock that it held.
 *
 * Real processes on one machine: a Manager on a file with the default durations, three owners, and
 * look-ups in this process. What counts as over is told in `support/crash/scene.ts`.
 */

import { resolveDurations } from '../leasehold/src/pool/core/options.ts';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { redisExpiry } from './support/crash/redis-expiry.ts';
import { type Crash, CrashScene } from './support/crash/scene.ts';
import { machineConditions } from './support/machine.ts';
import { nowMs, pause } from './support/processes/conversation.ts';
import { leftOut, openRedis } from './support/processes/peers.ts';
import { median, percentile } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';

const LOOKUPS = 20;
const SUPERVISED_KILLS = 40;
const LOCKED_RESTARTS = 20;
/** How much of the time between two reports has passed at the kill: zero is the worst. */
const PHASES: readonly number[] = [0, 0, 0.25, 0.5, 0.75];

const SUPERVISED_GOAL_MS = 250;
const RESTART_GOAL_MS = 500;
const BEYOND_LEASE_GOAL_MS = 500;

const { leaseMs, holdMs, renewEveryMs } = resolveDurations();

type Report = (line: string) => void;

/** The steps of a crash on the way to its end, each in milliseconds since its beginning. */
type Steps = Readonly<Record<string, number>>;

interface Part {
  readonly crashes: readonly Steps[];
  /** What owners that were not killed had to say. */
  readonly warnings: readonly string[];
}

const endOf = ({ toldMs, servedMs }: Crash): number => Math.max(toldMs, servedMs);
const ms = (value: number): string => `${value.toFixed(0)} ms`;

async function supervised(workshop: Workshop, report: Report): Promise<Part> {
  await using scene = await CrashScene.open(workshop, 'supervised', LOOKUPS);
  const kills: Steps[] = [];
  for (let kill = 0; kill < SUPERVISED_KILLS; kill += 1) {
    await scene.settled();
    const supervisor = scene.program(kill);
    const crash = await scene.kill(kill);
    const reaped = await supervisor.heard('reaped');
    const certified = await supervisor.heard('certified');
    if (certified['death'] !== 'certified') throw new Error(`the death was ${String(certified['death'])}`);
    kills.push({
      reaped: reaped.atMs - crash.killedMs,
      certified: certified.atMs - crash.killedMs,
      told: crash.toldMs - crash.killedMs,
      served: crash.servedMs - crash.killedMs,
      over: endOf(crash) - crash.killedMs,
    });
    if (kill % 10 === 9) report(`under leasehold run, ${kill + 1} kills: ${summary(kills)}`);
    await supervisor.ended;
    scene.launch(kill);
    await scene.entered(kill);
  }
  return { crashes: kills, warnings: scene.warnings };
}

async function alone(workshop: Workshop, report: Report): Promise<Part> {
  await using scene = await CrashScene.open(workshop, 'alone', LOOKUPS);
  const kills: Steps[] = [];
  for (const [index, phase] of PHASES.entries()) {
    await scene.settled();
    const reporting = await scene.program(index).next('reporting');
    await pause(phase * renewEveryMs);
    const crash = await scene.kill(index);
    // It may have reported once more just before.
    const reports = scene.program(index).said.filter(({ event }) => event === 'reporting');
    const reportedMs = reports.at(-1)?.atMs ?? reporting.atMs;
    const over = endOf(crash) - crash.killedMs;
    kills.push({ over, 'beyond the hold': endOf(crash) - reportedMs - holdMs });
    report(`without a supervisor, killed ${ms(crash.killedMs - reportedMs)} after a report: ${ms(over)}`);
    scene.launch(index);
    await scene.entered(index);
  }
  return { crashes: kills, warnings: scene.warnings };
}

async function locked(workshop: Workshop, report: Report): Promise<Part> {
  const empty = await workshop.bundle('crash/empty-process');
  await using scene = await CrashScene.open(workshop, 'locked', LOOKUPS);
  const restarts: Steps[] = [];
  for (let restart = 0; restart < LOCKED_RESTARTS; restart += 1) {
    await scene.settled();
    const emptyMs = nowMs();
    const { atMs } = await workshop.start('an empty program', empty, {}).heard('started');
    let startedMs = 0;
    const crash = await scene.kill(restart, () => {
      startedMs = nowMs();
      scene.launch(restart);
    });
    const successor = scene.program(restart);
    const runs = await successor.heard('started');
    await scene.entered(restart);
    const joined = await successor.heard('ready');
    restarts.push({
      'an empty program’s first line': atMs - emptyMs,
      'first line run': runs.atMs - startedMs,
      joined: joined.atMs - startedMs,
      told: crash.toldMs - startedMs,
      served: crash.servedMs - startedMs,
      over: endOf(crash) - startedMs,
    });
    if (restart % 10 === 9) report(`restarted with the lock, ${restart + 1} times: ${summary(restarts)}`);
  }
  return { crashes: restarts, warnings: scene.warnings };
}

const of = (all: readonly Steps[], step: string): readonly number[] =>
  all.map((steps) => steps[step] ?? Number.NaN);

const summary = (all: readonly Steps[]): string => {
  const over = of(all, 'over');
  return `p50 ${ms(median(over))}, p99 ${ms(percentile(over, 0.99))}`;
};

/** The median of every step on the way. */
const steps = (all: readonly Steps[]): string =>
  Object.keys(all[0] ?? {})
    .map((step) => `${step} ${ms(median(of(all, step)))} (worst ${ms(Math.max(...of(all, step)))})`)
    .join(', ');

/** What owners that were left alone complained of, and how often. */
function warned(warnings: readonly string[]): string {
  const kinds = [...new Set(warnings)].map(
    (kind) => `${warnings.filter((each) => each === kind).length} × ${kind}`,
  );
  return kinds.length === 0
    ? 'none'
    : `${kinds.join('; ')}. A lease that runs out here was let go of without need, as by an owner that was not run for a while and took that for a suspension`;
}

function figure(what: string, values: readonly number[], goalMs: number, goal?: string): Figure {
  const p99 = percentile(values, 0.99);
  return {
    metric: `${what}, p99 of ${values.length} (p50 ${ms(median(values))})`,
    unit: 'ms',
    ours: p99,
    peers: [],
    goal: goal ?? `at most ${goalMs} ms`,
    met: p99 <= goalMs,
  };
}

/** What was missed, by how much and why; or that nothing was. */
function verdict(worstMs: number, beyondHoldMs: number): string {
  const overMs = worstMs - leaseMs - BEYOND_LEASE_GOAL_MS;
  const earlyMs = holdMs + beyondHoldMs - leaseMs - BEYOND_LEASE_GOAL_MS;
  const hold = `A Manager keeps a lease of ${leaseMs} ms for ${holdMs} ms from the last report, so that one clock may run faster than another by 20 %`;
  return overMs <= 0
    ? `${hold}; the worst kill stayed ${ms(-overMs)} below the goal`
    : `${hold}: ${holdMs - leaseMs} ms of margin, more than the goal leaves for everything. A kill right after a report therefore misses it, here by ${ms(overMs)}; of the ${renewEveryMs} ms between two reports, a kill in the first ${ms(earlyMs)} does`;
}

async function run(report: Report, tools: BenchTools): Promise<BenchResult> {
  await using workshop = new Workshop(tools);
  report(`${SUPERVISED_KILLS} kills under leasehold run`);
  const { crashes: certified, ...first } = await supervised(workshop, report);
  report(`${LOCKED_RESTARTS} restarts with the lock`);
  const { crashes: restarted, ...second } = await locked(workshop, report);
  report(`${PHASES.length} kills without a supervisor, ten seconds each`);
  const { crashes: expired, ...third } = await alone(workshop, report);
  const redis = await openRedis(workshop);
  const expiries = redis === undefined ? [] : await redisExpiry(redis, { leaseMs, phases: PHASES });
  redis?.disconnect();
  if (redis === undefined) report(leftOut('redis-server'));
  else report(`a key in Redis, the same kills: p50 ${ms(median(expiries))}`);

  const worstMs = percentile(of(expired, 'over'), 0.99);
  const worstInRedisMs = percentile(expiries, 0.99);
  const leaseGoal = `at most the lease of ${leaseMs} ms plus ${BEYOND_LEASE_GOAL_MS} ms`;
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      clock: `from kill -9 (for the lock: from the start of the successor) until all of the dead owner’s sample keys are served and all ${LOOKUPS} look-ups are told of the loss and of the new owners`,
      processes: `a Manager on a file with the default durations, 3 owners (with their supervisors), ${LOOKUPS} look-ups in the process that measures; one machine`,
      'with leasehold run': steps(certified),
      'restart with the lock': steps(restarted),
      'without a supervisor': verdict(worstMs, percentile(of(expired, 'beyond the hold'), 0.99)),
      'owners’ warnings': warned([first, second, third].flatMap(({ warnings }) => warnings)),
      phases: `killed ${PHASES.map((phase) => ms(phase * renewEveryMs)).join(', ')} after a report; in Redis the same shares of a renewal every ${leaseMs / 3} ms`,
      Redis:
        redis === undefined
          ? leftOut('redis-server')
          : `SET NX PX ${leaseMs}: from the last renewal to another’s SET NX, tried every 5 ms; nobody else is told`,
      p99: 'of fewer than a hundred is the worst',
    },
    figures: [
      figure('killed under leasehold run', of(certified, 'over'), SUPERVISED_GOAL_MS),
      figure('restarted with the lock, from its start', of(restarted, 'over'), RESTART_GOAL_MS),
      {
        ...figure(
          'killed without a supervisor',
          of(expired, 'over'),
          leaseMs + BEYOND_LEASE_GOAL_MS,
          leaseGoal,
        ),
        peers: redis === undefined ? [] : [{ name: 'Redis', value: worstInRedisMs }],
        ratio: redis === undefined ? undefined : worstInRedisMs / worstMs,
      },
      figure(
        `the same, beyond the Manager’s hold of ${holdMs} ms`,
        of(expired, 'beyond the hold'),
        BEYOND_LEASE_GOAL_MS,
      ),
    ],
  };
}

export const bench: Bench = {
  name: 'crash',
  describe: 'from `kill -9` of an owner to its keys being served elsewhere and every look-up told',
  run,
};
