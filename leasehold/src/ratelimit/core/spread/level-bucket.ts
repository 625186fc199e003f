/**
 * The tokens of one process, of a limit whose part for this process changes all the time.
 *
 * The bucket fills at `level × limit / n` and holds at most `1 + level × (burst − n) / n` tokens. The one token is for members with few credits, which
 * could otherwise never save up for a request. All n buckets together hold at most `burst`, because all levels together are at most n.
 *
 * **Why all processes together use at most limit × t + burst in any interval t** (times the bound on clock rates). At the beginning of the interval the
 * buckets hold at most `burst` together. From then on each gains at most its level's rate, and loses what is above a cap that has fallen. A
 * new process begins with an empty bucket, so a restart makes no tokens. ∎
 *
 * Between two readings of the level, the bucket fills by the lower of the two: the level may have fallen at any instant in between. Only the
 * same view confirmed again after a lapse can have raised the level meanwhile, and then no other member could act on the credits.
 */

import type { Rate } from '../local/rate.ts';

export class LevelBucket {
  readonly #rate: Rate;
  #tokens = 0;
  #level = 0;
  #at: number;

  constructor(rate: Rate, now: number) {
    this.#rate = rate;
    this.#at = now;
  }

  get tokens(): number {
    return this.#tokens;
  }

  /** Brings the bucket to this instant. */
  settle(level: number, maxServers: number, now: number): void {
    const gained = Math.max(0, now - this.#at) * this.perMs(Math.min(level, this.#level), maxServers);
    this.#tokens = Math.min(this.#tokens + gained, this.cap(level, maxServers));
    this.#level = level;
    this.#at = now;
  }

  perMs(level: number, maxServers: number): number {
    return level / maxServers / this.#rate.msPerToken;
  }

  cap(level: number, maxServers: number): number {
    return Math.min(this.#rate.burst, 1 + (level * Math.max(0, this.#rate.burst - maxServers)) / maxServers);
  }

  take(cost: number): boolean {
    if (cost > this.#tokens) return false;
    this.#tokens -= cost;
    return true;
  }

  /** Gives back tokens that were taken and not used. */
  refund(tokens: number, maxServers: number): void {
    this.#tokens = Math.min(this.#tokens + tokens, this.cap(this.#level, maxServers));
  }
}
