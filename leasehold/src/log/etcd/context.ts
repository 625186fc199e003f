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
  /** Lets go of a lease, and of the leader key with it; goes on after whoever asks for it has ended. */
  release(lease: string): void;
  /** What is in etcd cannot be read: the end of everything. */
  unreadable(error: LeaseholdError): void;
}
