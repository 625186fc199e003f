/**
 * One client of a group in a running process: the core of `core/client.ts` with clocks and a connection.
 *
 * Nothing is decided here. A callback of the application runs at the end of the turn, outside the core.
 */

import { nameInUse } from '../../node/mesh/errors.ts';
import { HandleEvents } from '../../node/service/handle-events.ts';
import type { Service } from '../../node/service/service.ts';
import type { TcpDialer } from '../../node/tcp/dial.ts';
import { refusalOfAll } from '../../node/tcp/lasting-refusal.ts';
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
import { pause } from '../../runtime/pause.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import type { Instant } from '../../runtime/time.ts';
import { waitWithin } from '../../runtime/wait-within.ts';
import { Client, type ClientEffect, type ClientSettings } from '../core/client.ts';
import { closed, notAMember, noView } from '../core/errors.ts';
import type { AnyMessage, ToClient } from '../core/messages.ts';
import type { ClientView } from '../core/view-difference.ts';
import { encodeMessage } from '../wire/codec.ts';
import { Callbacks } from './callbacks.ts';
import { Sends } from './sends.ts';
import { clientService } from './service/service.ts';
import { type GroupClientStatus, type GroupServer, clientStatusOf, Troubles } from './status.ts';
import type { GroupCallbacks, View } from './view.ts';

/** @internal */
export interface GroupClientDependencies {
  readonly settings: ClientSettings;
  readonly group: string;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly dialer: TcpDialer<Uint8Array, AnyMessage>;
  /** The name of the server that is connected at this address; the error says why there is none that may be used. */
  serverAt(address: string): string | LeaseholdError | undefined;
  readonly callbacks: GroupCallbacks;
  atEndOfTurn(callback: () => void): void;
}

/** This process as a client of a group: in views through one of the servers, and without a port. */
export class GroupClient implements Handle<GroupClientStatus> {
  readonly name: string;
  readonly group: string;
  readonly #use: GroupClientDependencies;
  readonly #core: Client;
  readonly #driver: Driver<ClientEffect>;
  readonly #guard: SuspensionGuard;
  readonly #episodes: EpisodeLog;
  readonly #callbacks: Callbacks;
  readonly #events: HandleEvents<'membership'>;
  readonly #sends: Sends;
  readonly #troubles = new Troubles();
  readonly #changed = new Condition();
  readonly #closing = new Closing();
  readonly #counters = { views: 0, changes: 0, noViews: 0 };
  /** The same object for as long as the view lasts. */
  #view: View | undefined;
  #stateSince: Instant;
  #end: Disposable | undefined;

