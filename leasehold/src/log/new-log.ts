/**
 * Where a new log begins.
 *
 * **Nobody can tell the first log from one after another.** A process with an empty directory, with an etcd without
 * keys, or with a log in memory, cannot know whether an earlier Manager granted leases that are still running, under
 * numbers that others store and compare. So the floor of every new log is the wall clock in milliseconds. That does
 * two things:
 *
 *  - The floor is above the last position, so the first leader waits before granting anything, as after a recovery
 *    (see `pool/core/manager/leader.ts`): leases of an earlier log have expired by then. Only an operator can know that
 *    there are none, and say so (`firstStart`); that skips the wait, never the floor.
 *  - The numbers are above those of any earlier log. The earlier log began at the clock of that time, and every batch
 *    uses up one number; with fewer than a thousand batches a second on average, the numbers have not overtaken the
 *    clock. Two things can break that, and the wait does not rest on the numbers: a wall clock that was set back by
 *    more than the time since; and counters that an operator has raised by a leap, which is ahead of the clock by
 *    decades.
 */

import type { Runtime } from '../runtime/runtime.ts';

export const newLogFloor = (runtime: Pick<Runtime, 'wallMs'>): number =>
  Math.max(1, Math.floor(runtime.wallMs()));
