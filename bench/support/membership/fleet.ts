/**
 * The servers of one measurement: started, killed, stopped, and watched by the clock that all processes of a machine share.
 *
 * Up to {@link OWN_MAX} servers have a process each. Of a larger group, only those have one that are killed, stopped and whose cost is read; the others share
 * a process for each core, because fifty cold processes on two cores measure the start of Node and nothing of the group. Each server has a port, connections and
 * a detector of its own wherever it runs.
 */

import { availableParallelism } from 'node:os';
import process from 'node:process';
import { cpuPercent, processCost } from '../process-cost.ts';
import { nowMs, pause } from '../processes/conversation.ts';
import type { Program, Said } from '../processes/program.ts';
import type { Workshop } from '../processes/workshop.ts';
import { quietPorts } from './quiet-ports.ts';

/** On average over all servers. */
export interface Traffic {
  readonly messagesPerSecond: number;
  readonly bytesPerSecond: number;
}

export interface Cost extends Traffic {
  /** Of the servers that have a process of their own. */
  readonly corePercent: number;
}

interface Sent {
  readonly messages: number;
  readonly bytes: number;
}

interface Host {
  readonly names: readonly string[];
  program: Program;
}

const LOOK_EVERY_MS = 100;
const BATCH = 4;
const PATIENCE_MS = Number(process.env['MEMBERSHIP_PATIENCE_MS'] ?? 120_000);
/** Until every detector has begun, and the group has been still for a while. */
const SETTLE_MS = 2_000;
const OWN_MAX = process.env['MEMBERSHIP_PROCESSES'] === 'own' ? Number.POSITIVE_INFINITY : 10;
/** In a larger group. */
const OWN = 4;

/** How the servers of a group of this size are spread over processes. */
export const spreadOf = (size: number): string =>
  size <= OWN_MAX
    ? `${size}, one a server`
    : `${OWN} with one server each (these are killed, stopped and charged), ${size - OWN} servers in ${availableParallelism()} more`;

export class Fleet {
  readonly #workshop: Workshop;
  readonly #bundle: string;
  readonly #ports: Readonly<Record<string, number>>;
  readonly #swim: Readonly<Record<string, number>>;
  readonly #hosts: Host[] = [];
  #gone: string | undefined;
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
    const ports = await quietPorts(2 * size);
    const from = (first: number) =>
      Object.fromEntries(names.map((name, index) => [name, ports[first + index] ?? 0]));
    const bundle = await workshop.bundle('membership/server-process');
    const fleet = new Fleet(workshop, bundle, from(0), from(size));
    for (const [index, together] of spread(names).entries()) {
      fleet.#hosts.push({ names: together, program: fleet.#start(together) });
      // A few at a time: the start of a process takes more of a core than the group does.
      if (index % BATCH === BATCH - 1) await fleet.#hosts.at(-1)?.program.heard('ready');
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
    await this.#stopSwim();
    return { ...ours, swim };
  }

  /** From the kill to the last of the views without the server. */
  async killOne(): Promise<number> {
    const { host, marks } = this.#victim();
    const killedMs = nowMs();
    host.program.signal('SIGKILL');
    const views = await this.#each(marks, 'view', this.#isRest);
    await this.#replace(host);
    return Math.max(...views.map(({ atMs }) => atMs)) - killedMs;
  }

  async stopOne(): Promise<{ readonly viewMs: number; readonly actsMs: number; readonly deadMs: number }> {
    await this.#startSwim();
    const { name, host, marks } = this.#victim();
    const stoppedMs = nowMs();
    host.program.signal('SIGSTOP');
    const [views, acts, dead] = await Promise.all([
      this.#each(marks, 'view', this.#isRest),
      this.#each(marks, 'acts', this.#isRest),
      this.#each(marks, 'dead', (said) => said['name'] === name),
    ]);
    host.program.signal('SIGKILL');
    await host.program.ended;
    await this.#stopSwim();
    await this.#replace(host);
    const since = (all: readonly Said[]): number => Math.max(...all.map(({ atMs }) => atMs)) - stoppedMs;
    return { viewMs: since(views), actsMs: since(acts), deadMs: since(dead) };
  }

