/**
 * How fast state moves: an owner that drains hands its items to another, while callers go on. Beside it two plain processes that send the same items through the
 * same codec over a bare socket into a plain `Map`; and, for large values, a bare socket alone.
 */

import process from 'node:process';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';
import { pause } from './support/processes/conversation.ts';
import type { ManagerConfig } from './support/processes/manager-process.ts';
import type { Program } from './support/processes/program.ts';
import { median, percentile } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';
import type { Account, CallerConfig } from './support/rolling/caller-process.ts';
import type { RollingOwnerConfig } from './support/rolling/owner-process.ts';

/** A share of the items and values, for a first look: `MIGRATION_SHARE=0.1 npm run bench -- migration`. */
const SHARE = Number(process.env['MIGRATION_SHARE'] ?? 1);
const ITEMS = Math.round(1_000_000 * SHARE);
const VALUES = Math.round(8_192 * SHARE);
const VALUE_BYTES = 256 * 1_024;
const ROUNDS = 3;
const QUIET_MS = 5_000;
const CALLS_PER_SECOND = 200;
const SLOW_BYTES_PER_SECOND = 20_000_000;
const MEBIBYTE = 2 ** 20;

const ITEMS_GOAL = 0.6;
const BYTES_GOAL = 0.5;
const MEMORY_GOAL_MB = 64;
const REQUESTS_GOAL = 2;

type Report = (line: string) => void;
type Moves = RollingOwnerConfig['moves'];

interface Drained {
  /** Of the state that moved. */
  readonly items: number;
  readonly perSecond: number;
  readonly quietMs: readonly number[];
  readonly movingMs: readonly number[];
  readonly firstCallsMs: readonly number[];
  /** Above what the process had before (source) and has after (target). */
  readonly sourceMb: number;
  readonly targetMb: number;
  readonly lost: number;
}

/** Two owners; one has state, and drains. */
async function drained(
  workshop: Workshop,
  moves: Moves,
  fill: (owner: Program) => Promise<{ readonly filled: number }>,
  isCalled: boolean,
): Promise<Drained> {
  const config: ManagerConfig = { directory: workshop.folder(`manager-${Math.random()}`) };
  const manager = workshop.start('the Manager', await workshop.bundle('processes/manager-process'), config);
  const managers = [String((await manager.heard('ready'))['address'])];
  const bundle = await workshop.bundle('rolling/owner-process');
  const start = async (name: string): Promise<Program> => {
    const each: RollingOwnerConfig = { name, managers, moves };
    const program = workshop.start(name, bundle, each);
    await program.heard('ready');
    return program;
  };
  const [source, target] = [await start('source'), await start('target')];
  const caller: CallerConfig = {
    ...{ managers, items: ITEMS, counters: 1_000, callsPerSecond: CALLS_PER_SECOND },
  };
  const callers = workshop.start('the callers', await workshop.bundle('rolling/caller-process'), caller);
  await callers.heard('ready');
  while ((await numbers(callers)).includes(null)) await pause(50);
  const { filled } = await fill(source);
  if (isCalled) await callers.ask('begin');
  await callers.ask('account');
  await pause(isCalled ? QUIET_MS : 0);
  const quiet = await callers.ask<Account>('account');
  const before = await source.ask<{ now: number }>('memory');
  await target.ask('memory');
  const { ms, lost } = await source.ask<{ ms: number; lost: number }>('drain');
  const moving = await callers.ask<Account>('account');
  await callers.ask('quiet');
  const atSource = await source.ask<{ most: number }>('memory');
  const atTarget = await target.ask<{ now: number; most: number }>('memory');
  for (const program of [source, target, callers, manager]) program.kill();
  await Promise.all([source, target, callers, manager].map(({ ended }) => ended));
  return {
    ...{ items: filled, perSecond: (filled * 1_000) / ms, lost },
    quietMs: [...quiet.otherMs, ...quiet.changeMs],
    movingMs: [...moving.otherMs, ...moving.changeMs],
    firstCallsMs: moving.changeMs,
    sourceMb: (atSource.most - before.now) / MEBIBYTE,
    targetMb: (atTarget.most - atTarget.now) / MEBIBYTE,
  };
}

const numbers = async (callers: Program): Promise<readonly (number | null)[]> => {
  const keys = Array.from({ length: 500 }, (_, index) => `item-${index}`);
  return (await callers.ask<{ numbers: (number | null)[] }>('numbers', { keys })).numbers;
};

async function plain(
  workshop: Workshop,
  command: 'sendItems' | 'sendBytes',
  count: number,
  bytes = 0,
): Promise<number> {
  const bundle = await workshop.bundle('migration/plain-process');
  const [from, to] = [
    workshop.start('plain source', bundle, {}),
    workshop.start('plain target', bundle, {}),
  ] as const;
  await from.heard('ready');
  const { port } = (await to.heard('ready')) as unknown as { port: number };
  const { ms } = await from.ask<{ ms: number }>(command, { port, count, bytes });
  for (const program of [from, to]) program.kill();
  await Promise.all([from.ended, to.ended]);
  return (count * 1_000) / ms;
}

