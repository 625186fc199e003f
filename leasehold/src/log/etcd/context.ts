/**
 * Shared by the parts of an open log.
 */

import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Requester } from './requester.ts';
import type { Layout } from './layout.ts';
import type { ResolvedEtcdLogOptions } from './options.ts';
import type { LogReader } from './reading.ts';

export interface LogContext {
  readonly options: ResolvedEtcdLogOptions;
  readonly requester: Requester;
  readonly layout: Layout;
  readonly reader: LogReader;
  /** Revokes a lease, and with it the leader key; goes on after the caller has ended. */
  release(lease: string): void;
  /** The content of etcd cannot be read: ends everything. */
  unreadable(error: LeaseholdError): void;
}
