/** What look-ups were told. */

import type { Program } from './program.ts';
import { until } from './time.ts';

/** Every key that a look-up was told of as lost, of those that tests look at. */
export const lostKeys = (lookup: Program): ReadonlySet<string> =>
  new Set(
    lookup.events.filter(({ event }) => event === 'loss').flatMap(({ keys }) => keys as readonly string[]),
  );

/** Resolves when a look-up has been told that all these keys were lost. */
export async function toldOf(lookup: Program, keys: readonly string[]): Promise<void> {
  await until(`${lookup.name} is told that ${keys.join(', ')} are lost`, () =>
    keys.every((key) => lostKeys(lookup).has(key)) ? true : undefined,
  );
}
