/** The course of a group: faults of every kind for a while, then calm (`calm.ts`). */

import type { Random } from '../../sim/random.ts';
import { Calm } from './calm.ts';
import { ClientTroubles } from './client-troubles.ts';
import { EtcdChaos } from './etcd-chaos.ts';
import { drawRate, drawWorld } from './drawn-world.ts';
import { GroupWorld } from './group-world.ts';
import type { ClientProcess } from './client.ts';
import type { Server } from './server.ts';
import { Stalls } from './stalls.ts';
import { Stories } from './stories.ts';

/** So many events are never needed, unless servers talk for ever. */
const EVENTS_MAX = 400_000;
const LEAVING_MS = 400;

export class Chaos {
  readonly group: GroupWorld;
  readonly #random: Random;
  readonly #clientRandom: Random;

  constructor(seed: number, trace: boolean) {
    this.group = new GroupWorld(seed, trace, drawWorld(seed));
    this.#random = this.group.world.random.fork('chaos');
    this.#clientRandom = this.group.world.random.fork('faults of clients');
  }

  run(): void {
    const { group } = this;
    const { world, drawn } = group;
    world.count(`worlds, ${drawn.kind}`);
    group.start();
    if (drawn.kind === 'deaf-middle') this.#deafenMiddle();
    if (drawn.kind === 'data-lost')
      world.at(group.etcd === undefined ? 2_000 : 5_000, () => this.#loseData());
    for (let fault = 0; fault < drawn.faults; fault++) {
      world.at(this.#random.between(1_000, drawn.chaosMs), () => this.#fault());
    }
    for (const client of group.clients) {
      for (let fault = 0; fault < drawn.faults / 3; fault++)
        world.at(this.#clientRandom.between(2_000, drawn.chaosMs), () => this.#clientFault(client));
    }
    if (drawn.story !== undefined) new Stories(group, world.random.fork('stories')).begin(drawn.story);
    if (group.etcd !== undefined) new EtcdChaos(group, group.etcd).begin();
    if (drawn.hasClientTroubles === true)
      new ClientTroubles(group, world.random.fork('troubles of clients')).begin();
    if (drawn.kind === 'stalled') new Stalls(group, world.random.fork('stalls')).begin();
    const [client] = group.clients;
    if (drawn.hasRestarts === true && client !== undefined)
      world.every([3_000, 5_000], () => this.#restartAndLeave(client));
    if (drawn.kind === 'drifting') world.every([4_000, 8_000], () => this.#stopSlowest());
    world.run({ untilMs: drawn.chaosMs, maxEvents: EVENTS_MAX });
    new Calm(group).run(EVENTS_MAX);
  }

  /** The slow server stops for longer than a lease, and the fast one gives it up at once; not in the calm. */
  #stopSlowest(): void {
    const { world, servers, drawn } = this.group;
    const [slow, fast] = servers;
    if (world.trueMs > drawn.chaosMs || slow === undefined || fast === undefined) return;
    slow.pause(this.#random.between(1_500, 2_200));
    world.after(this.#random.between(0, 100), () => fast.report(slow.name));
  }

  #deafenMiddle(): void {
    const [middle, one, other] = this.group.servers;
    if (middle === undefined || one === undefined || other === undefined) return;
    middle.isDeaf = true;
    this.group.network.cutBoth(one.name, other.name);
  }

  #loseData(): void {
    const [server] = this.group.servers;
    if (server === undefined) return;
    // With a registry the receiver has to go, and must not be told so.
    if (this.group.etcd === undefined) server.losesData = true;
    else server.losesLargeMessages = true;
  }

  #fault(): void {
    const random = this.#random;
    const { servers, network, world } = this.group;
    const server = random.pick(servers);
    const other = random.pick(servers.filter((each) => each !== server));
    const kinds: readonly (() => void)[] = [
      () => this.#crash(server),
      () => this.#crash(server),
      () => this.#crash(server, random.between(0, 3_000)),
      () => this.#crash(server, random.between(0, 3_000)),
      () => network.cut(server.name, other.name),
      () => network.cut(server.name, other.name),
      () => network.cutBoth(server.name, other.name),
      () => network.cutBoth(server.name, other.name),
      () => this.#partition(),
      () => this.#partition(),
      () => this.#comeOver(server),
      () => this.#comeOver(server),
      () => this.#comeOver(server),
      () => network.heal(),
      () => network.heal(),
      () => network.heal(),
      () => this.#startAll(),
      () => server.pause(random.between(0, 4_000)),
      () => server.pause(random.between(0, 4_000)),
      () => server.suspend(random.between(50, 4_000)),
      () => server.suspend(random.between(50, 4_000)),
      () => server.suspend(random.between(10, 99)),
      () => server.process.setRate(drawRate(random)),
      () => this.#leave(server),
      () => this.#leave(server),
      () => server.report(other.name),
      () => this.#deafen(server),
      () => this.#loseLargeMessages(server),
      () => this.#loseLargeMessages(server),
    ];
    const index = random.integer(0, kinds.length - 1);
    world.count('faults');
    kinds[index]?.();
  }

  #crash(server: Server, restartAfterMs?: number): void {
    const { world } = this.group;
    if (!server.process.alive) return;
    world.count('crashes');
    server.crash();
    // Now and then the wall clock has gone back, and with it the incarnation.
    if (this.#random.chance(0.4)) server.process.stepWall(-this.#random.between(1_000, 30_000));
    if (restartAfterMs !== undefined) world.after(restartAfterMs, () => this.group.startServer(server));
  }

  #leave(server: Server): void {
    const { world } = this.group;
    if (!server.process.running) return;
    world.count('leaves');
    server.leave();
    const { incarnation } = server.process;
    const awayMs = this.#random.between(0, 2_000);
    const end = (): void => {
      if (server.process.incarnation === incarnation) {
        if (server.process.alive && server.member?.hasLeft === false) {
          world.after(LEAVING_MS, end);
          return;
        }
        server.crash();
      }
      world.after(awayMs, () => this.group.startServer(server));
    };
    world.after(LEAVING_MS, end);
  }

  #clientFault(client: ClientProcess): void {
    const random = this.#clientRandom;
    const { servers, network, world } = this.group;
    const server = random.pick(servers);
    const own = client.core?.server ?? server.name;
    const kinds: readonly (() => void)[] = [
      () => network.cutBoth(client.name, own),
      () => network.cutBoth(client.name, own),
      () => network.cut(own, client.name),
      () => network.cut(client.name, own),
      () => this.#part(client, own),
      () => this.#part(client, own),
      () => client.pause(random.between(0, 4_000)),
      () => client.suspend(random.between(50, 4_000)),
      () => client.suspend(random.between(10, 99)),
      () => client.process.setRate(drawRate(random)),
      () => this.#restart(client),
      () => this.#restartServerOf(client, own),
      () => this.#restartServerOf(client, own),
      () => client.leave(),
    ];
    world.count('faults of clients');
    kinds[random.integer(0, kinds.length - 1)]?.();
  }

  /** The server of a client is cut off from all others, and then the client from that server. */
  #part(client: ClientProcess, own: string): void {
    const { servers, network } = this.group;
    for (const { name } of servers) if (name !== own) network.cutBoth(own, name);
    this.#later([1_000, 6_000], () => {
      network.cutBoth(client.name, own);
      // A process that is stopped may use its standing at any instant until it goes on.
      if (this.#clientRandom.chance(0.5))
        this.#serverOf(own)?.pause(this.#clientRandom.between(8_000, 14_000));
    });
  }

  /** The server of a client is replaced so soon that nobody misses it, while the client hears nothing. */
  #restartServerOf(client: ClientProcess, own: string): void {
    const server = this.#serverOf(own);
    if (server === undefined) return;
    if (this.#clientRandom.chance(0.5)) client.pause(this.#clientRandom.between(1_000, 3_000));
    else this.group.network.cut(own, client.name);
    this.#crash(server, this.#clientRandom.between(0, 200));
  }

  /** A server crashes, is in a view again at once, and leaves, while its client hears nothing and acts on the word of the first process. */
  #restartAndLeave(client: ClientProcess): void {
    const { network, world, drawn } = this.group;
    const server = this.#serverOf(client.core?.server ?? '');
    if (world.trueMs > drawn.chaosMs || server === undefined || client.standing() !== 'acts') return;
    network.heal();
    network.cutBoth(client.name, server.name);
    world.count('servers that restart and leave');
    this.#crash(server, this.#clientRandom.between(0, 20));
    this.#leaveOnceInAView(server);
  }

  #leaveOnceInAView(server: Server): void {
    this.#later([5, 10], () => {
      const size = server.member?.view?.members.length ?? 0;
      if (size < 2) this.#leaveOnceInAView(server);
      else this.#later([10, 80], () => this.#leave(server));
    });
  }

  #serverOf(name: string): Server | undefined {
    return this.group.servers.find((server) => server.name === name);
  }

  /** Not in the calm. */
  #later([low, high]: readonly [number, number], act: () => void): void {
    const { world, drawn } = this.group;
    world.after(this.#clientRandom.between(low, high), () => {
      if (world.trueMs < drawn.chaosMs) act();
    });
  }

  #restart(client: ClientProcess): void {
    client.process.crash();
    if (this.#random.chance(0.4)) client.process.stepWall(-this.#random.between(1_000, 30_000));
    this.group.world.after(this.#random.between(0, 2_000), () => this.group.startClient(client));
  }

  #partition(): void {
    const { servers, network, world } = this.group;
    const names = this.#random.shuffle(servers.map(({ name }) => name));
    const at = this.#random.integer(1, names.length - 1);
    world.count('partitions');
    network.partition([names.slice(0, at), names.slice(at)]);
  }

  /** A server loses the members of its view and reaches all others, while one of the members that it loses stops. */
  #comeOver(server: Server): void {
    const { servers, network, world } = this.group;
    const members = server.member?.view?.members.map(({ name }) => name) ?? [];
    const lost = servers.filter((each) => each !== server && members.includes(each.name));
    if (lost.length === 0 || lost.length === servers.length - 1) {
      this.#partition();
      return;
    }
    world.count('servers that come over');
    network.heal();
    for (const { name } of lost) network.cutBoth(server.name, name);
    this.#random.pick(lost).pause(this.#random.between(500, 2_500));
  }

  #startAll(): void {
    for (const server of this.group.servers) this.group.startServer(server);
  }

  #deafen(server: Server): void {
    server.isDeaf = true;
    this.group.world.after(this.#random.between(2_000, 10_000), () => (server.isDeaf = false));
  }

  #loseLargeMessages(server: Server): void {
    server.losesLargeMessages = true;
    this.group.world.after(this.#random.between(4_000, 14_000), () => (server.losesLargeMessages = false));
  }
}
