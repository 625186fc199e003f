/**
 * One server of a group, without I/O.
 *
 * Each server publishes one numbered record: the links, the members out of reach, and the set of servers proposed as the next
 * view. A proposal is not chosen but computed, from all records (`graph.ts`), and a view is delivered as soon as every server of
 * the set proposes exactly this set. One round suffices, messages may be lost, repeated and reordered, and nobody coordinates.
 *
 *                    all propose the same set
 *     changing ───────────────────────────────────► in view
 *      ▲    │ panicMs                                  │
 *      │    └────────► panicking ──────────────────►   │ the records describe another set,
 *      │                     all propose the same set  │ or the machine was suspended
 *      └───────────────────────────────────────────────┘
 *
 * **Why views that act at one time share no server.** Let p act in V and q in W, V ≠ W, and let the two views share a server.
 *
 *  1. A server acts in the view that it delivered last, on confirmations of *all* other members. A member confirms only the view that
 *     was delivered last there, and none while proposing another set. So every member of V has delivered V, and every member of W
 *     has delivered W.
 *  2. p in W and q in V cannot be: p would have delivered W before V, and q V before W, but ids grow at every server.
 *  3. Otherwise let m be the one of p and q that is in both views, or else any server of both. Name the views so that m delivered V first.
 *     Then p is not in W. Each confirmation of V echoes a stamp of p. p counts `leaseMs` from when the stamp was sent; m keeps the promise
 *     for `promiseMs` from when the stamp arrived (decision 0053). m gave no such promise after proposing W's set. That proposal
 *     carries the rest of the promise as a hold, and q waits for the holds of all members of W, from when their proposals arrived. So
 *     the promise is counted on two clocks, one after the other, neither of which is faster than p's by more than the bound
 *     (decision 0052), and q acts after p has stopped.
 *  4. If the views share a name but not the incarnation, the later process covers the promises of the earlier one with a hold of a whole
 *     promise, and the same process under a new incarnation remembers them (`promises.ts`).
 *
 * The argument needs: clocks within `CLOCK_RATE_BOUND` of each other, one live process a name, and that suspensions longer than the
 * tolerance are noticed. Servers that see a clock outside the bound (`clock-watch.ts`) are in conflict, and share no view.
 */

import { assert } from '../../runtime/assert.ts';
import type { Core } from '../../runtime/driver.ts';
import { instant, later, soonest, type Instant } from '../../runtime/time.ts';
import { trace } from '../../runtime/trace.ts';
import { type Chain, chainAfter, UNKNOWN_CHAIN } from './chain.ts';
import { Conflicts } from './conflicts.ts';
import type { Durations } from './durations.ts';
import type { MemberEffect, SendOutcome, Sent, Standing } from './effects.ts';
import type { Graph } from './graph.ts';
import { HeardWords } from './heard-words.ts';
import {
  areSameMembers,
  compareIncarnations,
  type Incarnation,
  incarnationAfter,
  incarnationIn,
  isSameIncarnation,
  keyOf,
  type MemberId,
  type Membership,
} from './incarnation.ts';
import { Link } from './link.ts';
import type { Heartbeat, Message, Packet, Payload, Proposal, ServerRecord, Word } from './messages.ts';
import { HOPS_MAX, Overlay } from './overlay.ts';
import { Promises } from './promises.ts';
import { RecordTable } from './record-table.ts';
import { type View, viewOf } from './view.ts';
import { ViewLease } from './view-lease.ts';

export interface MemberSettings {
  readonly name: string;
  readonly incarnation: Incarnation;
  /** The names of other servers, to which heartbeats go for ever. More servers may join through them. */
  readonly peers: readonly string[];
  readonly durations: Durations;
  random(): number;
}

type State =
  | { readonly kind: 'changing'; readonly since: Instant; readonly view: View | undefined }
  | { readonly kind: 'in-view'; readonly lease: ViewLease; readonly chain: Chain }
  | { readonly kind: 'panicking' }
  | { readonly kind: 'left' };

const REFUTATIONS_MAX = 3;
const REFUTATIONS_WITHIN_MS = 60_000;
const NONCE_LIMIT = 2 ** 32;

