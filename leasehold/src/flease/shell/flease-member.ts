/**
 * One member of a group in a running process: the core of `member.ts` with clocks and connections.
 *
 * All promises and signals of the application are here; all decisions are made in the core. A request, or a release
 * (`pending-releases.ts`), is answered by an event; `ready`, `settled` and `close`, which wait for a state, check after
 * every turn whether that state has come.
 */

import type { Mesh } from '../../node/mesh/mesh.ts';
import { assert } from '../../runtime/assert.ts';
import { alarmOn } from '../../runtime/driver.ts';
import { invalidOption, type LeaseholdError } from '../../runtime/errors.ts';
import { showAs } from '../../runtime/inspection.ts';
import type { Logger } from '../../runtime/logger.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';
import { Condition } from '../../runtime/condition.ts';
import { type Deadline, deadline } from '../../runtime/deadline.ts';
import {
  type CallOptions,
  closeOnAbort,
  Closing,
  type Event,
  type EventsOptions,
  type Handle,
} from '../../runtime/handle.ts';
import { unlessAborted } from '../../runtime/on-abort.ts';
import { waitWithin } from '../../runtime/wait-within.ts';
import type { Request } from '../core/resource-state.ts';
import type { HeldLease } from '../core/held-lease.ts';
import { DrivenMember } from '../core/driven-member.ts';
import { handoverUnconfirmed, leaseLost, memberClosed, removed } from '../core/errors.ts';
import type { MemberEvent } from '../core/member.ts';
import type { Packet } from '../core/messages.ts';
import type { ResolvedFleaseDurations } from '../core/options.ts';
import type { ElectedEvents } from '../core/soft-log.ts';
import type { View } from '../core/view.ts';
import { encodePacket } from '../wire/packet.ts';
import { unheardWords } from '../core/wording.ts';
import { peersAt, recoveryAt } from './at-present.ts';
import { PendingReleases } from './pending-releases.ts';
import { Diary } from './diary.ts';
import { Lease, type LeaseKeeper } from './lease.ts';
import { AckTracker } from './ack-tracker.ts';
import { memberService } from './service/routes.ts';
import { HandleEvents } from '../../node/service/handle-events.ts';
import type { Served, Service } from '../../node/service/service.ts';
import { type Holder, isSameHolder, type Look, looking } from './looking.ts';
import { checkPeers, checkResource, type Peers } from './peers-option.ts';
import { Problems } from './problems.ts';
import { pause } from '../../runtime/pause.ts';
import { Reasons } from './reasons.ts';
import { type Answers, type Pending, type PendingOf, Requests } from './requests.ts';
import { Candidates } from './candidates.ts';
import { type FleaseStatus, wasRemoved, type Ways } from './status.ts';
import { fleaseStatus, peerStatus } from './status-facts.ts';

export interface WatchOptions {
  /** Ends the iteration, with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** @internal */
export interface FleaseDependencies {
  readonly name: string;
  readonly cell: string;
  readonly incarnation: number;
  readonly view: View;
  readonly durations: ResolvedFleaseDurations;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly mesh: Mesh<Uint8Array, Packet>;
  atEndOfTurn(callback: () => void): void;
}

const CALL_OPTIONS: OptionNames<CallOptions> = { signal: true, timeoutMs: true };
const WATCH_OPTIONS: OptionNames<WatchOptions> = { signal: true };

/** How long closing waits for the others to hear of the releases, in times to answer. */
const CLOSING_ANSWERS = 2;

/** This process's member of a cell: acquires leases, and votes for those of other members. */
export class FleaseMember implements Handle<FleaseStatus>, Served {
  /** Of this member, kept over restarts. */
  readonly name: string;
  readonly cell: string;
  readonly #around: FleaseDependencies;
  readonly #driver: DrivenMember;
  readonly #diary: Diary;
  readonly #requests: Requests;
  readonly #waiters = new Condition();
  readonly #releases = new PendingReleases();
  readonly #reasons: Reasons;
  readonly #acks: AckTracker;
  readonly #ways: Ways;
  readonly #keeper: LeaseKeeper;
  readonly #candidates: Candidates;
  #held = 0;
  readonly #closing = new Closing();
  #aborting: Disposable | undefined;
  readonly #problems: Problems;
  readonly #events: HandleEvents<'flease'>;

