/**
 * The visible state of a Manager, for an API, a metric, a person with a question.
 * Nothing here has a say in the Manager's decisions.
 */

import type { Instant } from '../../../runtime/time.ts';
import type { NumberedSpan, OwnerAddress } from '../messages.ts';
import type { MoveEnd } from '../moves/tickets.ts';
import type { Placement } from '../policy/policy.ts';
import type { ManagerState } from '../state.ts';
import { type OwnerSessions, isMember } from './owner-sessions.ts';
import type { Holds } from './holds.ts';
import type { MovesObservation } from './pool-moves.ts';

/** An owner, as a Manager sees it. */
export interface OwnerObservation extends OwnerAddress {
  readonly pool: string;
  /** A supervisor or a lock can prove its death. */
  readonly isProvable: boolean;
  readonly isMember: boolean;
  readonly isLeaving: boolean;
  /** Undefined if this leader has not heard it yet. */
  readonly lastHeardAt: Instant | undefined;
  /** Until then its keys are kept for it although nothing is heard; undefined for one that is no member. */
  readonly holdUntil: Instant | undefined;
  readonly load: number | undefined;
  /** The keys it was asked to give back. */
  readonly recalled: readonly NumberedSpan[];
}

/** A look-up, as a Manager sees it. */
export interface LookupObservation {
  readonly pool: string;
  /** Where its syncs come from. */
  readonly address: string;
  readonly lastHeardAt: Instant;
}

/** A Manager at one instant: its role, the log, and what it knows. */
export interface ManagerObservation {
  readonly id: string;
  readonly role: 'standby' | 'leading' | 'halted';
  readonly haltedBecause: string | undefined;
  /** Undefined before anything was read of the log. */
  readonly history: string | undefined;
  readonly term: number;
  /** Everything committed that it knows of. */
  readonly state: ManagerState;
  /** Where the log ended when it was last read to know that; undefined unless it stands by and has done so. */
  readonly headSeen: { readonly position: number; readonly askedAt: Instant } | undefined;
  /** The end of the leader lease; undefined unless it leads. */
  readonly leadsUntil: Instant | undefined;
  /** Nobody is answered before: what others may hold that the log does not know of has run out then. Undefined if it need not wait. */
  readonly waitsUntil: Instant | undefined;
  /** It leads on a log that this process began. */
  readonly isBegunHere: boolean;
  /** The log is called the first, and no client has contradicted. */
  readonly isFirst: boolean;
  /** A batch is being written. */
  readonly isWriting: boolean;
  /** Members of all pools; of one that leads, also the candidates. */
  readonly owners: readonly OwnerObservation[];
  readonly lookups: readonly LookupObservation[];
  /** Where the policy wants the keys of a pool; empty unless it leads. */
  target(pool: string): readonly Placement[];
  /** Where the keys of a pool would belong if this member died now, and no other process came; empty unless it leads. */
  heirs(pool: string, incarnation: string): readonly Placement[];
  /** What moves, and what owners intend; undefined unless it leads. */
  moves(pool: string): MovesObservation | undefined;
  /** What became of the moves of all pools in this term; undefined unless it leads. */
  readonly movesEnded: Readonly<Record<MoveEnd, number>> | undefined;
  /** The name of the policy that places the keys of a pool at present. */
  policy(pool: string): string;
}

/** The part that only a leader has. */
export type LeaderObservation = Pick<
  ManagerObservation,
  | ('leadsUntil' | 'waitsUntil' | 'isBegunHere' | 'isFirst')
  | ('isWriting' | 'owners' | 'target' | 'heirs' | 'moves' | 'movesEnded')
>;

/** One that does not lead hears no owners, and knows of them only by the log. */
export function observeWithoutLeading(state: ManagerState): LeaderObservation {
  const owners = [...state.pools].flatMap(([pool, table]) =>
    [...table.members.values()].map(
      ({ incarnation, name, url, proof }): OwnerObservation => ({
        ...{ pool, incarnation, name, url, isMember: true, isProvable: proof !== undefined },
        ...{ isLeaving: false, lastHeardAt: undefined, holdUntil: undefined, load: undefined, recalled: [] },
      }),
    ),
  );
  return {
    leadsUntil: undefined,
    waitsUntil: undefined,
    isBegunHere: false,
    isFirst: false,
    isWriting: false,
    owners,
    target: () => [],
    heirs: () => [],
    moves: () => undefined,
    movesEnded: undefined,
  };
}

/** Everybody heard of, and members not heard of yet. */
export function observeOwners(
  state: ManagerState,
  ownerSessions: OwnerSessions,
  holds: Holds,
): OwnerObservation[] {
  const members = [...state.pools].flatMap(([pool, table]) =>
    [...table.members.values()].map((member) => ({ pool, member, isMember: true })),
  );
  const candidates = [...ownerSessions.sessions.values()]
    .filter((session) => !isMember(session, state))
    .map(({ pool, identity }) => ({ pool, member: identity, isMember: false }));
  return [...members, ...candidates].map(({ pool, member, isMember }) => {
    const { incarnation, name, url, proof } = member;
    const session = ownerSessions.sessions.get(incarnation);
    return {
      ...{ pool, incarnation, name, url, isMember },
      isProvable: proof !== undefined,
      isLeaving: session?.report.leaving ?? false,
      lastHeardAt: session?.receivedAt,
      holdUntil: holds.endOf(incarnation),
      load: session?.report.load,
      recalled: ownerSessions.recalled(pool, incarnation),
    };
  });
}
