/** The servers of one measurement: started, killed, stopped, and watched by the clock that all processes of a machine share. */

import { cpuPercent, processCost } from '../process-cost.ts';
import { nowMs, pause } from '../processes/conversation.ts';
import type { Program, Said } from '../processes/program.ts';
import { freePort, type Workshop } from '../processes/workshop.ts';

/** On average over all servers. */
export interface Traffic {
  readonly messagesPerSecond: number;
  readonly bytesPerSecond: number;
}

export interface Cost extends Traffic {
  readonly corePercent: number;
}

interface Sent {
  readonly messages: number;
  readonly bytes: number;
}

const LOOK_EVERY_MS = 5;
const BATCH = 4;
const PATIENCE_MS = 240_000;
/** Until every detector has begun, and the group has been still for a while. */
const SETTLE_MS = 2_000;

export class Fleet {
  readonly #workshop: Workshop;
  readonly #bundle: string;
  readonly #ports: Readonly<Record<string, number>>;
  readonly #swim: Readonly<Record<string, number>>;
  readonly #servers = new Map<string, Program>();
  #next = 0;

  private constructor(
    workshop: Workshop,
    bundle: string,
    ports: Readonly<Record<string, number>>,
    swim: Readonly<Record<string, number>>,
  ) {
    this.#workshop = workshop;
    this.#bundle = bundle;
    this.#ports = ports;
    this.#swim = swim;
  }

