/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Follows the log: everything once, in order, from the contents at the beginning.
 *
 *     look ─► everything ► reset ──┐
 *      ▲ └──► entries after ours ──┴─► watch from the next revision ─► batch, batch, …
 *      │                                      │
 *      └──watch ended, or is deaf, or `meta` changed
 *
 * **Nothing is left out and nothing comes twice**, because a read covers all entries up to one revision, and the watch
 * begins with the next. When a watch ends, for any reason, the watch is not resumed: we look again. One look more
 * costs little, and shows facts that a watch cannot show, above all a store that was restored from a backup, where the
 * revisions that we would resume from have yet to come.
 *
 * **Reset only if need be**: if the missing entries are in a snapshot, if the history is another, or if the store went
 * back in time. That shows in a revision that is lower than one we have seen, or in our last batch, which is not there
 * or not the same. A follower then sees a log that ends before the follower's own entries, and can say so.
 *
 * **A watch can be deaf** without ending, at a member that was cut off or stopped. So the head is read from time to
 * time; if we have not reached the head of the time before, the watch is replaced.
 *
 * **The head is fresh** because the read is linearizable: the answer counts everything that was appended before the
 * request. `askedAt` is the clock before the request was sent, of the very request that was answered. The head is told
 * only if its history is the one that we follow.
 */

import type { FollowerEvents, Following, LogBatch } from '../log.ts';
import type { History } from '../history.ts';
import type { LogContext } from './context.ts';
import { sameBytes } from '../../etcd/values.ts';
import { Lifetime } from '../../runtime/lifetime.ts';
import type { Contents, Overview } from './reading.ts';

/** How far we have come. */
interface Place extends History {
  position: number;
  /** The latest that we have seen. */
  revision: number;
  /** The last batch, for comparison; undefined if our entries end with a snapshot, or there are none. */
  last: LogBatch | undefined;
}

export class Follower implements Following {
  readonly #context: LogContext;
  readonly #events: FollowerEvents;
  readonly #onEnd: (follower: Follower) => void;
  readonly #lifetime: Lifetime;
  #place: Place | undefined;
  #watch: Watching | undefined;

  constructor(context: LogContext, events: FollowerEvents, onEnd: (follower: Follower) => void) {
    this.#context = context;
    this.#events = events;
    this.#onEnd = onEnd;
    this.#lifetime = new Lifetime(context.options.runtime);
    this.#look();
  }

  askHead(): void {
    const { requester, reader } = this.#context;
    reader.overview(this.#lifetime, [], ({ meta, head, askedAt }) => {
      if (meta.history === this.#place?.history) this.#events.head(head, askedAt);
      else this.#lifetime.after(requester.pauseMs(), () => this.askHead());
    });
  }

  [Symbol.dispose](): void {
    if (this.#lifetime.isOver) return;
    this.#lifetime[Symbol.dispose]();
    this.#watch?.[Symbol.dispose]();
    this.#onEnd(this);
  }

  #look(): void {
    const { reader, layout } = this.#context;
    const place = this.#place;
    this.#watch?.[Symbol.dispose]();
    this.#watch = undefined;
    const others = place?.last === undefined ? [] : [layout.batch(place.last.position)];
    const anew = (): void => this.#lookLater();
    reader.overview(this.#lifetime, others, (overview) => {
      if (place === undefined || isElsewhere(place, overview))
        return reader.rest(this.#lifetime, overview, (contents) => this.#reset(contents), anew);
      const { revision } = overview;
      const goOn = (batches: readonly LogBatch[]): void => {
        for (const batch of batches) this.#tell(place, batch, revision);
        this.#watchFrom(place, overview);
      };
      reader.batchesAfter(this.#lifetime, place.position, revision, goOn, anew);
    });
  }

  #lookLater(): void {
    this.#lifetime.after(this.#context.requester.pauseMs(), () => this.#look());
  }

