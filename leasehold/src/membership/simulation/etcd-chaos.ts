/** What goes wrong with etcd, and on the way there, until the calm. */

import type { SimulatedEtcd } from '../../etcd/simulation/simulated-etcd.ts';
import type { Random } from '../../sim/random.ts';
import type { GroupWorld } from './group-world.ts';
import { RestoredEtcd } from './restored-etcd.ts';
import type { Server } from './server.ts';

const USURPED_FOR_MS = 6_000;

export class EtcdChaos {
  readonly #group: GroupWorld;
  readonly #etcd: SimulatedEtcd;
  readonly #random: Random;
  #usurpedAtMs = 0;

  constructor(group: GroupWorld, etcd: SimulatedEtcd) {
    this.#group = group;
    this.#etcd = etcd;
    this.#random = group.world.random.fork('faults of etcd');
  }

  begin(): void {
    const { world, drawn, network, servers } = this.#group;
    world.count('worlds with a registry');
    if (drawn.kind === 'usurped') {
      const names = servers.map(({ name }) => name);
      network.partition(names.map((name) => [name]));
      world.every([300, 2_000], () => this.#unlessCalm(() => this.#usurpOnce()));
      if (this.#random.chance(0.3))
        world.every([9_000, 14_000], () => this.#unlessCalm(() => this.#join(names)));
      return;
    }
    if (drawn.kind === 'restored') {
      new RestoredEtcd(this.#group, this.#etcd, this.#random).begin();
      return;
    }
    // Else something new happens before a message is overdue, or ends a story.
    if (drawn.kind === 'data-lost' || drawn.story !== undefined) return;
    const faults = this.#random.integer(3, 10);
    for (let fault = 0; fault < faults; fault++)
      world.at(this.#random.between(1_000, drawn.chaosMs), () => this.#fault());
  }

  #fault(): void {
    const random = this.#random;
    const etcd = this.#etcd;
    const server = random.pick(this.#group.servers);
    const kinds: readonly (() => void)[] = [
      () => this.#cut(server, random.between(200, 8_000)),
      () => this.#cut(server, random.between(200, 8_000)),
      () => this.#slow(server),
      () => this.#takeDown(random.between(200, 6_000)),
      () => etcd.changeLeader(0),
      () => etcd.changeLeader(0.5),
      () => etcd.changeLeader(1),
      () => etcd.breakWatches(0.5, 'end'),
      () => etcd.breakWatches(0.5, 'deafen'),
      () => etcd.store.compact(etcd.store.revision),
      () => this.#goStale(server),
      () => this.#usurp(),
      () => this.#restore(),
    ];
    this.#group.world.count('faults of etcd');
    kinds[random.integer(0, kinds.length - 1)]?.();
  }

  /** Not before the successor has had the time to act. */
  #usurpOnce(): void {
    const { world, servers } = this.#group;
    if (world.trueMs < this.#usurpedAtMs + USURPED_FOR_MS) return;
    if (!servers.some((server) => server.standing() === 'acts')) return;
    this.#usurpedAtMs = world.trueMs;
    this.#usurp();
  }

  /** All leases end early, while the servers that act hear late or nothing of that. */
  #usurp(): void {
    const { servers, world } = this.#group;
    const random = this.#random;
    world.count('leases ended early');
    const acting = servers.filter((server) => server.standing() !== 'none');
    const how = random.pick(['late', 'late', 'stale', 'cut'] as const);
    for (const server of acting) {
      if (how === 'stale') this.#goStale(server);
      if (how === 'late') this.#slow(server);
      if (how === 'cut') this.#cut(server, random.between(1_000, 8_000));
    }
    world.after(random.between(800, 2_500), () =>
      this.#unlessCalm(() => {
        // An answer that is under way still arrives; nothing after that.
        if (how === 'late') for (const server of acting) this.#cut(server, random.between(4_000, 8_000));
        this.#etcd.changeLeader(random.pick([0.5, 1, 1, 1]));
      }),
    );
  }

  /** The servers reach each other for a while, so that a second one can register beside the first. */
  #join(names: readonly string[]): void {
    const { network, world, servers } = this.#group;
    const random = this.#random;
    network.heal();
    world.after(random.between(900, 3_000), () =>
      this.#unlessCalm(() => {
        for (const server of servers) if (random.chance(0.5)) this.#cut(server, random.between(500, 3_000));
        network.partition(names.map((name) => [name]));
      }),
    );
  }

  #cut(server: Server, ms: number): void {
    server.etcdFaults.isCut = true;
    this.#group.world.after(ms, () => {
      server.etcdFaults.isCut = false;
    });
  }

  #slow({ etcdFaults }: Server): void {
    const { registrationMs } = this.#group.drawn.durations;
    etcdFaults.answerMs = [registrationMs / 4, registrationMs / 2.1];
    this.#group.world.after(this.#random.between(2_000, 8_000), () => {
      etcdFaults.answerMs = [0, 0];
    });
  }

  #takeDown(ms: number): void {
    this.#etcd.isDown = true;
    this.#group.world.after(ms, () => {
      this.#etcd.isDown = false;
    });
  }

  /** The etcd member of one server does not know that it was replaced, and answers keep-alives by itself. */
  #goStale(server: Server): void {
    this.#etcd.goStale(`${server.name}.${server.process.incarnation}`);
    server.etcdFaults.hasNoLeader = true;
    this.#group.world.after(this.#random.between(1_000, 9_000), () => {
      server.etcdFaults.hasNoLeader = false;
      this.#etcd.endStaleness();
    });
  }

  #restore(): void {
    const restore = this.#etcd.backup();
    this.#group.world.after(this.#random.between(500, 6_000), () => this.#unlessCalm(() => restore(true)));
  }

  #unlessCalm(act: () => void): void {
    const { world, drawn } = this.#group;
    if (world.trueMs < drawn.chaosMs) act();
  }
}
