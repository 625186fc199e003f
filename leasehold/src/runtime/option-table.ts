/**
 * The table of a function's options: name, kind, rule and default of each, in one place.
 *
 *     const OPTIONS: OptionTable<ServeOptions, 'host' | 'port'> = {
 *       host: or('127.0.0.1', is.string),
 *       port: or(7501, is.port),
 *       signal: optional(is.signal),
 *     };
 *
 * Three readers share a table. The function calls {@link resolveOptions}, which refuses unknown names and broken rules and fills in the
 * defaults. The compiler compares the table with the interface: every option has a row, required options have no default. And
 * `scripts/docs.test.ts` compares the default and the rule with the row in `docs/options.md`.
 *
 * A misspelt option is refused rather than ignored, because the value that it was meant to change would stay as it is. A value of the wrong
 * kind (a logger without methods, a callback that is a text) is refused before anything has started, rather than when it is first used.
 *
 * A table has the rules of one option alone. A rule between two options stays in the function, beside the reason for it.
 */

import { checkOptionNames } from './option-names.ts';

export interface Kind<Value> {
  /** Completes "it must be …"; empty if each value of the kind will do. */
  readonly rule: string;
  /** @throws {InvalidArgumentError} */
  readonly check: (option: string, value: unknown) => Value;
}

export interface RequiredRow<Value> extends Kind<Value> {
  readonly presence: 'required';
}

export interface OptionalRow<Value> extends Kind<Value> {
  readonly presence: 'optional';
  /** The effect of leaving the option out, as `docs/options.md` says it. */
  readonly words: string;
}

export interface DefaultRow<Value> extends Kind<Value> {
  readonly presence: 'default';
  readonly value: Value;
  readonly words: string;
}

export type OptionRow<Value> = RequiredRow<Value> | OptionalRow<Value> | DefaultRow<Value>;

/** `Defaulted` are the options that have a default value, rather than an effect that needs other options or is none. */
export type OptionTable<Options, Defaulted extends keyof Options = never> = {
  readonly [Name in keyof Options]-?: Name extends Defaulted
    ? DefaultRow<Exclude<Options[Name], undefined>>
    : undefined extends Options[Name]
      ? OptionalRow<Exclude<Options[Name], undefined>>
      : RequiredRow<Options[Name]>;
};

export type ResolvedOptions<Options, Defaulted extends keyof Options> = {
  readonly [Name in keyof Options]-?: Name extends Defaulted
    ? Exclude<Options[Name], undefined>
    : Options[Name];
};

export const required = <Value>(kind: Kind<Value>): RequiredRow<Value> => ({ ...kind, presence: 'required' });

export const optional = <Value>(kind: Kind<Value>, words = 'none'): OptionalRow<Value> => ({
  ...kind,
  presence: 'optional',
  words,
});

export const or = <Value>(
  value: Value,
  kind: Kind<Value>,
  words: string = wordsFor(value),
): DefaultRow<Value> => ({ ...kind, presence: 'default', value, words });

const wordsFor = (value: unknown): string => {
  if (typeof value === 'number') return numberWords(value);
  return typeof value === 'string' ? `\`'${value}'\`` : String(value);
};

/** Not by `toLocaleString`: every table calls this when it is loaded, and the first call would load all locales. @internal */
export const numberWords = (value: number): string => {
  const power = Math.log2(value);
  if (power >= 32 && Number.isInteger(power)) return `2^${power}`;
  if (value === Number.POSITIVE_INFINITY) return '∞';
  const [whole = '', fraction] = String(value).split('.');
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
};

/**
 * @param place the words before the names in errors, as `limits.`
 * @throws {InvalidArgumentError} for a name that is not in the table, a missing option or a broken rule
 */
export function resolveOptions<Options extends object, Defaulted extends keyof Options = never>(
  place: string,
  options: Options,
  table: OptionTable<Options, Defaulted>,
): ResolvedOptions<Options, Defaulted> {
  checkOptionNames(place, options, table);
  return fillIn(place, options, table);
}

/** The same for a part of the options, whose table does not have the others. */
export function fillIn<Options extends object, Defaulted extends keyof Options = never>(
  place: string,
  options: Options,
  table: OptionTable<Options, Defaulted>,
): ResolvedOptions<Options, Defaulted> {
  const resolved: Record<string, unknown> = {};
  for (const [name, row] of Object.entries<OptionRow<unknown>>(table)) {
    const value = (options as Record<string, unknown>)[name];
    if (value !== undefined || row.presence === 'required')
      resolved[name] = row.check(`${place}${name}`, value);
    else resolved[name] = row.presence === 'default' ? row.value : undefined;
  }
  return resolved as ResolvedOptions<Options, Defaulted>;
}

/** The default of `logger` in every table. */
export const LOGGER_WORDS = 'warnings and errors, on the standard error';
