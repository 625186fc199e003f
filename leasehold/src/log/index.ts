/** The fenced log: what a Manager asks of whatever keeps its state. */

export type {
  AppendOutcome,
  DeposedReason,
  FencedLog,
  FollowerEvents,
  Following,
  LeaderEvents,
  Leadership,
  LogBatch,
  LogStart,
} from './log.ts';
