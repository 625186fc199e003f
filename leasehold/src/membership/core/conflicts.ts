/**
 * The members that this server cannot reach over the overlay, as published in the record.
 *
 * A conflict takes one of the two servers out of the view (`graph.ts`). A conflict ends after a while, so that the servers try again; each
 * repetition lasts twice as long, with jitter, so that a server that forwards nothing does not change the view for ever at the same
 * pace. A conflict that did not come back for the longest duration starts over.
 */

import { later, type Instant } from '../../runtime/time.ts';
import type { Durations } from './durations.ts';
import { isSameIncarnation, type MemberId } from './incarnation.ts';

interface Conflict {
  readonly member: MemberId;
  readonly until: Instant;
  readonly repetitions: number;
}

export class Conflicts {
  readonly #durations: Durations;
  readonly #random: () => number;
  readonly #conflicts = new Map<string, Conflict>();

  constructor(durations: Durations, random: () => number) {
    this.#durations = durations;
    this.#random = random;
  }

  add(member: MemberId, now: Instant): void {
    const { conflictMs, conflictMaxMs } = this.#durations;
    const known = this.#conflicts.get(member.name);
    if (
      known !== undefined &&
      now < known.until &&
      isSameIncarnation(known.member.incarnation, member.incarnation)
    )
      return;
    const isRepeated = known !== undefined && now - known.until < conflictMaxMs;
    const repetitions = isRepeated ? known.repetitions + 1 : 0;
    const lastsMs =
      Math.min(conflictMs * 2 ** Math.min(repetitions, 16), conflictMaxMs) * (1 + this.#random());
    this.#conflicts.set(member.name, { member, until: later(now, lastsMs), repetitions });
  }

  /** Those that last at this instant. */
  at(now: Instant): MemberId[] {
    const lasting: MemberId[] = [];
    for (const [name, { member, until }] of this.#conflicts) {
      if (now < until) lasting.push(member);
      else if (now - until >= this.#durations.conflictMaxMs) this.#conflicts.delete(name);
    }
    return lasting;
  }
}