  /** @internal */
  toService(): Service {
    return memberService(this, this.#events.log);
  }

  /** @internal */
  constructor(around: FleaseDependencies) {
    const { name, cell, incarnation, view, durations, runtime, mesh, logger } = around;
    this.name = name;
    this.cell = cell;
    this.#around = around;
    this.#problems = new Problems(runtime);
    this.#events = new HandleEvents(incarnation.toString(36), cell, runtime);
    this.#diary = new Diary(logger, this.#events);
    this.#requests = new Requests(runtime);
    this.#driver = new DrivenMember({
      settings: { group: cell, id: name, incarnation, view, durations, random: () => runtime.random() },
      clock: runtime,
      alarm: (wake) => alarmOn(runtime, wake),
      atEndOfTurn: around.atEndOfTurn,
      send: (to, packet) => {
        this.#acks.said(to, packet);
        for (const frame of encodePacket(packet)) mesh.send(to, frame);
        mesh.flush(to);
      },
      tell: (event) => this.#tell(event),
      isWanted: (request) => this.#requests.wanting(request) !== undefined,
      afterInput: () => this.#waiters.look(),
    });
    this.#keeper = {
      noticeMs: durations.noticeMs,
      nowMs: () => this.#driver.member.timeAt(this.#driver.read()),
      release: (held) => this.#release(held),
      forsake: (held) => {
        if (this.#closing.isClosing) return;
        this.#tellLost(held, this.#letGo(held));
      },
      handover: (lease, to, options) => this.#handover(lease, to, options),
    };
    this.#candidates = new Candidates({
      clockSkewMs: durations.clockSkewMs,
      leftMs: ({ untilMs }) => untilMs - (this.#keeper.nowMs() ?? untilMs),
      acquire: (resource, granted) => this.#standFor(resource, granted),
      release: (held) => void this.#release(held),
    });
    this.#acks = new AckTracker({
      ...{ clock: runtime, durations, isConnected: (peer) => mesh.isConnected(peer) },
      isTroubled: (peer) =>
        this.#driver.member.peers().some(({ id: its, trouble }) => its === peer && trouble),
      changed: (peer, isAcknowledging) => this.#noteAcknowledging(peer, isAcknowledging),
    });
    this.#ways = {
      addressOf: (peer) => mesh.peers.get(peer),
      isConnected: (peer) => mesh.isConnected(peer),
      problemOf: (peer) =>
        mesh.problemOf(peer) ?? (this.#acks.isAcknowledging(peer) ? undefined : unheardWords(name)),
    };
    this.#reasons = new Reasons(name, this.#driver.member, this.#ways, runtime);
    this.#driver.start();
  }

  /**
   * Resolves when the lease is held. Waiting callers are served in order of arrival, as long as the holders live.
   *
   * @throws {InUseError} `LEASE_HELD` if another caller held the lease for all of `timeoutMs`
   * @throws {UnavailableError} `NO_MAJORITY` if too few members could be asked within `timeoutMs`, with the reason of each member; also
   *   if the others are in a later view, and nobody has told this one
   * @throws {InvalidArgumentError} if the resource has no name, or one that is too long
   * @throws {ClosedError} `CLOSED` if this member is closed before that
   * @throws {ClosedError} `REMOVED` if the group has changed without this member
   * @throws the signal's reason, if the signal aborts first
   */
  acquire(resource: string, options?: CallOptions): Promise<Lease> {
    return this.#ask('acquire', resource, options);
  }

  /**
   * Resolves with the lease, or with undefined if the lease is held by another caller, in this process or in another.
   *
   * @throws {UnavailableError} `NO_MAJORITY` if too few members could be asked, or this one still recovers
   * @throws {InvalidArgumentError} if the resource has no name, or one that is too long
   * @throws {ClosedError} `CLOSED` if this member is closed before that
   * @throws {ClosedError} `REMOVED` if the group has changed without this member
   */
  acquireIfFree(resource: string, options?: CallOptions): Promise<Lease | undefined> {
    return this.#ask('try', resource, options);
  }

  /**
   * The holder at the instant of the query, which may have changed since; undefined if the lease is free.
   *
   * @throws {UnavailableError} `NO_MAJORITY` if too few members could be asked, or this one still recovers
   * @throws {InvalidArgumentError} if the resource has no name, or one that is too long
   * @throws {ClosedError} `CLOSED` if this member is closed before that
   * @throws {ClosedError} `REMOVED` if the group has changed without this member
   */
  async holder(resource: string, options?: CallOptions): Promise<Holder | undefined> {
    const lease = await this.#ask('ask', resource, options);
    if (lease?.state !== 'held') return undefined;
    return { holder: lease.holder, number: lease.number, validUntil: lease.untilMs };
  }

  /**
   * The holder, at first and on every change. Asks a majority four times in a lease while the lease is held and ten
   * times otherwise, so a change is told that much later, and a change that was undone in between is not told at all.
   * While no majority answers nothing is told.
   *
   * @throws {InvalidArgumentError} if the resource has no name, or one that is too long
   * @throws {ClosedError} `CLOSED` if this member is closed
   * @throws {ClosedError} `REMOVED` if the group has changed without this member
   * @throws the signal's reason, when the signal aborts
   */
  async *watch(resource: string, options: WatchOptions = {}): AsyncGenerator<Holder | undefined, void, void> {
    checkOptionNames('', options, WATCH_OPTIONS);
    checkResource(resource);
    const { signal } = options;
    let told: { readonly holder: Holder | undefined } | undefined;
    await this.takingPart({ signal });
    for await (const look of this.looking(resource, signal)) {
      if ('error' in look || (told !== undefined && isSameHolder(told.holder, look.holder))) continue;
      told = look;
      yield look.holder;
    }
  }

  /**
   * Terms of leadership, one after the other. A term lasts as long as the body of the loop, which should end when the
   * term's signal aborts. Leaving the loop gives the lease back.
   *
   *     for await (const term of member.elect('scheduler', { signal })) await lead(term.signal, term.number);
   *
   * @throws {ClosedError} `CLOSED` if this member is closed
   * @throws {ClosedError} `REMOVED` if the group has changed without this member
   * @throws the signal's reason, when the signal aborts while waiting
   */
  async *elect(name: string, options: WatchOptions = {}): AsyncGenerator<Lease, void, void> {
    checkOptionNames('', options, WATCH_OPTIONS);
    for (;;) {
      await using term = await this.acquire(name, options);
      yield term;
    }
  }

  /**
   * Moves this member to the next view of the group. Do the same at every member, also at those that are to go: a
   * majority of the old members has to move. Start those that are to come with `peersVersion` and `peersBefore`, and let them be
   * {@link ready}, before; close those that are to go once all that stay are {@link settled}. Leases go on; a lease of
   * a leaving member goes on until that member closes.
   *
   * @throws {UnavailableError} `CHANGE_PENDING` if the present view is not settled yet
   * @throws {InvalidArgumentError} if these are no peers, or this member is neither among them nor in the present view
   * @throws {ClosedError} `CLOSED` if this member is closed
   */
  async changePeers(change: { readonly peers: Peers }): Promise<void> {
    this.#throwIfClosed();
    checkOptionNames('', change, { peers: true });
    const peers = checkPeers('peers', change.peers);
    if (!peers.has(this.name) && !this.#driver.member.view.members.includes(this.name)) {
      throw invalidOption(
        'peers',
        [...peers.keys()].join(', '),
        `${this.name} must be among them, for it has left the group already: close it`,
      );
    }
    this.#driver.input((reading) => this.#driver.member.move([...peers.keys()], reading));
    const { mesh } = this.#around;
    mesh.setPeers(new Map([...mesh.peers, ...peers]), 'changing');
    this.#events.tell('flease.changed', { peersVersion: this.#driver.member.view.number });
    this.#around.logger.info(`moved to view ${this.#driver.member.view.number}`, {
      peers: [...peers.keys()].join(', '),
    });
  }

  /**
   * Resolves when members of the version before are no longer needed, a lease and twice the skew after most of them have
   * moved; at once if there are none.
   *
   * @throws {UnavailableError} `TIMEOUT` when the time is over
   * @throws {ClosedError} `CLOSED` if this member is closed before that
   */
  async settled(options?: CallOptions): Promise<void> {
    const isSettled = (): boolean => this.#driver.member.view.before === undefined;
    await this.#until('the end of the change of peers', isSettled, options);
  }

  /**
   * Resolves when this member is ready: it takes part, not before a recovery of a lease and twice the skew; and a majority
   * is heard, if a lease or a request needs one.
   *
   * @throws {UnavailableError} `TIMEOUT` when the time is over
   * @throws {ClosedError} `CLOSED` if this member is closed before that
   * @throws {ClosedError} `REMOVED` if the group has changed without this member
   */
  async ready(options?: CallOptions): Promise<void> {
    const isReady = (): boolean => this.#takesPart && (this.#isIdle || this.status().isReady);
    await this.#until('the readiness of this member', isReady, options);
  }

  /** As {@link ready}, also while no majority is heard. @internal */
  async takingPart(options?: CallOptions): Promise<void> {
    await this.#until('the end of the recovery', () => this.#takesPart, options);
  }

  get #takesPart(): boolean {
    this.#throwIfRemoved();
    return this.#driver.member.recovery === undefined;
  }

  /** Nothing here needs a majority. */
  get #isIdle(): boolean {
    return this.#held + this.#requests.size === 0;
  }

  status(): FleaseStatus {
    const { member } = this.#driver;
    const { durations } = this.#around;
    const reading = this.#driver.read();
    return fleaseStatus({
      ...{ name: this.name, cell: this.cell, view: member.view, durations },
      isClosed: this.#closing.isClosing,
      problems: (facts) => this.#problems.of(facts),
      recovery: recoveryAt(member, reading),
      peers: peersAt(member, reading).map((peer) => peerStatus(peer, this.#ways)),
      counts: {
        held: this.#held,
        waiting: this.#requests.size,
        registers: member.registersKept,
        attempts: member.attemptsMade,
      },
    });
  }

  /**
   * What happened to this member: `flease.recovering`, `.ready`, `.lost`, `.trouble`, `.changed`, `.settled`, `.removed`. Leases
   * that are acquired and released are not told, of which there may be thousands a second: {@link watch} tells of one resource.
   */
  events(options: EventsOptions = {}): AsyncIterable<Event> {
    return this.#events.follow(options);
  }

  /** Resolves when this member is closed, or when the members have changed without this one: then with the reason. Never rejects. */
  get closed(): Promise<LeaseholdError | undefined> {
    return this.#closing.closed;
  }

  /** @internal */
  get view(): View {
    return this.#driver.member.view;
  }

  /** @internal */
  closeOn(signal: AbortSignal | undefined): void {
    const { logger } = this.#around;
    this.#aborting = closeOnAbort(signal, this, (why) =>
      logger.error('closing failed', { why: String(why) }),
    );
  }

  /** Gives everything back, tells the others as long as that is quick, and leaves. */
  close(): Promise<void> {
    const isFirst = !this.#closing.isClosing;
    let stop: (stopped: Promise<void>) => void = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const closed = this.#closing.close(() => stopped);
    // Begins at once. A callback that is told of an end by the following line finds the member closed.
    if (isFirst) stop(this.#close());
    return closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal */
  receive(packet: Packet): void {
    this.#reasons.hear(packet);
    this.#acks.heard(packet);
    this.#driver.receive(packet);
  }

  /**
   * The result of each poll for the holder, also when the holder is unknown; does not wait until this member is ready.
   *
   * @internal
   */
  looking(resource: string, signal?: AbortSignal): AsyncGenerator<Look, never, void> {
    const { runtime, durations } = this.#around;
    return looking({ runtime, leaseMs: durations.leaseMs, ask: () => this.holder(resource), signal });
  }

  /**
   * Stands for election until elected, once, and tells of every renewal by the clock `now`.
   *
   * @internal
   */
  stand(resource: string, now: () => Instant, events: ElectedEvents): Disposable {
    checkResource(resource);
    this.#throwIfClosed();
    return this.#candidates.stand(resource, now, events);
  }

  #standFor(resource: string, granted: (held: HeldLease) => void): () => void {
    const pending = this.#requests.add(
      'acquire',
      resource,
      ({ held }) => granted(held),
      () => {},
    );
    const { id } = pending;
    this.#request(pending);
    return () => {
      if (this.#requests.take(id) === undefined) return;
      this.#driver.input((reading) => this.#driver.member.cancel(resource, id, reading));
    };
  }

  #ask<K extends Request['kind']>(kind: K, resource: string, options?: CallOptions): Promise<Answers[K]> {
    return new Promise((resolve, reject) => {
      checkResource(resource);
      if (options !== undefined) checkCallOptions(options);
      this.#throwIfRemoved();
      if (kind !== 'acquire' && this.#driver.member.recovery !== undefined) {
        throw this.#reasons.noMajority(resource, undefined);
      }
      const pending = this.#requests.add(kind, resource, resolve, reject);
      if (options?.signal !== undefined || options?.timeoutMs !== undefined) this.#limit(pending, options);
      this.#request(pending);
    });
  }

  #request(pending: Pick<Pending, 'kind' | 'id' | 'resource'>): void {
    this.#driver.input((reading) => this.#driver.member.request(pending.resource, pending, reading));
  }

  #limit<K extends Request['kind']>(pending: PendingOf<K>, options: CallOptions): void {
    const { id, resource } = pending;
    this.#requests.limit(pending, options, () => {
      const why = this.#reasons.whyNot(resource, this.#leaseOn(resource), options.timeoutMs ?? 0);
      this.#driver.input((reading) => this.#driver.member.cancel(resource, id, reading));
      return why;
    });
  }

  #tell(event: MemberEvent): void {
    switch (event.kind) {
      case 'granted':
        this.#granted(event.request, event.held);
        return;
      case 'held':
      case 'told':
      case 'failed':
        this.#answer(event);
        return;
      case 'renewed':
        this.#leaseOf(event.held)?.renewed();
        this.#candidates.hear(event);
        return;
      case 'ending':
        this.#leaseOf(event.held)?.ending();
        return;
      case 'ended':
        this.#ended(event.held);
        this.#candidates.hear(event);
        return;
      case 'left':
        this.#releases.left(event.held);
        return;
      case 'ready':
        this.#around.mesh.logProblems();
        this.#diary.note(event);
        return;
      case 'settled':
        this.#keepPeers(this.#driver.member.view.members);
        this.#acks.keep(this.#driver.member.view.members);
        this.#diary.note(event);
        if (wasRemoved(this.name, this.#driver.member.view)) {
          const why = removed(this.name, event.view);
          this.#events.tell('flease.removed', { peersVersion: event.view });
          this.#closing.fail(why);
          this.#dismiss(why);
        }
        return;
      default:
        this.#diary.note(event);
    }
  }

  #answer(event: Extract<MemberEvent, { kind: 'held' | 'told' | 'failed' }>): void {
    const pending = this.#requests.take(event.request);
    if (pending === undefined) return;
    if (event.kind === 'failed') {
      pending.reject(this.#reasons.noMajority(pending.resource, event.refusals));
    } else if (event.kind === 'told') {
      assert(pending.kind === 'ask', 'who has it is told to who asked that');
      pending.resolve(event.lease);
    } else {
      assert(pending.kind === 'try', 'whoever waits is not told that it is held');
      pending.resolve(undefined);
    }
  }

  #granted(request: number, held: HeldLease): void {
    const pending = this.#requests.wanting(request);
    assert(pending !== undefined, 'what is handed out is wanted');
    this.#requests.take(request);
    const lease = new Lease(this.#keeper, held);
    this.#held += 1;
    held.handle = lease;
    pending.resolve(lease);
  }

  #ended(held: HeldLease): void {
    const lease = this.#takeBack(held);
    lease?.ended(held.ended ?? 'lapsed');
    this.#tellLost(held, lease);
  }

  #tellLost({ resource, number }: HeldLease, lease: Lease | undefined): void {
    if (lease?.how === undefined || lease.how === 'released') return;
    this.#events.tell('flease.lost', { resource, number, how: lease.how });
  }

  /** The application's object for the lease; undefined before the application is told of the lease, and after the end. */
  #leaseOf(held: HeldLease): Lease | undefined {
    return held.handle as Lease | undefined; // Nothing else sets a handle.
  }

  #leaseOn(resource: string): Lease | undefined {
    const held = this.#driver.member.heldLeaseOf(resource);
    return held && this.#leaseOf(held);
  }

  /** From here on the lease has no holder. */
  #takeBack(held: HeldLease): Lease | undefined {
    const lease = this.#leaseOf(held);
    if (lease !== undefined) this.#held -= 1;
    held.handle = undefined;
    return lease;
  }

  async #handover(lease: Lease, to: string, options: CallOptions = {}): Promise<void> {
    this.#throwIfClosed();
    checkCallOptions(options);
    const { members } = this.#driver.member.view;
    if (to === this.name || !members.includes(to)) {
      const others = members.filter((member) => member !== this.name).join(', ');
      const whom = others === '' ? ', and there is none' : `: ${others}`;
      throw invalidOption('to', to, `it must be another member of the cell${whom}`);
    }
    const { held, resource } = lease;
    if (!lease.isHeld()) throw leaseLost(resource, lease.number, lease.how ?? 'lapsed');
    using limit = this.#limited(options);
    const released = this.#release(held, to);
    await unlessAborted(released, limit.signal).catch((error: unknown) => {
      if (!limit.isOver) throw error;
    });
    if (held.state === 'given-back') return;
    this.#throwIfClosed();
    throw handoverUnconfirmed(this.#reasons.noMajority(resource, undefined));
  }

  async #release(held: HeldLease, successor?: string): Promise<void> {
    if (this.#closing.isClosing) return this.close();
    this.#letGo(held, successor)?.ended('released');
    await this.#releases.over(held);
  }

  /** From here on the lease is not held; the others hear of the release later. */
  #letGo(held: HeldLease, successor?: string): Lease | undefined {
    const lease = this.#takeBack(held);
    // First, because a listener that hears of the end may release the same lease, or close everything.
    this.#driver.input((reading) => this.#driver.member.release(held, reading, successor));
    return lease;
  }

  #noteAcknowledging(member: string, isAcknowledging: boolean): void {
    const { logger } = this.#around;
    const facts = { member, why: unheardWords(this.name) };
    if (isAcknowledging) logger.info(`member ${member} acknowledges this member again`, { member });
    else logger.warn(`member ${member} acknowledges no packet of this member`, facts);
  }

  /** Nobody waits for anything here any more. */
  #dismiss(why: Error): void {
    for (const { id, resource, reject } of [...this.#requests.values()]) {
      this.#requests.take(id);
      this.#driver.input((reading) => this.#driver.member.cancel(resource, id, reading));
      reject(why);
    }
  }

  async #until(waitsFor: string, isSo: () => boolean, options: CallOptions = {}): Promise<void> {
    checkCallOptions(options);
    const answer = (): true | undefined => {
      this.#throwIfClosed();
      return isSo() ? true : undefined;
    };
    await waitWithin(this.#around.runtime, ['flease', waitsFor], options, (signal) =>
      this.#waiters.until(answer, signal),
    );
  }

  /** Without a timer for a call without a time limit. */
  #limited({ timeoutMs, signal }: CallOptions): Disposable & Partial<Pick<Deadline, 'signal' | 'isOver'>> {
    if (timeoutMs !== undefined && timeoutMs !== Number.POSITIVE_INFINITY) {
      return deadline(this.#around.runtime, timeoutMs, signal);
    }
    return { ...(signal && { signal }), [Symbol.dispose]: () => {} };
  }

  #throwIfRemoved(): void {
    this.#throwIfClosed();
    const { view } = this.#driver.member;
    if (wasRemoved(this.name, view)) throw removed(this.name, view.number);
  }

  /** No other name is a member any more. */
  #keepPeers(members: readonly string[]): void {
    const { mesh } = this.#around;
    mesh.setPeers(new Map([...mesh.peers].filter(([name]) => members.includes(name))));
  }

  #throwIfClosed(): void {
    if (this.#closing.isClosing) throw memberClosed();
  }

  async #close(): Promise<void> {
    const { runtime, durations, mesh, atEndOfTurn } = this.#around;
    this.#aborting?.[Symbol.dispose]();
    this.#dismiss(memberClosed());
    for (const held of [...this.#driver.member.heldLeases]) this.#letGo(held)?.ended('closed');
    await new Promise<void>(atEndOfTurn); // Until then not everything has been sent.
    const stop = new AbortController();
    const deadline = pause(runtime, CLOSING_ANSWERS * durations.answerTimeoutMs, stop.signal);
    const { member } = this.#driver;
    const isDone = this.#waiters.until(() => (member.hasUnfinished ? undefined : true), stop.signal);
    // A lease whose release could not be told expires by itself.
    await Promise.race([isDone.catch(ended), deadline]);
    stop.abort();
    this.#driver.stop();
    this.#releases.end();
    this.#waiters.look();
    this.#events.close();
    await mesh[Symbol.asyncDispose]();
  }
}

showAs(FleaseMember, 'FleaseMember', (member) => member.status());

/** Nobody waits for the result any more. */
const ended = (): void => {};

function checkCallOptions(options: CallOptions): void {
  checkOptionNames('', options, CALL_OPTIONS);
  const { timeoutMs, signal } = options;
  if (timeoutMs !== undefined && (typeof timeoutMs !== 'number' || !(timeoutMs > 0))) {
    const rule =
      'it must be a number of milliseconds above 0; a caller that does not want to wait uses acquireIfFree';
    throw invalidOption('timeoutMs', timeoutMs, rule);
  }
  checkSignal(signal);
  signal?.throwIfAborted();
}

/** Callers without a compiler need this check. */
function checkSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw invalidOption('signal', signal, 'it must be an AbortSignal');
}
