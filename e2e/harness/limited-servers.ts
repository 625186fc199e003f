/** Four HTTP servers with one limit, and a client that asks them in turn. */

import { Agent, get } from 'node:http';
import type { JoinGroupOptions } from 'leasehold/membership';
import { watchStalls } from '../../leasehold/src/node/testing/undisturbed-time.ts';
import { disturbedMs, mostAbove, type Stall } from './limit-promise.ts';
import { Network } from './network.ts';
import type { Program } from './program.ts';
import { type Scene, SHORT } from './scene.ts';
import { nowMs, until } from './time.ts';

export const LIMIT = 1_000;
export const BURST = 100;
/** Requests for each token. */
const DEMAND = 1.5;
const NAMES = ['ada', 'ben', 'cyd', 'dot'] as const;
const MANAGER = 'm';
const GROUP_PORT = 7_700;

export class LimitedServers {
  readonly key = 'ann';
  readonly programs: Program[] = [];
  readonly #scene: Scene;
  readonly #network: Network;
  /** Times in which the client, which runs in this process, waited for a processor. */
  readonly #stalls: Stall[] = [];
  #managers: readonly string[] = [];

  private constructor(scene: Scene, network: Network) {
    this.#scene = scene;
    this.#network = network;
    watchStalls(nowMs, (...stall) => this.#stalls.push(stall));
  }

  /** Each on a machine of its own, of which the client reaches all: on a pool, or as a group. */
  static async start(scene: Scene, on: 'pool' | 'group'): Promise<LimitedServers> {
    const network = await Network.openReachable(scene, MANAGER, ...NAMES);
    const servers = new LimitedServers(scene, network);
    if (on === 'pool') {
      const options = { ...SHORT, listen: `${network.address(MANAGER)}:0`, insecure: true };
      servers.#managers = (await scene.manager(options, { under: network.on(MANAGER) })).managers;
    }
    for (const name of NAMES) servers.#start(name);
    for (const program of servers.programs) await program.event('ready');
    return servers;
  }

  /** Starts a server again that was killed. */
  async restart(killed: Program): Promise<void> {
    await this.#start(killed.name).event('ready');
  }

  /** The server that mints the tokens of the key. */
  owner(): Promise<Program> {
    return until('the key has an owner', () =>
      this.programs.find(({ events, ending }) => {
        const last = events.findLast(({ event }) => event === 'owns' || event === 'disowns');
        return ending === undefined && last?.event === 'owns';
      }),
    );
  }

  /** Neither the Manager nor another server hears from this server, nor this one from them; the client does. */
  async cutOff({ name }: Program): Promise<void> {
    const others = [MANAGER, ...NAMES.filter((other) => other !== name)];
    await Promise.all(others.map((other) => this.#network.part(name, other)));
  }

  async heal(): Promise<void> {
    for (const machine of [MANAGER, ...NAMES]) await this.#network.heal(machine);
  }

  portAndHost(program: Program): { readonly port: number; readonly host: string } {
    return { port: program.ready['port'] as number, host: this.#network.address(program.name) };
  }

  admittedAt(): number[] {
    return this.#instantsOf('admitted').sort((one, other) => one - other);
  }

  admittedSince(fromMs: number): number {
    return this.#instantsOf('admitted').filter((ms) => ms >= fromMs).length;
  }

  /** How much of the time since then no server waited for a processor, and the client did not either. */
  undisturbedMsSince(sinceMs: number): number {
    const told = this.programs.flatMap(({ events }) => events.filter(({ event }) => event === 'stalled'));
    const stalls = told.map((stall) => [stall['fromMs'] as number, stall['toMs'] as number] as const);
    const untilMs = nowMs();
    return untilMs - sinceMs - disturbedMs([...stalls, ...this.#stalls], sinceMs, untilMs);
  }

  /**
   * The most that was used above the promise in any interval: limit × time + burst, and one burst more for each server that became the owner
   * in the interval. All processes have the same clock here.
   */
  mostAbovePromise(fromMs: number): number {
    return mostAbove({ limit: LIMIT, burst: BURST }, this.admittedAt(), this.#instantsOf('owns'), fromMs);
  }

  /** Admitted in each second, for a failure. */
  perSecond(fromMs: number): number[] {
    const counts: number[] = [];
    for (const ms of this.admittedAt()) {
      const second = Math.floor((ms - fromMs) / 1_000);
      if (second >= 0) counts[second] = (counts[second] ?? 0) + 1;
    }
    return Array.from(counts, (count) => count ?? 0);
  }

  #instantsOf(which: string): number[] {
    return this.programs.flatMap(({ events }) =>
      events.filter(({ event }) => event === which).map(({ atMs }) => atMs),
    );
  }

  #groupOf(name: string): JoinGroupOptions | undefined {
    if (this.#managers.length > 0) return undefined;
    const address = (of: string): string => `${this.#network.address(of)}:${GROUP_PORT}`;
    const peers = Object.fromEntries(
      NAMES.filter((other) => other !== name).map((other) => [other, address(other)]),
    );
    return { name, listen: address(name), peers, maxServers: NAMES.length };
  }

  #start(name: string): Program {
    const config = {
      ...{ managers: this.#managers, name, host: this.#network.address(name), watched: this.key },
      ...{
        limit: { name: 'api', limit: LIMIT, burst: BURST, whenCutOff: 'closed' },
        group: this.#groupOf(name),
      },
    };
    const program = this.#scene.start({
      name,
      program: 'limited-server',
      config,
      under: this.#network.on(name),
    });
    this.programs.push(program);
    return program;
  }
}

/** Asks the servers in turn, more often than the limit allows, whether or not they answer. */
export class RoundRobinClient implements Disposable {
  readonly statuses: Map<number, number> = new Map();
  readonly #servers: LimitedServers;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32, timeout: 2_000 });
  readonly #timer: NodeJS.Timeout;
  readonly #startedMs = nowMs();
  #asked = 0;

  constructor(servers: LimitedServers) {
    this.#servers = servers;
    this.#timer = setInterval(() => this.#ask(), 5);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
  }

  #ask(): void {
    const running = this.#servers.programs.filter(
      ({ ending, ready }) => ending === undefined && ready['port'] !== undefined,
    );
    const due = ((nowMs() - this.#startedMs) / 1_000) * DEMAND * LIMIT;
    for (; this.#asked < due; this.#asked += 1) {
      const server = running[this.#asked % running.length];
      if (server === undefined) continue;
      const headers = { 'x-api-key': this.#servers.key };
      const asked = get({ agent: this.#agent, ...this.#servers.portAndHost(server), headers }, (response) => {
        this.#count(response.statusCode ?? 0);
        response.resume();
      });
      asked.on('timeout', () => asked.destroy());
      asked.on('error', () => this.#count(0));
    }
  }

  #count(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}
