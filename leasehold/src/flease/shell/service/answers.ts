/**
 * The answers of a member over HTTP. Every field is always there; an unknown or unlimited value is null.
 */

import type { NoMajority } from '../../core/errors.ts';
import type { Holder } from '../looking.ts';
import type { FleaseStatus, PeerStatus } from '../status.ts';

type Known<T> = { readonly [Field in keyof T]-?: Exclude<T[Field], undefined> | NullIfUndefined<T[Field]> };
type NullIfUndefined<T> = undefined extends T ? null : never;

type Recovery = NonNullable<FleaseStatus['recovery']>;

export interface PeerAnswer extends Omit<Known<PeerStatus>, 'clockAheadMs'> {
  /** `atMost` is null until the peer has said when the peer heard us: nothing limits the value before. */
  readonly clockAheadMs: { readonly atLeast: number; readonly atMost: number | null } | null;
}

export interface StatusAnswer extends Omit<Known<FleaseStatus>, 'recovery' | 'peers'> {
  /** `forMs` is null as long as nobody can say. */
  readonly recovery: (Omit<Recovery, 'forMs'> & { readonly forMs: number | null }) | null;
  readonly peers: readonly PeerAnswer[];
}

export interface HolderAnswer {
  readonly resource: string;
  /** Null: nobody. */
  readonly holder: Holder | null;
}

/** Too few members answer, so the holder is unknown. */
export interface NotKnownAnswer {
  readonly resource: string;
  readonly error: {
    readonly code: 'NO_MAJORITY';
    readonly message: string;
    /** Why each member that did not answer did not. */
    readonly reasons: Readonly<Record<string, string>>;
  };
}

export function statusAnswer(status: FleaseStatus): StatusAnswer {
  const { recovery } = status;
  return {
    ...status,
    closed: status.closed ?? null,
    waitsFor: status.waitsFor ?? null,
    recovery: recovery === undefined ? null : { ...recovery, forMs: finite(recovery.forMs) },
    peers: status.peers.map(peerAnswer),
  };
}

const peerAnswer = ({ clockAheadMs, ...peer }: PeerStatus): PeerAnswer => ({
  ...peer,
  address: peer.address ?? null,
  heardAgoMs: peer.heardAgoMs ?? null,
  clockAheadMs: clockAheadMs === undefined ? null : { ...clockAheadMs, atMost: finite(clockAheadMs.atMost) },
  problem: peer.problem ?? null,
  trouble: peer.trouble ?? null,
  otherDurations: peer.otherDurations ?? null,
});

/** JSON has no infinity. */
const finite = (ms: number): number | null => (Number.isFinite(ms) ? ms : null);

export const holderAnswer = (resource: string, holder: Holder | undefined): HolderAnswer => ({
  resource,
  holder: holder ?? null,
});

export const notKnownAnswer = ({ details, message }: NoMajority): NotKnownAnswer => ({
  resource: details.resource,
  error: { code: 'NO_MAJORITY', message, reasons: details.reasons },
});
