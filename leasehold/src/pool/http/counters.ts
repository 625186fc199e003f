/**
 * What a Manager process counts. Plain fields, because some are touched with every message: to add
 * one to a field costs less than a nanosecond, to find a metric by its labels two hundred. They are
 * read when somebody asks for `/metrics` and only grow.
 */

import type { Change, WhyLeft } from './events.ts';

/** How often a value was at most each of the bounds; the last one counts those beyond all. */
export class Histogram {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.bounds.length && value > (this.bounds[index] ?? 0)) index += 1;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sum += value;
  }
}

export class ManagerCounters {
  /** Reports of owners received. */
  reports = 0;
  /** Syncs of look-ups received. */
  syncs = 0;
  /** Updates sent to owners. */
  updates = 0;
  /** Changes sent to look-ups in answer to a sync. */
  answers = 0;
  /** Changes sent to look-ups unasked. */
  pushes = 0;
  /** Death certificates received, whether or not they prove anything. */
  certificatesReceived = 0;
  /** Death certificates that were answered: what the process held is free, or it held nothing. */
  certificatesAccepted = 0;
  /** Batches committed, and their bytes. */
  commits = 0;
  commitBytes = 0;
  /** From handing a batch to the log until it was committed, in seconds. */
  readonly commitSeconds: Histogram = new Histogram([
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
  ]);
  /** Appends that the log refused. */
  commitsRefused = 0;
  compactions = 0;
  elections = 0;
  depositions = 0;
  /** How often this machine was found to have slept, or its clock to have stood still. */
  suspensions = 0;
  joined = 0;
  readonly left: Record<WhyLeft, number> = { left: 0, expired: 0, certified: 0, recovered: 0, unknown: 0 };
  /** How often an owner's keys were lost, each time counted once however many they were. */
  losses = 0;

  /** Counts what can be read from events, so that nobody need count it anywhere else. */
  count(changes: readonly Change[]): void {
    for (const change of changes) {
      switch (change.kind) {
        case 'joined':
          this.joined += 1;
          break;
        case 'left':
          this.left[change.why] += 1;
          break;
        case 'lost':
          this.losses += 1;
          break;
        case 'elected':
          this.elections += 1;
          break;
        case 'deposed':
          this.depositions += 1;
          break;
        default:
          break;
      }
    }
  }
}
