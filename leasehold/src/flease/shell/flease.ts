/**
 * One member of a group in a running process: the core of `member.ts` with clocks and connections.
 *
 * The application's promises and signals are all here; what is decided is decided in the core. Whoever asks for
 * something or has given a lease back (`departures.ts`) is answered by an event; those who wait for a state, as
 * `ready`, `settled` and `close` do, look after every turn whether it has come.
 */

import { assert } from '../../runtime/assert.ts';
import { alarmOn } from '../../runtime/driver.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import { showAs } from '../../runtime/inspection.ts';
import type { Logger } from '../../runtime/logger.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';
import { Waiters } from '../../runtime/waiters.ts';
import type { Request } from '../claim.ts';
import type { Tenure } from '../tenure.ts';
import { FleaseDriver } from '../driver.ts';
import { GroupClosedError, GroupLeftError, LeaseEndedError, LeaseNotHeldError } from '../errors.ts';
import type { MemberEvent } from '../member.ts';
import type { Packet } from '../messages.ts';
import type { ResolvedFleaseDurations } from '../options.ts';
import type { ElectedEvents } from '../soft-log.ts';
import type { View } from '../view.ts';
import { unheededWords } from '../wording.ts';
import { peersAt, silenceAt } from './at-present.ts';
import type { Connections } from './connections.ts';
import { Departures } from './departures.ts';
import { Diary } from './diary.ts';
import { FleaseLease, type LeaseKeeper } from './flease-lease.ts';
import { Heeding } from './heeding.ts';
import { type Holder, isSameHolder, type Look, looking } from './looking.ts';
import { checkPeers, checkResource, type Peers } from './peers-option.ts';
import { pause } from './pause.ts';
import { Reasons } from './reasons.ts';
import { type Answers, type Pending, type PendingOf, Requests } from './requests.ts';
import { Standing } from './standing.ts';
import { type FleaseStatus, goneStatus, hasLeft, peerStatus, silenceStatus, type Ways } from './status.ts';

export interface AcquireOptions {
  /** Stops waiting, and rejects with its reason. */
  signal?: AbortSignal | undefined;

  /** How long to wait, in milliseconds, the silence after a start included; above 0. @default for ever */
  waitMs?: number | undefined;
}

export interface WatchOptions {
  /** Ends it, with its reason. */
  signal?: AbortSignal | undefined;
}

/** @internal */
export interface FleaseSurroundings {
  readonly id: string;
  readonly group: string;
  readonly life: number;
  readonly view: View;
  readonly durations: ResolvedFleaseDurations;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly connections: Connections;
  atEndOfTurn(callback: () => void): void;
}

const ACQUIRE_OPTIONS: OptionNames<AcquireOptions> = { signal: true, waitMs: true };
const WATCH_OPTIONS: OptionNames<WatchOptions> = { signal: true };

/** How long closing waits for the others to hear of what was given back, in times to answer. */
const CLOSING_ANSWERS = 2;

