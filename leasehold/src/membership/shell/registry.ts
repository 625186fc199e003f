/**
 * The registry of a group in etcd, from the side of a real process: its options, the first look, and the facts for operators.
 *
 * `joinGroup` looks once before anything is started, so that a wrong address, a wrong prefix or settings that differ from those of
 * the registered servers are an error of the call and not a line in a log.
 */

import type { EtcdRangeResult } from '../../etcd/client.ts';
import { EtcdUnavailableError, PrefixInUseError } from '../../etcd/errors.ts';
import { connectEtcd, type EtcdConnection } from '../../etcd/shell/connection.ts';
import { randomId } from '../../node/id.ts';
import { parseAddress } from '../../node/tcp/address.ts';
import { configMismatch } from '../../node/mesh/errors.ts';
import { invalidOption, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import * as is from '../../runtime/option-kinds.ts';
import { type OptionTable, optional, required, resolveOptions } from '../../runtime/option-table.ts';
import { pause } from '../../runtime/pause.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import type { Durations } from '../core/durations.ts';
import { decodeEntry, type Found, type Settings } from '../etcd/entry.ts';
import { endOf, type KeeperEvents, type Reading, RegistryKeeper } from '../etcd/keeper.ts';
import { agreedOf } from './settings.ts';

/** Where the servers of a group are registered, if views come from etcd. */
export interface GroupEtcd {
  /** `etcd://10.0.0.1:2379,10.0.0.2:2379/prefix`, or `etcds://…` for TLS; `user:password@` may come first. */
  url: string;

  /** Certificates of the authorities for etcd, as a path or PEM. @default those that come with Node */
  ca?: string | undefined;

  /** Our own certificate for etcd, as a path or PEM. Needs `key`. */
  cert?: string | undefined;

  /** The private key of `cert`, as a path or PEM. */
  key?: string | undefined;

  /**
   * How long a server acts without an answer of etcd, and about how long a server that crashed stays registered, in whole seconds and
   * milliseconds. Equal at all servers. Longer survives longer outages of etcd; shorter lets the others go on sooner after a crash.
   * @default twice `leaseMs`, in whole seconds, and at least 2_000
   */
  ttlMs?: number | undefined;
}

/** @internal */
export const GROUP_ETCD_OPTIONS: OptionTable<GroupEtcd> = {
  url: required(is.string),
  ca: optional(is.string, 'the authorities that come with Node'),
  cert: optional(is.string),
  key: optional(is.string),
  ttlMs: optional(is.anything(), 'twice `leaseMs`, in whole seconds, at least 2,000'),
};

const TTL_MS = { least: 2_000, most: 600_000 };
const LOOK_AGAIN_MS = 300;

/** @throws {InvalidArgumentError} */
export function checkGroupEtcd(etcd: string | GroupEtcd): GroupEtcd {
  if (typeof etcd === 'string') return { url: etcd };
  if (typeof etcd !== 'object' || etcd === null)
    throw invalidOption('etcd', etcd, "it must be a URL, as 'etcd://10.0.0.1:2379/prefix', or have one");
  return resolveOptions('etcd.', etcd, GROUP_ETCD_OPTIONS);
}

/** @throws {InvalidArgumentError} */
export function ttlMsOf({ ttlMs }: GroupEtcd, leaseMs: number): number {
  const { least, most } = TTL_MS;
  if (ttlMs === undefined) return Math.max(least, Math.ceil((2 * leaseMs) / 1_000) * 1_000);
  if (!Number.isInteger(ttlMs) || ttlMs % 1_000 !== 0 || ttlMs < least || ttlMs > most)
    throw invalidOption('etcd.ttlMs', ttlMs, `it must be whole seconds, from ${least} to ${most} ms`);
  if (ttlMs < leaseMs) throw invalidOption('etcd.ttlMs', ttlMs, 'it must not be shorter than leaseMs');
  return ttlMs;
}

export interface Registering {
  readonly name: string;
  readonly group: string;
  /** Where the others dial this server. */
  readonly address: string;
  readonly durations: Durations;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

/** What operators may see of the registry. No field is secret. */
export interface GroupRegistry {
  /** The members of etcd, as `10.0.0.1:2379`. */
  readonly members: readonly string[];
  /** The beginning of all keys of this group. */
  readonly prefix: string;
  readonly ttlMs: number;
  readonly isRegistered: boolean;
  /** All registered servers, at the last look. */
  readonly registered: readonly string[];
  /** Why this server is not registered, or no answer comes from etcd. */
  readonly problem: string | undefined;
}

export class RegistryConnection implements AsyncDisposable {
  readonly prefix: string;
  readonly #connection: EtcdConnection;
  readonly #use: Registering;
  readonly #settings: Settings;
  #keeper: RegistryKeeper | undefined;

  private constructor(connection: EtcdConnection, use: Registering) {
    this.#connection = connection;
    this.#use = use;
    this.#settings = { ...agreedOf(use.durations), ttlMs: String(use.durations.registrationMs) };
    this.prefix = `${connection.prefix}groups/${encodeURIComponent(use.group)}/`;
  }

  /**
   * @throws {InvalidArgumentError} for the URL or a certificate
   * @throws {EtcdUnavailableError} if etcd does not answer, or denies access
   * @throws {PrefixInUseError} if a key there is no registration
   * @throws {RefusedError} `CONFIG_MISMATCH` if a registered server has other settings
   */
  static async open(
    etcd: GroupEtcd,
    use: Registering,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
  ): Promise<RegistryConnection> {
    const { url, ca, cert, key } = etcd;
    const connection = connectEtcd({ address: url, option: 'etcd', ca, cert, key }, use);
    const opened = new RegistryConnection(connection, use);
    try {
      await opened.#lookFirst(timeoutMs, signal);
    } catch (error) {
      connection[Symbol.dispose]();
      throw error;
    }
    return opened;
  }

  get members(): readonly string[] {
    return this.#connection.members;
  }

  /** Why the last request was not answered, or this server cannot register; undefined if all is well. */
  get problem(): string | undefined {
    return this.#keeper?.problem;
  }

  keep(events: KeeperEvents): RegistryKeeper {
    const { name, address, durations, runtime, logger } = this.#use;
    const { registrationMs } = durations;
    const entry = { address, process: randomId(), settings: this.#settings };
    const keeper = new RegistryKeeper(
      { client: this.#connection.client, runtime, logger, prefix: this.prefix, name, entry, registrationMs },
      events,
    );
    this.#keeper = keeper;
    return keeper;
  }

  /** A setting of this registered server that differs from ours. */
  mismatch({ name, settings }: Found): LeaseholdError | undefined {
    for (const [setting, value] of Object.entries(this.#settings)) {
      const theirs = settings[setting];
      if (theirs === value) continue;
      const values = [
        [this.#use.name, value],
        [name, theirs],
      ] as const;
      return configMismatch(this.#use.group, { setting, values });
    }
    return undefined;
  }

  /** Why this server must not go on: an earlier registration has other settings. */
  mismatchIn({ registrations }: Reading): LeaseholdError | undefined {
    const own = registrations.find(({ name }) => name === this.#use.name);
    for (const each of registrations) {
      const error = own === undefined || each.revision < own.revision ? this.mismatch(each) : undefined;
      if (error !== undefined && each.name !== this.#use.name) return error;
    }
    return undefined;
  }

  /** Where the registered servers are, beside the peers that are kept; undefined if that is known. */
  addressesIn(
    { registrations }: Reading,
    kept: Map<string, string>,
  ): ReadonlyMap<string, string> | undefined {
    const others = registrations.filter(({ name, address }) => name !== this.#use.name && isAddress(address));
    if (others.every(({ name, address }) => kept.get(name) === address)) return undefined;
    for (const { name, address } of others) kept.set(name, address);
    return kept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((closed) => {
      if (this.#keeper === undefined) closed();
      else this.#keeper.close(closed);
    });
    this.#connection[Symbol.dispose]();
  }

  async #lookFirst(withinMs: number, signal: AbortSignal | undefined): Promise<void> {
    const { runtime } = this.#use;
    const until = later(runtime.now(), withinMs);
    const doing = 'read the registry of the group';
    for (;;) {
      signal?.throwIfAborted();
      const answer = await this.#read(Math.max(1, Math.min(2_000, until - runtime.now())));
      if (answer.kind === 'done') return this.#check(answer.value);
      const reason = answer.refusal?.reason;
      const why = answer.kind === 'unknown' ? answer.why : answer.refusal.message;
      if (reason === 'denied' || reason === 'divided' || runtime.now() >= until)
        throw new EtcdUnavailableError(doing, why, reason);
      await pause(runtime, LOOK_AGAIN_MS, signal);
    }
  }

  #read(timeoutMs: number) {
    const { client } = this.#connection;
    const range = { key: this.prefix, end: endOf(this.prefix) };
    return new Promise<Parameters<Parameters<typeof client.range>[2]>[0]>((answer) =>
      client.range(range, timeoutMs, answer),
    );
  }

  #check({ keyValues }: EtcdRangeResult): void {
    for (const keyValue of keyValues) {
      const entry = decodeEntry(keyValue, this.prefix);
      if (entry === undefined)
        throw new PrefixInUseError(keyValue.key, 'is no registration of a group under a lease', ANOTHER);
      if (entry === 'unreadable')
        throw new PrefixInUseError(
          keyValue.key,
          'is the registration of a server of another version',
          VERSIONS,
        );
      const error = entry.name === this.#use.name ? undefined : this.mismatch(entry);
      if (error !== undefined) throw error;
    }
  }
}

const ANOTHER =
  'Choose another prefix in the address, or another group; or, if nobody needs what is there, delete all keys under the prefix.';
const VERSIONS = 'Stop all servers of the group, and start them with one version of Leasehold.';

export function isAddress(address: string): boolean {
  try {
    parseAddress(address);
    return true;
  } catch {
    return false;
  }
}
