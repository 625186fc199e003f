/**
 * A deploy: ten supervised servers with a million items in memory are restarted, one after another, and then three at a time, while callers read and
 * write. The same without `moves` stands beside it: each restart is a loss then, which callers are told of.
 *
 * Judged by the callers: an item that is not there, an acknowledged write that a later answer lacks, an error, a loss notification. A *move* is a key that is
 * served under another number than before, counted over a sample of keys.
 */

import process from 'node:process';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';
import { nowMs, pause } from './support/processes/conversation.ts';
import type { ManagerConfig } from './support/processes/manager-process.ts';
import type { Program } from './support/processes/program.ts';
import { median, percentile } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';
import type { Account, CallerConfig } from './support/rolling/caller-process.ts';
import type { RollingSupervisorConfig } from './support/rolling/supervisor-process.ts';

/** A share of the items and servers, for a first look: `ROLLING_SHARE=0.1 npm run bench -- rolling`. */
const SHARE = Number(process.env['ROLLING_SHARE'] ?? 1);
const OWNERS = Math.max(4, Math.round(10 * SHARE));
const ITEMS = Math.round(1_000_000 * SHARE);
const COUNTERS = 1_000;
const CALLS_PER_SECOND = 200;
const SAMPLE: readonly string[] = Array.from({ length: 2_000 }, (_, index) => `item-${index}`);
const SETTLED_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 50;
const BETWEEN_MS = 1_000;

const PAUSE_GOAL_MS = 100;

type Report = (line: string) => void;

interface Rollout extends Account {
  /** Of all keys, over the whole rollout. */
  readonly movesPerKey: number;
  /** The greatest part of one restart. */
  readonly mostMovesInARestart: number;
  readonly itemsLeft: number;
  readonly seconds: number;
}

class Fleet implements AsyncDisposable {
  readonly #workshop: Workshop;
  readonly #moves: boolean;
  readonly #owners = new Map<string, Program>();
  #bundles = { owner: '', supervisor: '' };
  #managers: readonly string[] = [];
  #manager: Program | undefined;
  #caller: Program | undefined;

  private constructor(workshop: Workshop, moves: boolean) {
    this.#workshop = workshop;
    this.#moves = moves;
  }