export class Flease implements AsyncDisposable {
  readonly id: string;
  readonly group: string;
  readonly #around: FleaseSurroundings;
  readonly #driver: FleaseDriver;
  readonly #diary: Diary;
  readonly #requests: Requests;
  readonly #waiters = new Waiters();
  readonly #departures = new Departures();
  readonly #reasons: Reasons;
  readonly #heeding: Heeding;
  readonly #ways: Ways;
  readonly #keeper: LeaseKeeper;
  readonly #standing: Standing;
  #held = 0;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(around: FleaseSurroundings) {
    const { id, group, life, view, durations, runtime, connections, logger } = around;
    this.id = id;
    this.group = group;
    this.#around = around;
    this.#diary = new Diary(logger);
    this.#requests = new Requests(runtime);
    this.#driver = new FleaseDriver({
      settings: { group, id, life, view, durations, random: () => runtime.random() },
      clock: runtime,
      alarm: (wake) => alarmOn(runtime, wake),
      atEndOfTurn: around.atEndOfTurn,
      send: (to, packet) => {
        this.#heeding.said(to, packet);
        connections.send(to, packet);
      },
      tell: (event) => this.#tell(event),
      isWanted: (request) => this.#requests.wanting(request) !== undefined,
      afterwards: () => this.#waiters.look(),
    });
    this.#keeper = {
      noticeMs: durations.noticeMs,
      nowMs: () => this.#driver.member.timeAt(this.#driver.read()),
      release: (tenure) => this.#release(tenure),
      forsake: (tenure) => {
        if (this.#closed === undefined) this.#letGo(tenure);
      },
    };
    this.#standing = new Standing({
      clockSkewMs: durations.clockSkewMs,
      leftMs: ({ untilMs }) => untilMs - (this.#keeper.nowMs() ?? untilMs),
      acquire: (resource, granted) => this.#standFor(resource, granted),
      release: (tenure) => void this.#release(tenure),
    });
    this.#heeding = new Heeding({
      ...{ clock: runtime, durations, isConnected: (peer) => connections.isConnected(peer) },
      isTroubled: (peer) =>
        this.#driver.member.peers().some(({ id: its, trouble }) => its === peer && trouble),
      changed: (peer, isHeeding) => this.#noteHeeding(peer, isHeeding),
    });
    this.#ways = {
      addressOf: (peer) => connections.addressOf(peer),
      isConnected: (peer) => connections.isConnected(peer),
      problemOf: (peer) =>
        connections.problemOf(peer) ?? (this.#heeding.isHeeding(peer) ? undefined : unheededWords(id)),
    };
    this.#reasons = new Reasons(id, this.#driver.member, this.#ways, runtime);
    this.#driver.start();
  }

  /**
   * Resolves when it is held. Those who wait for the same are served in the order in which they came, as
   * long as its holders live.
   *
   * @throws {LeaseHeldError} if somebody else had it for all of `waitMs`
   * @throws {NoMajorityError} if too few members could be asked within `waitMs`, and it says what each of them did; also if
   *   the others are in a later view, and nobody has told this one
   * @throws {InvalidOptionError} if the resource has no name, or one that is too long
   * @throws {GroupClosedError} if this member is closed before that
   * @throws {GroupLeftError} if the group has changed without it
   * @throws the signal's reason, if it aborts first
   */
  acquire(resource: string, options?: AcquireOptions): Promise<FleaseLease> {
    return this.#ask('acquire', resource, options);
  }

  /**
   * Resolves with the lease, or with undefined if somebody else has it, in this process or in another.
   *
   * @throws {NoMajorityError} if too few members could be asked, or this one still keeps silent
   * @throws {InvalidOptionError} if the resource has no name, or one that is too long
   * @throws {GroupClosedError} if this member is closed before that
   * @throws {GroupLeftError} if the group has changed without it
   */
  tryAcquire(resource: string): Promise<FleaseLease | undefined> {
    return this.#ask('try', resource);
  }

  /**
   * Who has it; undefined: nobody. True when it was asked; by the time it is read it may have changed.
   *
   * @throws {NoMajorityError} if too few members could be asked, or this one still keeps silent
   * @throws {InvalidOptionError} if the resource has no name, or one that is too long
   * @throws {GroupClosedError} if this member is closed before that
   * @throws {GroupLeftError} if the group has changed without it
   */
  async holder(resource: string): Promise<Holder | undefined> {
    const lease = await this.#ask('ask', resource);
    if (lease?.state !== 'held') return undefined;
    return { holder: lease.holder, number: lease.number, validUntil: lease.untilMs };
  }

  /**
   * Who has it, at first and whenever that changes. It asks a majority four times in a lease while somebody has it and
   * ten times otherwise, so a change is told that much later, and one that was undone in between not at all. While no
   * majority answers nothing is told.
   *
   * @throws {InvalidOptionError} if the resource has no name, or one that is too long
   * @throws {GroupClosedError} if this member is closed
   * @throws {GroupLeftError} if the group has changed without it
   * @throws the signal's reason, when it aborts
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
   * Terms of leadership, one after the other. A term lasts as long as the body of the loop: it should end when
   * the term's signal aborts. Leaving the loop gives the lease back.
   *
   *     for await (const term of group.elect('scheduler', { signal })) await lead(term.signal, term.number);
   *
   * @throws {GroupClosedError} if this member is closed
   * @throws {GroupLeftError} if the group has changed without it
   * @throws the signal's reason, when it aborts while waiting
   */
  async *elect(name: string, options: WatchOptions = {}): AsyncGenerator<FleaseLease, void, void> {
    checkOptionNames('', options, WATCH_OPTIONS);
    for (;;) {
      await using term = await this.acquire(name, options);
      yield term;
    }
  }

  /**
   * Gives a lease that is held here to another member: nobody else gets it before that one has asked for it, or
   * a lease has passed. Resolves when a majority has that written. Whatever comes of it, it is not held here any more.
   *
   * @throws {LeaseEndedError} if the lease is no longer held
   * @throws {NoMajorityError} if too few members could be told before the lease would have run out: then anybody gets it
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
      if (what.isHeld()) throw new LeaseNotHeldError(resource); // It is, but of another group.
      throw new LeaseEndedError(resource, what.number, what.how ?? 'lapsed');
    }
    if (lease === undefined) throw new LeaseNotHeldError(resource);
    const { tenure } = lease;
    if (!lease.isHeld()) throw new LeaseEndedError(resource, lease.number, lease.how ?? 'lapsed');
    await this.#release(tenure, to);
    if (tenure.state === 'given-back') return;
    this.#throwIfClosed();
    throw this.#reasons.noMajority(resource, undefined);
  }

  /**
   * Moves this member to the next view of the group. Do the same at every member, also at those that are to go: a
   * majority of the old members has to move. Start those that are to come with `view` and `before`, and let them be
   * {@link ready}, before; close those that are to go once all that stay are {@link settled}. Leases go on; what is
   * held by one that goes, until then.
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
    this.#around.connections.know(peers, true);
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
   * Resolves when this member takes part: not before it has been silent for a lease and twice the skew.
   *
   * @throws {GroupLeftError} if the group has changed without it
   */
  async ready(signal?: AbortSignal): Promise<void> {
    await this.#until(() => {
      this.#throwIfGone();
      return this.#driver.member.silence === undefined;
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
      silence: silenceStatus(silenceAt(member, reading)),
      peers: peersAt(member, reading).map((peer) => peerStatus(peer, this.#ways)),
      held: this.#held,
      waiting: this.#requests.size,
      registers: member.registersKept,
      attempts: member.attemptsMade,
    };
  }

  /** Gives everything back, tells the others as long as that is quick, and leaves. */
  async close(): Promise<void> {
    if (this.#closed === undefined) {
      let closing: (closed: Promise<void>) => void = () => {};
      // Whoever is told of an end by what follows finds the group closed.
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
    this.#heeding.heard(packet);
    this.#driver.receive(packet);
  }

  /**
   * Who has it, again and again, and that nobody knows; it does not wait until this member takes part.
   *
   * @internal
   */
  looking(resource: string, signal?: AbortSignal): AsyncGenerator<Look, never, void> {
    const { runtime, durations } = this.#around;
    return looking({ runtime, leaseMs: durations.leaseMs, ask: () => this.holder(resource), signal });
  }

  /**
   * Stands for a resource until it is had, once, and tells of every renewal by the clock `now`.
   *
   * @internal
   */
  stand(resource: string, now: () => Instant, events: ElectedEvents): Disposable {
    checkResource(resource);
    this.#throwIfClosed();
    return this.#standing.stand(resource, now, events);
  }

  #standFor(resource: string, granted: (tenure: Tenure) => void): () => void {
    const pending = this.#requests.add(
      'acquire',
      resource,
      ({ tenure }) => granted(tenure),
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
      if (kind !== 'acquire' && this.#driver.member.silence !== undefined) {
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
        this.#granted(event.request, event.tenure);
        return;
      case 'held':
      case 'told':
      case 'failed':
        this.#answer(event);
        return;
      case 'renewed':
        this.#leaseOf(event.tenure)?.renewed();
        this.#standing.hear(event);
        return;
      case 'ending':
        this.#leaseOf(event.tenure)?.ending();
        return;
      case 'ended':
        this.#ended(event.tenure);
        this.#standing.hear(event);
        return;
      case 'left':
        this.#departures.left(event.tenure);
        return;
      case 'speaking':
        this.#around.connections.tellWhoIsMissing();
        this.#diary.note(event);
        return;
      case 'settled':
        this.#around.connections.keep(this.#driver.member.view.members);
        this.#heeding.keep(this.#driver.member.view.members);
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
      pending.reject(this.#reasons.noMajority(pending.resource, event.reluctant));
    } else if (event.kind === 'told') {
      assert(pending.kind === 'ask', 'who has it is told to who asked that');
      pending.resolve(event.lease);
    } else {
      assert(pending.kind === 'try', 'whoever waits is not told that it is held');
      pending.resolve(undefined);
    }
  }

  #granted(request: number, tenure: Tenure): void {
    const pending = this.#requests.wanting(request);
    assert(pending !== undefined, 'what is handed out is wanted');
    this.#requests.take(request);
    const lease = new FleaseLease(this.#keeper, tenure);
    this.#held += 1;
    tenure.handle = lease;
    pending.resolve(lease);
  }

  #ended(tenure: Tenure): void {
    this.#takeBack(tenure)?.ended(tenure.ended ?? 'lapsed');
  }

  /** What the application has of it; undefined if it was not told yet, or is told that it is over. */
  #leaseOf(tenure: Tenure): FleaseLease | undefined {
    return tenure.handle as FleaseLease | undefined; // Nobody else gives it one.
  }

  #leaseOn(resource: string): FleaseLease | undefined {
    const tenure = this.#driver.member.tenureOf(resource);
    return tenure && this.#leaseOf(tenure);
  }

  /** From here on it is nobody's. */
  #takeBack(tenure: Tenure): FleaseLease | undefined {
    const lease = this.#leaseOf(tenure);
    if (lease !== undefined) this.#held -= 1;
    tenure.handle = undefined;
    return lease;
  }

  async #release(tenure: Tenure, heir?: string): Promise<void> {
    if (this.#closed !== undefined) return this.#closed;
    this.#letGo(tenure, heir)?.ended('released');
    await this.#departures.over(tenure);
  }

  /** From here on it is not held; the others hear of it by and by. */
  #letGo(tenure: Tenure, heir?: string): FleaseLease | undefined {
    const lease = this.#takeBack(tenure);
    // First, for whoever hears of the end may let go of it as well, or close everything.
    this.#driver.input((member, reading) => member.release(tenure, reading, heir));
    return lease;
  }

  #noteHeeding(member: string, isHeeding: boolean): void {
    const { logger } = this.#around;
    if (isHeeding) logger.info(`member ${member} heeds this one again`, { member });
    else logger.warn(`member ${member} does not heed this one`, { member, why: unheededWords(this.id) });
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

  #throwIfClosed(): void {
    if (this.#closed !== undefined) throw new GroupClosedError();
  }

  async #close(): Promise<void> {
    const { runtime, durations, connections, atEndOfTurn } = this.#around;
    this.#dismiss(new GroupClosedError());
    for (const tenure of [...this.#driver.member.tenures]) this.#letGo(tenure)?.ended('closed');
    await new Promise<void>(atEndOfTurn); // Until then not everything has been sent.
    const stop = new AbortController();
    const patience = pause(runtime, CLOSING_ANSWERS * durations.answerMs, stop.signal);
    const { member } = this.#driver;
    const isDone = this.#waiters.until(() => (member.hasUnfinished ? undefined : true), stop.signal);
    // What could not be told runs out by itself.
    await Promise.race([isDone.catch(ended), patience]);
    stop.abort();
    this.#driver.stop();
    this.#departures.end();
    this.#waiters.look();
    await connections[Symbol.asyncDispose]();
  }
}

showAs(Flease, 'Flease', (flease) => flease.status());

/** It was no longer waited for. */
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

/** Not everybody has a compiler to say it. */
function checkSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw new InvalidOptionError('signal', signal, 'it must be an AbortSignal');
}
