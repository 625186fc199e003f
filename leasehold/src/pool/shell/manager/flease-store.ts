/**
 * No store at all: Managers that elect a leader among themselves, by Flease, and keep nothing.
 *
 * The group's lease on one resource is the leader lease, so both last equally long, and every Manager is a member of
 * the group. The other facts about a store, the other Managers and the leader, come from the group too; there is no
 * log to follow. So this class watches the holder of the resource, and tells every change.
 */

import type { FleaseMember } from '../../../flease/shell/flease-member.ts';
import { joinCell, type JoinFleaseOptions } from '../../../flease/shell/join-flease.ts';
import { type Holder, isSameHolder } from '../../../flease/shell/looking.ts';
import { checkPeers } from '../../../flease/shell/peers-option.ts';
import {
  DURATION_MS_MAX,
  type ResolvedFleaseDurations,
  resolveFleaseDurations,
} from '../../../flease/core/options.ts';
import { SoftLog } from '../../../flease/core/soft-log.ts';
import { tlsOfStore } from '../../../node/mesh/tls-option.ts';
import { atEndOfTurn } from '../../../node/turn.ts';
import { EpisodeLog } from '../../../runtime/episode-log.ts';
import { brokenRule, invalidOption } from '../../../runtime/errors.ts';
import { checkOptionNames, type OptionNames } from '../../../runtime/option-names.ts';
import { nameOption } from '../../../runtime/text-option.ts';
import type { GroupObservation } from '../service/source.ts';
import { LONGEST_NAME } from '../../wire/rules.ts';
import { DEFAULT_CLUSTER } from './etcd-options.ts';
import { type MajorityLines, majorityLines } from './majority-lines.ts';
import type { Elected, Store, StoreDependencies } from './store.ts';

/** Which member of which group a Manager is: as for `joinFlease`, but for the lease, which is the leader lease. */
export interface FleaseGroup
  extends Pick<
    JoinFleaseOptions,
    'name' | 'peers' | 'cell' | 'peersVersion' | 'peersBefore' | 'listen' | 'tls'
  > {
  /**
   * Each wall clock must be within half of this of true time, at every instant, also while the clock is set; in
   * milliseconds. The same everywhere.
   *
   * @default leaderLeaseMs / 10
   */
  clockSkewMs?: number | undefined;

  /**
   * How long every new leader waits before granting a key, in milliseconds: a new leader knows nothing of the leases
   * that earlier leaders have granted. No pool may have durations whose leases could outlast this wait. The same
   * everywhere; to shorten the wait, stop all Managers and wait as long as the old value.
   *
   * @default 15_000
   */
  takeoverMs?: number | undefined;
}

/**
 * A fixed number, not one that follows from the configured leases: when all Managers are restarted at once with shorter
 * leases, nobody is left to remember the longer ones. Default durations need less.
 */
export const DEFAULT_TAKEOVER_MS = 15_000;

/** A store without a disk: Managers elect each other and keep nothing. */
export interface FleaseStore {
  flease: FleaseGroup;

  /**
   * The name of the election, if several clusters of Managers share one group: one leader for each name. @default
   * 'leasehold'
   */
  cluster?: string | undefined;
}

/** The part of such a store's configuration that may be shown. No field is secret. */
export interface FleasePlace {
  /** `a=10.0.0.1:7500`, for each member. */
  readonly members: readonly string[];
  readonly cluster: string;
}

const GROUP_OPTIONS: OptionNames<FleaseGroup> = {
  ...{ name: true, peers: true, cell: true, peersVersion: true, peersBefore: true },
  ...{ listen: true, tls: true },
  ...{ clockSkewMs: true, takeoverMs: true },
};
const STORE_OPTIONS: OptionNames<FleaseStore> = { flease: true, cluster: true };

/** The default clock skew, as a part of a leader lease. */
const SKEW_PART = 10;
/** The greatest clock skew, as a part of a leader lease. */
const SKEW_PART_MAX = 4;

const NOTHING_TO_DO: readonly never[] = [];

/** @throws {InvalidArgumentError} */
export function checkFleaseStore(store: FleaseStore): void {
  checkOptionNames('store.', store, STORE_OPTIONS);
  const { flease, cluster } = store;
  if (typeof flease !== 'object' || flease === null) {
    throw invalidOption('store.flease', typeof flease, 'it must be an object with name and peers');
  }
  checkOptionNames('store.flease.', flease, GROUP_OPTIONS);
  nameOption('cluster', cluster ?? DEFAULT_CLUSTER, LONGEST_NAME);
  const takeoverMs = takeoverMsOf(store);
  if (!(takeoverMs > 0 && takeoverMs <= DURATION_MS_MAX)) {
    const rule = 'it must be a positive number of milliseconds, at most a day';
    throw invalidOption('store.flease.takeoverMs', takeoverMs, rule);
  }
  const peers = checkPeers('store.flease.peers', flease.peers);
  if (peers.has(flease.name)) return;
  const rule = `it must be one of the peers, which are ${[...peers.keys()].join(', ')}`;
  throw invalidOption('store.flease.name', flease.name, rule);
}

export const takeoverMsOf = ({ flease }: FleaseStore): number => flease.takeoverMs ?? DEFAULT_TAKEOVER_MS;

/** The store of Managers that keep nothing, with all Managers by name and address. */
export const fleasePlace = ({ flease, cluster = DEFAULT_CLUSTER }: FleaseStore): FleasePlace => ({
  members: Object.entries(flease.peers).map(([member, address]) => `${member}=${address}`),
  cluster,
});