  /** @internal */
  constructor(use: GroupClientDependencies) {
    const { settings, runtime, logger, dialer } = use;
    this.name = settings.name;
    this.group = use.group;
    this.#use = use;
    const { startedMs, nonce } = settings.incarnation;
    this.#events = new HandleEvents(`${startedMs}.${nonce}`, use.group, runtime);
    this.#callbacks = new Callbacks(logger, use.atEndOfTurn);
    this.#sends = new Sends(runtime);
    this.#guard = new SuspensionGuard(runtime, settings.durations.suspensionToleranceMs);
    this.#episodes = new EpisodeLog(logger, runtime);
    this.#stateSince = runtime.now();
    this.#core = new Client(settings, runtime.now());
    this.#driver = new Driver<ClientEffect>({
      core: this.#core,
      clock: runtime,
      guard: this.#guard,
      alarm: (wake) => alarmOn(runtime, wake),
      execute: (effect) => this.#execute(effect),
      suspended: () => logger.warn('the machine was suspended; this client attaches itself anew'),
      afterInput: () => this.#changed.look(),
    });
    dialer.listen((address, message) => {
      if (isToClient(message)) this.#driver.input((now) => this.#core.receive(address, message, now));
    });
    this.#driver.input((now) => this.#core.wake(now));
  }

  /** The present view; the last one while this client waits for the next; undefined without one. */
  get view(): View | undefined {
    return this.#core.view === undefined ? undefined : this.#view;
  }

  /** Whether this client may act in this view at this instant; it never `continues`. Reads the clock. Ask right before each use, and use the answer for nothing later. */
  standing(view: View | undefined = this.view): 'acts' | 'none' {
    const now = this.#use.runtime.now();
    if (view === undefined || this.#core.view?.id !== view.id) return 'none';
    if (this.#closing.isOver || this.#guard.looksSuspended(now)) return 'none';
    return this.#core.standing(now);
  }

  /**
   * Resolves with the view once this client acts in one.
   *
   * @throws {UnavailableError} when the time is over
   * @throws {RefusedError} at once if every server refuses this client, and time mends none of the refusals
   * @throws {ClosedError} if this process leaves the group before that
   */
  acting(options: CallOptions = {}): Promise<View> {
    const { runtime } = this.#use;
    return waitWithin(runtime, ['membership', 'a view in which this client acts'], options, (signal) =>
      this.#changed.until(() => {
        this.#throwIfClosed();
        const { view } = this;
        if (view !== undefined && this.standing(view) === 'acts') return view;
        const refusal = this.#refusal();
        if (refusal !== undefined) throw refusal;
        return undefined;
      }, signal),
    );
  }

  /** Resolves once this client acts. @throws as `acting` */
  async ready(options: CallOptions = {}): Promise<void> {
    await this.acting(options);
  }

  /** Every view from now on, the present one first. A slow reader misses views in between, and always gets the newest. */
  async *watch({ signal }: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<View, void, undefined> {
    let last: View | undefined;
    for (;;) {
      last = await this.#changed.until(() => {
        this.#throwIfClosed();
        return this.#core.state === 'in-view' && this.#view !== last ? this.#view : undefined;
      }, signal);
      yield last;
    }
  }

  /**
   * Resolves when the process of the server or client has handed the message over, which it does in the present view only. Otherwise rejects with the next view, without a view, or
   * after `doubtMs`. Messages go over the server of this client.
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
      const { id, effects } = this.#core.send(to, bytes, now);
      if (id !== undefined) sent = this.#sends.add(id, to, bytes.length, options);
      return effects;
    });
    if (sent !== undefined) return await sent;
    const { view } = this;
    const others = [...(view?.members ?? []), ...(view?.clients ?? [])];
    // During a change there is nobody to send over, although the receiver is in the last view.
    throw view === undefined || (to !== this.name && others.includes(to))
      ? noView()
      : notAMember(to, others, this.name);
  }

  #refusal(): LeaseholdError | undefined {
    const { dialer, settings, serverAt } = this.#use;
    const problems = new Map(dialer.problems());
    for (const address of settings.places) {
      const server = serverAt(address);
      if (typeof server === 'object') problems.set(address, server);
    }
    return refusalOfAll(settings.places, problems);
  }

  status(): GroupClientStatus {
    const { dialer, runtime, settings } = this.#use;
    const now = runtime.now();
    const servers = settings.places.map((address): GroupServer => {
      const name = this.#use.serverAt(address);
      const refusal = typeof name === 'object' ? name.message : undefined;
      return {
        ...{ address, name: typeof name === 'string' ? name : undefined },
        problem: refusal ?? dialer.problems().get(address)?.message,
      };
    });
    return clientStatusOf({
      ...{ name: this.name, instance: this.group, leaseMs: settings.durations.leaseMs, servers },
      ...{ state: this.#core.state, standing: this.standing(), server: this.#core.server, view: this.view },
      ...{ waiting: this.#sends.count, counters: { ...this.#counters } },
      stateForMs: Math.round(now - this.#stateSince),
      troubledMs: (address) => this.#troubles.forMs(address, now),
    });
  }

  /** What happened to this client: `membership.view`, `.view-ending`, `.no-view`, `.left`. Ends when it is closed. */
  events(options: EventsOptions = {}): AsyncIterable<Event> {
    return this.#events.follow(options);
  }

  /** Resolves when this client has left the group: with the reason, if another process has its name. */
  get closed(): Promise<LeaseholdError | undefined> {
    return this.#closing.closed;
  }

  /** Leaves the group: the next view is without this client, and waits for no lease of it. */
  close(): Promise<void> {
    return this.#closing.close(() => this.#leave(undefined));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal */
  toService(): Service {
    return clientService({ status: () => this.status(), log: this.#events.log });
  }

  /** @internal Ends with this handle. */
  endsWith(end: Disposable): void {
    this.#end = end;
  }

  /** @internal There is a connection to this address, or none any more. */
  serverIs(address: string, state: 'connected' | 'disconnected'): void {
    this.#troubles.note(address, state !== 'connected', this.#use.runtime.now());
    if (state === 'connected') this.#connected(address);
    else this.#driver.input((now) => this.#core.connectionBroke(address, now));
  }

  #connected(address: string): void {
    const name = this.#use.serverAt(address);
    if (typeof name === 'string') this.#driver.input((now) => this.#core.connected(address, name, now));
    if (typeof name !== 'object') return;
    this.#changed.look();
    this.#episodes.happened(
      `server ${address}`,
      'the process at this address is no server that this client may use',
      {
        address,
        why: name.message,
      },
    );
    this.#driver.input((now) => this.#core.connectionBroke(address, now));
  }

  #execute(effect: ClientEffect): void {
    const { callbacks, logger, dialer } = this.#use;
    if (effect.do === 'send') {
      for (const frame of encodeMessage(effect.message)) dialer.send(effect.to, frame);
      return;
    }
    // What was acknowledged is handed over, also while this client leaves.
    if (this.#closing.isOver && effect.do !== 'hand-over') return;
    switch (effect.do) {
      case 'dial':
        dialer.connect(effect.place);
        dialer.hurry(effect.place); // The core has waited for as long as is right.
        this.#connected(effect.place);
        return;
      case 'hand-over':
        this.#callbacks.call(callbacks.onMessage, effect.from.name, effect.body);
        return;
      case 'settle-send':
        this.#sends.settle(effect.id, effect.outcome);
        return;
      case 'start-change':
        this.#enter('changes');
        this.#events.tell('membership.view-ending', { view: this.#view?.id ?? null });
        this.#callbacks.call(callbacks.onViewEnding);
        return;
      case 'deliver-view':
        this.#deliver(effect.view);
        return;
      case 'no-view':
        this.#enter('noViews');
        this.#events.tell('membership.no-view');
        logger.warn('no server counts this client in a view; this client has no view until the next one', {
          name: this.name,
        });
        this.#callbacks.call(callbacks.onNoView);
        return;
      case 'name-taken':
        this.#fail(nameInUse(this.name));
        return;
      default:
        logger.debug(effect.event.what, effect.event.facts);
    }
  }

  #deliver({ id, servers, clients }: ClientView): void {
    const { logger, callbacks } = this.#use;
    const members = servers.map(({ name }) => name);
    const lost = (this.#view?.members ?? []).filter((name) => !members.includes(name));
    const view = { id, members, clients: clients.map(({ name }) => name), kept: [], lost };
    this.#view = view;
    this.#enter('views');
    this.#events.tell('membership.view', { view: id, members, clients: clients.length, lost });
    logger.info('new view', { id, members: members.join(', '), clients: clients.length });
    this.#callbacks.call(callbacks.onView, view);
  }

  #enter(counter: 'views' | 'changes' | 'noViews'): void {
    this.#counters[counter] += 1;
    this.#stateSince = this.#use.runtime.now();
  }

  #throwIfClosed(): void {
    if (this.#closing.isOver) throw closed();
  }

  /** This client cannot go on, and leaves. */
  #fail(why: LeaseholdError): void {
    if (this.#closing.isOver) return;
    this.#use.logger.error(why.message, { code: why.code });
    this.#closing.fail(why);
    void this.#closing
      .close(() => this.#leave(why))
      .catch((error: unknown) => this.#use.logger.error('leaving the group failed', { why: String(error) }));
  }

  async #leave(why: LeaseholdError | undefined): Promise<void> {
    const { runtime, dialer, settings } = this.#use;
    this.#end?.[Symbol.dispose]();
    this.#events.tell('membership.left', { why: why?.message ?? null });
    this.#driver.input((now) => this.#core.leave(now));
    this.#sends.end();
    this.#changed.look();
    // The farewell has to leave before the connection ends.
    await pause(runtime, settings.durations.heartbeatMs / 5);
    this.#driver.stop();
    this.#episodes[Symbol.dispose]();
    await dialer[Symbol.asyncDispose]();
    this.#events.close();
  }
}

showAs(GroupClient, 'GroupClient', (client) => client.status());

const isToClient = (message: AnyMessage): message is ToClient =>
  message.kind === 'answer' ||
  message.kind === 'view' ||
  message.kind === 'refusal' ||
  message.kind === 'incoming';
