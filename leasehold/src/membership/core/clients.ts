/**
 * The clients of one server, as the server sees them.
 *
 *     client   stamp ●────────────── lease ───────┤                 acts in V, by the client's clock, from the stamp on
 *                     ╲            ╱ rest of the server's lease on V
 *     server           ● acts in V ─────────── given ────────┤      confirms no other view before, unless the client
 *                                                                   acknowledges that view, or detaches
 *
 * **Why a client acts beside no later view.** Let client c act in V on the word of server s, and somebody in W ≠ V, where V and W share a server.
 *
 *  1. s is in W. Nobody acts in W without a confirmation of s, and s itself does not act, until c has acknowledged W, has
 *     detached, or the time of c is over ({@link Clients.isClear}). By acknowledging W, c gives up V, and c takes no answer for V after that.
 *  2. s is not in W. Then a member m of both promised V to s. s gave c no more than the rest of the lease that rests on this promise. So the
 *     lease is counted on the clock of s and then on the clock of c, neither of which is slower than m's by more than the bound: the promise
 *     outlasts the two as the promise outlasts s alone (decision 0052 counts a promise in two parts the same way). Each of the two machines may be suspended
 *     unnoticed for the tolerance, and the promise covers one tolerance: s keeps back the other.
 *  3. A later process of the name of s is in W. That process holds for a whole promise from the start, knowing nothing of c: for a server with
 *     clients there is no exception for a set that contains everybody.
 *  4. s has left. s waited for all clients first ({@link Clients.drainedAt}).
 *
 * **Why a client is counted once.** s confirms and acts in a view only after each client of the own list has acknowledged this view, and while each has lately
 * proved to be there, by an echo of a stamp of s. So a view that acts counts only clients that agreed to be counted. A client that moves knows all
 * views to which it agreed, and asks to be listed only where none of these can act beside the next one (`client.ts`).
 *
 * After a suspension the view is lost, and the clock stood still: leases given before only seem to last longer than they do. The next view asks all
 * clients anew.
 *
 * A client that does not acknowledge would stop the group. So such a client is dropped from the list, and the next view does without.
 */

import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import { earliest, instant, type Instant, later, latest } from '../../runtime/time.ts';
import {
  type Attachment,
  type ClientList,
  compareAttachments,
  isSameAttachment,
  NO_CLIENTS,
  sortedByName,
} from './attachment.ts';
import type { Durations } from './durations.ts';
import { type Incarnation, isSameIncarnation, type MemberId } from './incarnation.ts';
import { isSameProcess } from './letters.ts';
import type { Detach, Post, Refusal, Stamp, ToClient } from './messages.ts';
import type { MemberView } from './view.ts';
import { ViewHistory } from './view-difference.ts';

/** Clients of one server. A record with so many fits into a frame. */
export const CLIENTS_MAX = 1_536;

/** Clients of a group, over all servers. */
export const GROUP_CLIENTS_MAX = 8_192;

const NEVER: Instant = instant(Number.NEGATIVE_INFINITY);
const FOREVER: Instant = instant(Number.POSITIVE_INFINITY);

interface Attached {
  readonly id: Attachment;
  route: string;
  heardAt: Instant;
  /** The newest stamp of the client. */
  stamp: Instant;
  holds: number;
  isCountable: boolean;
  viewSentAt: Instant;
}

/** A client of the own list in the present view. */
interface Counted {
  readonly id: Attachment;
  isAwaited: boolean;
  /** The latest instant of this server's clock after which the client has said something. */
  provedAt: Instant;
}

/** A lease that a client may still use. */
interface Given {
  readonly id: Attachment;
  readonly until: Instant;
}

/** The server around its clients. */
export interface ServerOfClients {
  readonly name: string;
  incarnation(): Incarnation;
  hasView(): boolean;
  /** False for a server outside the registry of its group: the clients go to another server. */
  isOfUse(): boolean;
  /** Until when this server acts in the present view; undefined for not at all. */
  actsUntil(now: Instant): Instant | undefined;
  /** The highest attachment of a name in the lists of other servers, and how many clients these list. */
  listedElsewhere(name: string): { readonly highest: Attachment | undefined; readonly count: number };
  /** Whether a server that has not left has this name. */
  isServer(name: string): boolean;
  sendToClient(route: string, message: ToClient): void;
}

