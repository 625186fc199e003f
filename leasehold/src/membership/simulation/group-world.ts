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
    const actors = { servers, clients, etcd: this.etcd, maxServers: names.length };
    this.checker = new Checker(this.world, actors, durations, lateMs);
    names.forEach((name, index) => {
      this.add(name, names, drawn.rates[index]);
    });
    for (const { name, rate, as } of drawn.clients ?? []) {
      const clock = this.#clock(name, rate);
      const options = { name, as, servers: names, durations, lateMs, network, observer: this.checker, clock };
      clients.push(new ClientProcess(this.world, options));
    }
    this.world.every([150, 600], () => this.#useApplication());
    const letters = this.world.random.fork('letters');
    if (clients.length > 0) this.world.every([50, 400], () => this.#useClients(letters));
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
      if (client.as === client.name)
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

  /** A client writes to any process of its view, or a server to a client. */
  #useClients(random: Random): void {
    const client = random.pick(this.clients);
    const server = random.pick(this.servers);
    const { view } = client.core ?? {};
    const body = this.#nextBody();
    if (random.chance(0.4)) server.send(client.as, body);
    else if (view !== undefined && client.process.running)
      client.send(random.pick([...view.servers, ...view.clients]).name, body);
  }

  #useApplication(): void {
    const server = this.random.pick(this.servers);
    const { member } = server;
    if (member?.view === undefined || !server.process.running) return;
    const isBroadcast = this.random.chance(0.2);
    this.write(server, isBroadcast ? undefined : this.random.pick(member.view.members).name);
  }

  /** A server sends another message, to one member or to all. */
  write(server: Server, to: string | undefined): void {
    server.send(to, this.#nextBody());
  }

  #nextBody(): Uint8Array {
    this.#bodies += 1;
    return new TextEncoder().encode(`message ${this.#bodies}`);
  }
}
