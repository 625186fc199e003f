/**
 * The calm after the faults: the network works but for a few losses at first, apart from cuts that stay for good in half of the worlds, and nobody crashes any more.
 *
 * **liveness.** After a while every server acts, and all servers that can reach each other over links that work both ways act in one
 * view with exactly each other.
 *
 * In a world with a deaf server in the middle no view satisfies everybody. There **fate-sharing** asks that no server stays in a
 * view with a member that it cannot reach: each of them acts again and again, in smaller views.
 */

import { noFaults } from '../../etcd/simulation/simulated-client.ts';
import type { GroupWorld } from './group-world.ts';
import type { Server } from './server.ts';

/** Some messages are lost at first, so that a group which never repeats anything is found out; then none are. */
const CALM_MS = 16_000;
const CALM_LOSS = 0.05;
const QUIET_MS = 10_000;
/** So much longer with a registry: a server that had to go tries again after a conflict of up to 12 s, and a first registration holds. */
const REGISTRY_MS = 16_000;
const DEAF_MIDDLE_MS = 36_000;
/** In the last part of the calm, every server must have acted at some instant. */
const ACTED_WITHIN_MS = 2_000;
const DEAF_ACTED_WITHIN_MS = 20_000;

export class Calm {
  readonly #group: GroupWorld;

  constructor(group: GroupWorld) {
    this.#group = group;
  }

  run(maxEvents: number): void {
    const { world, drawn, servers, clients, network, random } = this.#group;
    if (drawn.kind === 'deaf-middle') {
      world.run({ untilMs: world.trueMs + DEAF_MIDDLE_MS, maxEvents });
      this.#allActed(servers, DEAF_ACTED_WITHIN_MS, 'fate-sharing');
      return;
    }
    const restAt =
      Math.max(world.trueMs, ...[...servers, ...clients].map((each) => each.stoppedUntilMs)) + 500;
    world.run({ untilMs: restAt, maxEvents });
    network.heal();
    this.#healEtcd();
    for (const server of servers) {
      server.isDeaf = false;
      server.losesLargeMessages = false;
      server.losesData = false;
    }
    for (const server of servers) if (random.chance(0.85)) this.#group.startServer(server);
    for (const client of this.#group.clients) {
      if (client.core?.state === 'left' || client.as !== client.name) client.process.crash();
      if (client.as !== client.name) continue; // The second process under a name has ended.
      this.#group.startClient(client);
    }
    if (random.chance(0.5)) this.#cutForGood();
    const lossChance = drawn.links.inOrder === true ? 0 : CALM_LOSS;
    network.setFaults({ lossChance, duplicateChance: 0, slowChance: 0, breakChance: 0 });
    world.run({ untilMs: world.trueMs + CALM_MS, maxEvents });
    network.setFaults({ lossChance: 0 });
    world.run({ untilMs: world.trueMs + QUIET_MS, maxEvents });
    if (this.#group.etcd === undefined) {
      this.#allActed(servers, ACTED_WITHIN_MS, 'liveness');
      this.#oneViewEach();
    } else {
      world.run({ untilMs: world.trueMs + REGISTRY_MS, maxEvents });
      this.#onePartActs();
    }
    this.#clientsAreInViews();
  }

  /** Every client acts in the view of its server, and is in no other. */
  #clientsAreInViews(): void {
    const { world, servers, clients, checker } = this.#group;
    if (!servers.some(({ process }) => process.alive)) return;
    for (const client of clients.filter(({ as, name }) => as === name)) {
      const counting = servers.filter(({ member }) =>
        member?.view?.clients.some(({ name }) => name === client.name),
      );
      const serverView = counting.find(({ name }) => name === client.core?.server)?.member?.view;
      const ids = new Set(counting.map(({ member }) => member?.view?.id));
      const actedAtMs = checker.actedAtMs(client) ?? Number.NEGATIVE_INFINITY;
      const isWell = ids.size === 1 && serverView !== undefined && serverView.id === client.core?.view?.id;
      if (isWell && actedAtMs > world.trueMs - ACTED_WITHIN_MS) continue;
      const { view, server } = client.core ?? {};
      throw world.broken(
        'liveness',
        `${client.name} of ${server} is in view ${view?.id}, its server in ${serverView?.id}, acted at ${actedAtMs}; counted in ${[...ids].join()}`,
      );
    }
  }

  #cutForGood(): void {
    const { servers, network, random, world } = this.#group;
    world.count('worlds with cuts that stay');
    for (const one of servers) {
      for (const other of servers)
        if (one !== other && random.chance(0.25)) network.cut(one.name, other.name);
    }
  }

  #allActed(servers: readonly Server[], withinMs: number, promise: string): void {
    const { world, checker } = this.#group;
    for (const server of servers) {
      if (!server.process.alive) continue;
      const actedAtMs = checker.actedAtMs(server);
      if (actedAtMs !== undefined && actedAtMs > world.trueMs - withinMs) continue;
      throw world.broken(promise, `${server.name} does not act; its view is {${server.member?.view?.key}}`);
    }
  }

  #healEtcd(): void {
    const { etcd, servers } = this.#group;
    if (etcd === undefined) return;
    etcd.isDown = false;
    etcd.endStaleness();
    for (const { etcdFaults } of servers) Object.assign(etcdFaults, noFaults());
  }

  /** With a registry: the servers of one part act in one view, and all others have no view. */
  #onePartActs(): void {
    const { world, servers } = this.#group;
    const alive = servers.filter(({ process }) => process.alive);
    const first = alive.find(({ member }) => member?.view !== undefined);
    if (first === undefined && alive.length > 0) throw world.broken('liveness', 'no server has a view');
    const part = first === undefined ? [] : this.#reachable(first);
    this.#allActed(part, ACTED_WITHIN_MS, 'liveness');
    this.#oneViewEach(part);
    const other = alive.find((server) => !part.includes(server) && server.member?.view !== undefined);
    if (other !== undefined)
      throw world.broken('liveness', `${other.name} has a view beside that of ${first?.name}`);
  }

  #oneViewEach(servers: readonly Server[] = this.#group.servers): void {
    const { world } = this.#group;
    for (const server of servers) {
      if (!server.process.alive) continue;
      const reachable = this.#reachable(server);
      const expected = reachable
        .map(({ name }) => name)
        .sort()
        .join(' ');
      const { view } = server.member ?? {};
      const names = view?.members.map(({ name }) => name).join(' ');
      if (names !== expected) {
        throw world.broken(
          'liveness',
          `${server.name} is in a view of {${names}}, and reaches {${expected}}`,
        );
      }
      const differs = reachable.find(({ member }) => member?.view?.id !== view?.id);
      if (differs === undefined) continue;
      throw world.broken(
        'liveness',
        `${server.name} and ${differs.name} are in different views of {${names}}`,
      );
    }
  }

  #reachable(start: Server): Server[] {
    const { servers, network } = this.#group;
    const isLink = (one: Server, other: Server): boolean =>
      other.process.alive && !network.isCut(one.name, other.name) && !network.isCut(other.name, one.name);
    const found = new Set([start]);
    for (const one of found) for (const other of servers) if (isLink(one, other)) found.add(other);
    return [...found];
  }
}
