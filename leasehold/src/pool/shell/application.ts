/**
 * Functions of the application that are called for an answer or to be told something, and not waited
 * for: `load`, `onLost`, `onLoss`. (Those that are waited for are in `upcalls.ts`.)
 *
 * An exception from such a function is a fault of the application, and two things must not follow. The exception must
 * not stop us: a lease that is not renewed because a gauge failed would take all keys along. And the exception must
 * not be swallowed, for nobody else will ever tell. So the exception surfaces as an uncaught exception from a
 * microtask of its own, with nothing of ours beneath: a process that does not handle those ends, as after any other
 * fault, and in a process that does (`process.on('uncaughtException')`) renewals go on.
 *
 * `onLost` and `onLoss` may be asynchronous. Nobody waits for them then either, the next may begin before
 * the last has ended, and a rejection is the same as a throw: both surface here, as above.
 */

/** Makes an exception or a rejection known. Does not throw itself. */
export type Surface = (error: unknown) => void;

const uncaught: Surface = (error) =>
  queueMicrotask(() => {
    throw error;
  });

export class Application {
  readonly #surface: Surface;

  constructor(surface: Surface = uncaught) {
    this.#surface = surface;
  }

  /** The answer, at once; undefined if the function threw. */
  ask<T>(question: () => T): T | undefined {
    try {
      return question();
    } catch (error) {
      this.#surface(error);
      return undefined;
    }
  }

  /** Calls the function in a turn of its own, because a core must not be entered from within itself. */
  tell(news: () => unknown): void {
    queueMicrotask(() => void this.#told(news));
  }

  async #told(news: () => unknown): Promise<void> {
    try {
      await news();
    } catch (error) {
      this.#surface(error);
    }
  }
}