export class Member implements Core<MemberEffect> {
  readonly #settings: MemberSettings;
  readonly #durations: Durations;
  readonly #links = new Map<string, Link>();
  readonly #heard = new HeardWords();
  readonly #table = new RecordTable();
  readonly #promises: Promises;
  readonly #conflicts: Conflicts;
  readonly #overlay = new Overlay();
  #incarnation: Incarnation;
  #sequence = 0;
  #proposal: Proposal | undefined;
  /** The change of the table up to which this server has proposed and delivered what follows. */
  #settledChanges = -1;
  #chain: Chain = UNKNOWN_CHAIN;
  #state: State;
  #heartbeatAt: Instant;
  #proposedAt: Instant = instant(Number.NEGATIVE_INFINITY);
  /** When to propose what may not be proposed yet. */
  #proposeAt: Instant | undefined;
  #refutedAt: Instant[] = [];
  #effects: MemberEffect[] = [];

  constructor(settings: MemberSettings, now: Instant) {
    const { durations, incarnation, peers, random } = settings;
    this.#settings = settings;
    this.#durations = durations;
    this.#incarnation = incarnation;
    for (const name of peers) this.#linkTo(name);
    this.#promises = new Promises(durations.promiseMs, now);
    this.#conflicts = new Conflicts(durations, random);
    this.#state = { kind: 'changing', since: now, view: undefined };
    this.#heartbeatAt = now; // The first wake proposes, and says so to all peers.
  }

  get name(): string {
    return this.#settings.name;
  }

