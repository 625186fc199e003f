/**
 * Has the log gone back in time?
 *
 * A log only grows, and a term begins with everything that was committed before it. Owners and look-ups report the furthest
 * position that they have seen, and Managers remember it. If a client has seen more than the log contains, one of two things is
 * true:
 *
 *  - Another Manager leads in a later term, and this Manager was deposed without knowing. Then this Manager resigns; the log
 *    elects it again, or not.
 *  - The store is older than it was: an operator restored a copy, or a disk lost acknowledged writes. To go on would grant the
 *    same numbers twice, so this Manager halts, and an operator decides.
 *
 * The terms tell the two apart. A new term is later than every term seen before its election. In its own term only this Manager
 * writes. A client that has not heard of this term can only have seen the log of the time before the term.
 *
 * Every process that reaches the port can claim to have seen something, and only an operator ends a halt. So a claim counts only
 * with the stamp of a Manager (`stamps.ts`). A claim without a true stamp neither halts nor deposes a Manager, and serves only to
 * choose the answer to its sender.
 */

import type { Seen } from '../messages.ts';
import type { Stamps } from './stamps.ts';

export type Verdict = { readonly do: 'resign' } | { readonly do: 'halt'; readonly reason: string };

/** The log as its leader knows it. */
interface Led {
  readonly history: string;
  readonly term: number;
  /** The end of the log when this term began. */
  readonly startPosition: number;
}

/** The reaction of a leader to the claim of a client that can have seen this log up to `position`. */
export function verdictOn(seen: Seen | undefined, led: Led, position: number): Verdict | undefined {
  if (seen === undefined || seen.history !== led.history) return undefined;
  if (seen.term > led.term) return { do: 'resign' };
  const end = seen.term < led.term ? led.startPosition : position;
  if (seen.position <= end) return undefined;
  const reason = `a client has seen position ${seen.position} of this log, which ends at ${end}: the store went back in time`;
  return { do: 'halt', reason };
}

/** The furthest point of the log that was ever reported, kept from one leadership to the next. */
export class RollbackDetector {
  #furthest: Seen | undefined;
  /** The furthest point when the present campaign began. */
  #before: Seen | undefined;

  /** A client claims to have seen this. The claim counts if a Manager has stamped it. */
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

  /** The reaction of an elected Manager to all that clients have seen. */
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
