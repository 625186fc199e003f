/**
 * Are the clocks of the others within the skew of ours, as everybody has promised?
 *
 * Every packet says when it was sent, and when the last one from its receiver was sent and received. Messages
 * take time but never less than none, and so two of them, one each way, enclose how far a peer is ahead:
 *
 *     we      ── sent ─────────────────────────── came ──     ahead <= received − sent
 *                    ╲                          ╱             ahead >= answered − came
 *     peer    ─────── received ──────── answered ───────
 *
 * Only what is certain counts: a peer is *off* when even the nearer end is beyond the skew. It is then refused by
 * name, as if it were silent. If more peers are off than agree with us, and at least two, it is we who are off; those
 * of whom neither is certain do not count. Of two clocks that differ nobody can tell which is wrong: in a group of
 * two both members would step back, and so would one that is right and has heard only the one that is wrong. To
 * refuse each other is enough then: neither counts towards a majority of the other.
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
  /** Since when our clock has been this one. */
  #sinceMs: number = Number.NEGATIVE_INFINITY;

  constructor(clockSkewMs: number) {
    this.#clockSkewMs = clockSkewMs;
  }

  /** Takes note of what a packet says about its sender's clock. */
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

  /** At least two are off, and more than agree: then it is we. */
  get isOddOneOut(): boolean {
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

  /** Our clock is another: what was said by the one before means nothing. */
  beginAnew(nowMs: number): void {
    this.#bounds.clear();
    this.#sinceMs = nowMs;
  }
}
