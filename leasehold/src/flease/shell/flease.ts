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
import { InvalidOptionError } from '../../runtime/errors.ts';
import { showAs } from '../../runtime/inspection.ts';
import type { Logger } from '../../runtime/logger.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';
import { Condition } from '../../runtime/condition.ts';
import type { Request } from '../resource-state.ts';
import type { HeldLease } from '../held-lease.ts';
import { FleaseDriver } from '../driver.ts';
import { GroupClosedError, GroupLeftError, LeaseEndedError, LeaseNotHeldError } from '../errors.ts';
import type { MemberEvent } from '../member.ts';
import type { Packet } from '../messages.ts';
import type { ResolvedFleaseDurations } from '../options.ts';
import type { ElectedEvents } from '../soft-log.ts';
import type { View } from '../view.ts';
import { encodePacket } from '../wire/encode.ts';
import { unheardWords } from '../wording.ts';
import { peersAt, recoveryAt } from './at-present.ts';
import { PendingReleases } from './pending-releases.ts';
import { Diary } from './diary.ts';
import { FleaseLease, type LeaseKeeper } from './flease-lease.ts';
import { AckTracker } from './ack-tracker.ts';
import { type Holder, isSameHolder, type Look, looking } from './looking.ts';
import { checkPeers, checkResource, type Peers } from './peers-option.ts';
import { pause } from '../../runtime/pause.ts';
import { Reasons } from './reasons.ts';
import { type Answers, type Pending, type PendingOf, Requests } from './requests.ts';
import { Candidates } from './candidates.ts';
import { type FleaseStatus, goneStatus, hasLeft, peerStatus, recoveryStatus, type Ways } from './status.ts';

export interface AcquireOptions {
  /** Stops waiting, and rejects with the signal's reason. */
  signal?: AbortSignal | undefined;

  /** How long to wait, in milliseconds, the silence after a start included; above 0. @default for ever */
  waitMs?: number | undefined;
}

export interface WatchOptions {
  /** Ends the generator, with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** @internal */
export interface FleaseDependencies {
  readonly id: string;
  readonly group: string;
  readonly incarnation: number;
  readonly view: View;
  readonly durations: ResolvedFleaseDurations;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly mesh: Mesh<Uint8Array, Packet>;
  atEndOfTurn(callback: () => void): void;
}

const ACQUIRE_OPTIONS: OptionNames<AcquireOptions> = { signal: true, waitMs: true };
const WATCH_OPTIONS: OptionNames<WatchOptions> = { signal: true };

/** How long closing waits for the others to hear of the releases, in times to answer. */
const CLOSING_ANSWERS = 2;

export class Flease implements AsyncDisposable {
  readonly id: string;
  readonly group: string;
  readonly #around: FleaseDependencies;
  readonly #driver: FleaseDriver;
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
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(around: FleaseDependencies) {
    const { id, group, incarnation, view, durations, runtime, mesh, logger } = around;
    this.id = id;
    this.group = group;
    this.#around = around;
    this.#diary = new Diary(logger);
    this.#requests = new Requests(runtime);
    this.#driver = new FleaseDriver({
      settings: { group, id, incarnation, view, durations, random: () => runtime.random() },
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
        if (this.#closed === undefined) this.#letGo(held);
      },
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
        mesh.problemOf(peer) ?? (this.#acks.isAcknowledging(peer) ? undefined : unheardWords(id)),
    };
    this.#reasons = new Reasons(id, this.#driver.member, this.#ways, runtime);
    this.#driver.start();
  }

  /**
   * Resolves when the lease is held. Waiting callers are served in order of arrival, as long as the holders live.
   *
   * @throws {LeaseHeldError} if another caller held the lease for all of `waitMs`
   * @throws {NoMajorityError} if too few members could be asked within `waitMs`, with the reason of each member; also
   *   if the others are in a later view, and nobody has told this one
   * @throws {InvalidOptionError} if the resource has no name, or one that is too long
   * @throws {GroupClosedError} if this member is closed before that
   * @throws {GroupLeftError} if the group has changed without this member
   * @throws the signal's reason, if the signal aborts first
   */
  acquire(resource: string, options?: AcquireOptions): Promise<FleaseLease> {
    return this.#ask('acquire', resource, options);
  }

