/**
 * The display of the demo. On a terminal, a few lines that are drawn over again and again; elsewhere a line every two
 * seconds and one for everything that happens.
 */

import { stripVTControlCharacters } from 'node:util';
import { type Colors, type Context, colorsFor, typed } from '../context.ts';
import { EventTeller } from '../event-line.ts';
import { clockTime, counted, duration, durationOfSeconds, percent, table } from '../output.ts';
import { LEGEND, MEANING } from './legend.ts';
import { POOL } from './messages.ts';
import type { News } from './scene.ts';
import type { DemoState } from './state.ts';

export interface Screen extends Disposable {
  news(news: News): void;
  draw(state: DemoState): void;
}

type Calling = Pick<Context, 'calledAs' | 'demoCalledAs'>;

const NEWS_SHOWN = 6;
/** Of these at least, however small the terminal is. */
const NEWS_SHOWN_MIN = 2;

/** Command lines to try while the demo runs. */
export function suggestions(state: DemoState, calling: Calling): readonly string[] {
  const { http, address } = state.manager;
  const victim = state.owners.find(({ pid }) => pid !== null);
  const several = state.managers.flatMap((each) => each.address ?? []);
  const managers = several.length === 0 ? [address] : several;
  const where = managers.join() === '127.0.0.1:7400' ? '' : ` --managers ${managers.join()}`;
  const addOwner = [typed(calling, `demo add-owner${where}`), 'one more, which takes its share'] as const;
  const apis = state.managers.flatMap((each) => each.http ?? []);
  // Any of several Managers may be killed, so all are named.
  const api =
    http === 'http://127.0.0.1:7401' && apis.length < 2
      ? ''
      : ` --at ${apis.length === 0 ? http : apis.join()}`;
  const lines: (readonly [string, string])[] = [
    ...(several.length === 0 ? [addOwner] : []),
    [typed(calling, `watch${api}`), 'what happens, as it happens'],
    [typed(calling, `pool explain ${POOL} user-1${api}`), 'why user-1 is where it is'],
    [`${http}/`, 'a page: ring, owners, events'],
  ];
  if (victim !== undefined) {
    lines.unshift(
      [`kill ${victim.pid}`, `a deploy: ${victim.name} ends, nothing is lost`],
      [`kill -9 ${victim.pid}`, `${victim.name} dies, others take over`],
    );
  }
  const leading = state.managers.find(({ pid }) => pid === state.manager.pid);
  if (leading !== undefined)
    lines.unshift([`kill -9 ${state.manager.pid}`, `${leading.name}, which leads, dies; another takes over`]);
  const shown = table(['', ''], lines).slice(1);
  // Any of several Managers may be killed, so all are named: a long line, which must not widen the table.
  if (several.length > 0) shown.push(addOwner.join('  '));
  return ['What to try, in another terminal (Ctrl-C here ends it all):', ...shown.map((line) => `  ${line}`)];
}

/** One line about the state. */
export function summary(state: DemoState): string {
  const { owners, users, reads, writes, unanswered, lost, republished } = state;
  const shares = owners.map(
    ({ name, isRunning, sharePercent, requestsPerSecond: rate }) =>
      `${name} ${isRunning ? `${percent(sharePercent)}${rate === null ? '' : ` ${rate}/s`}` : 'down'}`,
  );
  return [
    shares.join(', '),
    ...(isConnecting(users) ? [`${users.connected} of ${counted(users.expected, 'user')} connected`] : []),
    `${reads.count} reads${reads.perSecond === null ? '' : ` (${reads.perSecond}/s)`}, ${reads.wrong} wrong${recovery(reads)}`,
    `${writes} writes`,
    `${unanswered} unanswered`,
    `${lost} lost, ${republished} published again`,
  ].join(' | ');
}

const isConnecting = ({ connected, expected }: DemoState['users']): boolean => connected < expected;

function recovery({ wrong, wrongNow, slowestRecoveryMs }: DemoState['reads']): string {
  if (wrong === 0) return '';
  const now = wrongNow === 0 ? 'none now' : `${wrongNow} now`;
  return ` (${now}; right again within ${duration(slowestRecoveryMs)})`;
}

/**
 * News as lines. While the keys are first shared out there is nobody to lose anything, though each key that
 * a further owner takes over is told as lost: that is said once and not line by line.
 */
class Newsreader {
  readonly #teller: EventTeller;
  /** What moved since the last line that said so: a deploy moves dozens of ranges in a second. */
  #moved = { ranges: 0, percent: 0 };

  constructor(colors: Colors) {
    this.#teller = new EventTeller(colors);
  }

  /** None if not worth a line. */
  read(news: News): readonly string[] {
    if (news.kind === 'note') return [...this.#movedBefore(), news.text];
    const { event } = news;
    const text = this.#teller.text(event);
    if (event.kind === 'pool.moved') {
      this.#moved = {
        ranges: this.#moved.ranges + event.spans,
        percent: this.#moved.percent + event.sharePercent,
      };
      return [];
    }
    return news.isSettingUp && !SETTING_UP.has(event.kind) ? [] : [...this.#movedBefore(), text];
  }

  #movedBefore(): readonly string[] {
    const { ranges, percent: share } = this.#moved;
    this.#moved = { ranges: 0, percent: 0 };
    return ranges === 0
      ? []
      : [`${percent(share)} of the keys moved with their state, in ${counted(ranges, 'range')}`];
  }
}

const SETTING_UP: ReadonlySet<string> = new Set([
  'pool.joined',
  'pool.left',
  'manager.elected',
  'manager.deposed',
  'manager.halted',
]);

