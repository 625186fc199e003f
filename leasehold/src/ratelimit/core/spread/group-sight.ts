/** The sight of a group for a part that stands on the group: the core of `membership`, or the group of a process. */

import type { Standing } from '../../../membership/core/effects.ts';
import type { MemberId } from '../../../membership/core/incarnation.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { SpreadView } from './participation.ts';

export interface GroupSight {
  /** This process; the incarnation changes after a suspension. */
  readonly id: MemberId;
  /** The view delivered last; undefined without one. */
  readonly view: SpreadView | undefined;
  readonly isChanging: boolean;
  /** When no server may act any more on a promise of this one. */
  readonly promisesEndAt: Instant;
  standing(now: Instant): Standing;
}