  async stop(): Promise<void> {
    for (const { program } of this.#hosts) program.kill();
    await Promise.all(this.#hosts.map(({ program }) => program.ended));
  }

  /** The processes in which a server is alive. */
  get #alive(): Host[] {
    return this.#hosts.filter(({ names: [name] }) => name !== this.#gone);
  }

  readonly #isRest = ({ size }: Said): boolean => size === Object.keys(this.#ports).length - 1;

  #start(names: readonly string[]): Program {
    const address = (port: number | undefined): string => `127.0.0.1:${port}`;
    const servers = names.map((name) => ({
      ...{ name, listen: address(this.#ports[name]) },
      peers: Object.fromEntries(
        Object.entries(this.#ports).flatMap(([peer, port]) => (peer === name ? [] : [[peer, address(port)]])),
      ),
    }));
    return this.#workshop.start(names.join(), this.#bundle, { servers, swim: this.#swim });
  }

  async #replace(host: Host): Promise<void> {
    await host.program.ended;
    host.program = this.#start(host.names);
    this.#gone = undefined;
    await this.#allAct();
    await pause(SETTLE_MS);
  }

  async #allAct(): Promise<void> {
    const size = Object.keys(this.#ports).length;
    const acts = ({ names, program }: Host): boolean =>
      names.every((name) => {
        const last = program.said.findLast(
          ({ event, server }) => server === name && (event === 'view' || event === 'acts'),
        );
        return last?.event === 'acts' && last['size'] === size;
      });
    await this.#until('all servers act in one view', () => this.#hosts.every(acts));
  }

  async #startSwim(): Promise<void> {
    await Promise.all(this.#alive.map(({ program }) => program.ask('startSwim')));
    await pause(SETTLE_MS);
  }

  async #stopSwim(): Promise<void> {
    await Promise.all(this.#alive.map(({ program }) => program.ask('stopSwim')));
  }

  /** The next server that has a process of its own, and how much the processes of the others have said by now. */
  #victim(): { readonly name: string; readonly host: Host; readonly marks: ReadonlyMap<Host, number> } {
    const own = this.#hosts.filter(({ names }) => names.length === 1);
    this.#next = (this.#next + 1) % own.length;
    const host = own[this.#next] as Host;
    const name = host.names[0] ?? '';
    this.#gone = name;
    return { name, host, marks: new Map(this.#alive.map((other) => [other, other.program.said.length])) };
  }

  /** The last event of this kind that each server says before all of them have said one. */
  async #each(
    marks: ReadonlyMap<Host, number>,
    event: string,
    isIt: (said: Said) => boolean,
  ): Promise<readonly Said[]> {
    const found = (): (Said | undefined)[] =>
      [...marks].flatMap(([{ names, program }, mark]) => {
        const said = program.said.slice(mark).filter((each) => each.event === event && isIt(each));
        return names.map((name) => said.findLast(({ server }) => server === name));
      });
    await this.#until(`all others say ${event}`, () => found().every((said) => said !== undefined));
    return found() as Said[];
  }

  async #cost(ms: number, whose: 'ours' | 'swim'): Promise<Cost> {
    const own = this.#hosts.filter(({ names }) => names.length === 1).map(({ program }) => program);
    const read = async () => {
      const asked = this.#hosts.map(({ program }) => program.ask<Sent & { readonly swim: Sent }>('traffic'));
      const traffic = (await Promise.all(asked)).map((sent) => (whose === 'ours' ? sent : sent.swim));
      return { traffic, costs: own.map(({ pid }) => processCost(pid)), atMs: nowMs() };
    };
    const before = await read();
    await pause(ms);
    const after = await read();
    const seconds = (after.atMs - before.atMs) / 1_000;
    const total = (sent: readonly Sent[], what: keyof Sent): number =>
      sent.reduce((sum, each) => sum + each[what], 0);
    const perSecond = (what: keyof Sent): number =>
      (total(after.traffic, what) - total(before.traffic, what)) / seconds / Object.keys(this.#ports).length;
    const percents = own.map((_, index) =>
      cpuPercent(before.costs[index] as never, after.costs[index] as never),
    );
    return {
      corePercent: percents.reduce((sum, percent) => sum + percent, 0) / own.length,
      messagesPerSecond: perSecond('messages'),
      bytesPerSecond: perSecond('bytes'),
    };
  }

  async #until(what: string, isSo: () => boolean): Promise<void> {
    const deadline = nowMs() + PATIENCE_MS;
    while (!isSo()) {
      const over = this.#alive.find(({ program }) => program.isOver)?.program;
      if (over !== undefined) throw new Error(`${over.name} has ended: ${over.stderr}`);
      if (nowMs() > deadline) throw new Error(`not within ${PATIENCE_MS / 1_000} s: ${what}`);
      await pause(LOOK_EVERY_MS);
    }
  }
}

/** The names of the servers of each process. */
function spread(names: readonly string[]): string[][] {
  if (names.length <= OWN_MAX) return names.map((name) => [name]);
  const shared = Array.from({ length: availableParallelism() }, (): string[] => []);
  for (const [index, name] of names.slice(OWN).entries()) shared[index % shared.length]?.push(name);
  return [...shared, ...names.slice(0, OWN).map((name) => [name])];
}