/**
 * The durations of the group, by the leader lease and the skew. A leader believes in the lease for twice the skew
 * less; the rest must be enough for two attempts to renew, which begin after a fifth of a lease. With the greatest skew, a quarter
 * of a lease, each attempt has 0.15 of a lease.
 *
 * @throws {InvalidArgumentError}
 */
export function groupDurations(
  leaderLeaseMs: number,
  clockSkewMs: number = leaderLeaseMs / SKEW_PART,
  takeoverMs: number = DEFAULT_TAKEOVER_MS,
): ResolvedFleaseDurations {
  const mostMs = leaderLeaseMs / SKEW_PART_MAX;
  if (clockSkewMs > mostMs) {
    throw invalidOption(
      'store.flease.clockSkewMs',
      clockSkewMs,
      `it must be at most a quarter of leaderLeaseMs, which is ${leaderLeaseMs}: a leader believes in its lease for twice the skew less, and must have renewed it by then`,
    );
  }
  try {
    return resolveFleaseDurations({ leaseMs: leaderLeaseMs, clockSkewMs }, takeoverMs);
  } catch (error) {
    const broken = brokenRule(error);
    if (broken === undefined) throw error;
    const option = broken.option === 'leaseMs' ? 'leaderLeaseMs' : `store.flease.${broken.option}`;
    throw invalidOption(option, broken.value, broken.rule);
  }
}

/** The rules of a member, about options that stand in `store.flease`. */
function throwAsOfStore(error: unknown): never {
  const broken = brokenRule(error);
  if (broken === undefined) throw error;
  throw invalidOption(`store.flease.${broken.option}`, broken.value, broken.rule, broken.code);
}

export async function openFleaseStore(options: FleaseStore, around: StoreDependencies): Promise<Store> {
  const { runtime, logger, leaderLeaseMs, signal } = around;
  const { cluster = DEFAULT_CLUSTER, flease } = options;
  const { takeoverMs: _, ...member } = flease;
  const { leaseMs, clockSkewMs, recoveryMs, takeoverMs } = groupDurations(
    leaderLeaseMs,
    flease.clockSkewMs,
    takeoverMsOf(options),
  );
  signal?.throwIfAborted();
  const joining = joinCell(
    { ...member, ...tlsOfStore(flease.tls, around), leaseMs, clockSkewMs, logger },
    takeoverMs,
  );
  const group = await joining.catch(throwAsOfStore);
  const resource = `manager/${cluster}`;
  const lines = majorityLines(new EpisodeLog(logger, runtime), leaseMs + recoveryMs);
  const electors = new Electors(group, resource, lines, () => around.onChange());
  const log = new SoftLog({
    stand: (events) => group.stand(resource, () => runtime.now(), events),
    soon: atEndOfTurn,
  });
  return {
    log,
    isShared: true,
    leaderLeaseMs,
    takeoverMs,
    enrolled: NOTHING_TO_DO,
    get elected() {
      return electors.elected;
    },
    whenOther: async () => group.status().peers.some(({ connected }) => connected),
    fullMember: () => undefined,
    halt: () => {},
    enrol: () => {},
    observe: () => ({
      kind: 'flease',
      where: `${group.cell}, ${resource}`,
      bytes: undefined,
      members: electors.members(flease.peers),
      group: electors.group(),
    }),
    [Symbol.asyncDispose]: async () => {
      electors[Symbol.dispose]();
      await group.close();
    },
  };
}

/** The electing members, and the elected leader. */
class Electors implements Disposable {
  readonly #group: FleaseMember;
  readonly #over = new AbortController();
  #holder: Holder | undefined;

  constructor(group: FleaseMember, resource: string, lines: MajorityLines, changed: () => void) {
    this.#group = group;
    void this.#watch(resource, lines, changed);
  }

  /** Another than this one; undefined if that is not known. */
  get elected(): Elected | undefined {
    const holder = this.#holder;
    if (holder === undefined || holder.holder === this.#group.name) return undefined;
    return { id: holder.holder, term: holder.number };
  }

  members(peers: FleaseGroup['peers']): ReturnType<Store['observe']>['members'] {
    const { name, peers: others } = this.#group.status();
    return Object.entries(peers).map(([member, address]) => {
      const other = others.find((peer) => peer.name === member);
      return {
        endpoint: `${member}=${address}`,
        reachable: member === name || other?.connected === true,
        complaint: other?.problem ?? other?.trouble?.words,
        version: undefined,
        databaseBytes: undefined,
        isLeader: this.#holder?.holder === member,
        isSelf: member === name,
      };
    });
  }

  group(): GroupObservation {
    const { peersVersion, isSettled, recovery } = this.#group.status();
    return { view: peersVersion, isSettled, recovery: recovery?.words };
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }

  async #watch(resource: string, lines: MajorityLines, changed: () => void): Promise<void> {
    const { signal } = this.#over;
    let isKnown = false;
    try {
      await this.#group.takingPart({ signal });
      for await (const look of this.#group.looking(resource, signal)) {
        if ('error' in look) {
          lines.missed(look.error.details);
          continue;
        }
        lines.heard();
        if (isKnown && isSameHolder(this.#holder, look.holder)) continue;
        isKnown = true;
        this.#holder = look.holder;
        changed();
      }
    } catch (error) {
      if (!signal.aborted) throw error; // A running poll may end in another way, for example by the closing of the group.
    }
  }
}
