/** What the parts of the log on one replica share. */

import type { LogStart } from '../../log/log.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { StorageError } from '../../runtime/errors.ts';
import type { Revision } from '../core/operation.ts';
import type { LogPort } from './port.ts';
import type { Requests } from './requests.ts';
import type { LogView } from './view.ts';

export interface QuorumLogOptions {
  readonly port: LogPort;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** The lease of the replica. */
  readonly leaseMs: number;
  /** How long a session of the cell lives without a request. */
  readonly sessionMs: number;
  /** How long to wait before a request that was refused is repeated. */
  readonly retryMs: number;
  /** How often a candidate looks whether it may stand. */
  readonly pollMs: number;
  readonly maxBatchBytes: number;
  /** The size of the parts of a snapshot. @default 1 MiB */
  readonly partBytes?: number | undefined;
  /** 16 random bytes each time, in hexadecimal. */
  randomId(): string;
  /** The floor of a log that begins. */
  beginAbove(): number;
  /** Calls back soon, but not at once. */
  soon(callback: () => void): void;
  /** The log cannot be read. */
  onFatal(error: StorageError): void;
}

export interface LogContext {
  readonly options: QuorumLogOptions;
  readonly requests: Requests;
  readonly view: LogView;
  /** Calls back when the view has reached this slot. */
  whenSeen(slot: number, act: () => void): void;
  /** Everything in the view; undefined if it cannot be read, and then {@link QuorumLogOptions.onFatal} has heard of it. */
  start(): LogStart | undefined;
  /** Something else than the log has written this key. */
  damaged(key: string): void;
  /** Takes a name of this process off `term`, unless another name is there by then. */
  vacate(revision: Revision): void;
}
