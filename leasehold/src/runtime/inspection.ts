/**
 * How an owner or a look-up is printed in a console: the kind and the state, instead of a class with private fields.
 */

import type { InspectOptions } from 'node:util';

/** The method by which Node asks an object for a printed form. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** From here on, every instance of this class is printed as its facts. */
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