/** Drawings come a second apart, some a little early; every other one is a line. */
const PLAIN_EVERY_MS = 1_900;

export const plainScreen = (context: Context): Screen => {
  const reader = new Newsreader(colorsFor(context.out, context));
  let shownAtUpMs: number | undefined;
  return {
    news: (news) => {
      for (const text of reader.read(news)) context.out.write(`${clockTime(news.atMs)} ${text}\n`);
    },
    draw: (state) => {
      if (shownAtUpMs === undefined) {
        const lines = [...suggestions(state, context), 'What the numbers mean:', ...LEGEND];
        context.out.write(`Everything runs. ${lines.join('\n')}\n`);
      } else if (state.upMs - shownAtUpMs < PLAIN_EVERY_MS) return;
      shownAtUpMs = state.upMs;
      context.out.write(`${clockTime(Date.now())} ${summary(state)}\n`);
    },
    [Symbol.dispose]: () => {},
  };
};

export const jsonScreen = ({ out }: Context): Screen => ({
  news: (news) => out.write(`${JSON.stringify({ ...news, kind: 'news', what: news.kind })}\n`),
  draw: (state) => out.write(`${JSON.stringify({ kind: 'state', ...state })}\n`),
  [Symbol.dispose]: () => {},
});

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_BELOW = '\u001b[J';
const up = (lines: number): string => (lines === 0 ? '\r' : `\u001b[${lines}F`);

export function terminalScreen(context: Context): Screen {
  const { out } = context;
  const colors = colorsFor(out, context);
  const reader = new Newsreader(colors);
  const shown: string[] = [];
  let drawnLines = 0;
  out.write(HIDE_CURSOR);
  return {
    news: (news) => {
      for (const text of reader.read(news)) shown.push(`${colors.dim(clockTime(news.atMs))}  ${text}`);
      shown.splice(0, Math.max(0, shown.length - NEWS_SHOWN));
    },
    draw: (state) => {
      // The cursor stands below, and lines that have scrolled away cannot be drawn over.
      const lines = picture(state, shown, context, colors, out.rows - 1);
      out.write(
        `${up(drawnLines)}${CLEAR_BELOW}${lines.map((line) => fit(line, out.columns - 1)).join('\n')}\n`,
      );
      drawnLines = lines.length;
    },
    [Symbol.dispose]: () => out.write(SHOW_CURSOR),
  };
}

/** In no more lines than there is room for: the least important lines are left out first. */
export function picture(
  state: DemoState,
  news: readonly string[],
  calling: Calling,
  colors: Colors,
  linesMax: number,
): readonly string[] {
  const lately = news.length === 0 ? [colors.dim('Nothing has happened yet.')] : news;
  const fewer = lately.slice(-NEWS_SHOWN_MIN);
  const fixed = figures(state, colors);
  const toTry = suggestions(state, calling);
  const layouts = [
    [...fixed, '', ...lately, '', ...toTry],
    [...fixed, '', ...fewer, '', ...toTry],
    [...fixed.filter((line) => line !== ''), '', ...fewer, '', ...toTry],
    [...fixed, '', ...lately],
    [...fixed, '', ...fewer],
  ];
  return layouts.find(({ length }) => length <= linesMax) ?? fixed.slice(0, linesMax);
}

function figures(state: DemoState, colors: Colors): readonly string[] {
  const { owners, frontEnds, users, reads, unanswered, lost, republished } = state;
  const connected = isConnecting(users)
    ? `${users.connected} of ${counted(users.expected, 'user')} connected so far`
    : counted(users.connected, 'user');
  const perSecond = reads.perSecond === null ? '' : `, ${reads.perSecond} a second`;
  const figure = (name: string, value: string, meaning: string): string =>
    `${name.padEnd(10)}  ${value}${colors.dim(`: ${meaning}`)}`;
  return [
    `${colors.bold('A presence service on Leasehold')}: ${connected}, up ${durationOfSeconds(Math.floor(state.upMs / 1_000))}`,
    colors.dim(MEANING.owners),
    '',
    ...table(
      ['OWNER', 'PID', 'KEYS', 'REQUESTS/S', 'USERS'],
      owners.map(({ name, pid, isRunning, sharePercent, requestsPerSecond, users: own }) => [
        ...[name, pid ?? '-', percent(sharePercent)],
        ...(isRunning ? [requestsPerSecond ?? '-', own ?? '-'] : ['-', '-']),
      ]),
    ),
    '',
    `front ends  ${frontEnds.map(({ name, pid, connected: own }) => `${name} (${pid === null ? 'down' : `pid ${pid}, ${counted(own, 'user')}`})`).join(', ')}`,
    figure('reads', `${reads.count}${perSecond}`, MEANING.reads),
    figure('wrong', wrongText(reads, colors), MEANING.wrong),
    figure('unanswered', String(unanswered), MEANING.unanswered),
    figure('lost', `${counted(lost, 'user')}, ${republished} published again`, MEANING.lost),
  ];
}

function wrongText(reads: DemoState['reads'], colors: Colors): string {
  if (reads.wrong === 0) return colors.green('none');
  const text = `${reads.wrong}${recovery(reads)}`;
  return reads.wrongNow === 0 ? text : colors.red(text);
}

/** Cut to the width of the terminal: a line that wraps would be counted as one and take up two. */
export function fit(line: string, width: number): string {
  if (stripVTControlCharacters(line).length <= width) return line;
  return `${stripVTControlCharacters(line).slice(0, Math.max(0, width - 1))}…`;
}
