/**
 * Orders to one owner of a pool: to hand all its keys over, to take no more, or to take keys again.
 *
 * A drain is an order in the Manager's log, and goes on without this command. So the command only watches: interrupted, it says so, and ends.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { printable } from 'leasehold/internal';
import type { MovesAnswer, OrderAnswer, RowAnswer, TableAnswer } from '../answers.ts';
import { ApiRefusedError, type AtOption, isUnreachable, ManagerApi, poolPath } from '../api.ts';
import { type Context, interruption, typed } from '../context.ts';
import { atOption, jsonOption, milliseconds, withExamples } from '../options.ts';
import { counted, duration, type JsonOption, show, writeLines } from '../output.ts';
import { NotLeadingError } from '../not-leading-error.ts';
import { DrainProgress } from './drain-progress.ts';

/** A log that is slow, or an etcd without a majority. */
const ORDERED_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 300;
/** Without a terminal. */
const LINE_EVERY_MS = 2_000;
/** What is given back without its state is gone within the time that owners have for that, and some more. */
const GIVEN_BACK_WITHIN_MS = 15_000;
const ROWS_PER_PAGE = 5_000;
/** As a shell says of a command that a signal has ended. */
const INTERRUPTED = 130;

interface DrainOptions extends AtOption, JsonOption {
  readonly timeout?: number;
  readonly otherwise: 'lose' | 'stay';
  readonly wait: boolean;
}

export function orderCommands(context: Context): readonly Command[] {
  return [
    drainCommand(context),
    plainOrder(context, 'cordon', {
      summary: 'Let an owner take no more keys',
      what: 'Let an owner take no more keys; it keeps those it has. It takes keys again after "pool uncordon", or when it is started again.',
      done: (owner, pool) => `${owner} takes no more keys of ${pool}, and keeps those it has.`,
    }),
    plainOrder(context, 'uncordon', {
      summary: 'Let an owner take keys again',
      what: 'Let an owner take keys again: after "pool cordon", or after "pool drain", which this also ends.',
      done: (owner, pool) => `${owner} takes keys of ${pool} again.`,
    }),
  ];
}

interface PlainOrder {
  readonly summary: string;
  readonly what: string;
  done(owner: string, pool: string): string;
}

function plainOrder(context: Context, order: 'cordon' | 'uncordon', words: PlainOrder): Command {
  const command = new Command(order)
    .summary(words.summary)
    .description(words.what)
    .argument('<pool>', 'the pool')
    .argument('<owner>', 'the name of the owner')
    .addOption(atOption())
    .addOption(jsonOption())
    .action(async (pool: string, owner: string, options: AtOption & JsonOption) => {
      const answer = await give(ManagerApi.of(context, options), pool, owner, order);
      show(context, options, answer, () => [words.done(owner, pool)]);
    });
  return withExamples(command, context, [[`pool ${order} presence web-3`, words.summary.toLowerCase()]]);
}

function drainCommand(context: Context): Command {
  const command = new Command('drain')
    .summary('Hand all keys of an owner over to others')
    .description(
      'Let an owner hand all its keys over to others, with their state. It stays in the pool without keys until "pool uncordon", or until it is started again. The drain goes on when this command ends.',
    )
    .argument('<pool>', 'the pool')
    .argument('<owner>', 'the name of the owner')
    .addOption(
      new Option('--timeout <time>', 'how long to wait, as 8s (default: until it is done)').argParser(
        milliseconds,
      ),
    )
    .addOption(
      new Option(
        '--otherwise <what>',
        'what becomes of keys that were not handed over by then: they stay, or are given back without their state',
      )
        .choices(['stay', 'lose'])
        .default('stay'),
    )
    .option('--no-wait', 'give the order, and do not wait')
    .addOption(atOption())
    .addOption(jsonOption())
    .action((pool: string, owner: string, options: DrainOptions) => drain(context, pool, owner, options));
  return withExamples(command, context, [
    ['pool drain presence web-3', 'before web-3 is stopped: nothing is lost'],
    [
      'pool drain presence web-3 --timeout 8s --otherwise lose',
      'after 8 s, what is left is given back without its state',
    ],
    ['pool uncordon presence web-3', 'takes it back'],
  ]);
}

