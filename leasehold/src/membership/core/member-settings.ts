/** One server of a group, as it is told at the start. */

import type { RegistryDurations } from './agreement/by-registry.ts';
import type { Durations } from './durations.ts';
import type { Incarnation } from './incarnation.ts';

export interface MemberSettings {
  readonly name: string;
  readonly incarnation: Incarnation;
  /** The names of other servers, to which heartbeats go for ever. More servers may join through them. */
  readonly peers: readonly string[];
  readonly durations: Durations;
  /** Given if views come from a registry; `peers` is empty then. @default views come from reach */
  readonly registry?: RegistryDurations | undefined;
  random(): number;
}
