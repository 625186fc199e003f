/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A simulated engine with three clients, for tests of the engine. Messages take 1 ms each way. A leader lease lasts
 * 400 ms by the leader's clock, and the engine keeps a silent leader for 500; a client asks again after 100 ms; a
 * follower, and a candidate, ask every 1000 without a poke.
 */

import { Network } from '../sim/network.ts';
import { SimProcess } from '../sim/process.ts';
import { World } from '../sim/world.ts';
import type { Following, Leadership, LogStart } from './log.ts';
import { SimulatedEngine } from './simulated-engine.ts';
import { type ClientOptions, SimulatedLog } from './simulated-log.ts';
import type { LogMessage } from './simulated-messages.ts';

const CLIENT_OPTIONS: ClientOptions = { leaderLeaseMs: 400, retryMs: 100, pollMs: 1_000 };

export interface BenchOptions {
  readonly seed?: number | undefined;
  readonly sweepMs?: number | undefined;
  readonly pollMs?: number | undefined;
}

export class SimulatedBench {
  readonly world: World;
  readonly network: Network<LogMessage>;
  readonly engine: SimulatedEngine;
  readonly client: ClientOptions;
  /** `m1 elected 1 a` for everything that anybody was told but extensions, and `log 1 a` for every commit. */
  readonly told: string[] = [];
  /** By client. */
  readonly leaderships: Map<string, Leadership> = new Map();
  readonly #logs = new Map<string, SimulatedLog>();

  constructor({ seed = 1, sweepMs, pollMs = CLIENT_OPTIONS.pollMs }: BenchOptions = {}) {
    this.world = new World({ seed });
    this.network = new Network<LogMessage>(this.world, { faults: { delayMs: [1, 1] } });
    this.client = { ...CLIENT_OPTIONS, pollMs };
    this.engine = new SimulatedEngine(this.world, this.network, {
      ...{ history: 'h', leaderKeyMs: 500, refuseChance: 0, sweepMs },
    });
    this.engine.onCommit = (batch) => this.told.push(`log ${batch.position} ${text(batch.bytes)}`);
    for (const name of ['m1', 'm2', 'f']) {
      const options = { ...this.client, strayed: () => void this.told.push(`${name} strayed`) };
      new SimProcess(this.world, {
        name,
        start: (runtime) => {
          this.#logs.set(name, new SimulatedLog(runtime, runtime.transport(this.network), options));
        },
      }).start();
    }
    this.run(0);
  }

  run(ms: number): void {
    this.world.run({ untilMs: this.world.trueMs + ms });
  }

  /** Lets time pass until something is so; returns how much. */
  until(what: string, isSo: () => boolean, withinMs = 5_000): number {
    const beganMs = this.world.trueMs;
    while (!isSo()) {
      if (this.world.trueMs >= beganMs + withinMs)
        throw new Error(`after ${withinMs} ms still not: ${what}; told: ${this.told.join(', ')}`);
      this.run(1);
    }
    return this.world.trueMs - beganMs;
  }

  /** Runs until a client is told this, again if told before; returns the time. */
  untilTold(what: string, withinMs?: number): number {
    const before = this.told.length;
    return this.until(what, () => this.told.slice(before).some((line) => line.startsWith(what)), withinMs);
  }

  /** The events of one client, or of the log. */
  toldTo(name: string): string[] {
    return this.told.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  }

  log(name: string): SimulatedLog {
    const log = this.#logs.get(name);
    if (log === undefined) throw new Error(`there is no client ${name}`);
    return log;
  }

  campaign(name: string, candidate = `${name}.1`): Disposable {
    return this.log(name).campaign(candidate, {
      elected: (leadership) => {
        this.leaderships.set(name, leadership);
        this.told.push(`${name} elected ${contents(leadership.start)}`.trimEnd());
      },
      extended: () => {},
      deposed: (reason) => this.told.push(`${name} deposed ${reason}`),
    });
  }

  leadership(name: string): Leadership {
    const leadership = this.leaderships.get(name);
    if (leadership === undefined) throw new Error(`${name} was never elected`);
    return leadership;
  }

  append(name: string, position: number, what: string): void {
    this.leadership(name).append({ position, bytes: bytes(what) }, (outcome) =>
      this.told.push(`${name} ${outcome} ${position}`),
    );
  }

  /** Appends, and waits until that is known. */
  write(name: string, position: number, what: string): void {
    this.append(name, position, what);
    this.untilTold(`${name} appended ${position}`);
  }

  follow(name = 'f'): Following {
    return this.log(name).follow({
      reset: (start) => this.told.push(`${name} reset ${contents(start)}`.trimEnd()),
      batch: ({ position, bytes: of }) => this.told.push(`${name} batch ${position} ${text(of)}`),
      head: (position) => this.told.push(`${name} head ${position}`),
    });
  }
}

/** A bench on which m1 leads, and nothing was told to anybody since. */
export function led(options?: BenchOptions): SimulatedBench {
  const bench = new SimulatedBench(options);
  bench.campaign('m1');
  bench.untilTold('m1 elected');
  bench.told.length = 0;
  return bench;
}

export const bytes = (of: string): Uint8Array => new TextEncoder().encode(of);
export const text = (of: Uint8Array): string => new TextDecoder().decode(of);

/** `[2 snapshot] 3 c 4 d` */
function contents({ snapshot, batches }: LogStart): string {
  const written = batches.map(({ position, bytes: of }) => `${position} ${text(of)}`);
  return [...(snapshot ? [`[${snapshot.position} ${text(snapshot.bytes)}]`] : []), ...written].join(' ');
}
