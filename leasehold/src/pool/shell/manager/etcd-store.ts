/**
 * A log in etcd, from the side of the process: how the log is opened when both are started at the same time, the facts
 * for operators while running, and how the log is closed.
 *
 * A user who starts a Manager and an etcd together, by the same command or after a power cut, expects them to find
 * each other; so opening repeats the attempts, and logs the reason for the wait. Only faults that waiting does not
 * mend end the attempts at once: wrong credentials, a prefix of another cluster.
 */

import type { EtcdMemberHealth } from '../../../etcd/client.ts';
import { type EtcdLog, openEtcdLog } from '../../../log/etcd/etcd-log.ts';
import { ManagerRegistry, type ManagerEntry } from '../../../log/etcd/manager-registry.ts';
import { randomId } from '../../../node/id.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { later } from '../../../runtime/time.ts';
import type { EtcdConnection } from '../../../etcd/shell/connection.ts';
import { connectStore, type EtcdPlace } from './etcd-connection.ts';
import type { EtcdStore } from './etcd-options.ts';
import type { Store, StoreDependencies } from './store-shape.ts';

/**
 * An etcd on machines that have just been switched on is there by then; the supervisor of this process tries again
 * after that.
 */
export const TIMEOUT_MS = 60_000;

/** One that has just started has entered itself by then. */
const OTHER_WITHIN_MS = 3_000;

export async function openEtcdStore(options: EtcdStore, around: StoreDependencies): Promise<Store> {
  const connection = connectStore(options, around);
  const { client, prefix } = connection;
  const { runtime, logger, leaderLeaseMs } = around;
  let log: EtcdLog;
  try {
    log = await openLog(connection, around, around.timeoutMs ?? TIMEOUT_MS);
  } catch (error) {
    connection[Symbol.dispose]();
    throw error;
  }
  const health = new HealthWatch(log, runtime);
  const managerRegistry = new ManagerRegistry({ client, prefix, runtime, logger });
  return {
    log,
    isShared: true,
    leaderLeaseMs,
    elected: undefined,
    observe: () => ({ kind: 'etcd', where: prefix, bytes: undefined, members: health.members }),
    halt: (found) => log.halt(found),
    enrol: (entry: ManagerEntry) => managerRegistry.enter(entry),
    whenOther: () => new Promise((resolve) => managerRegistry.whenOther(OTHER_WITHIN_MS, resolve)),
    fullMember: () => health.members.find(({ isFull }) => isFull)?.endpoint,
    get isGone() {
      return log.isGone;
    },
    get enrolled() {
      return managerRegistry.entries;
    },
    [Symbol.asyncDispose]: async () => {
      health[Symbol.dispose]();
      const struckOff = new Promise<void>((resolve) => managerRegistry.close(resolve));
      await Promise.all([struckOff, log[Symbol.asyncDispose]()]);
      connection[Symbol.dispose]();
    },
  };
}

async function openLog(
  { client, prefix, cluster, members }: EtcdConnection & EtcdPlace,
  around: StoreDependencies,
  timeoutMs: number,
): Promise<EtcdLog> {
  const { runtime, logger, leaderLeaseMs, leaderChangeMs, about, signal } = around;
  using waiting = new Waiting(around, members, timeoutMs);
  const log = await openEtcdLog(
    {
      ...{ client, prefix, cluster, runtime, logger, about, openWithinMs: timeoutMs, randomId },
      ...{ leaderLeaseMs, leaderChangeMs },
      onFatal: (error) => around.onFatal(error),
    },
    signal,
  );
  waiting.answered();
  return log;
}

const FIRST_WORD_MS = 1_000;
const WORD_EVERY_MS = 5_000;

/** Logs the wait, and the remaining time. Says nothing if there is no need to wait. */
class Waiting implements Disposable {
  readonly #around: StoreDependencies;
  readonly #members: string;
  readonly #timeoutMs: number;
  readonly #since: number;
  #next: Disposable;
  #hasSpoken = false;

  constructor(around: StoreDependencies, members: readonly string[], timeoutMs: number) {
    this.#around = around;
    this.#members = members.join(', ');
    this.#timeoutMs = timeoutMs;
    this.#since = around.runtime.now();
    this.#next = this.#sayIn(FIRST_WORD_MS);
  }

  /** Logs the end of the wait, if the wait was logged. */
  answered(): void {
    if (this.#hasSpoken) this.#around.logger.info('etcd answers', { waitedSeconds: this.#waitedSeconds() });
  }

  [Symbol.dispose](): void {
    this.#next[Symbol.dispose]();
  }

  #sayIn(ms: number): Disposable {
    const { runtime, logger } = this.#around;
    return runtime.wakeAt(later(runtime.now(), ms), () => {
      this.#hasSpoken = true;
      const leftMs = this.#since + this.#timeoutMs - runtime.now();
      logger.warn('waits for etcd', {
        ...{ members: this.#members, waitedSeconds: this.#waitedSeconds() },
        givesUpInSeconds: Math.max(0, Math.round(leftMs / 1_000)),
      });
      this.#next = this.#sayIn(WORD_EVERY_MS);
    });
  }

  #waitedSeconds(): number {
    return Math.round((this.#around.runtime.now() - this.#since) / 1_000);
  }
}

/** How often etcd is asked for its health, for operators. */
const HEALTH_EVERY_MS = 5_000;

/** Remembers the last health reports of the members of etcd. */
class HealthWatch implements Disposable {
  readonly #log: EtcdLog;
  readonly #runtime: Runtime;
  #members: readonly EtcdMemberHealth[] = [];
  #next: Disposable | undefined;
  #isOver = false;

  constructor(log: EtcdLog, runtime: Runtime) {
    this.#log = log;
    this.#runtime = runtime;
    this.#look();
  }

  get members(): readonly EtcdMemberHealth[] {
    return this.#members;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#next?.[Symbol.dispose]();
  }

  #look(): void {
    this.#log.health((members) => {
      this.#members = members;
      if (this.#isOver) return;
      const at = later(this.#runtime.now(), HEALTH_EVERY_MS);
      this.#next = this.#runtime.wakeAt(at, () => this.#look());
    });
  }
}
