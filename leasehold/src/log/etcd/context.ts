/** What the parts of an open log share. */

import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Asking } from './asking.ts';
import type { Layout } from './layout.ts';
import type { ResolvedEtcdLogOptions } from './options.ts';
import type { LogReader } from './reading.ts';

export interface LogContext {
  readonly options: ResolvedEtcdLogOptions;
  readonly asking: Asking;
  readonly layout: Layout;
  readonly reader: LogReader;
  readonly counts: EtcdLogCounts;
  /** Lets go of a lease, and of the leader key with it; goes on after whoever asks for it has ended. */
  release(lease: string): void;
  /** What is in etcd cannot be read: the end of everything. */
  unreadable(error: LeaseholdError): void;
}

export interface EtcdLogCounts {
  appends: number;
  refused: number;
  /** Tries of appends whose outcome was unknown at first. */
  unknown: number;
  compactions: number;
  /** Compactions that etcd refused; the log goes on without. */
  compactionsRefused: number;
  elections: number;
  /** Watches that brought nothing any more and were replaced. */
  hungWatches: number;
  lastAppendMs: number | undefined;
  lastExtensionMs: number | undefined;
}

export const noCounts = (): EtcdLogCounts => ({
  ...{ appends: 0, refused: 0, unknown: 0, compactions: 0, compactionsRefused: 0, elections: 0 },
  ...{ hungWatches: 0, lastAppendMs: undefined, lastExtensionMs: undefined },
});