  /**
   * Resolves with the lease, or with undefined if the lease is held by another caller, in this process or in another.
   *
   * @throws {NoMajorityError} if too few members could be asked, or this one still recovers
   * @throws {InvalidOptionError} if the resource has no name, or one that is too long
   * @throws {GroupClosedError} if this member is closed before that
   * @throws {GroupLeftError} if the group has changed without this member
   */
  tryAcquire(resource: string): Promise<FleaseLease | undefined> {
    return this.#ask('try', resource);
  }

  /**
   * The holder at the instant of the query, which may have changed since; undefined if the lease is free.
   *
   * @throws {NoMajorityError} if too few members could be asked, or this one still recovers
   * @throws {InvalidOptionError} if the resource has no name, or one that is too long
   * @throws {GroupClosedError} if this member is closed before that
   * @throws {GroupLeftError} if the group has changed without this member
   */
  async holder(resource: string): Promise<Holder | undefined> {
    const lease = await this.#ask('ask', resource);
    if (lease?.state !== 'held') return undefined;
    return { holder: lease.holder, number: lease.number, validUntil: lease.untilMs };
  }

  /**
   * The holder, at first and on every change. Asks a majority four times in a lease while the lease is held and ten
   * times otherwise, so a change is told that much later, and a change that was undone in between is not told at all.
   * While no majority answers nothing is told.
   *
   * @throws {InvalidOptionError} if the resource has no name, or one that is too long
   * @throws {GroupClosedError} if this member is closed
   * @throws {GroupLeftError} if the group has changed without this member
   * @throws the signal's reason, when the signal aborts
   */
  async *watch(resource: string, options: WatchOptions = {}): AsyncGenerator<Holder | undefined, void, void> {
    checkOptionNames('', options, WATCH_OPTIONS);
    checkResource(resource);
    const { signal } = options;
    let told: { readonly holder: Holder | undefined } | undefined;
    await this.ready(signal);
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
   *     for await (const term of group.elect('scheduler', { signal })) await lead(term.signal, term.number);
   *
   * @throws {GroupClosedError} if this member is closed
   * @throws {GroupLeftError} if the group has changed without this member
   * @throws the signal's reason, when the signal aborts while waiting
   */
  async *elect(name: string, options: WatchOptions = {}): AsyncGenerator<FleaseLease, void, void> {
    checkOptionNames('', options, WATCH_OPTIONS);
    for (;;) {
      await using term = await this.acquire(name, options);
      yield term;
    }
  }

  /**
   * Gives a lease that is held here to another member: no third member gets the lease before that member has asked, or
   * a lease has passed. Resolves when a majority has that written. If that fails, the lease is not held here either.
   *
   * @throws {LeaseEndedError} if the lease is no longer held
   * @throws {NoMajorityError} if too few members could be told before the lease's expiry: then any member gets it
   * @throws {GroupClosedError} if this member is closed before that
   * @throws {LeaseNotHeldError} if nobody in this process holds the resource
   * @throws {InvalidOptionError} if there is no such member
   */
  async handover(what: FleaseLease | string, to: string): Promise<void> {
    this.#throwIfClosed();
    const resource = typeof what === 'string' ? what : what.resource;
    const lease = this.#leaseOn(resource);
    const { members } = this.#driver.member.view;
    if (to === this.id || !members.includes(to)) {
      const others = members.filter((member) => member !== this.id).join(', ');
      const whom = others === '' ? ', and there is none' : `: ${others}`;
      throw new InvalidOptionError('to', to, `it must be another member of the group${whom}`);
    }
    if (typeof what !== 'string' && lease !== what) {
      if (what.isHeld()) throw new LeaseNotHeldError(resource); // The lease is held, but in another group.
      throw new LeaseEndedError(resource, what.number, what.how ?? 'lapsed');
    }
    if (lease === undefined) throw new LeaseNotHeldError(resource);
    const { held } = lease;
    if (!lease.isHeld()) throw new LeaseEndedError(resource, lease.number, lease.how ?? 'lapsed');
    await this.#release(held, to);
    if (held.state === 'given-back') return;
    this.#throwIfClosed();
    throw this.#reasons.noMajority(resource, undefined);
  }

  /**
   * Moves this member to the next view of the group. Do the same at every member, also at those that are to go: a
   * majority of the old members has to move. Start those that are to come with `view` and `before`, and let them be
   * {@link ready}, before; close those that are to go once all that stay are {@link settled}. Leases go on; a lease of
   * a leaving member goes on until that member closes.
   *
   * @throws {GroupChangeError} if the present view is not settled yet
   * @throws {InvalidOptionError} if these are no peers, or this member is neither among them nor in the present view
   * @throws {GroupClosedError} if this member is closed
   */
  async changeGroup(change: { readonly peers: Peers }): Promise<void> {
    this.#throwIfClosed();
    checkOptionNames('', change, { peers: true });
    const peers = checkPeers('peers', change.peers);
    if (!peers.has(this.id) && !this.#driver.member.view.members.includes(this.id)) {
      throw new InvalidOptionError(
        'peers',
        [...peers.keys()].join(', '),
        `${this.id} must be among them, for it has left the group already: close it`,
      );
    }
    this.#driver.input((member, reading) => member.move([...peers.keys()], reading));
    const { mesh } = this.#around;
    mesh.setPeers(new Map([...mesh.peers, ...peers]), 'changing');
    this.#around.logger.info(`moved to view ${this.#driver.member.view.number}`, {
      peers: [...peers.keys()].join(', '),
    });
  }

