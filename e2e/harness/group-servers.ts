/** Servers of a group as real processes, on this machine or each on a machine of its own, and what must hold of all of them. */

import type { Network } from './network.ts';
import { lastingPort } from '../../leasehold/src/node/testing/lasting-port.ts';
import type { Program, Reply } from './program.ts';
import type { Scene } from './scene.ts';
import { until } from './time.ts';
import { falseClock } from './tools.ts';

const PORT = 7_700;
/** So many processes start at once. */
const TOGETHER = 4;

export interface GroupStart {
  readonly leaseMs: number;
  /** Each server on a machine of its own. */
  readonly network?: Network | undefined;
  /** Where the servers are registered, instead of in lists of peers. */
  readonly etcd?: string | undefined;
  /** What each has in its environment: a token, for one. */
  readonly environmentOf?: ((name: string) => Readonly<Record<string, string>>) | undefined;
  /** A server with a clock that runs at another rate; the guard against suspensions follows that clock, and sees nothing. */
  readonly falseClock?: { readonly name: string; readonly rate: number } | undefined;
}

interface Stretch {
  readonly id: string;
  readonly members: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export class GroupServers<Name extends string> {
  readonly names: readonly Name[];
  readonly #scene: Scene;
  readonly #start: GroupStart;
  readonly #addresses: ReadonlyMap<Name, string>;
  readonly #servers = new Map<Name, Program>();
  /** Every process that ever ran, those that were killed too. */
  readonly #programs: Program[] = [];

  private constructor(scene: Scene, start: GroupStart, addresses: ReadonlyMap<Name, string>) {
    this.#scene = scene;
    this.#start = start;
    this.#addresses = addresses;
    this.names = [...addresses.keys()];
  }

  /** Resolves when all of them, or these, act in one view. */
  static async open<Name extends string>(
    scene: Scene,
    names: readonly Name[],
    start: GroupStart,
    together: readonly Name[] = names,
  ): Promise<GroupServers<Name>> {
    const { network } = start;
    const addresses = new Map<Name, string>();
    for (const name of names)
      addresses.set(name, network ? `${network.address(name)}:${PORT}` : `127.0.0.1:${await lastingPort()}`);
    const group = new GroupServers(scene, start, addresses);
    for (const [index, name] of names.entries()) {
      const server = group.start(name);
      // The start of a process takes more of a core than the group does.
      if (index % TOGETHER === TOGETHER - 1) await server.event('ready');
    }
    await group.act(together);
    return group;
  }

  start(name: Name): Program {
    const { network, leaseMs, etcd, environmentOf, falseClock: wrong } = this.#start;
    const isWrong = wrong?.name === name;
    const others = Object.fromEntries([...this.#addresses].filter(([peer]) => peer !== name));
    const peers = etcd === undefined ? others : undefined;
    const config = {
      ...{ name, listen: this.#addresses.get(name), peers, etcd, leaseMs },
      insecure: network !== undefined,
      clocks: isWrong ? { uptime: 'follows-clock' } : undefined,
    };
    const environment = isWrong ? falseClock(wrong) : environmentOf?.(name);
    const under = network?.on(name);
    const server = this.#scene.start({ name, program: 'group-server', config, under, environment });
    this.#servers.set(name, server);
    this.#programs.push(server);
    return server;
  }

  addressOf(name: Name): string {
    return this.#addresses.get(name) ?? '';
  }

  at(name: Name): Program {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`there is no server ${name}`);
    return server;
  }

  state(name: Name, peer = ''): Promise<Reply> {
    return this.at(name).ask('state', { peer });
  }

  /** Resolves when each of these acts in one view of exactly these. */
  async act(members: readonly Name[]): Promise<void> {
    const wanted = [...members].sort().join();
    const isActing = ({ members: now, standing }: Reply): boolean => now === wanted && standing === 'acts';
    await Promise.all(
      members.map((name) =>
        until(`${name} acts with ${wanted}`, async () => isActing(await this.state(name)) || undefined),
      ),
    );
  }

  /** Resolves when each of these is in a view of exactly these. */
  async see(members: readonly Name[], by: readonly Name[] = members): Promise<void> {
    const wanted = [...members].sort().join();
    await Promise.all(
      by.map((name) =>
        until(`${name} is in a view of ${wanted}`, async () =>
          (await this.state(name))['members'] === wanted ? true : undefined,
        ),
      ),
    );
  }

  viewsOf(name: Name): number {
    return this.at(name).events.filter(({ event }) => event === 'view').length;
  }

  /** How often a server stood still for so long that others may have taken it for dead: what that costs is no fault of the code. */
  get stalls(): number {
    return this.#programs.flatMap(({ events }) => events.filter(({ event }) => event === 'stalled')).length;
  }

  /** Views in which servers acted at the same time, and which share a server, or are registered in etcd: there must be none. */
  async overlaps(): Promise<readonly string[]> {
    const stretches: Stretch[] = [];
    for (const program of this.#programs) {
      for (const event of program.events) if (event.event === 'acted') stretches.push(event as never);
      if (program.ending !== undefined) continue;
      const last = (await program.ask('acting')) as unknown as Partial<Stretch>;
      if (last.id !== undefined) stretches.push(last as Stretch);
    }
    const found: string[] = [];
    for (const [index, one] of stretches.entries()) {
      for (const other of stretches.slice(index + 1)) {
        if (one.id === other.id || one.fromMs > other.toMs || other.fromMs > one.toMs) continue;
        const shared = one.members.split(',').filter((name) => other.members.split(',').includes(name));
        if (shared.length > 0 || this.#start.etcd !== undefined)
          found.push(`${JSON.stringify(one)} beside ${JSON.stringify(other)}`);
      }
    }
    if (stretches.length === 0) found.push('no server ever acted');
    return found;
  }
}
