/** What a Manager needs of a store, whatever its kind: a fenced log, and the facts for operators (`store.ts`). */

import type { HaltedHistory } from '../../../log/etcd/halting.ts';
import type { ManagerEntry } from '../../../log/etcd/manager-registry.ts';
import type { FencedLog } from '../../../log/log.ts';
import type { LeaseholdError } from '../../../runtime/errors.ts';
import type { Tls } from '../../../runtime/handle.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { StoreObservation } from '../service/source.ts';

/** The leader, if the store itself knows the leader and the log does not. */
export interface Elected {
  /** The leader's name in the group. */
  readonly id: string;
  readonly term: number;
}

export interface Store extends AsyncDisposable {
  readonly log: FencedLog;
  /** Other Managers may lead instead of this one. */
  readonly isShared: boolean;
  /** Somebody has deleted the log, as far as is known. */
  readonly isGone?: boolean;
  /** Says whether a leader was here a moment ago; undefined if nothing beside the log can say so. */
  readonly recency?: { isRecent(): boolean; note(position: number): void; forget(): void } | undefined;
  /** How long a leader acts without asking; undefined if that follows the configuration. */
  readonly leaderLeaseMs: number | undefined;
  /** How long every new leader waits, if all Managers have agreed on that because the log keeps nothing. */
  readonly takeoverMs?: number | undefined;
  /** The Managers that share the store, by id, as far as known. For people. */
  readonly enrolled: readonly ManagerEntry[];
  /**
   * Another leading Manager, of a store whose log cannot be followed; undefined if the log can be followed, or no
   * leader is known.
   */
  readonly elected: Elected | undefined;
  /** Resolves as soon as another Manager is known to be there; with false if that takes longer than a moment. */
  whenOther(): Promise<boolean>;
  /** A member that accepts no more writes, because its disk is full, as far as known. */
  fullMember(): string | undefined;
  /** A peer has seen more of the log than there is: the next leader has to know. */
  halt(found: HaltedHistory): void;
  /** From here on the Managers that share the store see this Manager; again, once the entry says something else. */
  enrol(entry: ManagerEntry): void;
  observe(): StoreObservation;
}

export interface StoreDependencies {
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly leaderLeaseMs: number;
  /** The same, as configured by now. @default leaderLeaseMs */
  readonly leaderLeaseNowMs?: (() => number) | undefined;
  /** How long to wait for a store that does not answer; undefined: as long as the store's kind has it. */
  readonly timeoutMs?: number | undefined;
  /** The longest time without a leader that owners are to survive, in milliseconds. */
  readonly leaderChangeMs: number;
  /** For people who look into the store. */
  readonly about: Readonly<Record<string, string>>;
  /** Gives up opening. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the Manager may listen elsewhere than on loopback, where every process that can connect can take part. */
  readonly insecure?: boolean | undefined;
  /** The Manager's own, for a store that names none. */
  readonly tls?: Tls | undefined;
  /** Another is {@link Store.elected}. */
  onChange(): void;
  /** The store cannot keep a promise: end the process. */
  onFatal(error: LeaseholdError): void;
}
