/** A group in a simulated world: the servers, the network between them, the application that sends, and the checker. */

import { SimulatedEtcd } from '../../etcd/simulation/simulated-etcd.ts';
import { SimClock } from '../../sim/clock.ts';
import { Network } from '../../sim/network.ts';
import type { Random } from '../../sim/random.ts';
import { World } from '../../sim/world.ts';
import type { AnyMessage } from '../core/messages.ts';
import { Checker } from './checker.ts';
import { ClientProcess } from './client.ts';
import type { DrawnWorld } from './drawn-world.ts';
import { Server } from './server.ts';

const EPOCH_MS = 1_750_000_000_000;

export class GroupWorld {
  readonly world: World;
  readonly drawn: DrawnWorld;
  readonly network: Network<AnyMessage>;
  readonly servers: Server[] = [];
  readonly clients: ClientProcess[] = [];
  readonly checker: Checker;
  readonly random: Random;
  /** Where servers are registered, if they are. */
  readonly etcd: SimulatedEtcd | undefined;
  #bodies = 0;

  constructor(seed: number, trace: boolean, drawn: DrawnWorld) {
    this.world = new World({ seed, trace });
    this.drawn = drawn;
    this.random = this.world.random.fork('group');
    this.etcd = drawn.registry && new SimulatedEtcd(this.world);
    this.network = new Network(this.world, { faults: drawn.links });
    const { names, durations, lateMs } = drawn;
    const { servers, clients, network } = this;
    this.checker = new Checker(this.world, { servers, clients, etcd: this.etcd }, durations, lateMs);
    names.forEach((name, index) => {
      this.add(name, names, drawn.rates[index]);
    });
    for (const { name, rate } of drawn.clients ?? []) {
      const clock = this.#clock(name, rate);
      const options = { name, servers: names, durations, lateMs, network, observer: this.checker, clock };
      clients.push(new ClientProcess(this.world, options));
    }
    this.world.every([150, 600], () => this.#useApplication());
  }

  /** A server that has not started yet. @param names the servers to dial; the own name does not count */
  add(name: string, names: readonly string[], rate = 1): Server {
    const clock = this.#clock(name, rate);
    const { network, checker: observer } = this;
    const { durations, lateMs } = this.drawn;
    const clients = (this.drawn.clients ?? []).map((client) => client.name);
    const registered = this.etcd && {
      etcd: this.etcd,
      hasLastingAddress: this.drawn.registry?.hasLastingAddress === true,
    };
    const options = { name, names, clients, durations, lateMs, network, clock, observer, registered };
    const server = new Server(this.world, options);
    this.servers.push(server);
    return server;
  }

  start(): void {
    for (const server of this.servers)
      this.world.after(this.random.between(0, 300), () => this.startServer(server));
    for (const client of this.clients)
      this.world.after(this.random.between(0, 3_000), () => this.startClient(client));
  }

  startClient(client: ClientProcess): void {
    if (!client.process.alive) client.process.start();
  }

  startServer(server: Server): void {
    if (!server.process.alive) server.process.start();
  }

  #clock(name: string, rate: number | undefined): SimClock {
    const random = this.random.fork(`server ${name}`);
    return new SimClock({
      rate,
      originMs: random.between(0, 1e8),
      wallOriginMs: EPOCH_MS + random.between(-50, 50),
      uptimeOriginMs: random.between(1e4, 1e9),
    });
  }

  #useApplication(): void {
    const server = this.random.pick(this.servers);
    const { member } = server;
    if (member?.view === undefined || !server.process.running) return;
    this.#bodies += 1;
    const body = new TextEncoder().encode(`message ${this.#bodies}`);
    const isBroadcast = this.random.chance(0.2);
    server.send(isBroadcast ? undefined : this.random.pick(member.view.members).name, body);
  }
}
