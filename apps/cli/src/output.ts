/**
 * How things look to a person: columns under one another, durations and sizes in words. `--json` gives
 * a program the same as data. Names are chosen by others, so nothing is written here that could do something to a
 * terminal (`runtime/printable.ts`).
 */

import { printable, printableJson } from 'leasehold/internal';
import type { Context, Output } from './context.ts';

export type Cell = string | number;

/** Two spaces apart, numbers to the right, under a line of headings. */
export function table(headings: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const all = [headings, ...rows].map((row) => row.map((cell) => printable(String(cell))));
  const widths = headings.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  const isNumeric = headings.map((_, at) => rows.length > 0 && rows.every((row) => isNumber(row[at])));
  return all.map((row) =>
    headings
      .map((_, at) => {
        const text = row[at] ?? '';
        return isNumeric[at] ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0);
      })
      .join('  ')
      .trimEnd(),
  );
}

const isNumber = (cell: Cell | undefined): boolean =>
  typeof cell === 'number' || (cell !== undefined && /^(?:-|[\d.,]+(?: \S{1,3})?)$/.test(cell));

/** `340 ms`, `2.5 s`, `3 min 20 s`, `5 h 2 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
  const seconds = Math.round(ms / 1_000);
  const [minutes, hours, days] = [seconds / 60, seconds / 3_600, seconds / 86_400].map(Math.floor) as [
    number,
    number,
    number,
  ];
  if (hours < 1) return `${minutes} min ${seconds % 60} s`;
  return days < 1 ? `${hours} h ${minutes % 60} min` : `${days} d ${hours % 24} h`;
}

/** As {@link duration}, for a count of whole seconds: none of them is `0 s`, for nobody measured milliseconds. */
export const durationOfSeconds = (seconds: number): string =>
  seconds < 1 ? '0 s' : duration(seconds * 1_000);

/** `812 B`, `1.5 KB`, `20 MB`. */
export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let [value, unit] = [count, 0];
  while (value >= 1_000 && unit < units.length - 1) [value, unit] = [value / 1_000, unit + 1];
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** `33.3 %`; a trace of something is not nothing. */
export function percent(value: number): string {
  if (value > 0 && value < 0.05) return '< 0.1 %';
  return `${value.toFixed(1).replace(/\.0$/, '')} %`;
}

/** `1 owner`, `2 owners`. */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** `12:03:04`, of the clock on the wall. */
export const clockTime = (ms: number): string => {
  const at = new Date(ms);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
};

export interface JsonOption {
  readonly json?: true;
}

/** The value as JSON if that was asked for, otherwise the lines. */
export function show(
  { out }: Context,
  { json }: JsonOption,
  value: unknown,
  lines: () => readonly string[],
): void {
  if (json) writeJson(out, value, 2);
  else writeLines(out, lines());
}

/** Without colours: those would be escaped, too. */
export const writeLines = (output: Pick<Output, 'write'>, lines: readonly string[]): void =>
  output.write(lines.map((line) => `${printable(line)}\n`).join(''));

export const writeJson = (output: Pick<Output, 'write'>, value: unknown, indent?: number): void =>
  output.write(`${printableJson(value, indent)}\n`);

/** The coloured parts of these lines are ours, and the names of others in them were escaped. */
export const writeStyled = (output: Pick<Output, 'write'>, lines: readonly string[]): void =>
  output.write(lines.map((line) => `${line}\n`).join(''));
