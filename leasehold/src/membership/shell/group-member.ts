/**
 * One server of a group in a running process: the core of `core/member.ts` with clocks and links.
 *
 * Nothing is decided here. The core's effects become messages, callbacks and settled promises. A callback of the application runs at the
 * end of the turn, outside the core, so a callback that throws or takes long delays no heartbeat and changes no view.
 */

import { nameInUse } from '../../node/mesh/errors.ts';
import type { Mesh, PeerState } from '../../node/mesh/mesh.ts';
import { HandleEvents } from '../../node/service/handle-events.ts';
import type { Service } from '../../node/service/service.ts';
import { Condition } from '../../runtime/condition.ts';
import { alarmOn, Driver } from '../../runtime/driver.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import {
  type CallOptions,
  Closing,
  type Event,
  type EventsOptions,
  type Handle,
} from '../../runtime/handle.ts';
import { showAs } from '../../runtime/inspection.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Family } from '../../runtime/metrics-text.ts';
import { pause } from '../../runtime/pause.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import type { Instant } from '../../runtime/time.ts';
import { waitWithin } from '../../runtime/wait-within.ts';
import type { Durations } from '../core/durations.ts';
import type { MemberEffect, Standing } from '../core/effects.ts';
import { closed, notAMember, noView } from '../core/errors.ts';
import { Member } from '../core/member.ts';
import type { MemberSettings } from '../core/member-settings.ts';
import type { AnyMessage, FromClient, Message } from '../core/messages.ts';
import type { MemberView } from '../core/view.ts';
import type { Reading, RegistryKeeper } from '../etcd/keeper.ts';
import { encodeMessage } from '../wire/codec.ts';
import { Callbacks } from './callbacks.ts';
import { type GroupPart, GroupParts } from './group-parts.ts';
import { KnownServers } from './known-servers.ts';
import type { RegistryConnection } from './registry.ts';
import { Sends } from './sends.ts';
import { memberService } from './service/service.ts';
import { clockWords, type GroupMemberStatus, type GroupState, statusOf, Troubles } from './status.ts';
import type { GroupCallbacks, View } from './view.ts';

/** What came of a message to all members. */
export interface BroadcastOutcome {
  readonly delivered: readonly string[];
  /** The members that did not acknowledge, and why. They may have received the message all the same. */
  readonly failed: ReadonlyMap<string, LeaseholdError>;
}

/** @internal */
export interface GroupDependencies {
  readonly settings: MemberSettings;
  readonly group: string;
  readonly address: string;
  readonly maxServers: number | undefined;
  readonly durations: Durations;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly mesh: Mesh<Uint8Array, AnyMessage>;
  readonly callbacks: GroupCallbacks;
  /** Where servers are registered, if views come from etcd. */
  readonly registry?: RegistryConnection | undefined;
  atEndOfTurn(callback: () => void): void;
}

/**
 * A leaving server waits for its clients. Until these have stopped, the server is in the views of the others and acknowledges their messages, and what is
 * acknowledged is handed over.
 */
const ALSO_WHILE_LEAVING: ReadonlySet<MemberEffect['do']> = new Set(['send', 'send-to-client', 'hand-over']);

/** How long a leaving server goes on saying that it leaves, in heartbeats. */
const LEAVING_HEARTBEATS = 2;