  #reset({ overview, start }: Contents): void {
    const { head, revision } = overview;
    const { history, key } = start;
    const place = { history, key, position: head, revision, last: start.batches.at(-1) };
    this.#place = place;
    this.#events.reset(start);
    this.#watchFrom(place, overview);
  }

  #tell(place: Place, batch: LogBatch, revision: number): void {
    if (this.#lifetime.isOver) return;
    place.position = batch.position;
    place.revision = revision;
    place.last = batch;
    this.#events.batch(batch);
  }

  #watchFrom(place: Place, { revision, head }: Overview): void {
    if (this.#lifetime.isOver) return; // By the callback.
    place.revision = revision;
    this.#watch = new Watching(this.#context, place, head, revision, {
      batch: (batch, at) => this.#tell(place, batch, at),
      ended: () => this.#lookLater(),
      outdated: () => this.#look(),
    });
  }
}

/** Whether the way from our place to the present contents needs more than the batches after ours. */
function isElsewhere(place: Place, { meta, revision, head, pointer, others: [ours] }: Overview): boolean {
  const snapshotted = pointer?.position ?? 0;
  if (snapshotted > place.position) return true;
  const isSameHistory = meta.history === place.history && meta.key === place.key; // The history may just have been given a key.
  if (!isSameHistory) return true;
  const wentBack = revision < place.revision || head < place.position;
  const last = snapshotted < place.position ? place.last : undefined;
  const isOurs = last === undefined || (ours !== undefined && sameBytes(ours.value, last.bytes));
  return wentBack || !isOurs;
}

interface WatchingEvents {
  batch(batch: LogBatch, revision: number): void;
  /** Begin another watch, from the contents then. */
  ended(): void;
  /** The watch brings nothing any more, or its entries cannot be had one by one. */
  outdated(): void;
}

/** One watch, and the looks at the head that show whether the watch is deaf. */
class Watching implements Disposable {
  readonly #context: LogContext;
  readonly #place: Place;
  readonly #events: WatchingEvents;
  readonly #lifetime: Lifetime;
  readonly #watch: Disposable;

  constructor(context: LogContext, place: Place, head: number, revision: number, events: WatchingEvents) {
    const { options, layout } = context;
    this.#context = context;
    this.#place = place;
    this.#events = events;
    this.#lifetime = new Lifetime(options.runtime);
    const { key, end } = layout.watched;
    this.#watch = options.client.watch(key, end, revision + 1, {
      changed: this.#lifetime.hearing((changed, value, at) => this.#changed(changed, value, at)),
      ended: this.#lifetime.hearing(() => this.#over(() => events.ended())),
    });
    this.#lookFrom(head);
  }

  [Symbol.dispose](): void {
    this.#lifetime[Symbol.dispose]();
    this.#watch[Symbol.dispose]();
  }

  #over(tell: () => void): void {
    this[Symbol.dispose]();
    tell();
  }

  #changed(key: string, bytes: Uint8Array | undefined, revision: number): void {
    const { layout } = this.#context;
    const position = layout.positionOf(key);
    if (key === layout.meta) this.#over(() => this.#events.outdated());
    else if (position === undefined || bytes === undefined) return;
    else if (position > this.#place.position) this.#events.batch({ position, bytes }, revision);
    else this.#over(() => this.#events.outdated());
  }

  /** Reads the head after a while, and checks whether we have reached the head of the time before. */
  #lookFrom(headBefore: number): void {
    const { reader, options } = this.#context;
    this.#lifetime.after(options.pollMs, () => {
      const { position, revision, history } = this.#place;
      reader.overview(this.#lifetime, [], (overview) => {
        const isDeaf = this.#place.position < headBefore;
        const wentBack = overview.head < position || overview.revision < revision;
        if (isDeaf || wentBack || overview.meta.history !== history)
          return this.#over(() => this.#events.outdated());
        this.#lookFrom(overview.head);
      });
    });
  }
}
