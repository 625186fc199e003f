/**
 * Owners that want to be members, and how many of them may.
 *
 * A candidate costs memory and has proved nothing yet. So there are limits for one connection, for one address and in sum.
 * When a limit is reached, a newcomer does not have to go: the oldest candidate that has not confirmed anything makes
 * room, on the same connection, from the same address, or from the address with the most. A stranger that sends one report
 * after the other, each in another name, thus displaces its own; an honest owner confirms within a round trip, and cannot
 * be displaced from then on, unless another has its name or url: then it cannot join now, and anybody could wait like that.
 * Only if all have confirmed and wait for the log is a newcomer told that there is no room.
 */

import type { Session } from './session.ts';

export interface CandidateLimits {
  /** In sum. */
  readonly candidates: number;
  readonly candidatesPerAddress: number;
  readonly candidatesPerConnection: number;
}

export type Room =
  | { readonly isThere: true; readonly displaced: Session | undefined }
  | { readonly isThere: false; readonly limit: keyof CandidateLimits };

interface Candidate {
  readonly session: Session;
  readonly connection: string;
  readonly origin: string;
}

type Group = Set<Candidate>;

export class Candidates {
  readonly #limits: () => CandidateLimits;
  readonly #all = new Map<string, Candidate>();
  readonly #byConnection = new Map<string, Group>();
  readonly #byOrigin = new Map<string, Group>();

  constructor(limits: () => CandidateLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Whether one more may come, and which candidate has to go for it; that one is no candidate any more. */
  makeRoom(connection: string, origin: string): Room {
    const limits = this.#limits();
    const [onConnection, atOrigin] = [this.#byConnection.get(connection), this.#byOrigin.get(origin)];
    const full: readonly [keyof CandidateLimits, size: number, groups: () => readonly Group[]][] = [
      ['candidatesPerConnection', onConnection?.size ?? 0, () => [onConnection ?? NONE]],
      ['candidatesPerAddress', atOrigin?.size ?? 0, () => [atOrigin ?? NONE]],
      ['candidates', this.#all.size, () => this.#busiest()],
    ];
    for (const [limit, size, groups] of full) {
      if (size < limits[limit]) continue;
      const oldest = firstOf(groups(), oldestDisplaceable);
      if (oldest === undefined) return { isThere: false, limit };
      this.delete(oldest.session.identity.incarnation);
      return { isThere: true, displaced: oldest.session };
    }
    return { isThere: true, displaced: undefined };
  }

  add(session: Session, origin: string): void {
    const candidate = { session, connection: session.address, origin };
    this.#all.set(session.identity.incarnation, candidate);
    include(this.#byConnection, candidate.connection, candidate);
    include(this.#byOrigin, origin, candidate);
  }

  /** It became a member, or was forgotten. */
  delete(incarnation: string): void {
    const candidate = this.#all.get(incarnation);
    if (candidate === undefined) return;
    this.#all.delete(incarnation);
    exclude(this.#byConnection, candidate.connection, candidate);
    exclude(this.#byOrigin, candidate.origin, candidate);
  }

  /** All addresses with the most: in one of them all may have confirmed, and in another one not. */
  #busiest(): readonly Group[] {
    const groups = [...this.#byOrigin.values()];
    const most = groups.reduce((size, group) => Math.max(size, group.size), 0);
    return groups.filter(({ size }) => size === most);
  }
}

const NONE: Group = new Set();

function firstOf<T, Found>(items: readonly T[], find: (item: T) => Found | undefined): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function oldestDisplaceable(group: Group): Candidate | undefined {
  for (const candidate of group) {
    const { aliveAt, waitsForName } = candidate.session;
    if (aliveAt === undefined || waitsForName) return candidate;
  }
  return undefined;
}

function include(groups: Map<string, Group>, key: string, candidate: Candidate): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, new Set([candidate]));
  else group.add(candidate);
}

function exclude(groups: Map<string, Group>, key: string, candidate: Candidate): void {
  const group = groups.get(key);
  group?.delete(candidate);
  if (group?.size === 0) groups.delete(key);
}
