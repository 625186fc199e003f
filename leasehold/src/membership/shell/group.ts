/**
 * One server of a group in a running process: the core of `core/member.ts` with clocks and links.
 *
 * Nothing is decided here. The core's effects become messages, callbacks and settled promises. A callback of the application runs at the
 * end of the turn, outside the core, so a callback that throws or takes long delays no heartbeat and changes no view.
 */

import { NameTakenError } from '../../node/mesh/errors.ts';
import type { Mesh } from '../../node/mesh/mesh.ts';
import { EventLog } from '../../node/service/event-log.ts';
import { alarmOn, Driver } from '../../runtime/driver.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import { showAs } from '../../runtime/inspection.ts';
import type { Logger } from '../../runtime/logger.ts';
import { pause } from '../../runtime/pause.ts';
import type { Family } from '../../runtime/metrics-text.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import { Condition } from '../../runtime/condition.ts';
import type { Instant } from '../../runtime/time.ts';
import type { Durations } from '../core/durations.ts';
import type { MemberEffect, Standing } from '../core/effects.ts';
import type { MemberId } from '../core/incarnation.ts';
import { Member } from '../core/member.ts';
import type { MemberSettings } from '../core/member-settings.ts';
import type { AnyMessage, FromClient, Message } from '../core/messages.ts';
import type { View } from '../core/view.ts';
import type { Reading, RegistryKeeper } from '../etcd/keeper.ts';
import { LeftGroupError, MessageTooLargeError, NotAMemberError } from '../errors.ts';
import { BODY_BYTES_MAX, SERVERS_MAX } from '../wire/bounds.ts';
import { encodeMessage } from '../wire/codec.ts';
import { Sends } from './sends.ts';
import { isAddress, type RegistryConnection } from './registry.ts';
import { clockWords, type GroupStatus, type GroupState, statusOf } from './status.ts';

/** A set of servers that all agreed on exactly this set. */
export interface GroupView {
  /** Greater than the id of every view before at this server; equal at all members. */
  readonly id: string;
  /** The servers, sorted by name, this one included. */
  readonly members: readonly string[];
  /** The clients of all servers, sorted by name. */
  readonly clients: readonly string[];
  /** The members that have come through the same views as this server since they last acted; see `docs/membership.md`. */
  readonly kept: readonly string[];
  /** The members of the view before at this server that are not in this one. */
  readonly lost: readonly string[];
}

export type GroupEvent =
  | { readonly kind: 'change' }
  | {
      readonly kind: 'view';
      readonly view: string;
      readonly members: readonly string[];
      /** How many clients the view has. */
      readonly clients: number;
      readonly lost: readonly string[];
    }
  | { readonly kind: 'panic' }
  | { readonly kind: 'left'; readonly why: string | null };

export interface ClientCallbacks {
  /** The present view is about to end: finish, and begin nothing that needs the whole view. */
  onStartChange?: (() => void) | undefined;
  onView?: ((view: GroupView) => void) | undefined;
  /** No view could be agreed on for `panicMs`. The next `onView` ends the panic. */
  onPanic?: (() => void) | undefined;
  /** This process has left, by itself or because of an error such as `NAME_TAKEN`. */
  onEnd?: ((why: LeaseholdError | undefined) => void) | undefined;
}

export interface GroupCallbacks extends ClientCallbacks {
  /** A message of another member, handed over once. */
  onMessage?: ((from: string, bytes: Uint8Array) => void) | undefined;
}

export interface BroadcastOutcome {
  readonly delivered: readonly string[];
  /** The members that did not acknowledge, and why. They may have received the message all the same. */
  readonly failed: ReadonlyMap<string, LeaseholdError>;
}

/** @internal */
export interface GroupDependencies {
  readonly settings: MemberSettings;
  readonly group: string;
  readonly size: number | undefined;
  readonly durations: Durations;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly mesh: Mesh<Uint8Array, AnyMessage>;
  readonly callbacks: GroupCallbacks;
  /** Where servers are registered, if views come from etcd. */
  readonly registry?: RegistryConnection | undefined;
  atEndOfTurn(callback: () => void): void;
}

/** A part of the toolkit that stands on a group. @internal */
export interface GroupPart {
  /** A view was delivered, in the same step: before any promise in this view has left. */
  delivered(): void;
  receive(from: MemberId, body: Uint8Array): void;
  /** This process has left the group. */
  left(): void;
  /** Shown with the metrics of the group. */
  metrics?: (() => readonly Family[]) | undefined;
}

/** How long a leaving server goes on saying that it leaves, in heartbeats. */
const LEAVING_HEARTBEATS = 2;

