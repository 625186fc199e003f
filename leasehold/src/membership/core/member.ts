/**
 * One server of a group, without I/O.
 *
 * Each server publishes one numbered record: the links, the members out of reach, the clients, and the set of servers proposed as the next view. A proposal is
 * not chosen but computed, from all records (`graph.ts`) or from a registry (`agreement/`), and a view is delivered as soon as every server of the set proposes exactly this set. One
 * round suffices, messages may be lost, repeated and reordered, and nobody coordinates.
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
 *     promise, and the same process under a new incarnation remembers them (`promises.ts`). `clients.ts` goes on with clients.
 *
 * The argument needs: clocks within `CLOCK_RATE_BOUND` of each other, one live process a name, and that suspensions beyond the tolerance are noticed. Servers
 * that see a clock outside the bound (`runtime/clock-watch.ts`) are in conflict, and share no view.
 */

import { assert } from '../../runtime/assert.ts';
import type { Core } from '../../runtime/driver.ts';
import { earliest, later, soonest, type Instant } from '../../runtime/time.ts';
import { trace } from '../../runtime/trace.ts';
import { type Agreement, BY_REACH } from './agreement/agreement.ts';
import { ByRegistry } from './agreement/by-registry.ts';
import type { Registry } from './agreement/registry.ts';
import { type Chain, chainAfter, UNKNOWN_CHAIN } from './chain.ts';
import { Clients, type ServerOfClients } from './clients.ts';
import { Conflicts } from './conflicts.ts';
import { doubted } from './doubts.ts';
import type { Durations } from './durations.ts';
import type { Broadcast, MemberEffect, SendOutcome, Sent, Standing } from './effects.ts';
import { HeardWords } from './heard-words.ts';
import {
  compareIncarnations,
  type Incarnation,
  incarnationIn,
  isSameIncarnation,
  keyOf,
  laterIncarnation,
  type MemberId,
  type Membership,
} from './incarnation.ts';
import { isSameProcess, Letters, processNamed, receiptOf } from './letters.ts';
import { Links } from './links.ts';
import type { MemberSettings } from './member-settings.ts';
import type { State } from './member-state.ts';
import type {
  FromClient,
  Heartbeat,
  Letter,
  Message,
  Packet,
  Post,
  Proposal,
  ServerRecord,
  Word,
} from './messages.ts';
import { Overlay } from './overlay.ts';
import { Pace } from './pace.ts';
import { Promises } from './promises.ts';
import { RecordFlood } from './record-flood.ts';
import { RecordTable } from './record-table.ts';
import { Refutations } from './refutations.ts';
import { isAgreed, type MemberView, viewOf } from './view.ts';
import { ViewLease } from './view-lease.ts';

/** Half of the numbers that the wire takes (`wire/bounds.ts`). No client that lies may use up the rest: then no server could propose. */
const CLIENT_NUMBER_MAX = 2 ** 43;

export class Member implements Core<MemberEffect> {
  readonly #settings: MemberSettings;
  readonly #durations: Durations;
  readonly #links: Links;
  readonly #heard = new HeardWords();
  readonly #table = new RecordTable();
  readonly #promises: Promises;
  readonly #conflicts: Conflicts;
  readonly #overlay: Overlay;
  readonly #letters: Letters;
  readonly #clients: Clients;
  readonly #refutations = new Refutations();
  #incarnation: Incarnation;
  readonly #flood: RecordFlood;
  /** To look at: whether this server is registered, and beside which others. */
  readonly registry: ByRegistry | undefined;
  #proposal: Proposal | undefined;
  /** The change of the table up to which this server has proposed and delivered what follows. */
  #settledChanges = -1;
  #chain: Chain = UNKNOWN_CHAIN;
  #state: State;
  #heartbeatAt: Instant;
  readonly #pace: Pace;
  /** When to propose what may not be proposed yet. */
  #proposeAt: Instant | undefined;
  #isLeaving = false;
  #effects: MemberEffect[] = [];

