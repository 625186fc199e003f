/** Three servers, a process each, and a thousand clients in a few processes: how soon all of them know of one more. */

import { cpuPercent, processCost } from '../process-cost.ts';
import { nowMs, pause } from '../processes/conversation.ts';
import type { Program } from '../processes/program.ts';
import type { Workshop } from '../processes/workshop.ts';
import { quietPorts } from './quiet-ports.ts';

interface State {
  readonly acting: number;
  readonly ids: readonly string[];
  readonly clients: number;
}

const SERVERS = ['a', 'b', 'c'];
const PATIENCE_MS = 120_000;
const LOOK_EVERY_MS = 50;
const IDLE_MS = 5_000;

export class Crowd {
  readonly #servers: readonly Program[];
  readonly #processes: readonly Program[];
  readonly #size: number;
  #joins = 0;

  private constructor(servers: readonly Program[], processes: readonly Program[], size: number) {
    this.#servers = servers;
    this.#processes = processes;
    this.#size = size;
  }

  /** Resolves when all clients act in one view. */
  static async start(workshop: Workshop, size: number, processes: number): Promise<Crowd> {
    const ports = await quietPorts(SERVERS.length);
    const peers = Object.fromEntries(SERVERS.map((name, index) => [name, `127.0.0.1:${ports[index]}`]));
    const server = await workshop.bundle('membership/server-process');
    const clients = await workshop.bundle('membership/clients-process');
    const servers = SERVERS.map((name) => {
      const own = { name, listen: peers[name], peers };
      return workshop.start(name, server, { servers: [own], swim: {} });
    });
    await Promise.all(servers.map((program) => program.heard('ready')));
    const crowds = Array.from({ length: processes }, (_, index) => {
      const length = size / processes;
      const names = Array.from({ length }, (__, number) => `client-${index}-${number}`);
      return workshop.start(`clients ${index}`, clients, { names, servers: Object.values(peers) });
    });
    const crowd = new Crowd(servers, crowds, size);
    await crowd.#allAct(size);
    return crowd;
  }

  /** The cost of a server whose clients only wait. */
  async idlePercent(): Promise<number> {
    const read = () => this.#servers.map(({ pid }) => processCost(pid));
    const before = read();
    await pause(IDLE_MS);
    const after = read();
    const percents = before.map((cost, index) => cpuPercent(cost, after[index] as never));
    return percents.reduce((sum, percent) => sum + percent, 0) / percents.length;
  }

  /** From the call that joins to the last client, the new one included, that has a view with the new one; then until all act. */
  async joinOne(): Promise<{ readonly seenMs: number; readonly actsMs: number }> {
    this.#joins += 1;
    const name = `newcomer-${this.#joins}`;
    const [first] = this.#processes;
    await Promise.all(this.#processes.map((program) => program.ask('expect', { name })));
    const joined = await first?.ask<{ readonly atMs: number }>('join', { name });
    const atMs = joined?.atMs ?? 0;
    const lastMs = await this.#until('all clients see the newcomer', async () => {
      const asked = this.#processes.map((program) =>
        program.ask<{ readonly count: number; readonly lastMs: number }>('seen'),
      );
      const seen = await Promise.all(asked);
      const count = seen.reduce((sum, each) => sum + each.count, 0);
      return count > this.#size ? Math.max(...seen.map((each) => each.lastMs)) : undefined;
    });
    await this.#allAct(this.#size + 1);
    const actsMs = nowMs() - atMs;
    await first?.ask('leave', { name });
    await this.#allAct(this.#size);
    return { seenMs: lastMs - atMs, actsMs };
  }

  async stop(): Promise<void> {
    const programs = [...this.#servers, ...this.#processes];
    for (const program of programs) program.kill();
    await Promise.all(programs.map(({ ended }) => ended));
  }

  async #allAct(clients: number): Promise<void> {
    await this.#until(`${clients} clients act in one view`, async () => {
      const states = await Promise.all(this.#processes.map((program) => program.ask<State>('state')));
      const acting = states.reduce((sum, state) => sum + state.acting, 0);
      const isOne = new Set(states.flatMap(({ ids }) => ids)).size === 1;
      return isOne && acting === clients && states.every((state) => state.clients === clients)
        ? true
        : undefined;
    });
  }

  async #until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
    const deadline = nowMs() + PATIENCE_MS;
    for (;;) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      if (nowMs() > deadline) throw new Error(`not within ${PATIENCE_MS / 1_000} s: ${what}`);
      await pause(LOOK_EVERY_MS);
    }
  }
}