/** This process as a server of a group. */
export class GroupMember implements Handle<GroupMemberStatus> {
  readonly name: string;
  readonly group: string;
  /** Where other servers dial this one. */
  readonly address: string;
  readonly #use: GroupDependencies;
  readonly #member: Member;
  readonly #driver: Driver<MemberEffect>;
  readonly #guard: SuspensionGuard;
  readonly #episodes: EpisodeLog;
  readonly #keeper: RegistryKeeper | undefined;
  readonly #known: KnownServers;
  readonly #sends: Sends;
  readonly #callbacks: Callbacks;
  readonly #events: HandleEvents<'membership'>;
  readonly #troubles = new Troubles();
  readonly #changed = new Condition();
  readonly #closing = new Closing();
  readonly #parts = new GroupParts((channel, takesPart) =>
    this.#driver.input((now) => this.#member.takePart(channel, takesPart, now)),
  );
  readonly #counters = {
    changes: 0,
    views: 0,
    noViews: 0,
    messagesSent: 0,
    messagesFailed: 0,
    messagesReceived: 0,
  };
  /** The same object for as long as the view lasts. */
  #view: View | undefined;
  #encoded: { readonly message: Message; readonly frames: readonly Uint8Array[] } | undefined;
  #state: GroupState = 'changing';
  #stateSince: Instant;
  #end: Disposable | undefined;

  /** @internal */
  constructor(use: GroupDependencies) {
    const { settings, group, durations, runtime, mesh, logger } = use;
    this.name = settings.name;
    this.group = group;
    this.address = use.address;
    this.#use = use;
    this.#sends = new Sends(runtime);
    this.#callbacks = new Callbacks(logger, use.atEndOfTurn);
    const { startedMs, nonce } = settings.incarnation;
    this.#events = new HandleEvents(`${startedMs}.${nonce}`, group, runtime);
    this.#guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    this.#episodes = new EpisodeLog(logger, runtime);
    this.#stateSince = runtime.now();
    this.#member = new Member(settings, runtime.now());
    this.#known = new KnownServers({
      ...{ name: this.name, peers: settings.peers, mesh, member: this.#member, episodes: this.#episodes },
    });
    this.#driver = new Driver<MemberEffect>({
      core: this.#member,
      clock: runtime,
      guard: this.#guard,
      alarm: (wake) => alarmOn(runtime, wake),
      execute: (effect) => this.#execute(effect),
      suspended: () => logger.warn('the machine was suspended; this server joins the group anew'),
      afterInput: () => this.#changed.look(),
    });
    mesh.logProblems();
    this.#keeper = use.registry?.keep({
      read: (reading, sentAt) => this.#registryRead(reading, sentAt),
      nameTaken: () => this.#fail(nameInUse(this.name)),
    });
    this.#driver.input((now) => this.#member.wake(now));
  }

  /** The present view; the last one while the next is agreed on; undefined without one. */
  get view(): View | undefined {
    return this.#state === 'no-view' || this.#state === 'left' ? undefined : this.#view;
  }

  /**
   * Whether this server may act in this view at this instant: `acts`; `continues`, with a right that was this server's alone in all views since
   * it last acted; or `none`. Reads the clock. Ask right before each use, and use the answer for nothing later.
   */
  standing(view: View | undefined = this.view): Standing {
    const now = this.#use.runtime.now();
    if (view === undefined || this.#member.view?.id !== view.id) return 'none';
    if (this.#closing.isOver || this.#guard.looksSuspended(now)) return 'none';
    return this.#member.standing(now);
  }

  /** How messages travel to a server, if there is a path. */
  reach(name: string): 'direct' | 'overlay' | undefined {
    return this.#member.reach(name);
  }

  /**
   * Resolves when the process of the member or client has handed the message over. Rejects within `doubtMs + noViewAfterMs` and three heartbeats if that does not happen: then
   * the view of this server has ended. A message to a client ends with the view, or else with `OUTCOME_UNKNOWN`.
   *
   * @throws {UnavailableError} `NOT_A_MEMBER`, `NO_VIEW`, `BUSY`: nothing was sent
   * @throws {InvalidArgumentError} `TOO_LARGE` above 64 KiB: nothing was sent
   * @throws {OutcomeUnknownError} `VIEW_CHANGED`, `OUTCOME_UNKNOWN` if the message was not acknowledged; it may have arrived
   * @throws {ClosedError} if this process leaves or has left the group
   */
  async send(to: string, message: Uint8Array | string, options: CallOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    this.#throwIfClosed();
    const bytes = this.#sends.bytesOf(message, 1);
    let sent: Promise<void> | undefined;
    this.#driver.input((now) => {
      const { id, effects } = this.#member.send(to, bytes, now);
      if (id !== undefined) sent = this.#sends.add(id, to, bytes.length, options);
      return effects;
    });
    if (sent === undefined)
      throw this.view === undefined ? noView() : notAMember(to, this.view.members, this.name);
    this.#counters.messagesSent += 1;
    await sent;
  }

  /**
   * Sends to every other member of the present view, and resolves when each message is settled.
   *
   * @throws {InvalidArgumentError} `TOO_LARGE`: nothing was sent
   * @throws {UnavailableError} `BUSY`: nothing was sent
   */
  async broadcast(message: Uint8Array | string, options: CallOptions = {}): Promise<BroadcastOutcome> {
    options.signal?.throwIfAborted();
    this.#throwIfClosed();
    const bytes = this.#sends.bytesOf(message, this.view?.members.length ?? 0);
    let members: string[] = [];
    const sent: Promise<void>[] = [];
    this.#driver.input((now) => {
      members = (this.#member.view?.members ?? [])
        .map(({ name }) => name)
        .filter((name) => name !== this.name);
      const { ids, effects } = this.#member.broadcast(bytes, now);
      for (const [index, id] of ids.entries())
        sent.push(this.#sends.add(id, members[index] ?? '', bytes.length, options));
      return effects;
    });
    this.#counters.messagesSent += sent.length;
    const outcomes = await Promise.allSettled(sent);
    options.signal?.throwIfAborted();
    const delivered: string[] = [];
    const failed = new Map<string, LeaseholdError>();
    for (const [index, outcome] of outcomes.entries()) {
      const name = members[index] ?? '';
      if (outcome.status === 'fulfilled') delivered.push(name);
      else failed.set(name, outcome.reason as LeaseholdError);
    }
    return { delivered, failed };
  }

  /** The application cannot talk to this member by its own means, and wants no view with both. */
  reportUnreachable(name: string): void {
    this.#throwIfClosed();
    this.#driver.input((now) => this.#member.report(name, now));
  }

  /**
   * Resolves with the view once this server acts in one.
   *
   * @throws {UnavailableError} when the time is over
   * @throws {ClosedError} if this process leaves the group before that
   */
  async acting(options: CallOptions = {}): Promise<View> {
    return this.#when('a view in which this server acts', options, () => {
      const { view } = this;
      return view !== undefined && this.standing(view) === 'acts' ? view : undefined;
    });
  }

  /** Resolves once this server acts, or continues. @throws as `acting` */
  async ready(options: CallOptions = {}): Promise<void> {
    await this.#when(
      'a view in which this server acts',
      options,
      () => this.standing() !== 'none' || undefined,
    );
  }

  #when<T>(what: string, options: CallOptions, ask: () => T | undefined): Promise<T> {
    const { runtime, durations } = this.#use;
    return waitWithin(runtime, ['membership', what], options, async (signal) => {
      for (;;) {
        this.#throwIfClosed();
        const answer = ask();
        if (answer !== undefined) return answer;
        // The end of a hold is no input of the core: look again after a part of a heartbeat.
        await pause(runtime, durations.heartbeatMs / 5, signal);
      }
    });
  }

  /** Every view from now on, the present one first. A slow reader misses views in between, and always gets the newest. */
  async *watch({ signal }: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<View, void, undefined> {
    let last: View | undefined;
    for (;;) {
      last = await this.#changed.until(() => {
        this.#throwIfClosed();
        return this.#state === 'in-view' && this.#view !== last ? this.#view : undefined;
      }, signal);
      yield last;
    }
  }

  status(): GroupMemberStatus {
    const { durations, mesh, runtime, maxServers, registry } = this.#use;
    const now = runtime.now();
    return statusOf({
      ...{ registry, name: this.name, instance: this.group, maxServers, durations, mesh },
      ...{ member: this.#member, view: this.view, state: this.#state, standing: this.standing() },
      ...{ counters: this.#counters, waiting: this.#sends.count },
      stateForMs: Math.round(now - this.#stateSince),
      troubledMs: (peer) => this.#troubles.forMs(peer, now),
    });
  }

  /** What happened to this server: `membership.view`, `.view-ending`, `.no-view`, `.left`. Ends when it is closed. */
  events(options: EventsOptions = {}): AsyncIterable<Event> {
    return this.#events.follow(options);
  }

  /** Resolves when this server has left the group: with the reason, if another process has its name or other settings. */
  get closed(): Promise<LeaseholdError | undefined> {
    return this.#closing.closed;
  }

  /** Leaves the group: no other server waits for the end of this server's leases. Messages are handed over until this server has left. */
  close(): Promise<void> {
    return this.#closing.close(() => this.#leave(undefined));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal */
  toService(): Service {
    return memberService({
      status: () => this.status(),
      log: this.#events.log,
      partMetrics: () => this.#parts.metrics(),
      send: (to, text) => this.send(to, text),
      broadcast: (text) => this.broadcast(text),
    });
  }

  /** @internal Ends with this handle. */
  endsWith(end: Disposable): void {
    this.#end = end;
  }

  /** The core and its surroundings, for parts of the toolkit. @internal */
  get inside(): Pick<GroupDependencies, 'runtime' | 'logger' | 'durations' | 'maxServers'> & {
    readonly member: Pick<Member, 'id' | 'view' | 'chain' | 'isChanging' | 'promisesEndAt'>;
    readonly hasRegistry: boolean;
  } {
    const { runtime, logger, durations, maxServers } = this.#use;
    const hasRegistry = this.#member.registry !== undefined;
    return { runtime, logger, durations, maxServers, member: this.#member, hasRegistry };
  }

  /** Takes part in this group under a channel, until disposed. @internal */
  attach(channel: string, part: GroupPart): Disposable {
    this.#throwIfClosed();
    return this.#parts.attach(channel, part);
  }

  /** The metrics of all parts. @internal */
  partMetrics(): Family[] {
    return this.#parts.metrics();
  }

  /** @internal See {@link Member.datagram}. */
  datagram(name: string, channel: string, body: Uint8Array, isDirect: boolean): void {
    this.#driver.input(() => this.#member.datagram(name, channel, body, isDirect));
  }

  /** @internal See {@link Member.wake}. */
  hurry(): void {
    this.#driver.input((now) => this.#member.wake(now, true));
  }

  /** @internal What this server has sent, for measurements: messages of the group, and bytes with their frames. */
  get traffic(): { readonly messages: number; readonly bytes: number } {
    const { outbound } = this.#use.mesh.counters;
    return { messages: outbound.messagesOut, bytes: outbound.bytesOut };
  }

  /** @internal */
  receive(from: string, message: AnyMessage): void {
    if (this.#member.hasLeft || !this.#known.has(from) || !isOfServers(message)) return;
    this.#driver.input((now) => this.#member.receive(from, message, now));
  }

  /** @internal A server that leaves still listens to its clients, which have to stop first. A client speaks for itself only: nobody else may end its leases. */
  receiveFromClient(connection: string, name: string, message: AnyMessage): void {
    if (!isOfClients(message)) return;
    const client = message.client.name;
    if (client !== name) {
      this.#episodes.happened('foreign', 'a client speaks for another one, and is ignored', { name, client });
      return;
    }
    this.#driver.input((now) => this.#member.receiveFromClient(connection, message, now));
  }

  /** @internal */
  clientDisconnected(connection: string): void {
    this.#driver.input((now) => this.#member.clientBroke(connection, now));
  }

  /** @internal */
  peerIs(name: string, state: PeerState): void {
    this.#troubles.note(name, state !== 'connected', this.#use.runtime.now());
    if (state === 'disconnected') this.#driver.input((now) => this.#member.connectionBroke(name, now));
    // Two live processes under one name must not both act, so this one leaves.
    if (state === 'duplicated' && name === this.name) this.#fail(nameInUse(name));
  }

  /** Dials the servers that are registered, and tells the core. */
  #registryRead(reading: Reading, sentAt: Instant): void {
    const { registry } = this.#use;
    const mismatch = registry?.mismatchIn(reading);
    if (mismatch !== undefined) this.#fail(mismatch);
    if (registry !== undefined) this.#known.registered(registry, reading);
    this.#driver.input((now) => this.#member.registryRead(reading, sentAt, now));
  }

  #execute(effect: MemberEffect): void {
    const { mesh, callbacks, logger } = this.#use;
    if (this.#closing.isOver && !ALSO_WHILE_LEAVING.has(effect.do)) return;
    switch (effect.do) {
      case 'send':
        for (const frame of this.#framesOf(effect.message)) mesh.send(effect.to, frame);
        return;
      case 'send-to-client':
        for (const frame of encodeMessage(effect.message)) mesh.sendToClient(effect.to, frame);
        return;
      case 'start-change':
        this.#enter('changing');
        this.#counters.changes += 1;
        this.#events.tell('membership.view-ending', { view: this.#view?.id ?? null });
        this.#callbacks.call(callbacks.onViewEnding);
        return;
      case 'deliver-view':
        this.#deliver(effect.view);
        return;
      case 'no-view':
        this.#enter('no-view');
        this.#counters.noViews += 1;
        this.#events.tell('membership.no-view');
        logger.warn('no view could be agreed on; this server has no view until the next one', {
          name: this.name,
        });
        this.#callbacks.call(callbacks.onNoView);
        return;
      case 'hand-over':
        this.#counters.messagesReceived += 1;
        this.#callbacks.call(callbacks.onMessage, effect.from.name, effect.body);
        return;
      case 'hand-over-datagram':
        this.#parts.receive(effect.from, effect.datagram);
        return;
      case 'settle-send':
        if (effect.outcome !== 'delivered') this.#counters.messagesFailed += 1;
        this.#sends.settle(effect.id, effect.outcome);
        return;
      case 'clock-outside-the-bound':
        this.#episodes.happened(`clock of ${effect.peer}`, clockWords(effect.peer, effect.rate), {
          peer: effect.peer,
        });
        return;
      case 'name-taken':
        this.#fail(nameInUse(this.name));
        return;
      case 'register':
        this.#keeper?.register(effect.as);
        return;
      case 'deregister':
        this.#keeper?.deregister();
        return;
      default:
        logger.debug(effect.event.what, effect.event.facts);
    }
  }

  /** A record goes to all linked peers as one message: it is encoded once. */
  #framesOf(message: Message): readonly Uint8Array[] {
    if (this.#encoded?.message !== message) this.#encoded = { message, frames: encodeMessage(message) };
    return this.#encoded.frames;
  }

  #deliver({ id, members, kept, ...rest }: MemberView): void {
    const { logger, maxServers, callbacks } = this.#use;
    const names = members.map(({ name }) => name);
    const lost = (this.#view?.members ?? []).filter((name) => !names.includes(name));
    const clients = rest.clients.map(({ name }) => name);
    const view = { id, members: names, clients, kept: kept.map(({ name }) => name), lost };
    this.#view = view;
    this.#enter('in-view');
    this.#counters.views += 1;
    this.#events.tell('membership.view', { view: id, members: names, clients: clients.length, lost });
    logger.info('new view', {
      ...{ id, members: names.join(', '), clients: clients.length, lost: lost.join(', ') },
    });
    if (maxServers !== undefined && names.length > maxServers) {
      logger.error(
        'the view has more members than maxServers: raise maxServers at all servers before adding one',
        {
          maxServers,
          members: names.length,
        },
      );
    }
    this.#parts.delivered();
    this.#callbacks.call(callbacks.onView, view);
  }

  #enter(state: GroupState): void {
    this.#state = state;
    this.#stateSince = this.#use.runtime.now();
  }

  #throwIfClosed(): void {
    if (this.#closing.isOver) throw closed();
  }

  /** This server cannot go on, and leaves. */
  #fail(why: LeaseholdError): void {
    if (this.#closing.isOver) return;
    this.#use.logger.error(why.message, { code: why.code });
    this.#closing.fail(why);
    void this.#closing
      .close(() => this.#leave(why))
      .catch((error: unknown) => this.#use.logger.error('leaving the group failed', { why: String(error) }));
  }

  async #leave(why: LeaseholdError | undefined): Promise<void> {
    const { durations, runtime } = this.#use;
    this.#end?.[Symbol.dispose]();
    this.#enter('left');
    this.#events.tell('membership.left', { why: why?.message ?? null });
    this.#driver.input((now) => this.#member.leave(now));
    this.#sends.end();
    this.#changed.look();
    this.#parts.left();
    // Clients first have to stop acting on the word of this server, which takes a promise at most.
    await this.#changed.until(() => this.#member.hasLeft || undefined);
    // A message may be lost, so the last record is sent again with each heartbeat.
    await pause(runtime, LEAVING_HEARTBEATS * durations.heartbeatMs);
    this.#driver.stop();
    await this.#use.registry?.[Symbol.asyncDispose]();
    this.#episodes[Symbol.dispose]();
    await this.#use.mesh[Symbol.asyncDispose]();
    this.#events.close();
  }
}

showAs(GroupMember, 'GroupMember', (group) => group.status());

const isOfClients = (message: AnyMessage): message is FromClient =>
  message.kind === 'stamp' || message.kind === 'detach' || message.kind === 'outgoing';

const isOfServers = (message: AnyMessage): message is Message =>
  message.kind === 'heartbeat' || message.kind === 'records' || message.kind === 'packet';
