/**
 * Kinds of options, for the tables of `option-table.ts`: `import * as is`, and read `leaseMs: or(9_000, is.duration)`.
 */

import { invalidOption } from './errors.ts';
import type { Logger } from './logger.ts';
import { type Kind, numberWords } from './option-table.ts';
import { nameOption, textOption } from './text-option.ts';

/** @param what the kind in words; the same as the rule, unless every value of the kind will do */
const kind = <Value>(rule: string, holds: (value: unknown) => boolean, what: string = rule): Kind<Value> => ({
  rule,
  check: (option, value) => {
    if (holds(value)) return value as Value;
    throw invalidOption(option, value, `it must be ${what}`);
  },
});

/** Checked by a function that knows more, after the table. */
export const anything = <Value>(rule = ''): Kind<Value> => ({ rule, check: (_, value) => value as Value });

/** Without control and invisible characters: other processes show it on terminals and in logs. */
export const name = (longest: number): Kind<string> => ({
  rule: `1 to ${numberWords(longest)} characters`,
  check: (option, value) => nameOption(option, value, longest),
});

export const text = (longest: number): Kind<string> => ({
  rule: `1 to ${numberWords(longest)} characters`,
  check: (option, value) => textOption(option, value, longest),
});

const within = (value: unknown, least: number, most: number): value is number =>
  typeof value === 'number' && value >= least && value <= most;

const range = (least: number, most: number): string =>
  most >= Number.MAX_SAFE_INTEGER
    ? `at least ${numberWords(least)}`
    : `from ${numberWords(least)} to ${numberWords(most)}`;

export const whole = (least: number, most: number = Number.MAX_SAFE_INTEGER): Kind<number> =>
  kind(
    `a whole number ${range(least, most).replace('at', 'of at')}`,
    (value) => within(value, least, most) && Number.isSafeInteger(value),
  );

export const wholes = (least: number): Kind<readonly number[]> =>
  kind(
    `whole numbers of at least ${numberWords(least)}`,
    (value) =>
      Array.isArray(value) && [...value].every((each) => Number.isSafeInteger(each) && each >= least),
    `a list of whole numbers of at least ${numberWords(least)}`,
  );

/** 0 for any that is free. */
export const port: Kind<number> = { ...whole(0, 65_535), rule: '' };

/** A number, mostly of milliseconds. */
export const from = (least: number, most: number = Number.MAX_VALUE): Kind<number> => {
  const rule = range(least, most);
  const number = kind<number>('', (value) => typeof value === 'number', `a number ${rule}`);
  const inRange = kind<number>(rule, (value) => within(value, least, most));
  return { rule, check: (option, value) => inRange.check(option, number.check(option, value)) };
};

const isAboveZero = (value: unknown): boolean => typeof value === 'number' && value > 0;

/** Infinity, too: the wait then has no end. */
export const timeLimit: Kind<number> = kind('', isAboveZero, 'a positive number of milliseconds');

export const duration: Kind<number> = kind(
  '',
  (value) => isAboveZero(value) && Number.isFinite(value),
  'a positive number of milliseconds',
);

export const flag: Kind<boolean> = kind('', (value) => typeof value === 'boolean', 'true or false');

export const oneOf = <Value extends string>(...values: readonly Value[]): Kind<Value> =>
  kind(
    values.map((value) => `\`'${value}'\``).join(' or '),
    (value) => values.includes(value as Value),
    values.map((value) => `'${value}'`).join(' or '),
  );

/** The name of a file, a program or a host. */
export const string: Kind<string> = kind(
  '',
  (value) => typeof value === 'string' && value !== '',
  'a text that is not empty',
);

/** Names of hosts. */
export const texts: Kind<readonly string[]> = kind(
  '',
  (value) => Array.isArray(value) && [...value].every((each) => typeof each === 'string' && each !== ''),
  'a list of texts that are not empty',
);

/** An object with names of its own, as of pools. */
export const record = <Value extends object>(what: string): Kind<Value> =>
  kind('', (value) => typeof value === 'object' && value !== null && !Array.isArray(value), what);

/** A function of the application. */
export const callback = <Value>(): Kind<Value> =>
  kind('', (value) => typeof value === 'function', 'a function');

export const signal: Kind<AbortSignal> = kind('', (value) => value instanceof AbortSignal, 'an AbortSignal');

/** An object with functions of these names, and perhaps more. */
export const functions = <Value>(...names: readonly (keyof Value & string)[]): Kind<Value> =>
  kind(
    '',
    (value) => names.every((each) => typeof (value as Partial<Value> | null)?.[each] === 'function'),
    `an object with the functions ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`,
  );

export const logger: Kind<Logger> = functions<Logger>('debug', 'info', 'warn', 'error');
