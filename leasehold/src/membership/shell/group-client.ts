/**
 * One client of a group in a running process: the core of `core/client.ts` with clocks and a connection.
 *
 * Nothing is decided here. A callback of the application runs at the end of the turn, outside the core.
 */

import { NameTakenError } from '../../node/mesh/errors.ts';
import type { TcpDialer } from '../../node/tcp/dial.ts';
import { Condition } from '../../runtime/condition.ts';
import { alarmOn, Driver } from '../../runtime/driver.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import { showAs } from '../../runtime/inspection.ts';
import type { Logger } from '../../runtime/logger.ts';
import { pause } from '../../runtime/pause.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import { Client, type ClientEffect, type ClientSettings } from '../core/client.ts';
import type { AnyMessage } from '../core/messages.ts';
import type { ClientView } from '../core/view-difference.ts';
import { LeftGroupError } from '../errors.ts';
import { encodeMessage } from '../wire/codec.ts';
import type { ClientCallbacks, GroupView } from './group.ts';
import type { GroupState } from './status.ts';

export interface GroupClientStatus {
  readonly name: string;
  readonly group: string;
  readonly leaseMs: number;
  readonly state: GroupState;
  /** How long the client has been in this state. */
  readonly stateForMs: number;
  readonly standing: 'acts' | 'none';
  /** The server to which the client is attached. */
  readonly server: string | undefined;
  readonly view: GroupView | undefined;
  /** Why servers cannot be reached, by name. */
  readonly problems: Readonly<Record<string, string>>;
  readonly counters: { readonly views: number; readonly changes: number; readonly panics: number };
}

/** @internal */
export interface GroupClientDependencies {
  readonly settings: ClientSettings;
  readonly group: string;
  readonly peers: ReadonlyMap<string, string>;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly dialer: TcpDialer<Uint8Array, AnyMessage>;
  readonly callbacks: ClientCallbacks;
  atEndOfTurn(callback: () => void): void;
}

export class GroupClient implements AsyncDisposable {
  readonly name: string;
  readonly group: string;
  readonly #use: GroupClientDependencies;
  readonly #core: Client;
  readonly #driver: Driver<ClientEffect>;
  readonly #guard: SuspensionGuard;
  readonly #episodes: EpisodeLog;
  readonly #changed = new Condition();
  readonly #counters = { views: 0, changes: 0, panics: 0 };
  /** The same object for as long as the view lasts. */
  #view: GroupView | undefined;
  #stateSince: number;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(use: GroupClientDependencies) {
    const { settings, runtime, logger, dialer, peers } = use;
    this.name = settings.name;
    this.group = use.group;
    this.#use = use;
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
    const names = new Map([...peers].map(([name, address]) => [address, name]));
    dialer.listen((address, message) => {
      const server = names.get(address);
      if (server === undefined || this.#occupantOf(address, server) !== undefined) return;
      if (message.kind !== 'answer' && message.kind !== 'view' && message.kind !== 'refusal') return;
      this.#driver.input((now) => this.#core.receive(server, message, now));
    });
    this.#driver.input((now) => this.#core.wake(now));
  }

  /** The present view; the last one while this client waits for the next; undefined in panic and before the first view. */
  get view(): GroupView | undefined {
    return this.#core.view === undefined ? undefined : this.#view;
  }

  /** Whether this client may act in this view at this instant. Reads the clock. Ask right before each use, and use the answer for nothing later. */
  standing(view: GroupView | undefined = this.view): 'acts' | 'none' {
    const now = this.#use.runtime.now();
    if (view === undefined || this.#core.view?.id !== view.id) return 'none';
    if (this.#closing !== undefined || this.#guard.looksSuspended(now)) return 'none';
    return this.#core.standing(now);
  }

  /** Resolves with the view once this client acts in one. @throws the signal's reason */
  async acting(signal?: AbortSignal): Promise<GroupView> {
    return this.#changed.until(() => {
      this.#throwIfClosed();
      const { view } = this;
      return view !== undefined && this.standing(view) === 'acts' ? view : undefined;
    }, signal);
  }

