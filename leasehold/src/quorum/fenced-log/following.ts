/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Follows the log: everything once, in order, from the view of this process.
 *
 * **Reset only if need be**: at first, and when the batches that are missing have gone into a snapshot.
 *
 * **The head is fresh** because the read of `head` is linearizable: local under the lease of the replica, or else by the
 * leader, a majority or the log. `askedAt` is the clock before the very read that was answered.
 */

import { Lifetime } from '../../runtime/lifetime.ts';
import type { FollowerEvents, Following, LogStart } from '../../log/log.ts';
import type { LogContext } from './context.ts';
import { decodeHead, HEAD_KEY } from './layout.ts';

export class Follower implements Following {
  readonly #context: LogContext;
  readonly #events: FollowerEvents;
  readonly #onEnd: (follower: Follower) => void;
  readonly #life: Lifetime;
  /** The last position that was told; undefined before the first reset. */
  #position: number | undefined;

  constructor(context: LogContext, events: FollowerEvents, onEnd: (follower: Follower) => void) {
    this.#context = context;
    this.#events = events;
    this.#onEnd = onEnd;
    this.#life = new Lifetime(context.options.runtime);
    context.options.soon(this.#life.hearing(() => this.look()));
  }

  askHead(): void {
    const { port, runtime, retryMs } = this.#context.options;
    if (this.#life.isOver) return;
    const askedAt = runtime.now();
    port.read(
      HEAD_KEY,
      this.#life.hearing((answer) => {
        const head = answer.kind === 'read' ? decodeHead(answer.found[0]?.value) : undefined;
        if (answer.kind !== 'read') this.#life.after(retryMs, () => this.askHead());
        else if (head === undefined) this.#context.damaged(HEAD_KEY);
        else this.#events.head(head, askedAt);
      }),
    );
  }

  [Symbol.dispose](): void {
    if (this.#life.isOver) return;
    this.#life[Symbol.dispose]();
    this.#onEnd(this);
  }

  /** The view has changed. */
  look(): void {
    const { view } = this.#context;
    if (this.#life.isOver || view.meta === undefined) return;
    const position = this.#position;
    if (position === undefined || (view.pointer?.value.position ?? 0) > position) {
      const start = this.#context.start();
      if (start === undefined) return;
      this.#position = endOf(start);
      this.#events.reset(start);
      return;
    }
    for (const batch of view.batchesAfter(position)) {
      if (this.#life.isOver) return; // By the callback.
      this.#position = batch.position;
      this.#events.batch(batch);
    }
  }
}

const endOf = ({ batches, snapshot }: LogStart): number =>
  batches.at(-1)?.position ?? snapshot?.position ?? 0;