  constructor(settings: MemberSettings, now: Instant) {
    const { durations, incarnation, peers, random } = settings;
    this.#settings = settings;
    this.#durations = durations;
    this.#incarnation = incarnation;
    this.#table.raiseNumber(incarnation.startedMs);
    this.#links = new Links(peers, durations);
    this.registry = settings.registry && new ByRegistry(settings.registry);
    this.#flood = new RecordFlood(this.#table, this.#links, settings, (to, message) =>
      this.#send(to, message),
    );
    this.#pace = new Pace(durations.heartbeatMs);
    this.#promises = new Promises(durations.promiseMs, now);
    this.#conflicts = new Conflicts(durations, random);
    this.#overlay = new Overlay({
      self: () => this.id,
      nextHop: (name) => this.#table.graph.nextHop(this.name, name),
      emit: (effect) => this.#effects.push(effect),
    });
    this.#letters = new Letters({ repeatMs: durations.heartbeatMs, giveUpMs: durations.doubtMs });
    this.#clients = new Clients(durations, this.#serverOfClients());
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
    if (this.hasLeft) return this.#heartbeatAt;
    return soonest(soonest(this.#heartbeatAt, this.#proposeAt), this.#clients.wakeAt);
  }

  /** False while a server that leaves waits for its clients. */
  get hasLeft(): boolean {
    return this.#state.kind === 'left';
  }

  /** The present view; during a change, the last one; undefined without one. */
  get view(): MemberView | undefined {
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

  /** How many clients are attached to this server. */
  get clientCount(): number {
    return this.#clients.count;
  }

  get records(): ReadonlyMap<string, { readonly record: ServerRecord }> {
    return this.#table.records;
  }

  /** Whether this member may act in its view at this instant. Ask before every use; the answer is good for no other instant. */
  standing(now: Instant): Standing {
    const state = this.#state;
    if (state.kind !== 'in-view' || !state.lease.isConfirmed(now)) return 'none';
    if (!this.#clients.isClear(now) || now >= this.#agreement.actsUntil) return 'none';
    if (state.lease.isHoldOver(now)) return 'acts';
    return state.chain.length === 0 ? 'none' : 'continues';
  }

  /** How fast the clock of a peer runs beside the own clock, if that is outside the bound. */
  clockRateOf(name: string): number | undefined {
    return this.#links.get(name)?.clockRate;
  }

  reach(name: string): 'direct' | 'overlay' | undefined {
    const hop = this.#table.graph.nextHop(this.name, name);
    return hop === undefined ? undefined : hop === name ? 'direct' : 'overlay';
  }

  /** @param isUrgent a peer speaks of a later view: ask the others at once for records that are missing here */
  wake(now: Instant, isUrgent = false): MemberEffect[] {
    if (this.#isLeaving) this.#leaveIfDrained(now);
    this.#proposeAt = undefined; // Set again if it is still too early.
    if (isUrgent || now >= this.#heartbeatAt) this.#beat(now);
    else this.#settle(now);
    if (!this.hasLeft) this.#gatherClients(now);
    this.#answerClients(now);
    return this.#take();
  }

  /** A message of a client, over this connection. */
  receiveFromClient(route: string, message: FromClient, now: Instant): MemberEffect[] {
    if (this.hasLeft) return this.#take();
    if (message.kind === 'outgoing') {
      if (this.#clients.isFrom(message.client, message.post.from)) this.#deliverPost(message.post);
      return this.#take();
    }
    // Before the client is listed: the next view has a greater number than any that the client has had.
    if (message.kind === 'stamp' && message.greatestNumber <= CLIENT_NUMBER_MAX)
      this.#table.raiseNumber(message.greatestNumber);
    this.#clients.receive(route, message, now);
    this.#confirmIfClear(now);
    this.#answerClients(now);
    if (this.#isLeaving) this.#leaveIfDrained(now);
    return this.#take();
  }

  clientBroke(route: string, now: Instant): MemberEffect[] {
    if (!this.hasLeft) this.#clients.connectionBroke(route, now);
    return this.#take();
  }

  receive(from: string, message: Message, now: Instant): MemberEffect[] {
    if (this.#state.kind === 'left') return this.#take();
    if (message.kind === 'heartbeat') this.#hearHeartbeat(from, message, now);
    else if (message.kind === 'packet') this.#hearPacket(message, now);
    else for (const record of message.records) this.#learn(record, from, now);
    this.#settle(now);
    this.#answerClients(now);
    return this.#take();
  }

  /** A read of the registry that was sent at `sentAt` found this. Reads come one after the other. */
  registryRead(registry: Registry, sentAt: Instant, now: Instant): MemberEffect[] {
    if (this.registry === undefined || this.hasLeft) return this.#take();
    const others = registry.registrations.filter(({ name }) => name !== this.name);
    this.#links.setPeers(others.map(({ name }) => name));
    if (!this.registry.read(registry, { sentAt, now }, this.id)) this.#loseRegistration(now);
    this.#pace.hurry(); // A view that is not registered any more ends in this step.
    this.#settledChanges = -1;
    this.#review(now);
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
    this.#becomeIncarnation(laterIncarnation(this.#incarnation, this.#settings.random), now);
    return this.#take();
  }

  /**
   * Waits until no client acts on the word of this server, stops acting, and announces that this server leaves. No server holds for
   * a server that has left.
   */
  leave(now: Instant): MemberEffect[] {
    if (this.hasLeft || this.#isLeaving) return this.#take();
    this.#isLeaving = true;
    this.#clients.leave();
    this.#leaveIfDrained(now);
    return this.#take();
  }

  #leaveIfDrained(now: Instant): void {
    if (this.hasLeft || now < this.#clients.drainedAt) return;
    this.#state = { kind: 'left' };
    this.#failSends(undefined, 'no-view');
    this.#publish(now, true);
    if (this.registry !== undefined) this.#effects.push({ do: 'deregister' });
  }

  /** Sends to a member or a client of the present view. Undefined if there is no such process. */
  send(name: string, body: Uint8Array, now: Instant): Sent {
    const to = this.#otherMember(name);
    if (to !== undefined) return { id: this.#overlay.begin(to, body, now), effects: this.#take() };
    const { view } = this;
    const client = view && processNamed(view.clients, name);
    if (view === undefined || client === undefined) return { id: undefined, effects: this.#take() };
    const id = this.#overlay.nextId();
    const route = { from: this.id, to: client, viewId: view.id };
    this.#deliverPost(this.#letters.begin(id, route, body, now));
    return { id, effects: this.#take() };
  }

  /** Sends to every other member of the present view; each message is acknowledged, or fails, by its own id. */
  broadcast(body: Uint8Array, now: Instant): Broadcast {
    const others = (this.view?.members ?? []).filter(({ name }) => name !== this.name);
    return { ids: others.map((to) => this.#overlay.begin(to, body, now)), effects: this.#take() };
  }

  /** Sends to a member of the present view once, unacknowledged: over the direct link even if that seems down, or over links that work. */
  datagram(name: string, channel: string, body: Uint8Array, isDirect: boolean): MemberEffect[] {
    const to = this.#otherMember(name);
    if (to !== undefined) this.#overlay.datagram(to, { kind: 'datagram', channel, body }, isDirect);
    return this.#take();
  }

  /** From the next view on all members know that this server takes part in this part of the toolkit, or no longer. */
  takePart(part: string, takesPart: boolean, now: Instant): MemberEffect[] {
    if (this.hasLeft || this.#isLeaving || !this.#clients.takePart(part, takesPart)) return this.#take();
    this.#settledChanges = -1;
    // The first wake proposes.
    if (this.#proposal !== undefined) this.#settle(now);
    return this.#take();
  }

  /** The application cannot talk to this member, and wants no view with both. */
  report(name: string, now: Instant): MemberEffect[] {
    const member = this.#otherMember(name);
    if (member === undefined) return this.#take();
    this.#doubt(member, now);
    this.#publish(now);
    this.#settle(now);
    return this.#take();
  }

  #otherMember(name: string): MemberId | undefined {
    return name === this.name ? undefined : this.view?.members.find((member) => member.name === name);
  }

  // Heartbeats: proof of a round trip, confirmation of a view, and which records are known.

  #beat(now: Instant): void {
    const { heartbeatMs } = this.#durations;
    if (!this.hasLeft) this.#links.update(now, now - this.#heartbeatAt);
    this.#heartbeatAt = later(now, heartbeatMs * (0.9 + 0.2 * this.#settings.random()));
    if (this.hasLeft) this.#flood.repeat(this.name);
    if (this.hasLeft) return;
    this.#clients.beat(now);
    this.#doubtMembers(now);
    this.#publish(now);
    this.#review(now);
    this.#settle(now);
    this.#endViewIfLate(now);
    const component = this.#table.graph.component(this.name);
    const { digest } = this.#table.summary(this.name);
    const versions = this.#flood.versionsFor(this.#links.values(), this.name);
    for (const { name, heard } of this.#links.values()) {
      const word = this.#wordTo(name, now);
      this.#send(name, { kind: 'heartbeat', word, linkEcho: heard, digest, versions: versions.get(name) });
    }
    for (const { name } of this.view?.members ?? [])
      if (this.#links.get(name)?.isUp !== true) this.#confirmOverOverlay(name, now);
    for (const id of this.#overlay.waitingIds()) this.#overlay.send(id);
    this.#repeatLetters(now);
    this.#links.dropSilentGuests(this.#heard, now);
    this.#forget(component, now);
  }

  /** What is said to this server in a heartbeat. Naming a view gives a promise. */
  #wordTo(name: string, now: Instant): Word {
    // No view is confirmed before the clients have stopped in the views before and agreed to this one.
    const isClear = this.#clients.isClear(now) && now < this.#agreement.actsUntil;
    const view = this.#state.kind === 'in-view' && isClear ? this.#state.lease.view : undefined;
    const member = view?.members.find((each) => each.name === name);
    const heard = this.#heard.newestOf(name);
    if (member !== undefined && heard !== undefined) this.#promises.give(member, heard.at);
    const viewId = member === undefined ? undefined : view?.id;
    return { incarnation: this.#incarnation, stamp: now, echo: heard?.echo, viewId };
  }

  #hearHeartbeat(from: string, { word, linkEcho, digest, versions }: Heartbeat, now: Instant): void {
    const link = this.#links.to(from);
    if (!link.hear(word.incarnation, word.stamp)) return;
    if (linkEcho !== undefined) {
      this.#refute(linkEcho.incarnation, now);
      if (isSameIncarnation(linkEcho.incarnation, this.#incarnation)) link.prove(linkEcho.stamp, now);
    }
    this.#hearWord(from, word, now);
    link.digest = digest;
    if (versions !== undefined) this.#flood.repair(link, versions, this.name, now);
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
    if (record.name === this.name) this.#refute(record.incarnation, now);
    if (record.name === this.name || !this.#table.isNews(record)) return;
    const known = this.#table.ofProcess(record);
    if (record.list.version !== known?.list.version) this.#clients.listedElsewhere(record.list, now);
    this.#table.put(record, now);
    this.#flood.passOn(record, from, this.name);
  }

  /** Another process of this name had a greater incarnation, so all records of this one would be taken for old. */
  #refute(other: Incarnation, now: Instant): void {
    if (compareIncarnations(other, this.#incarnation) <= 0) return;
    if (this.#refutations.add(now))
      this.#effects.push({ do: 'name-taken', by: { name: this.name, incarnation: other } });
    this.#becomeIncarnation(laterIncarnation(other, this.#settings.random), now);
  }

  #becomeIncarnation(incarnation: Incarnation, now: Instant): void {
    this.#incarnation = incarnation;
    this.#overlay.abandon();
    if (this.registry?.forget() === true) this.#effects.push({ do: 'deregister' });
    this.#effects.push(trace('new-incarnation', { id: keyOf(this.id) }));
    this.#publish(now);
    this.#settle(now);
  }

  /** Publishes the own record if anything has changed. */
  #publish(now: Instant, hasLeft = false): void {
    const proposal = this.#proposal;
    if (proposal === undefined) return;
    const [links, cannotReach, { list }] = [this.#links.up(), this.#conflicts.at(now), this.#clients];
    this.#flood.publish({ ...this.id, links, cannotReach, list, proposal, hasLeft }, now);
  }

  #forget(component: ReadonlySet<string>, now: Instant): void {
    const forgotten = this.#table.forget(component, now, this.#durations.forgetMs);
    for (const part of [this.#overlay, this.#heard, this.#links])
      for (const name of forgotten) part.forget(name);
  }

  // Agreement.

  /**
   * Proposes what follows from the records, until the own proposal changes nothing any more; then delivers what all agree on. While it is too early for a proposal,
   * nothing is worked out, unless all others propose the same set: then a view can be delivered without a new proposal.
   */
  #settle(now: Instant): void {
    if (this.#state.kind === 'left' || this.#settledChanges === this.#table.changes) return;
    for (;;) {
      if (this.#isEarly(this.#pace.mayProposeAt, now) && !isAgreed(this.#proposal, this.#table)) return;
      const self = { ...this.id, listVersion: this.#clients.list.version };
      const computed = this.#agreement.membershipWith(self, this.#table);
      this.#pace.workedOut(now);
      if (computed.key === this.#proposal?.key) break;
      const mayProposeAt = this.#pace.mayPropose(computed, this.#proposal, this.#table.edgesChangedAt, now);
      if (this.#isEarly(mayProposeAt, now)) return;
      this.#propose(computed, now);
    }
    this.#proposeAt = this.#pace.settled();
    this.#settledChanges = this.#table.changes;
    this.#deliverIfAgreed(now);
  }

  /** Whether it is too early for another proposal. Another incarnation must leave its view in this step. */
  #isEarly(mayProposeAt: Instant, now: Instant): boolean {
    const proposedAs = this.#proposal && incarnationIn(this.#proposal, this.name);
    if (proposedAs === undefined || !isSameIncarnation(proposedAs, this.#incarnation)) return false;
    if (now < mayProposeAt) this.#proposeAt = mayProposeAt;
    return now < mayProposeAt;
  }

  #propose({ key, members }: Membership, now: Instant): void {
    this.#startChange(now);
    this.#pace.proposed(now);
    const set = { key, members };
    const promisedMs = this.#promises.holdMs(set, (name) => this.#table.of(name), now);
    const holdMs = Math.max(promisedMs, this.#agreement.holdMs(now));
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
    if (proposal.members.length === 0) return; // This server is not registered.
    const records = proposal.members.map((each) => this.#table.ofProcess(each));
    const view = viewOf(proposal, records, this.name, this.view);
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
    this.#clients.delivered(view, now);
    this.#confirmIfClear(now);
  }

  #endViewIfLate(now: Instant): void {
    const state = this.#state;
    if (state.kind === 'changing' && now - state.since >= this.#durations.noViewAfterMs) this.#endView();
  }

  #endView(): void {
    this.#state = { kind: 'no-view' };
    this.#effects.push({ do: 'no-view' });
    this.#failSends(undefined, 'no-view');
  }

  // The registry.

  get #agreement(): Agreement {
    return this.registry ?? BY_REACH;
  }

  /** Ends a registration that is over or in conflict, and registers when that disturbs nobody. */
  #review(now: Instant): void {
    const [{ registry }, table] = [this, this.#table];
    if (registry?.isOver(this.name, table, now) === true) this.#loseRegistration(now);
    else if (!this.#isLeaving && registry?.registers(this.name, this.#conflicts.at(now), table, now) === true)
      this.#effects.push({ do: 'register', as: this.id });
  }

  #loseRegistration(now: Instant): void {
    this.#startChange(now);
    if (this.#state.kind === 'changing') this.#endView();
    this.#becomeIncarnation(laterIncarnation(this.#incarnation, this.#settings.random), now);
  }

  // Clients.

  #gatherClients(now: Instant): void {
    if (!this.#clients.gather(this.standing(now) === 'acts', now)) return;
    this.#settledChanges = -1;
    this.#settle(now);
  }

  /** Confirms the view to all members as soon as that may be done. */
  #confirmIfClear(now: Instant): void {
    const { view } = this;
    if (this.#state.kind !== 'in-view' || view === undefined || !this.#clients.becomesClear(now)) return;
    for (const { name } of view.members) this.#confirmOverOverlay(name, now);
  }

  #answerClients(now: Instant): void {
    if (this.#clients.waitForActing && this.standing(now) === 'acts') this.#clients.beginsToAct(now);
  }

  #actsUntil(now: Instant): Instant | undefined {
    const state = this.#state;
    if (state.kind !== 'in-view' || this.standing(now) !== 'acts') return undefined;
    const until = earliest(state.lease.confirmedUntil(now), this.#clients.clearUntil);
    return earliest(until, this.#agreement.actsUntil);
  }

  #serverOfClients(): ServerOfClients {
    return {
      ...{ name: this.name, incarnation: () => this.#incarnation },
      hasView: () => this.view !== undefined,
      isOfUse: () => this.registry?.isRegistered !== false,
      actsUntil: (now) => this.#actsUntil(now),
      listedElsewhere: (name) => this.#table.listedElsewhere(name, this.name),
      isServer: (name) => this.#table.of(name)?.hasLeft === false,
      sendToClient: (to, message) => this.#effects.push({ do: 'send-to-client', to, message }),
    };
  }

  // Doubt.

  #doubtMembers(now: Instant): void {
    const lease = this.#state.kind === 'in-view' ? this.#state.lease : undefined;
    const [overlay, table, { registry }] = [this.#overlay, this.#table, this];
    const sources = { self: this.name, overlay, table, registry, ...this.#durations };
    for (const member of doubted(sources, lease, now)) this.#doubt(member, now);
    for (const { peer, rate } of this.#links.clocksOutsideTheBound()) {
      this.#conflicts.add(peer, now);
      this.#effects.push({ do: 'clock-outside-the-bound', peer: peer.name, rate });
    }
  }

  #doubt(member: MemberId, now: Instant): void {
    this.#conflicts.add(member, now);
    this.#effects.push(trace('doubt', { member: keyOf(member) }));
  }

  // The overlay.

  #confirmOverOverlay(name: string, now: Instant): void {
    const to = this.#otherMember(name);
    if (to !== undefined) this.#overlay.route(to, { kind: 'word', word: this.#wordTo(name, now) });
  }

  #hearPacket(packet: Packet, now: Instant): void {
    const { from, to, payload } = packet;
    if (to.name !== this.name) this.#overlay.passOn(packet);
    else if (isSameIncarnation(to.incarnation, this.#incarnation)) {
      if (payload.kind === 'word') this.#hearWord(from.name, payload.word, now);
      else if (payload.kind === 'post') this.#hearPost(payload.post);
      else this.#overlay.receive(from, payload);
    }
  }

  #failSends(view: MemberView | undefined, outcome: SendOutcome): void {
    this.#settleSends(this.#overlay.failedBy(view), outcome);
    this.#settleSends(this.#letters.failedBy(view?.id), outcome);
  }

  #settleSends(ids: readonly number[], outcome: SendOutcome): void {
    for (const id of ids) this.#effects.push({ do: 'settle-send', id, outcome });
  }

  // Letters of clients and to clients.

  #repeatLetters(now: Instant): void {
    this.#settleSends(this.#letters.givenUp(now), 'unknown');
    for (const letter of this.#letters.due(this.#presentViewId, now)) this.#deliverPost(letter);
  }

  /** The view in which this server takes and repeats letters. Another incarnation is not in the view of the last one. */
  get #presentViewId(): string | undefined {
    return this.#state.kind === 'in-view' ? this.#state.lease.view.id : undefined;
  }

  /** From this server or one of its clients: to this server, or to the server of the receiver. */
  #deliverPost(post: Post): void {
    const server = this.#serverOf(post.to);
    if (server === undefined || server.name === this.name) this.#hearPost(post);
    else this.#overlay.route(server, { kind: 'post', post });
  }

  /** The member that is this process, or that lists this client. */
  #serverOf(to: MemberId): MemberId | undefined {
    const members = this.view?.members ?? [];
    const isListed = (member: MemberId): boolean => {
      const client = processNamed(this.#table.ofProcess(member)?.list.clients ?? [], to.name);
      return client !== undefined && isSameProcess(client, to);
    };
    return members.find((member) => isSameProcess(member, to)) ?? members.find(isListed);
  }

  /** For this server, or for a client attached here. Not passed on to another server, so that a client that moves sends nothing in circles. */
  #hearPost(post: Post): void {
    if (!isSameProcess(post.to, this.id)) this.#clients.passOn(post);
    else if (post.kind === 'letter') this.#hearLetter(post);
    else if (this.#letters.settles(post)) this.#settleSends([post.id], 'delivered');
  }

  #hearLetter(letter: Letter): void {
    const outcome = this.#letters.receive(letter, this.#presentViewId);
    if (outcome === 'refused') return;
    if (outcome === 'new') this.#effects.push({ do: 'hand-over', from: letter.from, body: letter.body });
    this.#deliverPost(receiptOf(letter));
  }

  #send(to: string, message: Message): void {
    this.#effects.push({ do: 'send', to, message });
  }

  #take(): MemberEffect[] {
    this.#flood.flush(this.name);
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }
}
