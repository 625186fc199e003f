/**
 * Has the log gone back in time?
 *
 * A log only grows, and a term begins with all that was committed before it. Owners and look-ups say how
 * far the log goes that they have heard of, and Managers remember it. Somebody who has seen more than
 * there is shows one of two things:
 *
 *  - Another leads in a later term, and we were deposed without knowing. Then we resign; the log can
 *    tell, by electing us again or not.
 *  - The store is older than it was: somebody put back a copy, or a disk lost what it had said it has. To
 *    go on would give out the same numbers twice, so we halt, and people decide.
 *
 * The terms tell the two apart. A term is later than all that was seen before it was asked for; in our own
 * term nobody writes but us; and whoever has not heard of our term can only have seen what was there
 * when it began.
 *
 * Everybody who reaches the port can claim to have seen something, and a halt ends only by an operator. So a claim counts
 * only if a Manager has stamped it (`stamps.ts`). Without a true stamp it is no evidence: it neither halts nor deposes
 * anybody, and serves only to choose what its sender is told.
 */

import type { Seen } from '../messages.ts';
import type { Stamps } from './stamps.ts';

export type Verdict = { readonly do: 'resign' } | { readonly do: 'halt'; readonly reason: string };

/** The log as its leader knows it. */
interface Led {
  readonly history: string;
  readonly term: number;
  /** Where it ended when this term began. */
  readonly startPosition: number;
}

/** What a leader has to do about what somebody has seen, who can have seen our log up to `position`. */
export function verdictOn(seen: Seen | undefined, led: Led, position: number): Verdict | undefined {
  if (seen === undefined || seen.history !== led.history) return undefined;
  if (seen.term > led.term) return { do: 'resign' };
  const end = seen.term < led.term ? led.startPosition : position;
  if (seen.position <= end) return undefined;
  const reason = `a client has seen position ${seen.position} of this log, which ends at ${end}: the store went back in time`;
  return { do: 'halt', reason };
}

/** The furthest that anybody has told us of, kept from one leadership to the next. */
export class RollbackDetector {
  #furthest: Seen | undefined;
  /** As it was when the present campaign began. */
  #before: Seen | undefined;

  /** Somebody claims this; it counts if a Manager has stamped it. */
  hear(claim: Seen | undefined, stamps: Stamps | undefined): void {
    if (claim === undefined || !this.#isNews(claim)) return;
    if (stamps?.isTrue(claim)) this.note(claim);
  }

  /** The log itself was seen at this point. */
  note(seen: Seen): void {
    const known = this.in(seen.history);
    this.#furthest = {
      history: seen.history,
      term: Math.max(seen.term, known?.term ?? 0),
      position: Math.max(seen.position, known?.position ?? 0),
    };
  }

  in(history: string): Seen | undefined {
    return this.#furthest?.history === history ? this.#furthest : undefined;
  }

  /** A campaign begins. */
  standing(): void {
    this.#before = this.#furthest;
  }

  #isNews({ history, term, position }: Seen): boolean {
    const known = this.in(history);
    return known === undefined || term > known.term || position > known.position;
  }

  /** What one that was elected has to do about all that was seen. */
  verdictOnElection({ history, term, startPosition }: Led): Verdict | undefined {
    const seen = this.in(history) ?? { term: 0, position: 0 };
    const termBefore = this.#before?.history === history ? this.#before.term : 0;
    if (termBefore >= term || (seen.term < term && seen.position > startPosition)) {
      const reason = `elected for term ${term} at position ${startPosition}, but a client has seen term ${seen.term} and position ${seen.position}: the store went back in time`;
      return { do: 'halt', reason };
    }
    return seen.term >= term ? { do: 'resign' } : undefined;
  }
}
