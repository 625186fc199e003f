/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Follows the simulated log: everything once, in order, from the contents at the beginning.
 *
 * The follower asks for later entries when poked, and from time to time, because a watch can be deaf. The follower is
 * reset when there is no way on from its place: the missing entries are in a snapshot, the history is another, or the
 * store was restored and lacks entries that the follower has. An answer that was asked for from an earlier place than
 * that is no longer of use.
 */

import type { FollowerEvents, Following, LogBatch, LogStart } from './log.ts';
import type { SimulatedLog } from './simulated-log.ts';

/** The follower's place. Another object after every reset. */
interface Place {
  readonly history: string | undefined;
  after: number;
  /** For comparison later; undefined if there is none, or the batch is in a snapshot. */
  last: LogBatch | undefined;
}

const NOWHERE: Place = { history: undefined, after: -1, last: undefined };

export class SimulatedFollower implements Following {
  readonly #log: SimulatedLog;
  readonly #events: FollowerEvents;
  readonly #watching: Disposable;
  #place: Place = NOWHERE;
  #unanswered = 0;
  #over = false;

  constructor(log: SimulatedLog, events: FollowerEvents) {
    this.#log = log;
    this.#events = events;
    this.#watching = log.watch(() => this.#read());
    this.#poll();
  }

  askHead(): void {
    this.#log.insist(
      { ask: 'head' },
      () => this.#over,
      (answer, askedAt) => {
        if (answer.answer !== 'head' || this.#isReplaced(answer.history)) return false;
        this.#events.head(answer.position, askedAt);
        return true;
      },
    );
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.#watching[Symbol.dispose]();
  }

  #poll(): void {
    if (this.#over) return;
    if (this.#unanswered > 0) this.#log.elsewhere();
    this.#unanswered = 0;
    this.#read();
    this.#log.again(this.#log.options.pollMs, () => this.#poll());
  }

  #read(): void {
    const place = this.#place;
    const { after, last } = place;
    this.#unanswered += 1;
    this.#log.ask({ ask: 'read', after, last }, (answer) => {
      this.#unanswered = 0;
      if (this.#over || this.#place !== place) return;
      // An answer to a request from an earlier place says nothing about the present place.
      if (answer.answer === 'reset' && place.after === after) this.#reset(answer.start);
      if (answer.answer !== 'batches' || this.#isReplaced(answer.history)) return;
      for (const batch of answer.batches) {
        if (this.#over || batch.position <= place.after) continue;
        place.after = batch.position;
        place.last = batch;
        this.#events.batch(batch);
      }
    });
  }

  #reset(start: LogStart): void {
    const last = start.batches.at(-1);
    this.#place = {
      history: start.history,
      after: last?.position ?? start.snapshot?.position ?? 0,
      last,
    };
    this.#events.reset(start);
  }

  #isReplaced(history: string): boolean {
    if (history === this.#place.history) return false;
    if (this.#place === NOWHERE) return true; // A read from the beginning is under way already.
    this.#place = NOWHERE;
    this.#read();
    return true;
  }
}
