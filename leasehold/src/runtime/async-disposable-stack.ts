/**
 * Resources opened during a start, to be closed in the opposite order: at the end, or at once if the start fails. The
 * part of the standard's class of that name that we use, because Node 20 has none.
 */

export class AsyncDisposableStack implements AsyncDisposable {
  #open: (() => Promise<void> | void)[] = [];

  use<T extends AsyncDisposable | Disposable>(resource: T): T {
    this.defer(() =>
      Symbol.asyncDispose in resource
        ? (resource[Symbol.asyncDispose]() as Promise<void>)
        : resource[Symbol.dispose](),
    );
    return resource;
  }

  defer(close: () => Promise<void> | void): void {
    this.#open.push(close);
  }

  /** Hands everything over: disposing this stack closes nothing any more. */
  move(): AsyncDisposableStack {
    const other = new AsyncDisposableStack();
    other.#open = this.#open;
    this.#open = [];
    return other;
  }

  /** Closes every resource, even if closing one fails; then throws the first failure. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#open.pop(); close !== undefined; close = this.#open.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