  /** Resolves when all of them act in one view. */
  static async start(workshop: Workshop, size: number): Promise<Fleet> {
    const names = Array.from({ length: size }, (_, index) => `server-${index + 10}`);
    const ports = async () => {
      const each = await Promise.all(names.map(async (name) => [name, await freePort()] as const));
      return Object.fromEntries(each);
    };
    const bundle = await workshop.bundle('membership/server-process');
    const fleet = new Fleet(workshop, bundle, await ports(), await ports());
    for (const name of names) {
      fleet.#start(name);
      // A few at a time: the start of a process takes more of a core than the group does.
      if (fleet.#servers.size % BATCH === 0) await fleet.#servers.get(name)?.heard('ready');
    }
    await fleet.#allAct();
    return fleet;
  }

  /** The cost of a group to which nothing happens, and then what its detectors send. */
  async idle(ms: number): Promise<Cost & { readonly swim: Traffic }> {
    await pause(SETTLE_MS);
    const ours = await this.#cost(ms, 'ours');
    await this.#startSwim();
    const swim = await this.#cost(ms, 'swim');
    await Promise.all(this.#programs.map((program) => program.ask('stopSwim')));
    return { ...ours, swim };
  }

  /** From the kill to the last of the views without the server. */
  async killOne(): Promise<number> {
    const name = this.#victim();
    const marks = this.#marks(name);
    const killedMs = nowMs();
    const victim = this.#servers.get(name);
    victim?.signal('SIGKILL');
    this.#servers.delete(name);
    const views = await this.#each(marks, 'view', ({ size }) => size === this.#servers.size);
    await victim?.ended;
    await this.#replace(name);
    return Math.max(...views.map(({ atMs }) => atMs)) - killedMs;
  }

  async stopOne(): Promise<{ readonly viewMs: number; readonly actsMs: number; readonly deadMs: number }> {
    await this.#startSwim();
    const name = this.#victim();
    const marks = this.#marks(name);
    const victim = this.#servers.get(name);
    const stoppedMs = nowMs();
    victim?.signal('SIGSTOP');
    this.#servers.delete(name);
    const isRest = ({ size }: Said): boolean => size === this.#servers.size;
    const [views, acts, dead] = await Promise.all([
      this.#each(marks, 'view', isRest),
      this.#each(marks, 'acts', isRest),
      this.#each(marks, 'dead', (said) => said['name'] === name),
    ]);
    victim?.signal('SIGKILL');
    await victim?.ended;
    await Promise.all(this.#programs.map((program) => program.ask('stopSwim')));
    await this.#replace(name);
    const since = (all: readonly Said[]): number => Math.max(...all.map(({ atMs }) => atMs)) - stoppedMs;
    return { viewMs: since(views), actsMs: since(acts), deadMs: since(dead) };
  }

  async stop(): Promise<void> {
    const programs = this.#programs;
    for (const program of programs) program.kill();
    await Promise.all(programs.map(({ ended }) => ended));
  }

  get #programs(): Program[] {
    return [...this.#servers.values()];
  }

  #start(name: string): void {
    const address = (port: number | undefined): string => `127.0.0.1:${port}`;
    const peers = Object.fromEntries(
      Object.entries(this.#ports).flatMap(([peer, port]) => (peer === name ? [] : [[peer, address(port)]])),
    );
    const config = { name, listen: address(this.#ports[name]), peers, swim: this.#swim };
    this.#servers.set(name, this.#workshop.start(name, this.#bundle, config));
  }

  async #replace(name: string): Promise<void> {
    this.#start(name);
    await this.#allAct();
    await pause(SETTLE_MS);
  }

  async #allAct(): Promise<void> {
    const size = Object.keys(this.#ports).length;
    const isLast = (program: Program): boolean => {
      const last = program.said.findLast(({ event }) => event === 'view' || event === 'acts');
      return last?.event === 'acts' && last['size'] === size;
    };
    await this.#until('all servers act in one view', () => this.#programs.every(isLast));
  }

  async #startSwim(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.ask('startSwim')));
    await pause(SETTLE_MS);
  }

  #victim(): string {
    const names = Object.keys(this.#ports);
    this.#next = (this.#next + 7) % names.length;
    return names[this.#next] ?? '';
  }

  /** How much each of the others has said by now. */
  #marks(victim: string): ReadonlyMap<Program, number> {
    const others = [...this.#servers].filter(([name]) => name !== victim);
    return new Map(others.map(([, program]) => [program, program.said.length]));
  }

  /** The last event of this kind that each of them says before all of them have said one. */
  async #each(
    marks: ReadonlyMap<Program, number>,
    event: string,
    isIt: (said: Said) => boolean,
  ): Promise<readonly Said[]> {
    const of = (program: Program, mark: number): Said | undefined =>
      program.said.slice(mark).findLast((said) => said.event === event && isIt(said));
    await this.#until(`all others say ${event}`, () =>
      [...marks].every(([program, mark]) => of(program, mark)),
    );
    return [...marks].map(([program, mark]) => of(program, mark) as Said);
  }

  async #cost(ms: number, whose: 'ours' | 'swim'): Promise<Cost> {
    const read = async () => {
      const traffic = await Promise.all(
        this.#programs.map((program) => program.ask<Sent & { readonly swim: Sent }>('traffic')),
      );
      return { traffic, costs: this.#programs.map(({ pid }) => processCost(pid)), atMs: nowMs() };
    };
    const before = await read();
    await pause(ms);
    const after = await read();
    const seconds = (after.atMs - before.atMs) / 1_000;
    const mean = (of: (index: number) => number): number =>
      this.#programs.reduce((sum, _, index) => sum + of(index), 0) / this.#programs.length;
    const sent = ({ traffic }: typeof before, index: number, what: keyof Sent): number => {
      const each = traffic[index];
      return (whose === 'ours' ? each?.[what] : each?.swim[what]) ?? 0;
    };
    const perSecond = (what: keyof Sent): number =>
      mean((index) => (sent(after, index, what) - sent(before, index, what)) / seconds);
    return {
      corePercent: mean((index) => cpuPercent(before.costs[index] as never, after.costs[index] as never)),
      messagesPerSecond: perSecond('messages'),
      bytesPerSecond: perSecond('bytes'),
    };
  }

  async #until(what: string, isSo: () => boolean): Promise<void> {
    const deadline = nowMs() + PATIENCE_MS;
    while (!isSo()) {
      const over = this.#programs.find(({ isOver }) => isOver);
      if (over !== undefined) throw new Error(`${over.name} has ended: ${over.stderr}`);
      if (nowMs() > deadline) throw new Error(`not within ${PATIENCE_MS / 1_000} s: ${what}`);
      await pause(LOOK_EVERY_MS);
    }
  }
}
