/** Four processes with one limit, and the server that they need: a Manager for ours, a Redis for the others. */

import process from 'node:process';
import { answerTo, serve } from '../leases/servers.ts';
import { processCost } from '../process-cost.ts';
import type { ManagerConfig } from '../processes/manager-process.ts';
import { pause } from '../processes/conversation.ts';
import { installed, leftOut, up } from '../processes/peers.ts';
import type { Program } from '../processes/program.ts';
import { freePort, type Workshop } from '../processes/workshop.ts';
import type { Latencies, Throughput } from './limit-process.ts';
import type { LimitConfig, LimiterKind } from './limiters.ts';

export const PROCESSES = 4;
/** For each key; so high that no request of a measurement is denied. */
const LIMIT = 100_000;
const HOT_MS = 4_000;
const WARM_UP_MS = 1_500;
const WARM_UPS_MIN = 3;
const WARM_UPS_MAX = 6;
const COLD_KEYS = 500;
/** After the loss of a server, requests go on for so long. */
const STEADY_MS = 6_000;
/** A Redis that was killed is there again after this time, as under a supervisor. */
const REDIS_GONE_MS = 2_000;
const STEADY_KEYS = 200;

export class Fleet implements AsyncDisposable {
  readonly kind: LimiterKind;
  readonly #workshop: Workshop;
  readonly #programs: Program[] = [];
  #redis: { readonly port: number; pid: number } | undefined;
  #manager: Program | undefined;
  #marks = 0;

  private constructor(workshop: Workshop, kind: LimiterKind) {
    this.#workshop = workshop;
    this.kind = kind;
  }

  static async start(workshop: Workshop, kind: LimiterKind): Promise<Fleet> {
    const fleet = new Fleet(workshop, kind);
    const managers = kind === 'leasehold' ? [await fleet.#startManager()] : [];
    const redisPort = kind === 'leasehold' ? 0 : await fleet.#startRedis();
    const bundle = await workshop.bundle('limits/limit-process');
    for (let index = 0; index < PROCESSES; index += 1) {
      const name = `api-${index}`;
      const config: LimitConfig = { kind, name, managers, redisPort, limit: LIMIT };
      fleet.#programs.push(workshop.start(`${kind} ${name}`, bundle, config));
    }
    for (const program of fleet.#programs) await program.heard('ready');
    await fleet.#warmUp();
    return fleet;
  }

  /**
   * Until every owner mints, every connection is open, and the rate grows no more: a process that has decided little runs code that is not compiled yet, and
   * on a busy machine that takes seconds.
   */
  async #warmUp(): Promise<void> {
    let before = 0;
    for (let round = 1; round <= WARM_UPS_MAX; round += 1) {
      const { perSecond } = await this.hotKeys(1_000, WARM_UP_MS);
      if (round >= WARM_UPS_MIN && perSecond < 1.2 * before) return;
      before = perSecond;
    }
  }

  /** Decisions a second of all processes together, and the processor time of a decision, that of the Redis or the Manager included. */
  async hotKeys(keys: number, ms: number = HOT_MS): Promise<Throughput & { readonly cpuMicros: number }> {
    const beforeMs = this.#cpuMs();
    const each = await Promise.all(
      this.#programs.map((program) => program.ask<Throughput>('hot', { keys, ms })),
    );
    const sum = (of: (one: Throughput) => number): number => each.reduce((total, one) => total + of(one), 0);
    const calls = sum(({ calls: count }) => count);
    return {
      calls,
      cpuMicros: (1_000 * (this.#cpuMs() - beforeMs)) / calls,
      perSecond: sum(({ perSecond }) => perSecond),
      denied: sum(({ denied }) => denied),
      failed: sum(({ failed }) => failed),
      asks: sum(({ asks }) => asks),
    };
  }

  #cpuMs(): number {
    const servers = [this.#manager?.pid, this.#redis?.pid].filter((pid) => pid !== undefined);
    const pids = [...this.#programs.map(({ pid }) => pid), ...servers];
    return pids.reduce((sum, pid) => sum + processCost(pid).cpuMs, 0);
  }

  coldKeys(): Promise<Latencies[]> {
    this.#marks += 1;
    const facts = { count: COLD_KEYS, mark: String(this.#marks) };
    return Promise.all(this.#programs.map((program) => program.ask<Latencies>('cold', facts)));
  }

  /** Latencies in all processes but one, while that process (ours) or the Redis (theirs) is killed. */
  async loss(): Promise<Latencies[]> {
    const [first, ...others] = this.#programs;
    const facts = { keys: STEADY_KEYS, ms: STEADY_MS };
    // The process to be killed asks too, so that the owners' tokens are lent.
    if (this.#redis === undefined) first?.ask('steady', facts).catch(() => undefined);
    const latencies = Promise.all(others.map((program) => program.ask<Latencies>('steady', facts)));
    await pause(1_000);
    if (this.#redis === undefined) first?.kill();
    else {
      process.kill(this.#redis.pid, 'SIGKILL');
      await pause(REDIS_GONE_MS);
      this.#redis.pid = await this.#serveRedis(this.#redis.port);
    }
    return latencies;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of [...this.#programs, this.#manager]) program?.kill();
    await Promise.all(this.#programs.map(({ ended }) => ended));
    if (this.#redis !== undefined) process.kill(this.#redis.pid, 'SIGKILL');
  }

  async #startManager(): Promise<string> {
    const config: ManagerConfig = { directory: this.#workshop.folder('manager') };
    this.#manager = this.#workshop.start(
      'the Manager',
      await this.#workshop.bundle('processes/manager-process'),
      config,
    );
    return String((await this.#manager.heard('ready'))['address']);
  }

  async #startRedis(): Promise<number> {
    const port = await freePort();
    this.#redis = { port, pid: await this.#serveRedis(port) };
    return port;
  }

  async #serveRedis(port: number): Promise<number> {
    const program = installed('redis-server');
    if (program === undefined) throw new Error(leftOut('redis-server'));
    const directory = this.#workshop.folder(`redis-${port}`);
    const pid = serve(this.#workshop, program, [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory],
      ...['--save', '', '--appendonly', 'no'],
    ]);
    await up('redis-server', async () => {
      await answerTo(port, 'PING\r\n', /PONG/);
    });
    return pid;
  }
}
