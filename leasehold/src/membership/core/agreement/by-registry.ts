/**
 * Views by registry: the next view is the set of servers that are registered in etcd, all of them. **At most one view acts in the world.**
 *
 * A server registers by one put of one key, under a lease of its own and with an incarnation of its own, and so a registration begins once and ends
 * once, each at a revision of etcd. Each server reads the whole registry linearizably, again and again, and proposes exactly the registrations found, in
 * whichever revision that was. A view is delivered once all servers in it propose that set, as in the other flavour. A server that does not find its
 * own registration proposes nothing, and panics.
 *
 * **Why one view.** Let p act in V and q in W, V ≠ W. If they share a server, the argument of `member.ts` holds, which does not ask where
 * sets come from. So let them share none. p found V in the registry at revision R, q found W at revision S, and let R < S. (At one revision there is one set.)
 *
 *  1. Let w be the oldest registration of W, begun at revision B. Nobody of W is in V, so R < B. And p is not in W, so p's registration ended at some revision E.
 *  2. *p has stopped soon after E.* A server acts for `registrationMs` from when it **sent** the last read that found its registration. The read was
 *     carried out before E, or the registration would not have been found. A keep-alive proves nothing of the kind: an etcd member
 *     that was replaced and does not know goes on answering keep-alives, and etcd may end a lease early.
 *  3. *w waits for that long.* If p's registration had ended when w first read the registry after registering, w cannot know of p, and holds for a whole
 *     registration from that read on. Otherwise w found p there, and later found p gone: w holds for a whole registration from then on, with two
 *     exceptions. p has left, in which case p and the clients of p have stopped before. Or w has a record of p with a proposal at revision B or later. Then p knew
 *     of w, had given up V, and the clients of p stop within a promise.
 *  4. w puts the rest of that hold into the proposal of W, and q waits for the holds of all members, as for promises (decision 0052). So q acts after p has stopped.
 *
 * Only the oldest registration of a set needs this hold, by step 1; servers that join later do not delay the others, and neither does a crash.
 * A server that reads late, or misses changes, harms nobody: its registration is in every later set, which cannot act without that server.
 *
 * **Reach.** All registered servers must agree, so one that the others cannot reach would stop them all. Therefore
 *
 *  - a server registers only if it reaches every registered server, directly or over others;
 *  - a registered server that is out of reach for `doubtMs` is in conflict, as in the other flavour. While registered servers are in conflict, no view is
 *    proposed, and the server that has to go (`removal.ts`) ends its registration, panics, and tries again once no conflict with a registered server lasts;
 *  - the registration of a server that has crashed, or cannot reach etcd, ends with its lease in etcd.
 *
 * **A store that went back** to a backup shows in a revision that is lower than the one before. What this server knew of the registry is void then, and it registers anew.
 */

import { instant, type Instant, later, latest } from '../../../runtime/time.ts';
import {
  isSameIncarnation,
  type MemberId,
  type Membership,
  membershipOf,
  type SetMember,
} from '../incarnation.ts';
import type { RecordTable } from '../record-table.ts';
import { removedOf } from '../removal.ts';
import type { Agreement } from './agreement.ts';
import type { Registration, Registry } from './registry.ts';

export interface RegistryDurations {
  /** How long a server acts after it has sent a read that found its registration. */
  readonly registrationMs: number;
  /** How long after that any other server waits. */
  readonly registrationHoldMs: number;
  readonly promiseMs: number;
}

export interface ReadTimes {
  /** When the read was sent. */
  readonly sentAt: Instant;
  readonly now: Instant;
}

const NEVER: Instant = instant(Number.NEGATIVE_INFINITY);
const NO_MEMBERS: Membership = membershipOf([]);

export class ByRegistry implements Agreement {
  readonly #durations: RegistryDurations;
  #registry: Registry | undefined;
  #readSentAt: Instant = NEVER;
  /** Whether this incarnation has been told to register. */
  #isWanted = false;
  #own: Registration | undefined;
  /** Until when an elder may act that has gone from the registry. */
  #eldersUntil: Instant = NEVER;
  readonly #outOfReachSince = new Map<string, Instant>();

  constructor(durations: RegistryDurations) {
    this.#durations = durations;
  }

  get revision(): number {
    return this.#registry?.revision ?? 0;
  }

  get isRegistered(): boolean {
    return this.#own !== undefined;
  }

  get registry(): Registry | undefined {
    return this.#registry;
  }