export class Group implements AsyncDisposable {
  readonly name: string;
  readonly group: string;
  /** @internal The last events, for those who look from outside. */
  readonly events: EventLog<GroupEvent>;
  readonly #use: GroupDependencies;
  readonly #member: Member;
  readonly #driver: Driver<MemberEffect>;
  readonly #guard: SuspensionGuard;
  readonly #episodes: EpisodeLog;
  readonly #keeper: RegistryKeeper | undefined;
  readonly #sends = new Sends();
  readonly #changed = new Condition();
  /** By the channel of their datagrams. */
  readonly #parts = new Map<string, GroupPart>();
  readonly #counters = {
    changes: 0,
    views: 0,
    panics: 0,
    messagesSent: 0,
    messagesFailed: 0,
    messagesReceived: 0,
  };
  /** The same object for as long as the view lasts. */
  #view: GroupView | undefined;
  #encoded: { readonly message: Message; readonly frames: readonly Uint8Array[] } | undefined;
  #state: GroupState = 'changing';
  #stateSince: number;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(use: GroupDependencies) {
    const { settings, group, durations, runtime, mesh, logger } = use;
    this.name = settings.name;
    this.group = group;
    this.#use = use;
    const { startedMs, nonce } = settings.incarnation;
    this.events = new EventLog({ epoch: `${startedMs}.${nonce}` });
    this.#guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    this.#episodes = new EpisodeLog(logger, runtime);
    this.#stateSince = runtime.now();
    this.#member = new Member(settings, runtime.now());
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
      nameTaken: () => this.nameTaken(),
    });
    this.#driver.input((now) => this.#member.wake(now));
  }

  /** The present view; the last one while the next is agreed on; undefined in panic and before the first view. */
  get view(): GroupView | undefined {
    return this.#state === 'panicking' || this.#state === 'left' ? undefined : this.#view;
  }

  /**
   * Whether this server may act in this view at this instant: `acts`; `continues`, with a right that was this server's alone in all views since
   * it last acted; or `none`. Reads the clock. Ask right before each use, and use the answer for nothing later.
   */
  standing(view: GroupView | undefined = this.view): Standing {
    const now = this.#use.runtime.now();
    if (view === undefined || this.#member.view?.id !== view.id) return 'none';
    if (this.#closing !== undefined || this.#guard.looksSuspended(now)) return 'none';
    return this.#member.standing(now);
  }

  /** How messages travel to a server, if there is a path. */
  reach(name: string): 'direct' | 'overlay' | undefined {
    return this.#member.reach(name);
  }

  /**
   * Resolves when the member's process has received the message. Rejects within `doubtMs + panicMs` and three heartbeats if that does not happen: then
   * this server has a new view, or panics.
   *
   * @throws {NotAMemberError} if the name is not another member of the present view; nothing was sent
   * @throws {MessageTooLargeError} above 64 KiB; nothing was sent
   * @throws {TooManyMessagesError} if too much waits already; nothing was sent
   * @throws {NewViewError} or {@link PanicError} if the message was not acknowledged; it may have arrived
   * @throws the signal's reason, if it aborts first; the message may have arrived
   */
  async send(
    name: string,
    bytes: Uint8Array,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    options.signal?.throwIfAborted();
    this.#checkMessage(bytes, 1);
    let sent: Promise<void> | undefined;
    this.#driver.input((now) => {
      const { id, effects } = this.#member.send(name, bytes, now);
      if (id !== undefined) sent = this.#sends.add(id, name, bytes.length, options.signal);
      return effects;
    });
    if (sent === undefined) throw new NotAMemberError(name, this.view?.members ?? [], this.name);
    this.#counters.messagesSent += 1;
    await sent;
  }

  /**
   * Sends to every other member of the present view, and resolves when each message is settled.
   *
   * @throws {MessageTooLargeError} or {@link TooManyMessagesError}; nothing was sent
   */
  async broadcast(
    bytes: Uint8Array,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<BroadcastOutcome> {
    options.signal?.throwIfAborted();
    this.#checkMessage(bytes, this.view?.members.length ?? 0);
    let members: string[] = [];
    const sent: Promise<void>[] = [];
    this.#driver.input((now) => {
      members = (this.#member.view?.members ?? [])
        .map(({ name }) => name)
        .filter((name) => name !== this.name);
      const { ids, effects } = this.#member.broadcast(bytes, now);
      for (const [index, id] of ids.entries())
        sent.push(this.#sends.add(id, members[index] ?? '', bytes.length, options.signal));
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
  report(name: string): void {
    this.#throwIfClosed();
    this.#driver.input((now) => this.#member.report(name, now));
  }

  /** Resolves with the view once this server acts in one. @throws the signal's reason */
  async acting(signal?: AbortSignal): Promise<GroupView> {
    const { runtime, durations } = this.#use;
    for (;;) {
      this.#throwIfClosed();
      const { view } = this;
      if (view !== undefined && this.standing(view) === 'acts') return view;
      // The end of a hold is no input of the core: look again after a heartbeat.
      await pause(runtime, durations.heartbeatMs / 5, signal);
    }
  }

  /** Every view from now on, the present one first. A slow reader misses views in between, and always gets the newest. */
  async *views(signal?: AbortSignal): AsyncGenerator<GroupView, void, undefined> {
    let last: GroupView | undefined;
    for (;;) {
      last = await this.#changed.until(() => {
        this.#throwIfClosed();
        return this.#state === 'in-view' && this.#view !== last ? this.#view : undefined;
      }, signal);
      yield last;
    }
  }

  status(): GroupStatus {
    const { durations, mesh, runtime, size, registry } = this.#use;
    return statusOf({
      registry,
      ...{ name: this.name, group: this.group, size, durations, mesh, member: this.#member, view: this.view },
      ...{
        state: this.#state,
        standing: this.standing(),
        counters: this.#counters,
        waiting: this.#sends.count,
      },
      stateForMs: Math.round(runtime.now() - this.#stateSince),
    });
  }

  /** Leaves the group: no other server waits for the end of this server's leases. */
  close(): Promise<void> {
    this.#closing ??= this.#close(undefined);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The core and its surroundings, for parts of the toolkit. @internal */
  get inside(): Pick<GroupDependencies, 'runtime' | 'logger' | 'durations' | 'size'> & {
    readonly member: Pick<Member, 'id' | 'view' | 'chain' | 'isChanging' | 'promisesEndAt'>;
  } {
    const { runtime, logger, durations, size } = this.#use;
    return { runtime, logger, durations, size, member: this.#member };
  }

  /** Takes part in this group under a channel, until disposed. @internal */
  attach(channel: string, part: GroupPart): Disposable {
    this.#throwIfClosed();
    if (this.#parts.has(channel))
      throw new InvalidOptionError('name', channel, 'this process uses this name in this group already');
    this.#parts.set(channel, part);
    return { [Symbol.dispose]: () => void this.#parts.delete(channel) };
  }

  /** The metrics of all parts, those of one name together. @internal */
  partMetrics(): Family[] {
    const families = new Map<string, Family>();
    for (const part of this.#parts.values()) {
      for (const family of part.metrics?.() ?? []) {
        const known = families.get(family.name)?.samples ?? [];
        const isList = Array.isArray(known) && Array.isArray(family.samples);
        families.set(family.name, isList ? { ...family, samples: [...known, ...family.samples] } : family);
      }
    }
    return [...families.values()];
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
    if (this.#member.hasLeft || !this.#knows(from) || !isOfServers(message)) return;
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
  disconnected(name: string): void {
    this.#driver.input((now) => this.#member.connectionBroke(name, now));
  }

  /** @internal Two live processes under one name must not both act, so this one leaves. */
  nameTaken(): void {
    this.#closing ??= this.#close(new NameTakenError(this.name));
  }

  /** Dials the servers that are registered, and tells the core. */
  #registryRead(reading: Reading, sentAt: Instant): void {
    const { mesh, registry } = this.#use;
    const mismatch = registry?.mismatchIn(reading);
    if (mismatch !== undefined) this.#closing ??= this.#close(mismatch);
    const addresses = registry?.addressesIn(reading, this.#keptPeers());
    if (addresses !== undefined) mesh.setPeers(addresses);
    this.#driver.input((now) => this.#member.registryRead(reading, sentAt, now));
  }

  /** The peers that are configured, registered or heard of. */
  #keptPeers(): Map<string, string> {
    const { mesh, settings } = this.#use;
    const registered = this.#member.registry?.registry?.registrations ?? [];
    const isKept = (name: string): boolean =>
      name === this.name ||
      settings.peers.includes(name) ||
      registered.some((each) => each.name === name) ||
      this.#member.records.has(name) ||
      mesh.isConnected(name);
    return new Map([...mesh.peers].filter(([name]) => isKept(name)));
  }

  /**
   * Whether the process that introduced itself so can be answered. A server that is not in the peers says where it is, and is a peer from
   * then on; names that the core has forgotten make room.
   */
  #knows(name: string): boolean {
    const { mesh } = this.#use;
    if (mesh.peers.has(name)) return true;
    const address = mesh.addressSaidBy(name);
    if (name === this.name || address === undefined || !isAddress(address)) {
      this.#episodes.happened(
        'unknown',
        'a server that is not in the peers gives no address, and is ignored',
        { name },
      );
      return false;
    }
    const kept = this.#keptPeers();
    if (kept.size >= SERVERS_MAX) {
      this.#episodes.happened('too-many', 'more servers than a group can have; the last one is ignored', {
        name,
      });
      return false;
    }
    mesh.setPeers(kept.set(name, address));
    return true;
  }

  #checkMessage(bytes: Uint8Array, receivers: number): void {
    this.#throwIfClosed();
    if (!(bytes instanceof Uint8Array))
      throw new InvalidOptionError('bytes', bytes, 'it must be a Uint8Array');
    if (bytes.length > BODY_BYTES_MAX) throw new MessageTooLargeError(bytes.length, BODY_BYTES_MAX);
    this.#sends.checkRoom(bytes.length, receivers);
  }

  #execute(effect: MemberEffect): void {
    const { mesh, callbacks, logger } = this.#use;
    const isMessage = effect.do === 'send' || effect.do === 'send-to-client';
    if (this.#closing !== undefined && !isMessage) return;
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
        this.#note({ kind: 'change' });
        this.#call(callbacks.onStartChange);
        return;
      case 'deliver-view':
        this.#deliver(effect.view);
        return;
      case 'panic':
        this.#enter('panicking');
        this.#counters.panics += 1;
        this.#note({ kind: 'panic' });
        logger.warn('no view could be agreed on; this server panics until the next view', {
          name: this.name,
        });
        this.#call(callbacks.onPanic);
        return;
      case 'hand-over':
        this.#counters.messagesReceived += 1;
        this.#call(callbacks.onMessage, effect.from.name, effect.body);
        return;
      case 'hand-over-datagram':
        this.#parts.get(effect.datagram.channel)?.receive(effect.from, effect.datagram.body);
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
        this.nameTaken();
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

  #deliver({ id, members, kept, ...rest }: View): void {
    const { logger, size, callbacks } = this.#use;
    const names = members.map(({ name }) => name);
    const lost = (this.#view?.members ?? []).filter((name) => !names.includes(name));
    const clients = rest.clients.map(({ name }) => name);
    const view = { id, members: names, clients, kept: kept.map(({ name }) => name), lost };
    this.#view = view;
    this.#enter('in-view');
    this.#counters.views += 1;
    this.#note({ kind: 'view', view: id, members: names, clients: clients.length, lost });
    logger.info('new view', {
      ...{ id, members: names.join(', '), clients: clients.length, lost: lost.join(', ') },
    });
    if (size !== undefined && names.length > size) {
      logger.error('the view has more members than size: raise size at all servers before adding one', {
        size,
        members: names.length,
      });
    }
    for (const part of this.#parts.values()) part.delivered();
    this.#call(callbacks.onView, view);
  }

  #note(event: GroupEvent): void {
    this.events.append([event], this.#use.runtime.wallMs());
  }

  #enter(state: GroupState): void {
    this.#state = state;
    this.#stateSince = this.#use.runtime.now();
  }

  #call<Given extends unknown[]>(callback: ((...given: Given) => void) | undefined, ...given: Given): void {
    if (callback === undefined) return;
    const failed = (error: unknown): void =>
      this.#use.logger.error('a callback of the application failed', {
        why: error instanceof Error ? error.message : String(error),
      });
    this.#use.atEndOfTurn(() => {
      try {
        void Promise.resolve(callback(...given) as unknown).catch(failed);
      } catch (error) {
        failed(error);
      }
    });
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined) throw new LeftGroupError();
  }

  async #close(why: LeaseholdError | undefined): Promise<void> {
    const { durations, logger, callbacks, runtime } = this.#use;
    if (why !== undefined) logger.error(why.message, { code: why.code });
    // Not inside the input that may have led here.
    await Promise.resolve();
    this.#enter('left');
    this.#note({ kind: 'left', why: why?.message ?? null });
    this.#driver.input((now) => this.#member.leave(now));
    this.#sends.end();
    this.#changed.look();
    for (const part of this.#parts.values()) part.left();
    // Clients first have to stop acting on the word of this server, which takes a promise at most.
    await this.#changed.until(() => this.#member.hasLeft || undefined);
    // A message may be lost, so the last record is sent again with each heartbeat.
    await pause(runtime, LEAVING_HEARTBEATS * durations.heartbeatMs);
    this.#driver.stop();
    await this.#use.registry?.[Symbol.asyncDispose]();
    this.#episodes[Symbol.dispose]();
    await this.#use.mesh[Symbol.asyncDispose]();
    this.#call(callbacks.onEnd, why);
  }
}

showAs(Group, 'Group', (group) => group.status());

const isOfClients = (message: AnyMessage): message is FromClient =>
  message.kind === 'stamp' || message.kind === 'detach';

const isOfServers = (message: AnyMessage): message is Message =>
  message.kind === 'heartbeat' || message.kind === 'records' || message.kind === 'packet';
