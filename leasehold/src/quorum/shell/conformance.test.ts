import { setTimeout as pause } from 'node:timers/promises';
import { type ConformanceBench, describeFencedLog } from '../../log/conformance.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { silent } from '../../runtime/logger.ts';
import { resolveQuorumDurations } from '../core/options.ts';
import { openLog, type OpenLog } from './open-log.ts';
import { TEST_DURATIONS, TestCell } from './testing/cells.ts';

const NAMES = ['a', 'b', 'c'] as const;

/** Three replicas with directories on a real disk, connected by sockets, and a log on each. */
async function onRealReplicas(): Promise<ConformanceBench> {
  const cell = await TestCell.started(...NAMES);
  const runtime = nodeRuntime();
  const open = (): Map<string, OpenLog> =>
    new Map(
      NAMES.map((name) => {
        const replica = cell.replicas.get(name);
        if (replica === undefined) throw new Error(`${name} does not run`);
        const fatal = (error: Error): void => {
          throw error;
        };
        const durations = resolveQuorumDurations(TEST_DURATIONS);
        return [
          name,
          openLog({
            ...{ replica, runtime, durations, logger: silent, maxBatchBytes: 10_000 },
            ...{ beginAbove: () => 0, onFatal: fatal },
          }),
        ] as const;
      }),
    );
  let logs = open();
  const close = async (): Promise<void> => {
    for (const log of logs.values()) await log[Symbol.asyncDispose]();
  };
  const isIdle = (): boolean => [...logs.values()].every(({ log }) => log.isIdle);
  return {
    client: (name) => (logs.get(name) as OpenLog).log,
    now: () => runtime.now(),
    step: () => pause(2),
    settle: async () => {
      for (let quiet = 0; quiet < 10; quiet = isIdle() ? quiet + 1 : 0) await pause(20);
    },
    restart: async () => {
      await close();
      for (const name of NAMES) await cell.stop(name);
      for (const name of NAMES) await cell.start(name);
      await cell.ready();
      logs = open();
    },
    [Symbol.asyncDispose]: async () => {
      await close();
      await cell[Symbol.asyncDispose]();
    },
  };
}

describeFencedLog('the log on real replicas', onRealReplicas);
