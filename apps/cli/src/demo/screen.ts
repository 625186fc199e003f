/**
 * What the demo shows. On a terminal, a few lines that are drawn over again and again; elsewhere a
 * line every two seconds and one for everything that happens.
 */

import { stripVTControlCharacters } from 'node:util';
import { type Colors, type Context, colorsFor } from '../context.ts';
import { eventText } from '../event-line.ts';
import { clockTime, counted, duration, percent, table } from '../output.ts';
import { POOL } from './messages.ts';
import type { News } from './scene.ts';
import type { DemoState } from './state.ts';

export interface Screen extends Disposable {
  news(news: News): void;
  draw(state: DemoState): void;
}

const NEWS_SHOWN = 6;

/** What to type while it runs. */
export function suggestions(state: DemoState, calledAs: string): readonly string[] {
  const { http, address } = state.manager;
  const victim = state.owners.find(({ pid }) => pid !== null);
  const add = `${calledAs} demo add-owner${address === '127.0.0.1:7400' ? '' : ` --managers ${address}`}`;
  const api = http === 'http://127.0.0.1:7401' ? '' : ` --api ${http}`;
  const lines: (readonly [string, string])[] = [
    [add, 'in another terminal: one more, which takes its share'],
    [`${calledAs} watch${api}`, 'who joins, what moves, what is lost'],
    [`curl '${http}/v1/pools/${POOL}/explain?key=user-1'`, 'why user-1 is where it is'],
    [`${http}/`, 'the page: the ring, the owners and events, live'],
  ];
  if (victim !== undefined) {
    lines.unshift([
      `kill -9 ${victim.pid}`,
      `${victim.name} dies; the others take over, users are published again`,
    ]);
  }
  return table(['', ''], lines)
    .slice(1)
    .map((line) => `  ${line}`);
}

/** One line about how it is. */
export function summary({ owners, reads, writes, unanswered, lost, republished }: DemoState): string {
  const shares = owners.map(
    ({ name, isRunning, sharePercent, requestsPerSecond }) =>
      `${name} ${isRunning ? `${percent(sharePercent)} ${requestsPerSecond}/s` : 'down'}`,
  );
  return [
    shares.join(', '),
    `${reads.count} reads (${reads.perSecond}/s), ${reads.wrong} wrong${recovery(reads)}`,
    `${writes} writes`,
    `${unanswered} unanswered`,
    `${lost} lost, ${republished} published again`,
  ].join(' | ');
}

function recovery({ wrong, wrongNow, slowestRecoveryMs }: DemoState['reads']): string {
  if (wrong === 0) return '';
  const now = wrongNow === 0 ? 'none now' : `${wrongNow} now`;
  return ` (${now}; mended within ${duration(slowestRecoveryMs)})`;
}

const newsText = (news: News, colors: Colors): string =>
  news.kind === 'note' ? news.text : eventText(news.event, colors);

export const plainScreen = (context: Context): Screen => {
  const colors = colorsFor(context.out, context);
  let [shownAt, isFirst] = [0, true];
  return {
    news: (news) => context.out.write(`${clockTime(news.atMs)} ${newsText(news, colors)}\n`),
    draw: (state) => {
      if (isFirst) {
        const lines = ['Everything runs. What to try:', ...suggestions(state, context.calledAs)];
        context.out.write(`${lines.join('\n')}\n`);
        isFirst = false;
      }
      if (state.upMs - shownAt < 1_900) return;
      shownAt = state.upMs;
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
  const shown: string[] = [];
  let drawn = 0;
  out.write(HIDE_CURSOR);
  return {
    news: (news) => {
      shown.push(`${colors.dim(clockTime(news.atMs))}  ${newsText(news, colors)}`);
      shown.splice(0, shown.length - NEWS_SHOWN);
    },
    draw: (state) => {
      const lines = picture(state, shown, context, colors).map((line) => fit(line, out.columns - 1));
      out.write(`${up(drawn)}${CLEAR_BELOW}${lines.join('\n')}\n`);
      drawn = lines.length;
    },
    [Symbol.dispose]: () => out.write(SHOW_CURSOR),
  };
}

export function picture(
  state: DemoState,
  news: readonly string[],
  { calledAs }: Pick<Context, 'calledAs'>,
  colors: Colors,
): readonly string[] {
  const { owners, frontEnds, reads, lost, republished } = state;
  const users = frontEnds.reduce((sum, { connected }) => sum + connected, 0);
  return [
    `${colors.bold('A presence service on Leasehold')}: ${counted(users, 'user')}, up ${duration(1_000 * Math.floor(state.upMs / 1_000))}`,
    '',
    ...table(
      ['OWNER', 'PID', 'KEYS', 'REQUESTS/S', 'USERS'],
      owners.map(({ name, pid, isRunning, sharePercent, requestsPerSecond, users: own }) => [
        ...[name, pid ?? '-', percent(sharePercent)],
        ...(isRunning ? [requestsPerSecond, own ?? '-'] : ['-', '-']),
      ]),
    ),
    '',
    `front ends   ${frontEnds.map(({ name, pid, connected }) => `${name} (${pid === null ? 'down' : `pid ${pid}, ${counted(connected, 'user')}`})`).join(', ')}`,
    `reads        ${reads.count}, ${reads.perSecond} a second; ${wrongText(reads, colors)}${state.unanswered === 0 ? '' : `; ${state.unanswered} unanswered`}`,
    `losses       ${lost} told to front ends, ${republished} published again`,
    '',
    ...(news.length === 0 ? [colors.dim('Nothing has happened yet.')] : news),
    '',
    'What to try:',
    ...suggestions(state, calledAs),
    '',
    colors.dim('Ctrl-C ends it all.'),
  ];
}

function wrongText(reads: DemoState['reads'], colors: Colors): string {
  if (reads.wrong === 0) return colors.green('none wrong');
  const text = `${reads.wrong} wrong${recovery(reads)}`;
  return reads.wrongNow === 0 ? text : colors.red(text);
}

/** Cut to the width of the terminal: a line that wraps would be counted as one and take up two. */
export function fit(line: string, width: number): string {
  if (stripVTControlCharacters(line).length <= width) return line;
  return `${stripVTControlCharacters(line).slice(0, Math.max(0, width - 1))}…`;
}
