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

export interface ClientObserver {
  /** An effect of a client, at the instant at which it is carried out. */
  clientDoes(client: ClientProcess, effect: ClientEffect): void;
}

export interface ClientOptions {
  readonly name: string;
  readonly servers: readonly string[];
  readonly durations: Durations;
  readonly network: Network<AnyMessage>;
  readonly clock: SimClock;
  readonly lateMs: number;
  readonly observer: ClientObserver;
}

export class ClientProcess {
  readonly world: World;
  readonly name: string;
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

  leave(): void {
    this.process.perform(() => this.#driver?.input((now) => this.#core?.leave(now) ?? []));
  }

  #start(runtime: SimRuntime): void {
    const { name, servers, durations, network, observer } = this.#options;
    const guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    const incarnation = {
      startedMs: Math.floor(runtime.wallMs()),
      nonce: Math.floor(runtime.random() * 2 ** 32),
    };
    const settings = { name, incarnation, servers, durations, random: () => runtime.random() };
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
        if (effect.do === 'send') transport.send(effect.to, effect.message);
        observer.clientDoes(this, effect);
      },
    });
    this.#driver = driver;
    transport.listen((from, message) => {
      if (message.kind === 'answer' || message.kind === 'view' || message.kind === 'refusal')
        driver.input((now) => core.receive(from, message, now));
    });
    driver.input((now) => core.wake(now));
  }
}
