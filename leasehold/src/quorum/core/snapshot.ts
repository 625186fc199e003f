/**
 * A snapshot: the whole state as of one committed slot, in place of the log up to there.
 *
 * It is taken at or below the committed prefix, never above: what is only chosen may not be shown yet, and a replica that
 * installed it would show it. It carries the sessions, or a request that is repeated after the snapshot would be
 * applied twice, and the configuration, or its reader would not know who votes.
 */

import type { Configuration } from './configuration.ts';
import type { StateSnapshot } from './state-machine.ts';

export interface Snapshot {
  readonly slot: number;
  readonly configuration: Configuration;
  readonly state: StateSnapshot;
}