const give = (api: ManagerApi, pool: string, owner: string, order: string): Promise<OrderAnswer> =>
  api.post<OrderAnswer>(poolPath(pool, `/owners/${encodeURIComponent(owner)}/${order}`), ORDERED_WITHIN_MS);

/** Everything there is to say about a drain when the command ends. */
interface DrainResult {
  readonly pool: string;
  readonly owner: string;
  readonly incarnation: string;
  readonly outcome: 'drained' | 'unfinished' | 'interrupted' | 'ordered' | 'gone';
  readonly ranges: number;
  readonly moved: number;
  readonly lost: number;
  readonly left: number;
  readonly bytes: number;
  readonly tookMs: number;
}

async function drain(context: Context, pool: string, owner: string, options: DrainOptions): Promise<void> {
  const api = ManagerApi.of(context, options);
  using interrupted = interruption();
  const before = await tableOf(api, pool);
  const { incarnation } = await give(api, pool, owner, 'drain');
  const had = before.rows.filter((row) => row.owner === incarnation);
  const watched = new Drain(context, options, api, { pool, owner, incarnation }, had);
  const outcome = options.wait ? await watched.watch(interrupted) : 'ordered';
  const result = await watched.result(outcome, before.position);
  show(context, options, result, () => [wordsFor(context, result)]);
  if (outcome === 'interrupted') context.exitCode = INTERRUPTED;
  else if (outcome === 'unfinished') context.exitCode = 1;
}

interface Drained {
  readonly pool: string;
  readonly owner: string;
  readonly incarnation: string;
}

