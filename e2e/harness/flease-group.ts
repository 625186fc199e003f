/** A group of members as processes, which all want the same key. With a network, each is on a machine of its own. */

import type { Network } from './network.ts';
import { lastingPort } from '../../leasehold/src/node/testing/lasting-port.ts';
import type { Program, ProgramEvent, Start } from './program.ts';
import type { Scene } from './scene.ts';
import { until } from './time.ts';

export const MEMBERS: readonly string[] = ['a', 'b', 'c'];
export const KEY = 'key-0';
/** What no member asks for by itself. */
export const OTHER_KEY = 'key-1';

export interface Times {
  readonly leaseMs: number;
  readonly clockSkewMs: number;
}

/** Short, so that a test need not take long, but not so short that a busy machine takes leases away. */
export const TIMES: Times = { leaseMs: 1_500, clockSkewMs: 150 };

const WRITE_EVERY_MS = 10;

export interface MemberStart extends Pick<Start, 'environment'> {
  /** What it wants. @default KEY */
  readonly keys?: readonly string[];
}

export class FleaseGroup {
  readonly peers: Readonly<Record<string, string>>;
  readonly times: Times;
  readonly #scene: Scene;
  readonly #network: Network | undefined;
  readonly #members = new Map<string, Program>();

  private constructor(
    scene: Scene,
    peers: Readonly<Record<string, string>>,
    times: Times,
    network: Network | undefined,
  ) {
    this.#scene = scene;
    this.peers = peers;
    this.times = times;
    this.#network = network;
  }

  static async open(
    scene: Scene,
    { network, times = TIMES }: { readonly network?: Network; readonly times?: Times } = {},
  ): Promise<FleaseGroup> {
    const peers: Record<string, string> = {};
    for (const member of MEMBERS) {
      peers[member] = `${network?.address(member) ?? '127.0.0.1'}:${await lastingPort()}`;
    }
    return new FleaseGroup(scene, peers, times, network);
  }

  /** All of them, asking for the key. */
  static async running(scene: Scene, network?: Network): Promise<FleaseGroup> {
    const group = await FleaseGroup.open(scene, network === undefined ? {} : { network });
    await Promise.all(MEMBERS.map((member) => group.start(member)));
    return group;
  }

  get members(): readonly Program[] {
    return [...this.#members.values()];
  }

  of(name: string): Program {
    const member = this.#members.get(name);
    if (member === undefined) throw new Error(`${name} was not started`);
    return member;
  }

  others(...members: readonly Program[]): readonly Program[] {
    return this.members.filter((member) => !members.includes(member));
  }

  /** Also one that has ended: at its old address, with nothing of what it knew. */
  async start(name: string, { environment, keys = [KEY] }: MemberStart = {}): Promise<Program> {
    const member = this.#scene.start({
      ...{ name, program: 'member', environment, under: this.#network?.on(name) },
      config: {
        join: { name, peers: this.peers, insecure: true, ...this.times },
        ...{ keys, register: this.#scene.register.path, writeEveryMs: WRITE_EVERY_MS },
      },
    });
    this.#members.set(name, member);
    await member.event('ready');
    this.#scene.observer.watch(member);
    return member;
  }

  /** The one that has the key, and has written; with its number. */
  async holder(...not: readonly Program[]): Promise<{ readonly member: Program; readonly number: number }> {
    return await until('somebody has the key and has written', () => {
      const written = this.#scene.register.value(KEY);
      const member = this.members.find(({ ready }) => ready['incarnation'] === written?.incarnation);
      if (written === undefined || member === undefined || not.includes(member)) return undefined;
      const isHeld = this.#scene.observer.holders(KEY).includes(member.name);
      return isHeld ? { member, number: written.number } : undefined;
    });
  }

  /** Whoever has the key gives it back, until somebody else has it: the same one may, while nobody waits in line yet. */
  async passOn(): Promise<{ readonly member: Program; readonly number: number }> {
    const { member: first } = await this.holder();
    return await until(`somebody else than ${first.name} has the key`, async () => {
      const held = await this.holder();
      if (held.member !== first) return held;
      await first.ask('release', { key: KEY });
      return undefined;
    });
  }

  /** Every time that anybody had the key, as they came. */
  get terms(): readonly ProgramEvent[] {
    return this.members
      .flatMap(({ events }) => events)
      .filter(({ event, key }) => event === 'acquired' && key === KEY)
      .sort((one, other) => one.heardMs - other.heardMs);
  }
}