  get id(): MemberId {
    return { name: this.name, incarnation: this.#incarnation };
  }

  get wakeAt(): Instant | undefined {
    return soonest(this.#heartbeatAt, this.#proposeAt);
  }

  /** The present view; during a change, the last one; undefined in panic. */
  get view(): View | undefined {
    const state = this.#state;
    return state.kind === 'in-view' ? state.lease.view : state.kind === 'changing' ? state.view : undefined;
  }

  get isChanging(): boolean {
    return this.#state.kind === 'changing';
  }

  /** The views that a right must have been held in to be used while this member continues. Empty if nothing may be used. */
  get chain(): Chain {
    return this.#state.kind === 'in-view' ? this.#state.chain : UNKNOWN_CHAIN;
  }

  /** When no server may act any more on a promise of this one. */
  get promisesEndAt(): Instant {
    return this.#promises.endAt;
  }

  get records(): ReadonlyMap<string, { readonly record: ServerRecord }> {
    return this.#table.records;
  }

  /** Whether this member may act in its view at this instant. Ask before every use; the answer is good for no other instant. */
  standing(now: Instant): Standing {
    const state = this.#state;
    if (state.kind !== 'in-view' || !state.lease.isConfirmed(now)) return 'none';
    if (state.lease.isHoldOver(now)) return 'acts';
    return state.chain.length === 0 ? 'none' : 'continues';
  }

  /** How fast the clock of a peer runs beside the own clock, if that is outside the bound. */
  clockRateOf(name: string): number | undefined {
    return this.#links.get(name)?.clockRate;
  }

  reach(name: string): 'direct' | 'overlay' | undefined {
    const hop = this.#graph.nextHop(this.name, name);
    return hop === undefined ? undefined : hop === name ? 'direct' : 'overlay';
  }

  /** @param isUrgent a peer speaks of a later view: ask the others at once for records that are missing here */
  wake(now: Instant, isUrgent = false): MemberEffect[] {
    this.#proposeAt = undefined; // Set again if it is still too early.
    if (isUrgent || now >= this.#heartbeatAt) this.#beat(now);
    else this.#settle(now);
    return this.#take();
  }

  receive(from: string, message: Message, now: Instant): MemberEffect[] {
    if (this.#state.kind === 'left') return this.#take();
    switch (message.kind) {
      case 'heartbeat':
        this.#hearHeartbeat(from, message, now);
        break;
      case 'records':
        for (const record of message.records) this.#learn(record, from, now);
        break;
      case 'packet':
        this.#hearPacket(message, now);
        break;
    }
    this.#settle(now);
    return this.#take();
  }

  /** The connection to a peer broke: the link is down at once, without waiting for heartbeats to fail. */
  connectionBroke(name: string, now: Instant): MemberEffect[] {
    const link = this.#links.get(name);
    if (link === undefined || this.#state.kind === 'left') return this.#take();
    link.break(now);
    this.#publish(now);
    this.#settle(now);
    return this.#take();
  }

  suspended(now: Instant): MemberEffect[] {
    if (this.#state.kind === 'left') return this.#take();
    this.#promises.suspended(now);
    for (const link of this.#links.values()) link.break(now);
    this.#startChange(now);
    this.#chain = UNKNOWN_CHAIN;
    this.#state = { kind: 'changing', since: now, view: undefined };
    this.#becomeIncarnation(incarnationAfter(this.#incarnation, this.#drawNonce()), now);
    this.#settle(now);
    return this.#take();
  }

  /** Stops acting and announces that this server leaves. No server holds for a server that has left. */
  leave(now: Instant): MemberEffect[] {
    if (this.#state.kind === 'left') return this.#take();
    this.#state = { kind: 'left' };
    this.#failSends(undefined, 'panic');
    this.#publish(now, true);
    return this.#take();
  }

  /** Sends to a member of the present view. Undefined if there is no such member. */
  send(name: string, body: Uint8Array, now: Instant): Sent {
    const to = this.view?.members.find((member) => member.name === name);
    if (to === undefined || name === this.name) return { id: undefined, effects: this.#take() };
    const id = this.#overlay.add(to, body, now);
    this.#sendPending(id);
    return { id, effects: this.#take() };
  }

  /** Sends to every other member of the present view; each message is acknowledged, or fails, by its own id. */
  broadcast(
    body: Uint8Array,
    now: Instant,
  ): { readonly ids: readonly number[]; readonly effects: MemberEffect[] } {
    const others = (this.view?.members ?? []).filter(({ name }) => name !== this.name);
    const ids = others.map((to) => this.#overlay.add(to, body, now));
    for (const id of ids) this.#sendPending(id);
    return { ids, effects: this.#take() };
  }

  /** Sends to a member of the present view once, unacknowledged: over the direct link even if that seems down, or over links that work. */
  datagram(name: string, channel: string, body: Uint8Array, isDirect: boolean): MemberEffect[] {
    const to = this.view?.members.find((member) => member.name === name);
    if (to === undefined || name === this.name) return this.#take();
    const payload: Payload = { kind: 'datagram', channel, body };
    if (isDirect) this.#send(name, { kind: 'packet', from: this.id, to, hopsLeft: 0, payload });
    else this.#route(to, payload);
    return this.#take();
  }

  /** The application cannot talk to this member, and wants no view with both. */
  report(name: string, now: Instant): MemberEffect[] {
    const member = this.view?.members.find((each) => each.name === name);
    if (member === undefined || name === this.name) return this.#take();
    this.#doubt(member, now);
    this.#publish(now);
    this.#settle(now);
    return this.#take();
  }

  // Heartbeats: proof of a round trip, confirmation of a view, and which records are known.

  #beat(now: Instant): void {
    const { heartbeatMs } = this.#durations;
    this.#heartbeatAt = later(now, heartbeatMs * (0.9 + 0.2 * this.#settings.random()));
    if (this.#state.kind === 'left') {
      const record = this.#table.of(this.name); // Said again, in case it was lost.
      if (record !== undefined) this.#flood(record);
      return;
    }
    for (const link of this.#links.values()) link.update(now);
    this.#doubtMembers(now);
    this.#publish(now);
    this.#settle(now);
    this.#panicIfLate(now);
    const component = this.#graph.component(this.name);
    const { digest, versions } = this.#table.summary(this.name);
    for (const { name, heard, digest: theirs } of this.#links.values()) {
      const lacked = theirs === digest ? undefined : versions;
      const word = this.#wordTo(name, now);
      this.#send(name, { kind: 'heartbeat', word, linkEcho: heard, digest, versions: lacked });
    }
    for (const { name } of this.view?.members ?? []) {
      if (name !== this.name && this.#links.get(name)?.isUp !== true) this.#confirmOverOverlay(name, now);
    }
    for (const id of this.#overlay.waitingIds()) this.#sendPending(id);
    this.#dropSilentGuests(now);
    this.#forget(component, now);
  }

  /** What is said to this server in a heartbeat. Naming a view gives a promise. */
  #wordTo(name: string, now: Instant): Word {
    const view = this.#state.kind === 'in-view' ? this.#state.lease.view : undefined;
    const member = view?.members.find((each) => each.name === name);
    const heard = this.#heard.newestOf(name);
    if (member !== undefined && heard !== undefined) this.#promises.give(member, heard.at);
    const viewId = member === undefined ? undefined : view?.id;
    return { incarnation: this.#incarnation, stamp: now, echo: heard?.echo, viewId };
  }

  #hearHeartbeat(from: string, { word, linkEcho, digest, versions }: Heartbeat, now: Instant): void {
    const link = this.#linkTo(from);
    if (!link.hear(word.incarnation, word.stamp)) return;
    if (linkEcho !== undefined) {
      this.#refute(linkEcho.incarnation, now);
      if (isSameIncarnation(linkEcho.incarnation, this.#incarnation)) link.prove(linkEcho.stamp, now);
    }
    this.#hearWord(from, word, now);
    link.digest = digest;
    if (versions === undefined) return;
    const records = this.#table.lackedBy(versions, this.#graph.component(this.name));
    if (records.length > 0) this.#send(from, { kind: 'records', records });
  }

  #hearWord(from: string, word: Word, now: Instant): void {
    this.#heard.hear(from, word, now);
    this.#hearConfirmation(from, word);
  }

  #hearConfirmation(from: string, { echo, viewId }: Word): void {
    const state = this.#state;
    if (state.kind !== 'in-view' || echo === undefined || viewId !== state.lease.view.id) return;
    if (isSameIncarnation(echo.incarnation, this.#incarnation)) state.lease.confirm(from, echo.stamp);
  }

  // Records.

  #learn(record: ServerRecord, from: string, now: Instant): void {
    if (record.name === this.name) {
      this.#refute(record.incarnation, now);
      return;
    }
    if (!this.#table.isNews(record)) return;
    this.#table.put(record, now);
    this.#passOn(record, from);
  }

  /** Another process of this name had a greater incarnation, so all records of this one would be taken for old. */
  #refute(other: Incarnation, now: Instant): void {
    if (compareIncarnations(other, this.#incarnation) <= 0) return;
    this.#refutedAt = [...this.#refutedAt, now].filter((at) => now - at < REFUTATIONS_WITHIN_MS);
    if (this.#refutedAt.length >= REFUTATIONS_MAX) {
      this.#effects.push({ do: 'name-taken', by: { name: this.name, incarnation: other } });
    }
    this.#becomeIncarnation(incarnationAfter(other, this.#drawNonce()), now);
  }

  #becomeIncarnation(incarnation: Incarnation, now: Instant): void {
    this.#incarnation = incarnation;
    this.#effects.push(trace('new-incarnation', { id: keyOf(this.id) }));
    this.#publish(now);
    this.#settle(now);
  }

  /** Publishes the own record if anything has changed. */
  #publish(now: Instant, hasLeft = false): void {
    const proposal = this.#proposal;
    if (proposal === undefined) return;
    const links: MemberId[] = [];
    for (const { name, incarnation, isUp } of this.#links.values()) {
      if (isUp && incarnation !== undefined) links.push({ name, incarnation });
    }
    const cannotReach = this.#conflicts.at(now);
    const old = this.#table.of(this.name);
    const isSame =
      old !== undefined &&
      old.proposal === proposal &&
      old.hasLeft === hasLeft &&
      isSameIncarnation(old.incarnation, this.#incarnation) &&
      areSameMembers(old.links, links) &&
      areSameMembers(old.cannotReach, cannotReach);
    if (isSame) return;
    this.#sequence += 1;
    const record = { ...this.id, sequence: this.#sequence, links, cannotReach, proposal, hasLeft };
    this.#table.put(record, now);
    this.#flood(record);
  }

  get #graph(): Graph {
    return this.#table.graph;
  }

  /** The own record, to every linked peer. */
  #flood(record: ServerRecord): void {
    const message: Message = { kind: 'records', records: [record] };
    for (const { name, isUp } of this.#links.values()) if (isUp) this.#send(name, message);
  }

  /**
   * A record of another server, to the linked peers that the record does not list: its publisher has sent the record to those listed. With
   * 50 servers, a change floods 50 times fewer messages. A flood that was lost on the way to a listed peer is repaired by heartbeats.
   */
  #passOn(record: ServerRecord, source: string): void {
    const listed = new Set(record.links.map(({ name }) => name));
    const message: Message = { kind: 'records', records: [record] };
    for (const { name, isUp } of this.#links.values())
      if (isUp && name !== source && name !== record.name && !listed.has(name)) this.#send(name, message);
  }

  /** Heartbeats go for ever to the configured peers only: another server dials this one when it is back, and names must not add up. */
  #dropSilentGuests(now: Instant): void {
    const { panicMs } = this.#durations;
    for (const { name, isUp } of this.#links.values()) {
      if (isUp || this.#settings.peers.includes(name)) continue;
      const heard = this.#heard.newestOf(name);
      if (heard === undefined || now - heard.at > panicMs) this.#links.delete(name);
    }
  }

  #forget(component: ReadonlySet<string>, now: Instant): void {
    const forgotten = this.#table.forget(component, now, this.#durations.forgetMs);
    for (const name of forgotten) {
      this.#overlay.forget(name);
      this.#heard.forget(name);
      if (!this.#settings.peers.includes(name)) this.#links.delete(name);
    }
  }

  // Agreement.

  /**
   * Proposes what follows from the records, until the own proposal changes nothing any more; then delivers what all agree on.
   *
   * When many servers start at once, every record that arrives describes another set. So a server proposes once in a tenth of a
   * heartbeat, except as another incarnation, which must leave its view in this step.
   */
  #settle(now: Instant): void {
    if (this.#state.kind === 'left' || this.#settledChanges === this.#table.changes) return;
    for (;;) {
      const computed = this.#graph.membershipWith(this.id);
      if (computed.key === this.#proposal?.key) break;
      const proposedAs = this.#proposal && incarnationIn(this.#proposal, this.name);
      const isSame = proposedAs !== undefined && isSameIncarnation(proposedAs, this.#incarnation);
      const mayProposeAt = later(this.#proposedAt, this.#durations.heartbeatMs / 10);
      if (isSame && now < mayProposeAt) {
        this.#proposeAt = mayProposeAt;
        return;
      }
      this.#propose(computed, now);
    }
    this.#proposeAt = undefined;
    this.#settledChanges = this.#table.changes;
    this.#deliverIfAgreed(now);
  }

  #propose({ key, members }: Membership, now: Instant): void {
    this.#startChange(now);
    this.#proposedAt = now;
    const set = { key, members };
    const holdMs = this.#promises.holdMs(set, (name) => this.#table.of(name), now);
    const number = this.#table.greatestNumber + 1;
    this.#proposal = { ...set, number, holdMs, chain: this.#chain };
    this.#publish(now);
  }

  #startChange(now: Instant): void {
    if (this.#state.kind !== 'in-view') return;
    const { lease } = this.#state;
    this.#chain = chainAfter(this.#chain, lease.view, lease.isHoldOver(now));
    this.#state = { kind: 'changing', since: now, view: lease.view };
    this.#effects.push({ do: 'start-change' });
  }

  #deliverIfAgreed(now: Instant): void {
    const proposal = this.#proposal;
    assert(proposal !== undefined, 'a member has always proposed something');
    const records = proposal.members.map(({ name }) => this.#table.of(name));
    const view = viewOf(proposal, records, this.name);
    if (view === undefined) return;
    const state = this.#state;
    if (state.kind === 'in-view') {
      if (state.lease.view.id === view.id) return;
      this.#chain = chainAfter(this.#chain, state.lease.view, state.lease.isHoldOver(now));
    }
    const { leaseMs } = this.#durations;
    const actsAt = this.#table.holdsOverAt(view.members, now);
    const lease = new ViewLease(view, this.name, { now, actsAt, leaseMs });
    this.#state = { kind: 'in-view', lease, chain: proposal.chain };
    this.#effects.push({ do: 'deliver-view', view });
    this.#failSends(view, 'new-view');
    for (const [name, word] of this.#heard.takeNaming()) this.#hearConfirmation(name, word);
    for (const { name } of view.members) {
      if (name !== this.name) this.#confirmOverOverlay(name, now);
    }
  }

  #panicIfLate(now: Instant): void {
    const state = this.#state;
    if (state.kind !== 'changing' || now - state.since < this.#durations.panicMs) return;
    this.#state = { kind: 'panicking' };
    this.#effects.push({ do: 'panic' });
    this.#failSends(undefined, 'panic');
  }

  // Doubt.

  #doubtMembers(now: Instant): void {
    const { doubtMs } = this.#durations;
    for (const member of this.#overlay.doubtedAfter(doubtMs, now)) this.#doubt(member, now);
    for (const { name, incarnation, clockRate } of this.#links.values()) {
      if (clockRate === undefined || incarnation === undefined) continue;
      this.#conflicts.add({ name, incarnation }, now);
      this.#effects.push({ do: 'clock-outside-the-bound', peer: name, rate: clockRate });
    }
    const state = this.#state;
    if (state.kind !== 'in-view') return;
    for (const name of state.lease.unconfirmedFor(doubtMs, now)) {
      const incarnation = incarnationIn(state.lease.view, name);
      if (incarnation !== undefined) this.#doubt({ name, incarnation }, now);
    }
  }

  #doubt(member: MemberId, now: Instant): void {
    this.#conflicts.add(member, now);
    this.#effects.push(trace('doubt', { member: keyOf(member) }));
  }

  // The overlay.

  #confirmOverOverlay(name: string, now: Instant): void {
    const incarnation = this.view === undefined ? undefined : incarnationIn(this.view, name);
    if (incarnation === undefined) return;
    this.#route({ name, incarnation }, { kind: 'word', word: this.#wordTo(name, now) });
  }

  #sendPending(id: number): void {
    const message = this.#overlay.payloadOf(id);
    if (message !== undefined) this.#route(message.to, message.payload);
  }

  #route(to: MemberId, payload: Payload): void {
    this.#forward({ kind: 'packet', from: this.id, to, hopsLeft: HOPS_MAX, payload });
  }

  #forward(packet: Packet): void {
    const hop = this.#graph.nextHop(this.name, packet.to.name);
    if (hop !== undefined) this.#send(hop, packet);
  }

  #hearPacket(packet: Packet, now: Instant): void {
    const { from, to, hopsLeft, payload } = packet;
    if (to.name !== this.name) {
      if (hopsLeft > 0) this.#forward({ ...packet, hopsLeft: hopsLeft - 1 });
      return;
    }
    if (!isSameIncarnation(to.incarnation, this.#incarnation)) return;
    switch (payload.kind) {
      case 'word':
        this.#hearWord(from.name, payload.word, now);
        break;
      case 'data':
        if (this.#overlay.accepts(from, payload))
          this.#effects.push({ do: 'hand-over', from, body: payload.body });
        this.#route(from, { kind: 'acknowledgement', id: payload.id });
        break;
      case 'datagram':
        this.#effects.push({ do: 'hand-over-datagram', from, datagram: payload });
        break;
      case 'acknowledgement':
        if (this.#overlay.acknowledged(from, payload.id)) {
          this.#effects.push({ do: 'settle-send', id: payload.id, outcome: 'delivered' });
        }
        break;
    }
  }

  #failSends(view: View | undefined, outcome: SendOutcome): void {
    for (const id of this.#overlay.failedBy(view)) this.#effects.push({ do: 'settle-send', id, outcome });
  }

  #linkTo(name: string): Link {
    let link = this.#links.get(name);
    if (link === undefined) {
      link = new Link(name, this.#durations);
      this.#links.set(name, link);
    }
    return link;
  }

  #drawNonce(): number {
    return Math.floor(this.#settings.random() * NONCE_LIMIT);
  }

  #send(to: string, message: Message): void {
    this.#effects.push({ do: 'send', to, message });
  }

  #take(): MemberEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }
}
