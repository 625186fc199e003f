/**
 * How many credits' worth of the limit a member may use at this instant (rules L1 to L4). One credit is limit / n.
 *
 *                                       level
 *     acts in V and takes part          the member's credits                               L1
 *     acts in V, has not heard from all min(1, credits)                                    decision 0065
 *     in V, but does not act            at most min(1, credits), and as below              L2
 *     otherwise                         at most 1, and at most the last level              L3
 *     … and no promise of its own runs  1                                                  L4
 *
 * **Why all levels together are at most n**, if at most n servers run. Let p act in V. Every other member m of V has promised p to act in
 * no view without p for as long as p's lease runs (`membership/core/member.ts`), so m acts in V or nowhere, and m's promise to p still runs, so
 * L4 does not raise m. If m takes part in V, m's level is at most its credits in V's cohort. If m, or p itself, is in V and does not take part yet, that level
 * is at most min(1, credits), so at most the member's credits in V, kept or restarted; until then the member neither gives nor accepts. If m has left V without acting elsewhere, the level has only
 * fallen since. So the levels of V's members are at most the credits of V, which are at most its members (`participation.ts`). Views that act at one time
 * share no server. A server that is in no acting view has a level of at most 1. ∎
 *
 * The rules hold at every instant: the level is computed anew, from the clock, right before each use. No timer lowers a level.
 */

import type { Instant } from '../../../runtime/time.ts';

export interface Standing {
  readonly acts: boolean;
  readonly takesPart: boolean;
  /** Whether a view was delivered and no change has begun. */
  readonly isInView: boolean;
  readonly credits: number;
  /** When all promises of this server have run out. */
  readonly promisesEndAt: Instant;
}

export class Level {
  #last = 0;

  at(standing: Standing, now: Instant): number {
    this.#last = this.peek(standing, now);
    return this.#last;
  }

  /** The same, without remembering the level as the last one. */
  peek({ acts, takesPart, isInView, credits, promisesEndAt }: Standing, now: Instant): number {
    if (acts) return takesPart ? credits : Math.min(1, credits);
    const alone = now >= promisesEndAt ? 1 : Math.min(this.#last, 1);
    return isInView ? Math.min(alone, credits) : alone;
  }
}
