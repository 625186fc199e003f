/** A misspelt option is refused rather than ignored: what it was meant to change would stay as it is. */

import { InvalidOptionError } from '../../runtime/errors.ts';

/** @throws {InvalidOptionError} if the options have a name that is not known, or are none */
export function checkOptionNames(place: string, options: unknown, known: readonly string[]): void {
  const what = place === '' ? 'options' : place.slice(0, -1);
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidOptionError(what, options, 'it must be an object');
  }
  for (const [name, value] of Object.entries(options)) {
    if (known.includes(name)) continue;
    throw new InvalidOptionError(
      `${place}${name}`,
      value,
      `there is no such option; there are ${known.join(', ')}`,
    );
  }
}