const ms = (value: number): string => `${value.toFixed(1)} ms`;

async function run(report: Report, tools: BenchTools): Promise<BenchResult> {
  await using workshop = new Workshop(tools);
  const items: Drained[] = [];
  const large: Drained[] = [];
  const [plainItems, plainValues]: [number[], number[]] = [[], []];
  const fillItems = (owner: Program): Promise<{ filled: number }> =>
    owner.ask('fill', { from: 0, to: 2 * ITEMS });
  const fillValues = (owner: Program): Promise<{ filled: number }> =>
    owner.ask('fillValues', { count: VALUES, bytes: VALUE_BYTES });
  for (let round = 1; round <= ROUNDS; round += 1) {
    const small = await drained(workshop, true, fillItems, false);
    items.push(small);
    plainItems.push(await plain(workshop, 'sendItems', small.items));
    const big = await drained(workshop, true, fillValues, false);
    large.push(big);
    plainValues.push(await plain(workshop, 'sendBytes', big.items, VALUE_BYTES));
    report(
      `round ${round}: ${small.perSecond.toFixed(0)} items/s (plain ${plainItems.at(-1)?.toFixed(0)}), ${((big.perSecond * VALUE_BYTES) / MEBIBYTE).toFixed(0)} MiB/s (socket ${(((plainValues.at(-1) ?? 0) * VALUE_BYTES) / MEBIBYTE).toFixed(0)})`,
    );
  }
  const called = await drained(workshop, true, fillItems, true);
  report(
    `under load: p99 ${ms(percentile(called.movingMs, 0.99))}, quiet ${ms(percentile(called.quietMs, 0.99))}`,
  );
  const slow = await drained(workshop, { bytesPerSecond: SLOW_BYTES_PER_SECOND }, fillItems, true);
  const lost = [...items, ...large, called, slow].reduce((sum, each) => sum + each.lost, 0);
  const itemsRatio = median(items.map(({ perSecond }) => perSecond)) / median(plainItems);
  const bytesRatio = median(large.map(({ perSecond }) => perSecond)) / median(plainValues);
  const inMebibytes = (perSecond: number): number => (perSecond * VALUE_BYTES) / MEBIBYTE;
  const ratio = percentile(called.movingMs, 0.99) / percentile(called.quietMs, 0.99);
  const memory = Math.max(...large.flatMap(({ sourceMb, targetMb }) => [sourceMb, targetMb]));
  const figures: Figure[] = [
    {
      metric: 'small items that move, one owner to another',
      unit: 'items/s',
      ours: median(items.map(({ perSecond }) => perSecond)),
      peers: [{ name: 'the same codec, a bare socket, a plain Map', value: median(plainItems) }],
      ratio: itemsRatio,
      goal: `at least ${ITEMS_GOAL} of the peer`,
      met: itemsRatio >= ITEMS_GOAL,
    },
    {
      metric: 'values of 256 KiB that move',
      unit: 'MiB/s',
      ours: inMebibytes(median(large.map(({ perSecond }) => perSecond))),
      peers: [{ name: 'a bare socket', value: inMebibytes(median(plainValues)) }],
      ratio: bytesRatio,
      goal: `at least ${BYTES_GOAL} of the socket`,
      met: bytesRatio >= BYTES_GOAL,
    },
    {
      metric: 'requests during a move over quiet, p99',
      unit: 'times',
      ours: ratio,
      peers: [],
      goal: `at most ${REQUESTS_GOAL}`,
      met: ratio <= REQUESTS_GOAL,
    },
    {
      metric: `memory above the state while ${inMebibytes(large[0]?.items ?? 0).toFixed(0)} MiB move, the worse side`,
      unit: 'MiB',
      ours: memory,
      peers: [],
      goal: `at most ${MEMORY_GOAL_MB}`,
      met: memory <= MEMORY_GOAL_MB,
    },
    {
      metric: `the first call after a move at ${SLOW_BYTES_PER_SECOND / 1e6} MB/s, p99`,
      unit: 'ms',
      ours: percentile(slow.firstCallsMs, 0.99),
      peers: [{ name: 'without a limit', value: percentile(called.firstCallsMs, 0.99) }],
    },
    {
      metric: 'ranges lost',
      unit: 'count',
      ours: lost,
      peers: [],
      goal: '0',
      met: lost === 0,
    },
  ];
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      rounds: `${ROUNDS}, ours and the peer in turns; medians`,
      items: `${items[0]?.items} small items, ${large[0]?.items} values of 256 KiB`,
      load: `${CALLS_PER_SECOND} calls a second where requests are measured; quiet: p99 ${ms(percentile(called.quietMs, 0.99))}, moving: ${ms(percentile(called.movingMs, 0.99))}`,
    },
    figures,
  };
}

export const bench: Bench = {
  name: 'migration',
  describe: 'how fast state moves between two owners, beside a bare socket and a plain Map',
  run,
};
