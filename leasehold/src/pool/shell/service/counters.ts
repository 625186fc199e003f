/**
 * The counters of a Manager process: plain fields that only grow (`runtime/metrics.ts` says why).
 */

import { Histogram } from '../../../runtime/metrics.ts';
import type { Change, WhyLeft } from './events.ts';

export class ManagerCounters {
  /** Reports of owners received. */
  reports = 0;
  /** Syncs of look-ups received. */
  syncs = 0;
  /** Updates sent to owners. */
  updates = 0;
  /** Answers "in line" to owners that want to join. */
  busyAnswers = 0;
  /** Candidates that there was no room for, or that had to make room. */
  fullAnswers = 0;
  /** A pool could not begin, because there are as many as may. */
  poolsRefused = 0;
  /** Changes sent to look-ups in answer to a sync. */
  answers = 0;
  /** Changes sent to look-ups unasked. */
  pushes = 0;
  /** Death certificates received, whether or not they prove anything. */
  certificatesReceived = 0;
  /** Death certificates that were answered: the keys of the process are free, or there were none. */
  certificatesAccepted = 0;
  /** Batches committed, and their bytes. */
  commits = 0;
  commitBytes = 0;
  /** From handing a batch to the log until the commit, in seconds. */
  readonly commitSeconds: Histogram = new Histogram([
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
  ]);
  /** Appends that the log refused. */
  commitsRefused = 0;
  compactions = 0;
  elections = 0;
  depositions = 0;
  /** How often this machine was found to have slept, or the clock to have stood still. */
  suspensions = 0;
  joined = 0;
  readonly left: Record<WhyLeft, number> = { left: 0, expired: 0, certified: 0, recovered: 0, unknown: 0 };
  /** How often an owner's keys were lost, each time counted once however many they were. */
  losses = 0;

  /** Counts everything that can be read from events, so that no other code need count the same. */
  count(changes: readonly Change[]): void {
    for (const change of changes) {
      switch (change.kind) {
        case 'pool.joined':
          this.joined += 1;
          break;
        case 'pool.left':
          this.left[change.why] += 1;
          break;
        case 'pool.lost':
          this.losses += 1;
          break;
        case 'manager.elected':
          this.elections += 1;
          break;
        case 'manager.deposed':
          this.depositions += 1;
          break;
        default:
          break;
      }
    }
  }
}
