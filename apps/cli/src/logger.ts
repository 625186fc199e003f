/**
 * Logs of a process that runs for long: a short line with colours for a person, JSON lines for a log collector. Always
 * on the error output, so that results can be piped away.
 */

import type { LogFacts, Logger } from 'leasehold/manager';
import { printable, printableJson } from 'leasehold/internal';
import { type Context, colorsFor } from './context.ts';
import { clockTime } from './output.ts';

export type LogFormat = 'human' | 'json';
type Level = keyof Logger;

export interface LoggerOptions {
  /** @default human on a terminal, json elsewhere */
  readonly format?: LogFormat | undefined;
  /** The lowest level that is printed. @default 'info', or 'debug' with LEASEHOLD_DEBUG */
  readonly level?: Level | undefined;
  readonly now?: (() => number) | undefined;
}

const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

export function createLogger(context: Context, options: LoggerOptions = {}): Logger {
  const { err, environment } = context;
  const format = options.format ?? (err.isTerminal ? 'human' : 'json');
  const least = LEVELS.indexOf(options.level ?? (environment['LEASEHOLD_DEBUG'] ? 'debug' : 'info'));
  const now = options.now ?? Date.now;
  const line = format === 'json' ? jsonLine : humanLine(context);
  const at =
    (level: Level) =>
    (message: string, facts: LogFacts = {}): void => {
      if (LEVELS.indexOf(level) >= least) err.write(`${line(level, now(), message, facts)}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

type Line = (level: Level, ms: number, message: string, facts: LogFacts) => string;

const jsonLine: Line = (level, ms, message, facts) =>
  printableJson({ ...facts, time: new Date(ms).toISOString(), level, message });

function humanLine(context: Context): Line {
  const colors = colorsFor(context.err, context);
  const paint: Readonly<Record<Level, (text: string) => string>> = {
    debug: colors.dim,
    info: String,
    warn: colors.yellow,
    error: colors.red,
  };
  return (level, ms, message, facts) => {
    const told = Object.entries(facts).filter(([, value]) => value !== undefined && value !== '');
    const rest = told.map(([name, value]) => ` ${printable(name)}=${quoted(String(value))}`).join('');
    const label = level === 'info' ? '' : `${level}: `;
    return `${colors.dim(clockTime(ms))} ${paint[level](label + printable(message))}${colors.dim(rest)}`;
  };
}

const quoted = (value: string): string => (/^[\w.:/@%+,-]+$/.test(value) ? value : printableJson(value));
