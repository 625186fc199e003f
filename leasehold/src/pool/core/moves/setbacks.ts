/**
 * Moves that came to nothing, so that the leader does not try again at once, and prefers another target.
 *
 * **A setback is forgotten** when the keys have left their owner, and when it is long over. Another target than the wanted one takes the keys
 * to where they help less, and from where a quiet pool may move them once more: that is right for an owner that drains and has met with trouble a moment ago,
 * and wrong for trouble of another day.
 */

import { type Instant, later, soonest } from '../../../runtime/time.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** So long after its pause a setback says nothing any more. */
const TELLING_MS = 30_000;

/** Where: of this owner, the keys from this position. */
interface Place {
  readonly from: string;
  readonly start: bigint;
}

interface Setback {
  readonly place: Place;
  readonly until: Instant;
  readonly pauseMs: number;
  readonly to: string;
}

export class Setbacks {
  readonly #known = new Map<string, Setback>();

  note({ from, start, to }: Place & { readonly to: string }, now: Instant): void {
    const before = this.#lately({ from, start }, now);
    const pauseMs = before === undefined ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, 2 * before.pauseMs);
    this.#known.set(keyOf({ from, start }), {
      place: { from, start },
      until: later(now, pauseMs),
      pauseMs,
      to,
    });
  }

  pauses(place: Place, now: Instant): boolean {
    const known = this.#known.get(keyOf(place));
    return known !== undefined && now < known.until;
  }

  lastTarget(place: Place, now: Instant): string | undefined {
    return this.#lately(place, now)?.to;
  }

  #lately(place: Place, now: Instant): Setback | undefined {
    const known = this.#known.get(keyOf(place));
    return known !== undefined && now < later(known.until, TELLING_MS) ? known : undefined;
  }

  nextAfter(now: Instant): Instant | undefined {
    let next: Instant | undefined;
    for (const { until } of this.#known.values()) if (until > now) next = soonest(next, until);
    return next;
  }

  keep(isKept: (place: Place) => boolean): void {
    for (const [key, { place }] of this.#known) if (!isKept(place)) this.#known.delete(key);
  }
}

const keyOf = ({ from, start }: Place): string => `${from} ${start}`;
