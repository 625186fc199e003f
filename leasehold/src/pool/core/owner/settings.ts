/**
 * What an owner is told when it begins: its identity, its Managers, and what its application does.
 */

import type { MoveSettings } from '../moves/seam.ts';
import type { ResolvedDurations } from '../options.ts';

export interface OwnerIdentity {
  readonly pool: string;
  readonly incarnation: string;
  readonly name: string;
  readonly url: string;
  readonly proof: string | undefined;
}

export interface OwnerSettings {
  readonly identity: OwnerIdentity;
  readonly managers: readonly string[];
  /** The durations to begin with; a Manager's update replaces them. */
  readonly durations: ResolvedDurations;
  /** True if `Owner.loaded` will be called for granted keys; otherwise they are served at once. */
  readonly loads: boolean;
  /** True if `Owner.flushed` will be called for revoked keys; otherwise they are let go of at once. */
  readonly flushes: boolean;
  readonly random: () => number;
  /** @default those of `moves/seam.ts` */
  readonly moves?: MoveSettings | undefined;
}