class Drain {
  readonly #context: Context;
  readonly #options: DrainOptions;
  readonly #api: ManagerApi;
  readonly #about: Drained;
  readonly #had: readonly RowAnswer[];
  readonly #progress: DrainProgress;
  #saidAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    context: Context,
    options: DrainOptions,
    api: ManagerApi,
    about: Drained,
    had: readonly RowAnswer[],
  ) {
    this.#context = context;
    this.#options = options;
    this.#api = api;
    this.#about = about;
    this.#had = had;
    this.#progress = new DrainProgress(about.pool, about.owner, had.length, performance.now());
  }

  async watch(interrupted: AbortSignal): Promise<DrainResult['outcome']> {
    const { timeout = Number.POSITIVE_INFINITY, otherwise } = this.#options;
    const { pool, owner } = this.#about;
    let outcome = await this.#until(timeout, interrupted);
    if (outcome === 'unfinished' && otherwise === 'lose') {
      await give(this.#api, pool, owner, 'drain?otherwise=lose');
      outcome = await this.#until(timeout + GIVEN_BACK_WITHIN_MS, interrupted);
    }
    if (this.#isBar) this.#context.err.write('\r\u001b[K');
    return outcome;
  }

  /** Looks again and again. */
  async #until(deadlineMs: number, interrupted: AbortSignal): Promise<DrainResult['outcome']> {
    for (;;) {
      const state = await this.#look(interrupted);
      if (interrupted.aborted) return 'interrupted';
      if (state !== undefined) return state;
      this.#say();
      if (this.#progress.tookMs(performance.now()) >= deadlineMs) return 'unfinished';
      await delay(LOOK_EVERY_MS, undefined, { signal: interrupted }).catch(() => undefined);
    }
  }

  /** What has become of the drain, if that is known. */
  async #look(signal: AbortSignal): Promise<'drained' | 'gone' | undefined> {
    const { pool, owner, incarnation } = this.#about;
    let answer: MovesAnswer;
    try {
      const path = poolPath(pool, `/moves?owner=${encodeURIComponent(owner)}`);
      answer = await this.#api.get<MovesAnswer>(path, undefined, signal);
    } catch (error) {
      if (!isForNow(error)) throw error;
      this.#progress.unheard();
      return undefined;
    }
    if (answer.owners === null) {
      this.#progress.unheard();
      return undefined;
    }
    const mover = answer.owners.find((each) => each.incarnation === incarnation);
    if (mover === undefined) return 'gone';
    this.#progress.hear(answer, mover, performance.now());
    return mover.ranges === 0 ? 'drained' : undefined;
  }

  get #isBar(): boolean {
    return this.#context.err.isTerminal && this.#options.json !== true;
  }

  #say(): void {
    const { err } = this.#context;
    const nowMs = performance.now();
    if (this.#isBar) err.write(`\r${printable(this.#progress.bar(nowMs).slice(0, err.columns - 1))}\u001b[K`);
    else if (this.#options.json !== true && nowMs - this.#saidAtMs >= LINE_EVERY_MS) {
      this.#saidAtMs = nowMs;
      writeLines(err, [this.#progress.line(nowMs)]);
    }
  }

  /** @param since the position of the log before the drain */
  async result(outcome: DrainResult['outcome'], since: number): Promise<DrainResult> {
    const tookMs = Math.round(this.#progress.tookMs(performance.now()));
    const { rows } = await tableOf(this.#api, this.#about.pool);
    const stays = (row: RowAnswer): boolean => row.owner === this.#about.incarnation;
    const isLost = (row: RowAnswer): boolean => row.lostAt > since;
    const count = (isCounted: (row: RowAnswer) => boolean): number =>
      this.#had.filter((range) => rows.some((row) => isCounted(row) && overlap(row, range))).length;
    const lost = count(isLost);
    const left = outcome === 'gone' ? 0 : count(stays);
    return {
      ...{ ...this.#about, outcome, ranges: this.#had.length, lost, left },
      moved: Math.max(
        0,
        this.#had.length - count((row) => isLost(row) || (outcome !== 'gone' && stays(row))),
      ),
      ...{ bytes: this.#progress.bytes, tookMs },
    };
  }
}

/** A range that goes to the end of the ring ends at 0. */
const endOf = ({ end }: RowAnswer): string => (/^0+$/.test(end) ? 'g' : end);
const overlap = (one: RowAnswer, other: RowAnswer): boolean =>
  one.start < endOf(other) && other.start < endOf(one);

/** No Manager, or none that leads: another one will. */
const isForNow = (error: unknown): boolean =>
  isUnreachable(error) ||
  error instanceof NotLeadingError ||
  (error instanceof ApiRefusedError && error.retryable);

async function tableOf(api: ManagerApi, pool: string): Promise<Pick<TableAnswer, 'position' | 'rows'>> {
  const rows: RowAnswer[] = [];
  let position: number | undefined;
  for (let from: string | null = '0000000000000000'; from !== null; ) {
    const path: string = poolPath(pool, `/table?limit=${ROWS_PER_PAGE}&from=${from}`);
    const page: TableAnswer = await api.get<TableAnswer>(path);
    position ??= page.position;
    rows.push(...page.rows);
    from = page.next;
  }
  return { position: position ?? 0, rows };
}

function wordsFor(context: Context, result: DrainResult): string {
  const { owner, pool, outcome, ranges, moved, lost, left, tookMs } = result;
  const again = typed(context, `pool uncordon ${pool} ${owner}`);
  const sums = `${counted(moved, 'range')} moved, ${lost} lost`;
  const rest = `${left} of ${counted(ranges, 'range')} ${left === 1 ? 'is' : 'are'} left`;
  switch (outcome) {
    case 'drained':
      return `${owner} holds nothing any more: ${sums}, in ${duration(tookMs)}. It takes keys again after: ${again}`;
    case 'gone':
      return `${owner} has left the pool: ${sums}, in ${duration(tookMs)}.`;
    case 'interrupted':
      return `Interrupted: the drain of ${owner} goes on, ${rest}. To take it back: ${again}`;
    case 'ordered':
      return `${owner} hands ${counted(ranges, 'range')} over. To take it back: ${again}`;
    case 'unfinished':
      return `${owner} is not drained after ${duration(tookMs)}: ${rest}, ${sums}. The drain goes on. To take it back: ${again}`;
  }
}
