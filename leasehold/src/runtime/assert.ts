/**
 * Assertions, kept in production: a program that has lost an invariant must stop, because others may take every
 * further output for true.
 */

/** Thrown when the program itself is wrong. Never caught, never retried. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** The value, which cannot be missing here; `what` says why in the failure. */
export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new AssertionError(`missing: ${what}`);
  return value;
}

export const unreachable = (value: never): never => {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
};
