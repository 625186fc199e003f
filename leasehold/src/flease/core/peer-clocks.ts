/**
 * Are the clocks of the peers within the skew of ours, as every operator has promised?
 *
 * Every packet says when it was sent, and when the last packet from its receiver was sent and received. A message
 * never takes less than no time, so two messages, one each way, bound how far a peer is ahead:
 *
 *     we      ── sent ─────────────────────────── came ──     ahead <= received − sent
 *                    ╲                          ╱             ahead >= answered − came
 *     peer    ─────── received ──────── answered ───────
 *
 * Only certainty counts: a peer is *off* when even the nearer bound is beyond the skew. Such a peer is refused by
 * name, as if it were dead. If more peers are off than agree with us, and at least two are, our clock is the outlier;
 * peers without a certain judgement do not count. Of two clocks that differ no process can tell which is wrong: in a
 * group of two both members would go into recovery, and so would a correct member that has heard only the wrong one.
 * Refusing each other is enough then: neither counts towards a majority of the other.
 */

import type { Packet } from './messages.ts';

export interface ClockBounds {
  readonly aheadAtLeastMs: number;
  readonly aheadAtMostMs: number;
}

type ClockJudgement = 'unknown' | 'agrees' | 'off';

export class PeerClocks {
  readonly #clockSkewMs: number;
  readonly #bounds = new Map<string, ClockBounds>();
  /** Since when our clock has run without a jump. */
  #sinceMs: number = Number.NEGATIVE_INFINITY;

  constructor(clockSkewMs: number) {
    this.#clockSkewMs = clockSkewMs;
  }

  /** Records the bounds that a packet gives for its sender's clock. */
  hear({ from, sentMs, echo }: Packet, nowMs: number): void {
    const aheadAtLeastMs = sentMs - nowMs;
    const isOurs = echo !== undefined && echo.sentMs >= this.#sinceMs && echo.sentMs <= nowMs;
    const aheadAtMostMs = isOurs ? echo.receivedMs - echo.sentMs : Number.POSITIVE_INFINITY;
    this.#bounds.set(from, { aheadAtLeastMs, aheadAtMostMs });
  }

  judge(peer: string): ClockJudgement {
    const bounds = this.#bounds.get(peer);
    if (bounds === undefined) return 'unknown';
    const { aheadAtLeastMs, aheadAtMostMs } = bounds;
    if (aheadAtLeastMs > this.#clockSkewMs || aheadAtMostMs < -this.#clockSkewMs) return 'off';
    return aheadAtMostMs === Number.POSITIVE_INFINITY ? 'unknown' : 'agrees';
  }

  bounds(peer: string): ClockBounds | undefined {
    return this.#bounds.get(peer);
  }

  /** At least two peers are off, and more than agree: then our clock is the outlier. */
  get isClockOutlier(): boolean {
    let off = 0;
    let agreeing = 0;
    for (const peer of this.#bounds.keys()) {
      const judgement = this.judge(peer);
      if (judgement === 'off') off += 1;
      else if (judgement === 'agrees') agreeing += 1;
    }
    return off >= 2 && off > agreeing;
  }

  forget(peer: string): void {
    this.#bounds.delete(peer);
  }

  /** Our clock has changed: bounds against the earlier one mean nothing. */
  reset(nowMs: number): void {
    this.#bounds.clear();
    this.#sinceMs = nowMs;
  }
}
