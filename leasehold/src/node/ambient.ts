/**
 * Something that goes on around a piece of work, for whatever that work calls, through every `await`.
 *
 * It has a price: from the first {@link Ambient.run} on, Node 20 takes notes of every promise of the
 * process. So there is one for one purpose in a process, and not one for each object that wants it; and
 * where NODE_ENV is `production` there is none: what it helps to find is to be found before.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import process from 'node:process';

export interface Ambient<T> {
  /** What was given to the innermost {@link run} that this was called from within; undefined: none. */
  readonly current: T | undefined;
  run<R>(surroundings: T, work: () => R): R;
}

export function ambient<T>(): Ambient<T> {
  if (process.env['NODE_ENV'] === 'production') return { current: undefined, run: (_, work) => work() };
  const storage = new AsyncLocalStorage<T>();
  return {
    get current() {
      return storage.getStore();
    },
    run: (surroundings, work) => storage.run(surroundings, work),
  };
}