  /** Every view from now on, the present one first. A slow reader misses views in between, and always gets the newest. */
  async *views(signal?: AbortSignal): AsyncGenerator<GroupView, void, undefined> {
    let last: GroupView | undefined;
    for (;;) {
      last = await this.#changed.until(() => {
        this.#throwIfClosed();
        return this.#core.state === 'in-view' && this.#view !== last ? this.#view : undefined;
      }, signal);
      yield last;
    }
  }

  status(): GroupClientStatus {
    const { peers, dialer, runtime, settings } = this.#use;
    const problems: Record<string, string> = {};
    for (const [name, address] of peers) {
      const occupant = this.#occupantOf(address, name);
      const problem = occupant === undefined ? dialer.problems().get(address)?.message : `is ${occupant}`;
      if (problem !== undefined) problems[name] = problem;
    }
    return {
      ...{ name: this.name, group: this.group, leaseMs: settings.durations.leaseMs, problems },
      ...{ state: this.#core.state, standing: this.standing(), server: this.#core.server, view: this.view },
      stateForMs: Math.round(runtime.now() - this.#stateSince),
      counters: { ...this.#counters },
    };
  }

  /** Leaves the group: the next view is without this client, and waits for no lease of it. */
  close(): Promise<void> {
    this.#closing ??= this.#close(undefined);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal */
  disconnected(address: string): void {
    for (const [name, its] of this.#use.peers)
      if (its === address) this.#driver.input((now) => this.#core.connectionBroke(name, now));
  }

  /** The name of the server at an address, if it is not the wanted one. */
  #occupantOf(address: string, wanted: string): string | undefined {
    const member = this.#use.dialer.welcome(address)?.greeting['member'];
    return member === undefined || member === wanted ? undefined : member;
  }

  #execute(effect: ClientEffect): void {
    const { callbacks, logger } = this.#use;
    if (effect.do === 'send') {
      this.#send(effect.to, effect.message);
      return;
    }
    if (this.#closing !== undefined) return;
    switch (effect.do) {
      case 'start-change':
        this.#enter('changes');
        this.#call(callbacks.onStartChange);
        return;
      case 'deliver-view':
        this.#deliver(effect.view);
        return;
      case 'panic':
        this.#enter('panics');
        logger.warn('no server counts this client in a view; this client panics until the next view', {
          name: this.name,
        });
        this.#call(callbacks.onPanic);
        return;
      case 'name-taken':
        this.#closing ??= this.#close(new NameTakenError(this.name));
        return;
      default:
        logger.debug(effect.event.what, effect.event.facts);
    }
  }

  #send(to: string, message: AnyMessage): void {
    const { peers, dialer } = this.#use;
    const address = peers.get(to);
    if (address === undefined) return;
    const occupant = this.#occupantOf(address, to);
    if (occupant !== undefined) {
      const facts = { server: to, address, occupant };
      this.#episodes.happened(
        `occupant ${to}`,
        'another server is at the address of this one: mend peers',
        facts,
      );
      return;
    }
    dialer.hurry(address); // The core has waited for as long as is right.
    for (const frame of encodeMessage(message)) dialer.send(address, frame);
  }

  #deliver({ id, servers, clients }: ClientView): void {
    const { logger, callbacks } = this.#use;
    const members = servers.map(({ name }) => name);
    const lost = (this.#view?.members ?? []).filter((name) => !members.includes(name));
    const view = { id, members, clients: clients.map(({ name }) => name), kept: [], lost };
    this.#view = view;
    this.#enter('views');
    logger.info('new view', { id, members: members.join(', '), clients: clients.length });
    this.#call(callbacks.onView, view);
  }

  #enter(counter: 'views' | 'changes' | 'panics'): void {
    this.#counters[counter] += 1;
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
    const { logger, callbacks, runtime, dialer, settings } = this.#use;
    if (why !== undefined) logger.error(why.message, { code: why.code });
    // Not inside the input that may have led here.
    await Promise.resolve();
    this.#driver.input((now) => this.#core.leave(now));
    this.#changed.look();
    // The farewell has to leave before the connection ends.
    await pause(runtime, settings.durations.heartbeatMs / 5);
    this.#driver.stop();
    this.#episodes[Symbol.dispose]();
    await dialer[Symbol.asyncDispose]();
    this.#call(callbacks.onEnd, why);
  }
}

showAs(GroupClient, 'GroupClient', (client) => client.status());
