/** The watches of one client: a reply finds its watch by a number, and the process stays alive while there is a watch. */

import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import type { Call, Reply } from '../wire/calls.ts';
import { Watch, type WatchOptions } from './watch.ts';

export interface WatchesOptions {
  readonly runtime: Runtime;
  /** A number that no other call or watch of the client has. */
  newId(): number;
  send(call: Call): void;
  /** The server that is in use cannot serve a watch now. */
  refused(): void;
}

/** A watch that was refused begins again after so long. */
const RETRY_MS = 50;

/** A timer that is set for so long only keeps the process alive. */
const HOLD_MS = 365 * 24 * 60 * 60 * 1_000;

export class ClientWatches {
  readonly #options: WatchesOptions;
  readonly #watches = new Map<number, Watch>();
  #hold: Disposable | undefined;

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#watches.size;
  }

  begin(options: WatchOptions): Watch {
    const { runtime, newId, send, refused } = this.#options;
    const watch: Watch = new Watch(options, {
      renumber: (before, of) => {
        if (before !== undefined) this.#watches.delete(before);
        const id = newId();
        this.#watches.set(id, of);
        return id;
      },
      send,
      refused: () => {
        runtime.wakeAt(later(runtime.now(), RETRY_MS), () => watch.tryAgain());
        refused();
      },
      ended: (id) => {
        this.#watches.delete(id);
        this.#keepAlive();
      },
    });
    this.#keepAlive();
    return watch;
  }

  /** All begin again: another server is used, or the same one anew. */
  beginAgain(): void {
    for (const watch of [...this.#watches.values()]) watch.begin();
  }

  /** True if the reply is to a watch, which has heard it. */
  heard(reply: Reply): boolean {
    const watch = this.#watches.get(reply.id);
    watch?.heard(reply);
    return watch !== undefined;
  }

  fail(error: unknown): void {
    for (const watch of [...this.#watches.values()]) watch.fail(error);
  }

  #keepAlive(): void {
    const { runtime } = this.#options;
    if (this.#watches.size > 0) {
      this.#hold ??= runtime.wakeAt(later(runtime.now(), HOLD_MS), () => {});
      return;
    }
    this.#hold?.[Symbol.dispose]();
    this.#hold = undefined;
  }
}
