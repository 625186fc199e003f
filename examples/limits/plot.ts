/** One second of the demonstration as a line: a bar for each server, up to the limit. */

export interface Second {
  readonly second: number;
  /** Requests that each server admitted. */
  readonly admitted: readonly number[];
  readonly limit: number;
  /** What happened. */
  readonly event: string;
}

const WIDTH = 50;
const MARKS = ['█', '▓', '▒', '░'];

export function plotLine({ second, admitted, limit, event }: Second): string {
  const sum = admitted.reduce((total, count) => total + count, 0);
  let bar = '';
  let counted = 0;
  for (const [server, count] of admitted.entries()) {
    counted += count;
    const length = Math.round((WIDTH * counted) / limit);
    bar += (MARKS[server % MARKS.length] ?? '').repeat(Math.max(0, length - bar.length));
  }
  const upToLimit = bar.slice(0, WIDTH).padEnd(WIDTH);
  return `${String(second).padStart(3)} s ${upToLimit}│${bar.slice(WIDTH)} ${String(sum).padStart(5)}  ${event}`.trimEnd();
}

export const legend = (names: readonly string[], limit: number): string =>
  `${names.map((name, at) => `${MARKS[at % MARKS.length]} ${name}`).join('  ')}  │ the limit, ${limit} a second`;