  static async open(workshop: Workshop, moves: boolean): Promise<Fleet> {
    const fleet = new Fleet(workshop, moves);
    const config: ManagerConfig = { directory: workshop.folder(`manager-${nowMs()}`) };
    const manager = workshop.start('the Manager', await workshop.bundle('processes/manager-process'), config);
    fleet.#manager = manager;
    fleet.#managers = [String((await manager.heard('ready'))['address'])];
    fleet.#bundles = {
      owner: await workshop.bundle('rolling/owner-process'),
      supervisor: await workshop.bundle('rolling/supervisor-process'),
    };
    const names = Array.from({ length: OWNERS }, (_, index) => `server-${index}`);
    for (const name of names) fleet.#launch(name);
    for (const program of fleet.#owners.values()) await program.heard('ready');
    const caller: CallerConfig = {
      ...{ managers: fleet.#managers, items: ITEMS, counters: COUNTERS, callsPerSecond: CALLS_PER_SECOND },
    };
    fleet.#caller = workshop.start('the callers', await workshop.bundle('rolling/caller-process'), caller);
    await fleet.#caller.heard('ready');
    await fleet.#fill();
    return fleet;
  }

  /** Restarts all servers, so many at a time, under the callers' eyes. */
  async rollOut(atATime: number, report: Report): Promise<Rollout> {
    const caller = this.#caller as Program;
    await caller.ask('begin');
    await caller.ask<Account>('account');
    const startedMs = nowMs();
    let [moves, most] = [0, 0];
    const names = [...this.#owners.keys()];
    for (let first = 0; first < names.length; first += atATime) {
      const batch = names.slice(first, first + atATime);
      const before = await this.#numbers();
      await Promise.all(batch.map((name) => this.#restart(name)));
      await this.#served();
      const changed = await this.#changedSince(before);
      moves += changed;
      most = Math.max(most, changed);
      report(`restarted ${batch.join(', ')}: ${(changed * 100).toFixed(0)} % of the keys moved`);
      await pause(BETWEEN_MS);
    }
    await caller.ask('quiet');
    const account = await caller.ask<Account>('account');
    const seconds = (nowMs() - startedMs) / 1_000;
    return {
      ...account,
      movesPerKey: moves,
      mostMovesInARestart: most,
      itemsLeft: await this.#size(),
      seconds,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const programs = [...this.#owners.values(), this.#caller, this.#manager].flatMap((each) => each ?? []);
    for (const program of programs) program.kill();
    await Promise.all(programs.map(({ ended }) => ended));
  }

  #launch(name: string): void {
    const { owner: program, supervisor } = this.#bundles;
    const config: RollingSupervisorConfig = { name, managers: this.#managers, moves: this.#moves, program };
    this.#owners.set(name, this.#workshop.start(name, supervisor, config));
  }

  async #restart(name: string): Promise<void> {
    const running = this.#owners.get(name);
    running?.signal('SIGTERM');
    await running?.ended;
    this.#launch(name);
    await this.#owners.get(name)?.heard('ready');
  }

  /** All items are there, each at its owner. */
  async #fill(): Promise<void> {
    await this.#served();
    const step = 50_000;
    for (let from = 0; from < ITEMS; from += step)
      for (const program of this.#owners.values())
        await program.ask('fill', { from, to: Math.min(ITEMS, from + step) });
    const size = await this.#size();
    if (size < ITEMS) throw new Error(`only ${size} of ${ITEMS} items were set`);
  }

  async #size(): Promise<number> {
    const sizes = await Promise.all(
      [...this.#owners.values()].map((program) => program.ask<{ size: number }>('size')),
    );
    return sizes.reduce((sum, { size }) => sum + size, 0) - (await this.#counters());
  }

  /** Counters that were written are no items. */
  async #counters(): Promise<number> {
    const { written } = await (this.#caller as Program).ask<{ written: number }>('written');
    return written;
  }

  async #numbers(): Promise<readonly (number | null)[]> {
    const caller = this.#caller as Program;
    return (await caller.ask<{ numbers: (number | null)[] }>('numbers', { keys: SAMPLE })).numbers;
  }

  async #changedSince(before: readonly (number | null)[]): Promise<number> {
    const after = await this.#numbers();
    return after.filter((number, index) => number !== before[index]).length / SAMPLE.length;
  }

  async #served(): Promise<void> {
    const until = nowMs() + SETTLED_WITHIN_MS;
    while ((await this.#numbers()).includes(null)) {
      if (nowMs() > until) throw new Error('some keys have no owner');
      await pause(LOOK_EVERY_MS);
    }
  }
}

const ms = (value: number): string => `${value.toFixed(0)} ms`;
const failed = ({ errors }: Account): number => Object.values(errors).reduce((sum, count) => sum + count, 0);

async function rollOuts(
  workshop: Workshop,
  moves: boolean,
  atATime: number,
  report: Report,
): Promise<Rollout> {
  await using fleet = await Fleet.open(workshop, moves);
  report(`${moves ? 'with' : 'without'} moves, ${atATime} at a time: ${ITEMS} items are set`);
  return await fleet.rollOut(atATime, report);
}

function none(what: string, of: (rollout: Rollout) => number, ours: Rollout, beside: Rollout): Figure {
  return {
    metric: what,
    unit: 'count',
    ours: of(ours),
    peers: [{ name: 'without moves', value: of(beside) }],
    goal: '0',
    met: of(ours) === 0,
  };
}

function figuresOf(how: string, ours: Rollout, beside: Rollout, movesGoal: number): Figure[] {
  const p99 = percentile(ours.changeMs, 0.99);
  const pauses = `p50 ${ms(median(ours.changeMs))}, max ${ms(Math.max(...ours.changeMs))} of ${ours.changes}; calls for keys that did not move: p99 ${ms(percentile(ours.otherMs, 0.99))}`;
  return [
    none(`${how}: items lost`, ({ itemsLeft }) => Math.max(0, ITEMS - itemsLeft), ours, beside),
    none(`${how}: reads of an item that was not there`, ({ missingItems }) => missingItems, ours, beside),
    none(`${how}: acknowledged writes missing`, ({ missingWrites }) => missingWrites, ours, beside),
    none(`${how}: loss notifications`, ({ lossNotifications }) => lossNotifications, ours, beside),
    none(`${how}: errors at callers of lookup.call`, failed, ours, beside),
    {
      metric: `${how}: moves of a key in the whole rollout`,
      unit: 'moves/key',
      ours: ours.movesPerKey,
      peers: [{ name: 'without moves', value: beside.movesPerKey }],
      goal: `at most ${movesGoal}`,
      met: ours.movesPerKey <= movesGoal,
    },
    {
      metric: `${how}: most moves of a key in one step`,
      unit: 'moves/key',
      ours: ours.mostMovesInARestart,
      peers: [{ name: 'without moves', value: beside.mostMovesInARestart }],
      goal: 'at most 1',
      met: ours.mostMovesInARestart <= 1,
    },
    {
      metric: `${how}: the first call after a move, p99 (${pauses})`,
      unit: 'ms',
      ours: p99,
      peers: [{ name: 'without moves', value: percentile(beside.changeMs, 0.99) }],
      goal: `at most ${PAUSE_GOAL_MS} ms`,
      met: p99 <= PAUSE_GOAL_MS,
    },
  ];
}

async function run(report: Report, tools: BenchTools): Promise<BenchResult> {
  await using workshop = new Workshop(tools);
  const figures: Figure[] = [];
  const seconds: string[] = [];
  for (const [atATime, goal] of [
    [1, 1.3],
    [3, 1.6],
  ] as const) {
    const how = atATime === 1 ? 'one at a time' : `${atATime} at a time`;
    const ours = await rollOuts(workshop, true, atATime, report);
    const beside = await rollOuts(workshop, false, atATime, report);
    for (const [kind, errors] of Object.entries(ours.errors))
      report(`${how}, with moves: ${errors} × ${kind}`);
    figures.push(...figuresOf(how, ours, beside, goal));
    seconds.push(`${how} ${ours.seconds.toFixed(0)} s, without moves ${beside.seconds.toFixed(0)} s`);
  }
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      processes: `a Manager on a file, ${OWNERS} owners under supervisors, one process of callers`,
      load: `${ITEMS} items; ${CALLS_PER_SECOND} calls a second by lookup.call, half of them reads of items, half increments of ${COUNTERS} counters`,
      'a restart': 'SIGTERM, the end of the process, the start of the next, its admission',
      moved: `keys with another number after the step, of ${SAMPLE.length}; a key that moves twice within one step counts once`,
      rollouts: seconds.join('; '),
    },
    figures,
  };
}

export const bench: Bench = {
  name: 'rolling',
  describe: 'a deploy of ten servers with a million items, with moves beside without',
  run,
};
