/**
 * What has been opened on the way up, to be closed in the opposite order: at the end, or at once if the
 * way up fails. (Node 20 has no AsyncDisposableStack.)
 */

export class Closing implements AsyncDisposable {
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

  /** Hands everything over: closing this one closes nothing any more. */
  move(): Closing {
    const other = new Closing();
    other.#open = this.#open;
    this.#open = [];
    return other;
  }

  /** Closes everything, also if one of them fails; then the first failure is thrown. */
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
