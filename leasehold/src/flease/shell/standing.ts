/** Those who stand for leases of the group in order to lead by them, in the name of this member. */

import type { Instant } from '../../runtime/time.ts';
import { Candidate, type StandingMember } from '../candidate.ts';
import type { HeldLease } from '../held-lease.ts';
import type { MemberEvent } from '../member.ts';
import type { ElectedEvents } from '../soft-log.ts';

export interface StandingOptions extends Omit<StandingMember, 'now' | 'acquire'> {
  /** As {@link StandingMember.acquire}, of that resource. */
  acquire(resource: string, granted: (held: HeldLease) => void): () => void;
}

export class Standing {
  readonly #options: StandingOptions;
  readonly #candidates = new Set<Candidate>();

  constructor(options: StandingOptions) {
    this.#options = options;
  }

  /** Until it is had, once; and from then on every renewal is told by the clock `now`. */
  stand(resource: string, now: () => Instant, events: ElectedEvents): Disposable {
    const acquire: StandingMember['acquire'] = (granted) => this.#options.acquire(resource, granted);
    const candidate = new Candidate({ ...this.#options, now, acquire }, events);
    this.#candidates.add(candidate);
    return candidate;
  }

  hear(event: MemberEvent): void {
    for (const candidate of this.#candidates) {
      if (!candidate.isOver) candidate.hear(event);
      if (candidate.isOver) this.#candidates.delete(candidate);
    }
  }
}
