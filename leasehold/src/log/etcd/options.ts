/**
 * The options of a log on etcd: the place and the time limits. The lease that etcd grants is never shorter than the
 * leader lease, or others could be elected within the leader lease; how often a leader extends the lease is in
 * `leader-lease.ts`.
 */

import { invalidOption, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { EtcdClient } from '../../etcd/client.ts';

export interface EtcdLogOptions {
  readonly client: EtcdClient;

  /** The beginning of all keys of the log: `/leasehold/production/`. Ends in `/`. */
  readonly prefix: string;

  /** The owner of the log. A log that says another name is not touched. */
  readonly cluster: string;
  readonly runtime: Runtime;
  readonly logger: Logger;

  /** Unlike any other: names the history of a log that begins. */
  readonly randomId: () => string;

  /** The contents of etcd cannot be read. Nothing is answered any more: end the process. Called once at most. */
  onFatal(error: LeaseholdError): void;

  /**
   * How long a leader acts without asking, in milliseconds. A shorter lease lets the next leader come sooner when one
   * dies; a longer one lets a leader go on while etcd elects its own leader. etcd counts in whole seconds, 2 at least:
   * the leader key goes when the next whole second is over.
   */
  readonly leaderLeaseMs: number;

  /**
   * The longest time without a leader that the owners are to survive, in milliseconds. If etcd keeps the key of a dead
   * leader for longer, that is said.
   *
   * @default without end
   */
  readonly leaderChangeMs?: number | undefined;

  /** Written into the leader key beside the candidate's name, for people: id, address. */
  readonly about?: Readonly<Record<string, string>> | undefined;

  /** How long one request may take, in milliseconds. @default 2_000 */
  readonly requestTimeoutMs?: number | undefined;

  /** How long to wait before asking again, in milliseconds, more or less by chance. @default 200 */
  readonly retryMs?: number | undefined;

  /**
   * How often to look although nothing is heard, in milliseconds: a watch can hang at a member that was
   * cut off. A follower notices that within two of these.
   *
   * @default 1_000
   */
  readonly pollMs?: number | undefined;

  /** How long opening may take, in milliseconds. @default 10_000 */
  readonly openWithinMs?: number | undefined;

  /**
   * A larger batch is refused, in bytes. etcd takes requests of 1.5 MiB (`--max-request-bytes`), and a batch goes with
   * a key, the head, and the comparisons.
   *
   * @default 1 MiB
   */
  readonly maxBatchBytes?: number | undefined;

  /** A snapshot is cut into pieces of this size, in bytes. The same limit applies. @default 1_000_000 */
  readonly chunkBytes?: number | undefined;
}

export type ResolvedEtcdLogOptions = {
  readonly [Name in keyof EtcdLogOptions]-?: NonNullable<EtcdLogOptions[Name]>;
} & {
  /** The requested lease of etcd. */
  readonly ttlSeconds: number;
};

/** An etcd with default settings refuses requests above this, including everything that goes with the bytes. */
const REQUEST_BYTES_MAX = 1_500_000;
/** With usual settings etcd grants no less. */
const TTL_SECONDS_MIN = 2;

export function resolveEtcdLogOptions(options: EtcdLogOptions): ResolvedEtcdLogOptions {
  const resolved: ResolvedEtcdLogOptions = {
    ...options,
    leaderChangeMs: options.leaderChangeMs ?? Number.POSITIVE_INFINITY,
    about: options.about ?? {},
    requestTimeoutMs: options.requestTimeoutMs ?? 2_000,
    retryMs: options.retryMs ?? 200,
    pollMs: options.pollMs ?? 1_000,
    openWithinMs: options.openWithinMs ?? 10_000,
    maxBatchBytes: options.maxBatchBytes ?? 1 << 20,
    chunkBytes: options.chunkBytes ?? 1_000_000,
    onFatal: (error) => options.onFatal(error),
    ttlSeconds: Math.max(TTL_SECONDS_MIN, Math.ceil(options.leaderLeaseMs / 1_000)),
  };
  checkPrefix(resolved.prefix);
  for (const name of ['requestTimeoutMs', 'retryMs', 'pollMs', 'openWithinMs', 'leaderLeaseMs'] as const) {
    const value = resolved[name];
    if (!(Number.isFinite(value) && value > 0)) throw invalidOption(name, value, 'it must be above 0');
  }
  for (const name of ['maxBatchBytes', 'chunkBytes'] as const) {
    const value = resolved[name];
    if (Number.isSafeInteger(value) && value > 0 && value <= REQUEST_BYTES_MAX) continue;
    throw invalidOption(name, value, `it must be a whole number from 1 to ${REQUEST_BYTES_MAX}`);
  }
  if (resolved.cluster === '') throw invalidOption('cluster', '""', 'it must name something');
  return resolved;
}

export function checkPrefix(prefix: string): void {
  if (/^[\x21-\x7e]+\/$/.test(prefix)) return;
  throw invalidOption('prefix', JSON.stringify(prefix), 'it must be printable ASCII and end in "/"');
}
