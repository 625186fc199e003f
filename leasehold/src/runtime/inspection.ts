/**
 * What somebody sees who prints an owner or a look-up to find out what is the matter: what it is and how it
 * is, instead of a class whose insides are private.
 */

import type { InspectOptions } from 'node:util';

/** Where Node asks an object how it wants to be shown. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** From here on, whatever is of this class is printed as its facts. */
export function showAs<T extends object>(
  kind: { readonly prototype: T },
  name: string,
  factsOf: (one: T) => object,
): void {
  Object.defineProperty(kind.prototype, INSPECT, {
    value(
      this: T,
      _depth: number,
      options: InspectOptions,
      inspect: (value: unknown, options: InspectOptions) => string,
    ) {
      return this === kind.prototype ? `${name}.prototype` : `${name} ${inspect(factsOf(this), options)}`;
    },
  });
}
