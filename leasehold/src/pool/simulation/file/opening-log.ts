/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A file log that is still being opened, as a log: campaigns and followers wait until it is open. Everything that the log
 * tells is told inside `guarded`, because it comes from promise callbacks, where an exception would end the process that runs the
 * simulation and not the run.
 */

import type {
  FencedLog,
  FollowerEvents,
  Following,
  LeaderEvents,
  Leadership,
  LogBatch,
  LogStart,
} from '../../../log/log.ts';

export interface OpeningLogOptions {
  /** Never rejects; never resolves if the log cannot be opened. */
  readonly opening: Promise<FencedLog>;
  guarded(act: () => void): void;
  /** Somebody reads all that is in the log. */
  found(start: LogStart): void;
  /** Somebody hears that a batch is written; may come twice. */
  written(batch: LogBatch): void;
}

export class OpeningLog implements FencedLog {
  readonly maxBatchBytes: number = Number.POSITIVE_INFINITY;
  readonly #options: OpeningLogOptions;

  constructor(options: OpeningLogOptions) {
    this.#options = options;
  }

  campaign(candidate: string, events: LeaderEvents): Disposable {
    const { guarded } = this.#options;
    return this.#onceOpen((log) =>
      log.campaign(candidate, {
        elected: (leadership, until) => guarded(() => events.elected(this.#watched(leadership), until)),
        extended: (until) => guarded(() => events.extended(until)),
        deposed: (reason) => guarded(() => events.deposed(reason)),
      }),
    );
  }

  follow(events: FollowerEvents): Following {
    const { guarded, found, written } = this.#options;
    let following: Following | undefined;
    const waiting = this.#onceOpen((log) => {
      following = log.follow({
        reset: (start) => guarded(() => (found(start), events.reset(start))),
        batch: (batch) => guarded(() => (written(batch), events.batch(batch))),
        head: (position, askedAt) => guarded(() => events.head(position, askedAt)),
      });
      return following;
    });
    return { askHead: () => following?.askHead(), [Symbol.dispose]: () => waiting[Symbol.dispose]() };
  }

  #watched(leadership: Leadership): Leadership {
    const { guarded, found, written } = this.#options;
    found(leadership.start);
    return {
      ...{ term: leadership.term, start: leadership.start },
      append: (batch, done) =>
        leadership.append(batch, (outcome) =>
          guarded(() => {
            if (outcome === 'appended') written(batch);
            done(outcome);
          }),
        ),
      compact: (snapshot, upTo) => leadership.compact(snapshot, upTo),
      resign: () => leadership.resign(),
    };
  }

  #onceOpen(use: (log: FencedLog) => Disposable): Disposable {
    let [used, isOver]: [Disposable | undefined, boolean] = [undefined, false];
    void this.#options.opening.then((log) => {
      if (!isOver) used = use(log);
    });
    return {
      [Symbol.dispose]: () => {
        isOver = true;
        used?.[Symbol.dispose]();
      },
    };
  }
}
