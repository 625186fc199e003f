/** The candidates that stand for leases of the group in the name of this member, in order to lead by them. */

import type { Instant } from '../../runtime/time.ts';
import { Candidate, type CandidateMember } from '../core/candidate.ts';
import type { HeldLease } from '../core/held-lease.ts';
import type { MemberEvent } from '../core/member.ts';
import type { ElectedEvents } from '../core/soft-log.ts';

export interface CandidatesOptions extends Omit<CandidateMember, 'now' | 'acquire'> {
  /** As {@link CandidateMember.acquire}, of that resource. */
  acquire(resource: string, granted: (held: HeldLease) => void): () => void;
}

export class Candidates {
  readonly #options: CandidatesOptions;
  readonly #candidates = new Set<Candidate>();

  constructor(options: CandidatesOptions) {
    this.#options = options;
  }

  /** Waits for the lease once. From the grant on, reports every renewal by the clock `now`. */
  stand(resource: string, now: () => Instant, events: ElectedEvents): Disposable {
    const acquire: CandidateMember['acquire'] = (granted) => this.#options.acquire(resource, granted);
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