export class Clients {
  readonly #durations: Durations;
  readonly #server: ServerOfClients;
  readonly #attached = new Map<string, Attached>();
  readonly #history = new ViewHistory();
  /** Leases in the present view, and in earlier views. */
  #given = new Map<string, Given>();
  readonly #givenBefore = new Map<string, Given>();
  #counted = new Map<string, Counted>();
  #awaited = 0;
  #deliveredAt: Instant = NEVER;
  #provedUntil: Instant = FOREVER;
  #list: ClientList = NO_CLIENTS;
  /** Since when the list waits to be changed, and when to look. */
  #changedAt: Instant | undefined;
  #gatherAt: Instant | undefined;
  #isLeaving = false;
  #isClearToldOf = false;
  #isActingToldOf = false;

  constructor(durations: Durations, server: ServerOfClients) {
    this.#durations = durations;
    this.#server = server;
  }

  get list(): ClientList {
    return this.#list;
  }

  /** Attached clients, listed or not. */
  get count(): number {
    return this.#attached.size;
  }

  get wakeAt(): Instant | undefined {
    return this.#gatherAt;
  }

  /** Whether every client has stopped acting in earlier views and has agreed to be counted in this one. */
  isClear(now: Instant): boolean {
    // Asked at every word of every client, of which there are thousands: most often one of them is awaited, and nothing else is worked out.
    if (this.#awaited > 0 || now >= this.#provedUntil) return false;
    for (const [name, { until }] of this.#givenBefore) if (now >= until) this.#givenBefore.delete(name);
    return this.#givenBefore.size === 0;
  }

  /** True once for each view, when the view is clear. */
  becomesClear(now: Instant): boolean {
    if (this.#isClearToldOf || !this.isClear(now)) return false;
    this.#isClearToldOf = true;
    return true;
  }

  /** Whether the clients have yet to hear that the server acts in this view. */
  get waitForActing(): boolean {
    return !this.#isActingToldOf;
  }

  /** Until when a view that is clear stays so, if nothing more is heard. */
  get clearUntil(): Instant {
    return this.#provedUntil;
  }

  /** Whether this client of the own list says so: nobody speaks for another one. */
  isFrom(client: Attachment, from: MemberId): boolean {
    const attached = this.#attached.get(client.name);
    return attached !== undefined && isSameAttachment(attached.id, client) && isSameProcess(client, from);
  }

  /** Passes a letter or a receipt on to an attached client. False if the process is not attached here. */
  passOn(post: Post): boolean {
    const attached = this.#attached.get(post.to.name);
    if (attached === undefined || !isSameProcess(attached.id, post.to)) return false;
    const [client, incarnation] = [attached.id, this.#server.incarnation()];
    this.#server.sendToClient(attached.route, { kind: 'incoming', client, incarnation, post });
    return true;
  }

  receive(route: string, message: Stamp | Detach, now: Instant): void {
    const { client } = message;
    const attached = this.#attached.get(client.name);
    if (message.kind === 'detach') {
      this.#endLeases(client, client.count + 1);
      if (attached !== undefined && compareAttachments(attached.id, client) <= 0) this.#drop(attached, now);
      return;
    }
    // A client chooses a server by name (`client.ts`), so no other server may list the client.
    if (message.to !== this.#server.name) return;
    if (attached !== undefined && isSameAttachment(attached.id, client)) {
      if (message.stamp <= attached.stamp) return;
      this.#hear(Object.assign(attached, { route }), message, now);
    } else this.#attach(route, message, now);
  }

  /** The connection is gone. The client will attach itself anew, here or elsewhere; a lease given to the client runs on. */
  connectionBroke(route: string, now: Instant): void {
    for (const attached of this.#attached.values()) if (attached.route === route) this.#drop(attached, now);
  }

  /** Another server lists these clients: where the attachment is higher, the client has given up every lease of this server. */
  listedElsewhere({ clients }: ClientList, now: Instant): void {
    for (const client of clients) {
      this.#endLeases(client, client.count);
      const own = this.#attached.get(client.name);
      if (own === undefined || compareAttachments(own.id, client) >= 0) continue;
      this.#refuse(own.route, own.id, 'outbid', client);
      this.#drop(own, now);
    }
  }

  delivered(view: MemberView, now: Instant): void {
    for (const [name, { id, until }] of this.#given) {
      const before = this.#givenBefore.get(name)?.until ?? NEVER;
      this.#givenBefore.set(name, { id, until: latest(before, until) });
    }
    this.#given = new Map();
    this.#history.add({ id: view.id, servers: view.members, clients: view.clients });
    this.#deliveredAt = now;
    const own = new Map(this.#list.clients.map((client) => [client.name, client]));
    this.#counted = new Map();
    for (const id of view.clients) {
      const mine = own.get(id.name);
      if (mine === undefined || !isSameAttachment(mine, id)) continue;
      this.#counted.set(id.name, { id, isAwaited: true, provedAt: NEVER });
    }
    this.#awaited = this.#counted.size;
    this.#provedUntil = FOREVER;
    this.#isClearToldOf = false;
    this.#isActingToldOf = false;
    for (const attached of this.#attached.values()) this.#sendView(attached, now);
  }

  /** The server begins to act: its clients need not wait for their next stamp, because the last one is answered again. */
  beginsToAct(now: Instant): void {
    this.#isActingToldOf = true;
    if (this.#isLeaving) return;
    for (const attached of this.#attached.values())
      if (this.#countedAs(attached.id) !== undefined) this.#answer(attached, now);
  }

  /** Drops the clients that are silent or do not acknowledge, and works out for how long the others have proved to be there. */
  beat(now: Instant): void {
    const { dropMs, acknowledgeMs } = this.#durations.clients;
    const isLate = now - this.#deliveredAt >= acknowledgeMs;
    for (const attached of this.#attached.values()) {
      const isAwaited = this.#countedAs(attached.id)?.isAwaited === true;
      const isServer = this.#server.isServer(attached.id.name);
      if (now - attached.heardAt < dropMs && !(isLate && isAwaited) && !isServer) continue;
      this.#refuse(attached.route, attached.id, isServer ? 'server-name' : 'silent');
      this.#drop(attached, now);
    }
    if (this.#awaited === 0) this.#prove();
  }

  /** True if the list has changed. A view that does not act yet is given some time first, or clients that join would keep the view from acting. */
  gather(isActing: boolean, now: Instant): boolean {
    if (this.#changedAt === undefined || this.#gatherAt === undefined || now < this.#gatherAt) return false;
    const { gatherMs, gatherMaxMs } = this.#durations.clients;
    if (!isActing && now - this.#changedAt < gatherMaxMs) {
      this.#gatherAt = later(now, gatherMs);
      return false;
    }
    this.#changedAt = undefined;
    this.#gatherAt = undefined;
    const countable = [...this.#attached.values()].filter(({ isCountable }) => isCountable);
    const clients = sortedByName(countable.map(({ id }) => id));
    const old = this.#list.clients;
    const isSame =
      clients.length === old.length &&
      clients.every((client, index) => {
        const before = old[index];
        return before !== undefined && isSameAttachment(client, before);
      });
    if (!isSame) this.#list = { ...this.#list, version: this.#list.version + 1, clients };
    return !isSame;
  }

  /** True if the list has changed: the server takes part in this part of the toolkit, or no longer. */
  takePart(part: string, takesPart: boolean): boolean {
    const { version, clients, parts } = this.#list;
    if (parts.includes(part) === takesPart) return false;
    const others = parts.filter((each) => each !== part);
    this.#list = { version: version + 1, clients, parts: takesPart ? [...others, part].sort() : others };
    return true;
  }

  /** Gives no more leases, and asks the clients to go elsewhere. */
  leave(): void {
    this.#isLeaving = true;
    for (const { route, id } of this.#attached.values()) this.#refuse(route, id, 'leaving');
  }

  /** When no client acts any more on the word of this server, if nothing more is heard. */
  get drainedAt(): Instant {
    let at = NEVER;
    for (const given of [this.#given, this.#givenBefore])
      for (const { until } of given.values()) at = latest(at, until);
    return at;
  }

  #attach(route: string, message: Stamp, now: Instant): void {
    const { client, stamp, isCountable } = message;
    if (this.#server.isServer(client.name)) {
      this.#refuse(route, client, 'server-name');
      return;
    }
    const known = this.#attached.get(client.name);
    const elsewhere = this.#server.listedElsewhere(client.name);
    for (const other of [known?.id, elsewhere.highest]) {
      if (other === undefined || compareAttachments(other, client) < 0) continue;
      this.#refuse(route, client, 'outbid', other);
      return;
    }
    const isFull =
      this.#attached.size >= CLIENTS_MAX || this.#attached.size + elsewhere.count >= GROUP_CLIENTS_MAX;
    if (this.#isLeaving || (known === undefined && isFull)) {
      this.#refuse(route, client, this.#isLeaving ? 'leaving' : 'full');
      return;
    }
    // A client attaches itself anew only after giving up its leases.
    this.#endLeases(client, client.count);
    const attached = {
      ...{ id: client, route, heardAt: now, stamp, holds: 0, isCountable, viewSentAt: NEVER },
    };
    this.#attached.set(client.name, attached);
    if (isCountable || known?.isCountable === true) this.#change(now);
    this.#answer(attached, now);
    if (this.#history.number > 0) this.#sendView(attached, now);
  }

  #hear(attached: Attached, message: Stamp, now: Instant): void {
    const { stamp, server, echo, holds, isCountable } = message;
    attached.heardAt = now;
    attached.stamp = stamp;
    if (attached.isCountable !== isCountable) this.#change(now);
    attached.isCountable = isCountable;
    // Numbers and stamps of another process of this name mean nothing here.
    if (server !== undefined && isSameIncarnation(server, this.#server.incarnation())) {
      attached.holds = holds;
      if (holds === this.#history.number) this.#acknowledged(attached.id, echo);
    }
    if (this.#isLeaving) this.#refuse(attached.route, attached.id, 'leaving');
    else this.#answer(attached, now);
    const { stampMs } = this.#durations.clients;
    if (attached.holds !== this.#history.number && now - attached.viewSentAt >= stampMs / 2)
      this.#sendView(attached, now);
  }

  /** The client holds the present view, has given up every earlier one, and agrees to be counted. */
  #acknowledged(id: Attachment, echo: Instant | undefined): void {
    const before = this.#givenBefore.get(id.name)?.id;
    if (before !== undefined && isSameIncarnation(before.incarnation, id.incarnation))
      this.#givenBefore.delete(id.name);
    const counted = this.#countedAs(id);
    if (counted === undefined) return;
    counted.provedAt = latest(latest(counted.provedAt, this.#deliveredAt), echo ?? NEVER);
    if (!counted.isAwaited) return;
    counted.isAwaited = false;
    this.#awaited -= 1;
    if (this.#awaited === 0) this.#prove();
  }

  #prove(): void {
    let provedAt = FOREVER;
    for (const counted of this.#counted.values()) provedAt = earliest(provedAt, counted.provedAt);
    this.#provedUntil = later(provedAt, this.#durations.clients.countMs);
  }

  #answer({ id, route, stamp, holds }: Attached, now: Instant): void {
    if (!this.#server.isOfUse()) return;
    const incarnation = this.#server.incarnation();
    const number = this.#server.hasView() ? this.#history.number : 0;
    const isCounted = holds === number && this.#countedAs(id) !== undefined;
    const leaseMs = isCounted ? this.#lease(id, now) : 0;
    const message = {
      kind: 'answer',
      client: id,
      incarnation,
      stamp,
      ownStamp: now,
      number,
      leaseMs,
    } as const;
    this.#server.sendToClient(route, message);
  }

  #lease(id: Attachment, now: Instant): number {
    const actsUntil = this.#server.actsUntil(now);
    if (actsUntil === undefined) return 0;
    const { suspensionToleranceMs } = this.#durations;
    const leaseMs = actsUntil - now - suspensionToleranceMs;
    if (leaseMs <= 0) return 0;
    const until = later(now, (leaseMs + suspensionToleranceMs) * CLOCK_RATE_BOUND);
    this.#given.set(id.name, { id, until: latest(until, this.#given.get(id.name)?.until ?? NEVER) });
    return leaseMs;
  }

  #sendView(attached: Attached, now: Instant): void {
    const { id, route, holds } = attached;
    attached.viewSentAt = now;
    const incarnation = this.#server.incarnation();
    const { number } = this.#history;
    const difference = this.#history.differenceTo(holds);
    this.#server.sendToClient(route, { kind: 'view', client: id, incarnation, number, difference });
  }

  #refuse(route: string, client: Attachment, reason: Refusal['reason'], by?: Attachment): void {
    const incarnation = this.#server.incarnation();
    this.#server.sendToClient(route, { kind: 'refusal', client, incarnation, reason, by });
  }

  #drop(attached: Attached, now: Instant): void {
    this.#attached.delete(attached.id.name);
    if (attached.isCountable) this.#change(now);
  }

  #change(now: Instant): void {
    this.#changedAt ??= now;
    this.#gatherAt ??= later(now, this.#durations.clients.gatherMs);
  }

  #countedAs(id: Attachment): Counted | undefined {
    const counted = this.#counted.get(id.name);
    return counted !== undefined && isSameAttachment(counted.id, id) ? counted : undefined;
  }

  /**
   * This process of the client has given up the leases of its attachments below this count. Another process of the name proves nothing: after a
   * restart with a clock that went back, the greater incarnation is the earlier process.
   */
  #endLeases({ name, incarnation }: Attachment, below: number): void {
    for (const given of [this.#given, this.#givenBefore]) {
      const id = given.get(name)?.id;
      if (id !== undefined && isSameIncarnation(id.incarnation, incarnation) && id.count < below)
        given.delete(name);
    }
  }
}
