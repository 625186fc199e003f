/** A client of a group as a process of a simulated world: the core in the toolkit's driver, and nothing else. */

import { Driver } from '../../runtime/driver.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import type { SimClock } from '../../sim/clock.ts';
import type { Network } from '../../sim/network.ts';
import { SimProcess, type SimRuntime } from '../../sim/process.ts';
import type { World } from '../../sim/world.ts';
import { Client, type ClientEffect } from '../core/client.ts';
import type { Durations } from '../core/durations.ts';
import type { AnyMessage } from '../core/messages.ts';
import type { SentMessage } from './server.ts';

export interface ClientObserver {
  /** An effect of a client, at the instant at which it is carried out. */
  clientDoes(client: ClientProcess, effect: ClientEffect): void;
  sent(client: ClientProcess, message: SentMessage): void;
}

export interface ClientOptions {
  readonly name: string;
  /** The name under which the process joins. @default the own one */
  readonly as?: string | undefined;
  readonly servers: readonly string[];
  readonly durations: Durations;
  readonly network: Network<AnyMessage>;
  readonly clock: SimClock;
  readonly lateMs: number;
  readonly observer: ClientObserver;
}

export class ClientProcess {
  readonly world: World;
  /** Of the process, which is its place in the network. */
  readonly name: string;
  /** The name under which the process joins: two processes may use one. */
  readonly as: string;
  readonly process: SimProcess;
  /** Until when, by true time, the process was stopped at some instant. */
  stoppedUntilMs: number = Number.NEGATIVE_INFINITY;
  readonly #options: ClientOptions;
  #core: Client | undefined;
  #driver: Driver<ClientEffect> | undefined;
  #guard: SuspensionGuard | undefined;

  constructor(world: World, options: ClientOptions) {
    this.world = world;
    this.name = options.name;
    this.as = options.as ?? options.name;
    this.#options = options;
    this.process = new SimProcess(world, {
      name: options.name,
      clock: options.clock,
      lateMs: options.lateMs,
      start: (runtime) => this.#start(runtime),
    });
  }

  get core(): Client | undefined {
    return this.process.alive ? this.#core : undefined;
  }

  /** The answer to an application that asks at this instant. A suspended machine asks nothing. */
  standing(): 'acts' | 'none' {
    const { core, process } = this;
    if (core === undefined || process.clock.suspended) return 'none';
    const now = process.now();
    return this.#guard?.looksSuspended(now) === true ? 'none' : core.standing(now);
  }

  pause(ms: number): void {
    this.stoppedUntilMs = Math.max(this.stoppedUntilMs, this.world.trueMs + ms);
    this.process.pause(ms);
  }

  suspend(ms: number): void {
    this.stoppedUntilMs = Math.max(this.stoppedUntilMs, this.world.trueMs + ms);
    this.process.suspend(ms);
  }

  /** The connection to a server breaks, and only the client notices. */
  losesConnection(server: string): void {
    this.process.perform(() => this.#driver?.input((now) => this.#core?.connectionBroke(server, now) ?? []));
  }

  send(to: string, body: Uint8Array): void {
    this.process.perform(() =>
      this.#driver?.input((now) => {
        const core = this.#core;
        if (core === undefined) return [];
        const { id, effects } = core.send(to, body, now);
        const viewId = core.view?.id ?? '';
        if (id !== undefined) this.#options.observer.sent(this, { id, to, viewId, body });
        return effects;
      }),
    );
  }

  leave(): void {
    this.process.perform(() => this.#driver?.input((now) => this.#core?.leave(now) ?? []));
  }

  #start(runtime: SimRuntime): void {
    const { servers, durations, network, observer } = this.#options;
    const guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    const incarnation = {
      startedMs: Math.floor(runtime.wallMs()),
      nonce: Math.floor(runtime.random() * 2 ** 32),
    };
    // In these worlds the place of a server is its name.
    const settings = {
      ...{ name: this.as, incarnation, places: servers, durations },
      random: () => runtime.random(),
    };
    const core = new Client(settings, runtime.now());
    this.#guard = guard;
    this.#core = core;
    const transport = runtime.transport(network, {
      onBreak: (peer) => driver.input((now) => core.connectionBroke(peer, now)),
    });
    const driver = new Driver<ClientEffect>({
      core,
      clock: runtime,
      guard,
      alarm: (wake) => runtime.alarm(wake),
      suspended: () => this.world.count('suspensions noticed'),
      execute: (effect) => {
        if (effect.do === 'dial') driver.input((now) => core.connected(effect.place, effect.place, now));
        if (effect.do === 'send') transport.send(effect.to, effect.message);
        observer.clientDoes(this, effect);
      },
    });
    this.#driver = driver;
    transport.listen((from, message) => {
      switch (message.kind) {
        case 'answer':
        case 'view':
        case 'refusal':
        case 'incoming':
          driver.input((now) => core.receive(from, message, now));
      }
    });
    driver.input((now) => core.wake(now));
  }
}
