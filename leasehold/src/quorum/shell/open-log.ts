/**
 * Opens the fenced log of a replica in a real process: when the replica is a member and knows a leader. Closing resigns
 * first, so that others need not wait until the leases of this replica have run out.
 */

import { randomId } from '../../node/id.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { newLogFloor } from '../../log/new-log.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import type { ResolvedQuorumDurations } from '../core/options.ts';
import { QuorumLog } from '../fenced-log/quorum-log.ts';
import { VALUE_BYTES_MAX } from '../wire/bounds.ts';
import { ReplicaPort } from './log-port.ts';
import type { QuorumReplica } from './quorum-replica.ts';

export interface OpenLogOptions {
  readonly replica: QuorumReplica;
  /** That of the replica. */
  readonly runtime: Runtime;
  readonly durations: ResolvedQuorumDurations;
  readonly logger: Logger;
  /** @default the clock */
  readonly beginAbove?: (() => number) | undefined;
  readonly maxBatchBytes?: number | undefined;
  onFatal(error: LeaseholdError): void;
}

export interface OpenLog extends AsyncDisposable {
  readonly log: QuorumLog;
}

/** A name that cannot be taken off in this time goes with the leases of the replica. */
const RESIGN_WITHIN_MS = 500;
const LOOK_EVERY_MS = 5;

/** @param options with a replica that is ready */
export function openLog(options: OpenLogOptions): OpenLog {
  const { replica, runtime, durations, logger, maxBatchBytes = VALUE_BYTES_MAX } = options;
  const { leaseMs, electionMs, heartbeatEveryMs, sessionMs } = durations;
  const log = new QuorumLog({
    ...{ port: new ReplicaPort(replica, runtime), runtime, logger, leaseMs, sessionMs, maxBatchBytes },
    ...{ retryMs: electionMs / 10, pollMs: heartbeatEveryMs, soon: atEndOfTurn },
    randomId: () => randomId(16),
    beginAbove: options.beginAbove ?? (() => newLogFloor(runtime)),
    onFatal: (error) => options.onFatal(error),
  });
  let isOver = false;
  void replica.closed.then(() => (isOver = true));
  return {
    log,
    [Symbol.asyncDispose]: async () => {
      log.withdraw();
      const endAt = later(runtime.now(), RESIGN_WITHIN_MS);
      const isOpen = (): boolean => !isOver && runtime.now() < endAt;
      while (!log.isIdle && isOpen())
        await new Promise<void>((resolve) => {
          runtime.wakeAt(later(runtime.now(), LOOK_EVERY_MS), resolve);
        });
      log[Symbol.dispose]();
    },
  };
}
