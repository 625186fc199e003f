/** The core in a process, simulated or real: one driver, and a transport that may lose everything. */

import { Driver, type DriverOptions } from '../../leasehold/src/runtime/driver.ts';
import type { Runtime, Transport } from '../../leasehold/src/runtime/runtime.ts';
import { SuspensionGuard } from '../../leasehold/src/runtime/suspension.ts';
import { type Beat, type Effect, Heartbeat, type HeartbeatOptions } from './core.ts';

export interface Dependencies {
  readonly runtime: Runtime;
  readonly transport: Transport<Beat, Beat>;
  readonly alarm: DriverOptions<Effect>['alarm'];
}

export class Member {
  readonly core: Heartbeat;
  readonly #runtime: Runtime;
  readonly #guard: SuspensionGuard;
  readonly #driver: Driver<Effect>;

  constructor(options: HeartbeatOptions, { runtime, transport, alarm }: Dependencies) {
    this.core = new Heartbeat(options, runtime.now());
    this.#runtime = runtime;
    this.#guard = new SuspensionGuard(runtime, options.everyMs);
    this.#driver = new Driver<Effect>({
      ...{ core: this.core, clock: runtime, guard: this.#guard, alarm },
      execute: ({ to, message }) => transport.send(to, message),
    });
    transport.listen((from) => this.#driver.input((now) => this.core.receive(from, now)));
    this.#driver.input((now) => this.core.wake(now));
  }

  alive(): readonly string[] {
    const now = this.#runtime.now();
    return this.#guard.looksSuspended(now) ? [] : this.core.alive(now);
  }

  stop(): void {
    this.#driver.stop();
  }
}