  get actsUntil(): Instant {
    return this.isRegistered ? later(this.#readSentAt, this.#durations.registrationMs) : NEVER;
  }

  membershipWith(self: SetMember, table: RecordTable): Membership {
    if (!this.isRegistered || this.#removed(table).size > 0) return NO_MEMBERS;
    const listVersionOf = (name: string): number => table.of(name)?.list.version ?? 0;
    return membershipOf(
      (this.#registry?.registrations ?? []).map(({ name, incarnation }) =>
        name === self.name ? self : { name, incarnation, listVersion: listVersionOf(name) },
      ),
    );
  }

  holdMs(now: Instant): number {
    return this.#isOldest() ? Math.max(0, this.#eldersUntil - now) : 0;
  }

  /** Takes what a read found. False if this server's registration is over. */
  read(registry: Registry, { sentAt, now }: ReadTimes, self: MemberId, table: RecordTable): boolean {
    const before = this.#registry;
    const wentBack = before !== undefined && registry.revision < before.revision;
    this.#registry = registry;
    this.#readSentAt = sentAt;
    const found = registry.registrations.find((each) => isSame(each, self));
    const own = this.#own;
    if (own !== undefined) {
      if (wentBack || found?.revision !== own.revision) return false;
      for (const elder of before?.registrations ?? [])
        if (elder.revision < own.revision && !registry.registrations.some((each) => isSame(each, elder)))
          this.#holdFor(elder, own, table, now);
    } else if (this.#isWanted && found === undefined) {
      return registry.failed === undefined || !isSameIncarnation(registry.failed, self.incarnation);
    } else if (this.#isWanted) {
      this.#own = found;
      this.#eldersUntil = later(now, this.#durations.registrationHoldMs);
    }
    return true;
  }

  /** Another incarnation needs a registration of its own. True if this one may have one, or get one. */
  forget(): boolean {
    const wasWanted = this.#isWanted;
    this.#isWanted = false;
    this.#own = undefined;
    this.#outOfReachSince.clear();
    return wasWanted;
  }

  /** True if this server is to register now; then not again for this incarnation. */
  registers(self: string, cannotReach: readonly MemberId[], table: RecordTable, now: Instant): boolean {
    const registry = this.#registry;
    if (this.#isWanted || registry === undefined) return false;
    if (now >= later(this.#readSentAt, this.#durations.registrationMs)) return false;
    const component = table.graph.component(self);
    const isInTheWay = (other: Registration): boolean =>
      !isReached(other, component, table) ||
      cannotReach.some(({ name }) => name === other.name) ||
      table.of(other.name)?.cannotReach.some(({ name }) => name === self) === true;
    if (registry.registrations.some((other) => other.name !== self && isInTheWay(other))) return false;
    this.#isWanted = true;
    return true;
  }

  /** The registered servers that have been out of reach for so long. */
  *outOfReachFor(ms: number, self: string, table: RecordTable, now: Instant): Generator<MemberId> {
    if (!this.isRegistered) return;
    const component = table.graph.component(self);
    for (const other of this.#registry?.registrations ?? []) {
      const since = this.#outOfReachSince.get(other.name);
      if (other.name === self || isReached(other, component, table)) this.#outOfReachSince.delete(other.name);
      else if (since === undefined) this.#outOfReachSince.set(other.name, now);
      else if (now - since > ms) yield other;
    }
  }

  /** Whether this server's registration has to end: too old by the clock, or given up for a conflict. */
  isOver(self: string, table: RecordTable, now: Instant): boolean {
    return this.isRegistered && (now >= this.actsUntil || this.#removed(table).has(self));
  }

  /** The registered servers that have to go, because they and other registered servers cannot reach each other. */
  #removed(table: RecordTable): ReadonlySet<string> {
    const registrations = this.#registry?.registrations ?? [];
    const records = registrations.flatMap((each) => table.ofProcess(each) ?? []);
    return removedOf(records, (member) => registrations.some((each) => isSame(each, member)));
  }

  #isOldest(): boolean {
    const own = this.#own;
    const all = this.#registry?.registrations ?? [];
    return own !== undefined && all.every(({ revision }) => revision >= own.revision);
  }

  #holdFor(elder: Registration, own: Registration, table: RecordTable, now: Instant): void {
    const { registrationHoldMs, promiseMs } = this.#durations;
    const record = table.ofProcess(elder);
    if (record?.hasLeft === true) return;
    const knewOfThis = record !== undefined && record.proposal.revision >= own.revision;
    const until = knewOfThis
      ? later(table.proposedAt(elder.name) ?? now, promiseMs)
      : later(now, registrationHoldMs);
    this.#eldersUntil = latest(this.#eldersUntil, until);
  }
}

const isSame = (one: MemberId, other: MemberId): boolean =>
  one.name === other.name && isSameIncarnation(one.incarnation, other.incarnation);

const isReached = (other: MemberId, component: ReadonlySet<string>, table: RecordTable): boolean =>
  component.has(other.name) && table.ofProcess(other) !== undefined;
