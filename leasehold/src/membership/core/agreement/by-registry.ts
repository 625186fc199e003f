/**
 * Views by registry: the next view is the set of servers that are registered in etcd, all of them. **At most one view acts in the world.**
 *
 * A server registers by one put of one key, under a lease of its own and with an incarnation of its own, and so a registration begins once and ends
 * once, each at a revision of etcd. Each server reads the whole registry linearizably, again and again, and proposes exactly the registrations found. A
 * view is delivered once all servers in it propose that set, as in the other flavour. A server that does not find its own registration proposes
 * nothing, and has no view.
 *
 * **Why one view.** Let p act in V and q in W, V ≠ W. If V and W share a server, the argument of `member.ts` holds, which does not ask where
 * sets come from. So let them share none.
 *
 *  1. *The last read of p found V.* A read that finds anything else ends V at p in the same step. Likewise the last read of q found W. Let p's read be
 *     the earlier one. (At one revision there is one set.)
 *  2. *p stops soon after.* A server acts for `registrationMs` from **sending** the last read. A keep-alive prolongs nothing: an etcd member that
 *     was replaced and does not know goes on answering keep-alives, and etcd may end a lease early.
 *  3. *W begins later.* Let w be the oldest registration of W. Nobody of W is in V, so w registered after the read of p was carried out.
 *  4. *w waits.* The server w holds for a whole registration from the first read that found its registration, which is later still. The rest of that hold goes into
 *     w's proposal of W, and q waits for the holds of all members, as for promises (decision 0052). So q acts after p has stopped. Clients of p act for no longer than p.
 *
 * Only the oldest registration of a set needs this hold, by step 3; servers that join later do not delay the others, and neither does a crash.
 * A server that reads late, or misses changes, harms nobody: each later set contains its registration, and cannot act without that server.
 *
 * **Reach.** All registered servers must agree, so one that the others cannot reach would stop them all. Therefore
 *
 *  - a server registers only if it reaches every registered server, directly or over others;
 *  - a registered server that is out of reach for `doubtMs` is in conflict, as in the other flavour. While registered servers are in conflict, no view is
 *    proposed, and the server that has to go (`removal.ts`) ends its registration, has no view, and tries again once no conflict with a registered server lasts. A server first waits
 *    for two heartbeats: servers on one side of a cut find out one after the other, and the first one of a larger part would think that it has to go;
 *  - the registration of a server that has crashed, or cannot reach etcd, ends with its lease in etcd.
 *
 * **A store that went back** to a backup breaks "a registration ends once": one that had ended is there again. Let p act in V on its last read before the backup was put back,
 * and q in W on a read after it (decision 0096).
 *
 *  - If the oldest server w of W registered after p's read, w waits as in step 4. Otherwise w had been registered, was not when p read, and is again.
 *  - *No registration outlasts a gap*: an answer that comes when the read before has run out ends the registration. So p's read, and the return of the backup, lie
 *    within `registrationMs` of a read of w, the last one that was carried out before w's registration ended.
 *  - *A hold ends with a read*: the oldest server v of V neither acts nor confirms before a read that was sent after its hold. If v registered after the end of w, that read comes after
 *    the return of the backup, in which v is not registered, so V never acts.
 *  - If v was registered beside w, and is not in the backup, w has read a revision after the one of the backup, and sees that the store went back: everything known of the registry is void, and
 *    w registers anew. A backup that is put back *with a raised revision* hides that (`--bump-revision`).
 *  - If v is in the backup and its lease ends early again after the return, the revision grows, and w sees nothing. These two cases are left open (decision 0096): two servers may act
 *    for up to `registrationMs` unless etcd was stopped for a hold before the backup was put back.
 */

import { instant, type Instant, later } from '../../../runtime/time.ts';
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
  readonly heartbeatMs: number;
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
  /** Until when a server may act whose registration ended before this one began. */
  #holdUntil: Instant = NEVER;
  readonly #outOfReachSince = new Map<string, Instant>();
  /** Since when this server is the one that has to go for a conflict. */
  #hasToGoSince: Instant | undefined;

  constructor(durations: RegistryDurations) {
    this.#durations = durations;
  }

  get isRegistered(): boolean {
    return this.#own !== undefined;
  }

  get registry(): Registry | undefined {
    return this.#registry;
  }

  get actsUntil(): Instant {
    const holds = this.#isOldest() && this.#readSentAt < this.#holdUntil;
    return holds ? NEVER : this.#registeredUntil;
  }

  get #registeredUntil(): Instant {
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
    return this.#isOldest() ? Math.max(0, this.#holdUntil - now) : 0;
  }

  /** Takes what a read found. False if this server's registration is over. */
  read(registry: Registry, { sentAt, now }: ReadTimes, self: MemberId): boolean {
    const before = this.#registry;
    const wentBack = before !== undefined && registry.revision < before.revision;
    const hasGap = now >= this.#registeredUntil;
    this.#registry = registry;
    this.#readSentAt = sentAt;
    const found = registry.registrations.find((each) => isSame(each, self));
    if (this.#own !== undefined) return !wentBack && !hasGap && found?.revision === this.#own.revision;
    if (this.#isWanted && found === undefined)
      return registry.failed === undefined || !isSameIncarnation(registry.failed, self.incarnation);
    if (this.#isWanted) {
      this.#own = found;
      this.#holdUntil = later(now, this.#durations.registrationHoldMs);
    }
    return true;
  }

  /** Another incarnation needs a registration of its own. True if this one may have one, or get one. */
  forget(): boolean {
    const wasWanted = this.#isWanted;
    this.#isWanted = false;
    this.#own = undefined;
    this.#hasToGoSince = undefined;
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
    if (!this.isRegistered) return false;
    if (!this.#removed(table).has(self)) this.#hasToGoSince = undefined;
    else this.#hasToGoSince ??= now;
    const hasToGo =
      this.#hasToGoSince !== undefined && now - this.#hasToGoSince >= 2 * this.#durations.heartbeatMs;
    return now >= this.#registeredUntil || hasToGo;
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
}

const isSame = (one: MemberId, other: MemberId): boolean =>
  one.name === other.name && isSameIncarnation(one.incarnation, other.incarnation);

const isReached = (other: MemberId, component: ReadonlySet<string>, table: RecordTable): boolean =>
  component.has(other.name) && table.ofProcess(other) !== undefined;
