/**
 * A misspelt option is refused rather than ignored: what it was meant to change would stay as it is.
 * The names that are known stand in a record over the options' own type, so that the compiler misses one
 * that was forgotten there.
 */

import { invalidOption } from './errors.ts';

/** The name of every option. */
export type OptionNames<Options> = Readonly<Record<keyof Options, unknown>>;

/** @throws {InvalidArgumentError} if the options have a name that is not known, or are none */
export function checkOptionNames<Options>(
  place: string,
  options: Options,
  known: OptionNames<Options>,
): void {
  const what = place === '' ? 'options' : place.slice(0, -1);
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalidOption(what, options, 'it must be an object');
  }
  for (const [name, value] of Object.entries(options)) {
    if (Object.hasOwn(known, name)) continue;
    throw invalidOption(
      `${place}${name}`,
      value,
      `there is no such option; there are ${Object.keys(known).join(', ')}`,
    );
  }
}
