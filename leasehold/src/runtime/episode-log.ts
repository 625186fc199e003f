/**
 * One line when something begins to happen, and one when it is over, however often it happened in between: a stranger that
 * causes a log line a thousand times a second must not fill a disk, nor must an etcd that is away for hours.
 *
 *     happens   │││││ ││ │││││││││││││││││            │
 *     lines     ^ begins                    ^ is over ^ begins
 *                                  ├─ quiet ┤
 *
 * An episode ends in one of two ways. {@link EpisodeLog.happened} is for things that only happen: the episode is over after
 * {@link QUIET_MS} without one. {@link EpisodeLog.met} is for a trouble that can be found mended: {@link EpisodeLog.over}
 * ends the episode. A trouble that comes and goes is said at most every {@link QUIET_MS}, with how often the
 * trouble was met unsaid; a trouble that was not met for {@link FORGOTTEN_MS} is over without a line.
 */

import type { LogFacts, Logger } from './logger.ts';
import type { Runtime } from './runtime.ts';
import { type Instant, instant, later } from './time.ts';

const QUIET_MS = 10_000;
const FORGOTTEN_MS = 60_000;

interface Episode {
  /** When the episode began; undefined once it is over. */
  since: Instant | undefined;
  lastAt: Instant;
  saidAt: Instant;
  /** The beginning of this episode was logged. */
  isSaid: boolean;
  /** How often something happened since the last line. */
  unsaid: number;
  timer?: Disposable;
}

const NEVER = instant(Number.NEGATIVE_INFINITY);

export class EpisodeLog implements Disposable {
  readonly #logger: Logger;
  readonly #runtime: Pick<Runtime, 'now' | 'wakeAt'>;
  readonly #episodes = new Map<string, Episode>();

  constructor(logger: Logger, runtime: Pick<Runtime, 'now' | 'wakeAt'>) {
    this.#logger = logger;
    this.#runtime = runtime;
  }

  /** @param kind what happened, of which there are few kinds; `message` and `facts` are of the first time */
  happened(kind: string, message: string, facts: LogFacts = {}): void {
    const episode = this.#note(kind, message, facts, 0);
    episode.timer ??= this.#endAfter(kind, message, QUIET_MS);
  }

  /**
   * A trouble, until {@link over} is called with the same message.
   *
   * @param afterMs a trouble that lasts for less is not worth a line
   */
  met(message: string, facts: LogFacts = {}, afterMs = 0): void {
    this.#note(message, message, facts, afterMs);
  }

  /** The trouble is mended; logged if the trouble was. */
  over(message: string, words = `over: ${message}`): void {
    const episode = this.#episodes.get(message);
    if (episode?.since === undefined) return;
    const lastedMs = Math.round(this.#runtime.now() - episode.since);
    episode.since = undefined;
    if (!episode.isSaid) return;
    this.#logger.info(words, { lastedMs, tries: episode.unsaid + 1 });
    episode.unsaid = 0;
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#episodes.values()) timer?.[Symbol.dispose]();
    this.#episodes.clear();
  }

  #note(kind: string, message: string, facts: LogFacts, afterMs: number): Episode {
    const now = this.#runtime.now();
    const known = this.#episodes.get(kind) ?? begun(now);
    if (known.since === undefined || now - known.lastAt >= FORGOTTEN_MS) {
      known.since = now;
      known.isSaid = false;
    }
    known.lastAt = now;
    this.#episodes.set(kind, known);
    if (known.isSaid || now - known.saidAt < QUIET_MS || now - known.since < afterMs) {
      known.unsaid += 1;
      return known;
    }
    const leftOut = known.saidAt === NEVER || known.unsaid === 0 ? {} : { leftOut: known.unsaid };
    Object.assign(known, { saidAt: now, isSaid: true, unsaid: 0 });
    this.#logger.warn(message, { ...facts, ...leftOut });
    return known;
  }

  #endAfter(kind: string, message: string, ms: number): Disposable {
    return this.#runtime.wakeAt(later(this.#runtime.now(), ms), () => this.#endIfQuiet(kind, message));
  }

  #endIfQuiet(kind: string, message: string): void {
    const episode = this.#episodes.get(kind);
    if (episode?.since === undefined) return;
    const quietMs = this.#runtime.now() - episode.lastAt;
    if (quietMs < QUIET_MS) {
      episode.timer = this.#endAfter(kind, message, QUIET_MS - quietMs);
      return;
    }
    this.#episodes.delete(kind);
    const forMs = Math.round(episode.lastAt - episode.since);
    this.#logger.warn(`${message}: over`, { times: episode.unsaid + 1, forMs });
  }
}

const begun = (now: Instant): Episode => ({
  ...{ since: undefined, lastAt: now, saidAt: NEVER, isSaid: false, unsaid: 0 },
});
