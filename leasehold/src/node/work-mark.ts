/**
 * Tells whether the running code is part of a given piece of asynchronous work: called by it, or by something that the
 * work awaits.
 *
 *     await mark.run(work)      work ──calls──► helper ──await──► … ──► mark.isOnStack()   true
 *
 * V8 keeps what is needed anyway: a promise knows the function that awaits it. From there V8 builds the `at async …`
 * lines of a stack trace, through every `await`, `then`, `finally`, `Promise.all` and `Promise.race`. The work runs
 * inside a function with a name of its own, and the question is whether that name is in the stack trace. So work
 * that is never asked about costs nothing but the call of that function; to ask takes one stack trace, some
 * microseconds. (`AsyncLocalStorage` answers the same question, but in Node 20 and 22 its first use makes every `await`
 * of the process three times as expensive.)
 *
 * The answer is "no" where no promise leads from the running code to the work: in the callback of a timer or of an
 * event that the work has set up, and in code that the work has started and does not await.
 */

/** Deeper chains of calls and awaits than this are not followed. */
const LONGEST_STACK = 200;

export class WorkMark {
  static #made = 0;
  readonly #name: string;
  readonly #run: (work: () => Promise<unknown>) => Promise<unknown>;

  constructor() {
    WorkMark.#made += 1;
    this.#name = `leasehold work ${WorkMark.#made}`;
    // The await makes this function one of those that V8 finds.
    this.#run = async (work) => await work();
    Object.defineProperty(this.#run, 'name', { value: this.#name });
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#run(work) as Promise<T>;
  }

  /** Whether this is called from within what {@link run} was given and has not ended. */
  isOnStack(): boolean {
    return WorkMark.isOneOnStack([this]);
  }

  /** The same of any of these marks, for the price of one stack trace. */
  static isOneOnStack(marks: Iterable<WorkMark>): boolean {
    const names = namesOnStack();
    for (const mark of marks) if (names.includes(mark.#name)) return true;
    return false;
  }
}

/** The functions that the caller was called by, or is awaited by. */
function namesOnStack(): readonly (string | null)[] {
  const { stackTraceLimit, prepareStackTrace } = Error;
  const trace: { stack?: readonly (string | null)[] } = {};
  try {
    Error.stackTraceLimit = LONGEST_STACK;
    Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFunctionName());
    Error.captureStackTrace(trace, namesOnStack);
    return trace.stack ?? [];
  } catch {
    return []; // A program may have frozen Error; then nothing can be found out.
  } finally {
    restore(stackTraceLimit, prepareStackTrace);
  }
}

function restore(limit: number, prepare: typeof Error.prepareStackTrace): void {
  try {
    Error.stackTraceLimit = limit;
    Error.prepareStackTrace = prepare;
  } catch {
    // Frozen: it was not changed either.
  }
}