  /**
   * Resolves when members of the view before are no longer needed, a lease and twice the skew after most of them have
   * moved; at once if there are none.
   */
  async settled(signal?: AbortSignal): Promise<void> {
    await this.#until(() => this.#driver.member.view.before === undefined, signal);
  }

  /**
   * Resolves when this member is ready: not before a recovery of a lease and twice the skew.
   *
   * @throws {GroupLeftError} if the group has changed without this member
   */
  async ready(signal?: AbortSignal): Promise<void> {
    await this.#until(() => {
      this.#throwIfGone();
      return this.#driver.member.recovery === undefined;
    }, signal);
  }

  status(): FleaseStatus {
    const { member } = this.#driver;
    const { durations } = this.#around;
    const reading = this.#driver.read();
    return {
      id: this.id,
      group: this.group,
      view: member.view.number,
      isSettled: member.view.before === undefined,
      leaseMs: durations.leaseMs,
      clockSkewMs: durations.clockSkewMs,
      gone: goneStatus(this.id, member.view, this.#closed !== undefined),
      recovery: recoveryStatus(recoveryAt(member, reading)),
      peers: peersAt(member, reading).map((peer) => peerStatus(peer, this.#ways)),
      held: this.#held,
      waiting: this.#requests.size,
      registers: member.registersKept,
      attempts: member.attemptsMade,
    };
  }

  /** @internal */
  get view(): View {
    return this.#driver.member.view;
  }

  /** Gives everything back, tells the others as long as that is quick, and leaves. */
  async close(): Promise<void> {
    if (this.#closed === undefined) {
      let closing: (closed: Promise<void>) => void = () => {};
      // A callback that is told of an end by the following lines finds the group closed.
      this.#closed = new Promise((resolve) => {
        closing = resolve;
      });
      closing(this.#close());
    }
    await this.#closed;
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
      this.#driver.input((member, reading) => member.cancel(resource, id, reading));
    };
  }

  #ask<K extends Request['kind']>(kind: K, resource: string, options?: AcquireOptions): Promise<Answers[K]> {
    return new Promise((resolve, reject) => {
      checkResource(resource);
      if (options !== undefined) checkAcquireOptions(options);
      this.#throwIfGone();
      if (kind !== 'acquire' && this.#driver.member.recovery !== undefined) {
        throw this.#reasons.noMajority(resource, undefined);
      }
      const pending = this.#requests.add(kind, resource, resolve, reject);
      if (options?.signal !== undefined || options?.waitMs !== undefined) this.#limit(pending, options);
      this.#request(pending);
    });
  }

  #request(pending: Pick<Pending, 'kind' | 'id' | 'resource'>): void {
    this.#driver.input((member, reading) => member.request(pending.resource, pending, reading));
  }

  #limit<K extends Request['kind']>(pending: PendingOf<K>, options: AcquireOptions): void {
    const { id, resource } = pending;
    this.#requests.limit(pending, options, () => {
      const why = this.#reasons.whyNot(resource, this.#leaseOn(resource), options.waitMs ?? 0);
      this.#driver.input((member, reading) => member.cancel(resource, id, reading));
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
        if (hasLeft(this.id, this.#driver.member.view))
          this.#dismiss(new GroupLeftError(this.id, event.view));
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
    const lease = new FleaseLease(this.#keeper, held);
    this.#held += 1;
    held.handle = lease;
    pending.resolve(lease);
  }

  #ended(held: HeldLease): void {
    this.#takeBack(held)?.ended(held.ended ?? 'lapsed');
  }

  /** The application's object for the lease; undefined before the application is told of the lease, and after the end. */
  #leaseOf(held: HeldLease): FleaseLease | undefined {
    return held.handle as FleaseLease | undefined; // Nothing else sets a handle.
  }

  #leaseOn(resource: string): FleaseLease | undefined {
    const held = this.#driver.member.heldLeaseOf(resource);
    return held && this.#leaseOf(held);
  }

  /** From here on the lease has no holder. */
  #takeBack(held: HeldLease): FleaseLease | undefined {
    const lease = this.#leaseOf(held);
    if (lease !== undefined) this.#held -= 1;
    held.handle = undefined;
    return lease;
  }

  async #release(held: HeldLease, successor?: string): Promise<void> {
    if (this.#closed !== undefined) return this.#closed;
    this.#letGo(held, successor)?.ended('released');
    await this.#releases.over(held);
  }

  /** From here on the lease is not held; the others hear of the release later. */
  #letGo(held: HeldLease, successor?: string): FleaseLease | undefined {
    const lease = this.#takeBack(held);
    // First, because a listener that hears of the end may release the same lease, or close everything.
    this.#driver.input((member, reading) => member.release(held, reading, successor));
    return lease;
  }

  #noteAcknowledging(member: string, isAcknowledging: boolean): void {
    const { logger } = this.#around;
    const facts = { member, why: unheardWords(this.id) };
    if (isAcknowledging) logger.info(`member ${member} acknowledges this member again`, { member });
    else logger.warn(`member ${member} acknowledges no packet of this member`, facts);
  }

  /** Nobody waits for anything here any more. */
  #dismiss(why: Error): void {
    for (const { id, resource, reject } of [...this.#requests.values()]) {
      this.#requests.take(id);
      this.#driver.input((member, reading) => member.cancel(resource, id, reading));
      reject(why);
    }
  }

  async #until(isSo: () => boolean, signal?: AbortSignal): Promise<void> {
    await this.#waiters.until(() => {
      this.#throwIfClosed();
      return isSo() ? true : undefined;
    }, signal);
  }

  #throwIfGone(): void {
    this.#throwIfClosed();
    const { view } = this.#driver.member;
    if (hasLeft(this.id, view)) throw new GroupLeftError(this.id, view.number);
  }

  /** No other name is a member any more. */
  #keepPeers(members: readonly string[]): void {
    const { mesh } = this.#around;
    mesh.setPeers(new Map([...mesh.peers].filter(([name]) => members.includes(name))));
  }

  #throwIfClosed(): void {
    if (this.#closed !== undefined) throw new GroupClosedError();
  }

  async #close(): Promise<void> {
    const { runtime, durations, mesh, atEndOfTurn } = this.#around;
    this.#dismiss(new GroupClosedError());
    for (const held of [...this.#driver.member.heldLeases]) this.#letGo(held)?.ended('closed');
    await new Promise<void>(atEndOfTurn); // Until then not everything has been sent.
    const stop = new AbortController();
    const deadline = pause(runtime, CLOSING_ANSWERS * durations.answerMs, stop.signal);
    const { member } = this.#driver;
    const isDone = this.#waiters.until(() => (member.hasUnfinished ? undefined : true), stop.signal);
    // A lease whose release could not be told expires by itself.
    await Promise.race([isDone.catch(ended), deadline]);
    stop.abort();
    this.#driver.stop();
    this.#releases.end();
    this.#waiters.look();
    await mesh[Symbol.asyncDispose]();
  }
}

showAs(Flease, 'Flease', (flease) => flease.status());

/** Nobody waits for the result any more. */
const ended = (): void => {};

function checkAcquireOptions(options: AcquireOptions): void {
  checkOptionNames('', options, ACQUIRE_OPTIONS);
  const { waitMs, signal } = options;
  if (waitMs !== undefined && (typeof waitMs !== 'number' || !(waitMs > 0))) {
    const rule = 'it must be a number of milliseconds above 0; who does not want to wait uses tryAcquire';
    throw new InvalidOptionError('waitMs', waitMs, rule);
  }
  checkSignal(signal);
  signal?.throwIfAborted();
}

/** Callers without a compiler need this check. */
function checkSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw new InvalidOptionError('signal', signal, 'it must be an AbortSignal');
}
