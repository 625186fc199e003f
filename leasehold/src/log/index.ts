/** The fenced log: the Manager's interface to every store of its state. */

export { openFileLog } from './file/file-log.ts';
export type { FileLog, FileLogOptions, FileLogStats } from './file/file-log-options.ts';
export { raiseCounters, type RaiseCountersOptions, type RaisedCounters } from './file/raise-counters.ts';
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
export { memoryStorage } from './memory/memory-storage.ts';
