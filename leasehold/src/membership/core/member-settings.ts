/** One server of a group, as it is told at the start. */

import type { Durations } from './durations.ts';
import type { Incarnation } from './incarnation.ts';

export interface MemberSettings {
  readonly name: string;
  readonly incarnation: Incarnation;
  /** The names of other servers, to which heartbeats go for ever. More servers may join through them. */
  readonly peers: readonly string[];
  readonly durations: Durations;
  random(): number;
}
