/**
 * etcd is put back from a backup while two servers act, each on its own reading of the registry. Each round plays a story, with server a and server b:
 *
 *     the backup knows a    a acts alone; a backup is made; the lease of a ends early, and a hears nothing. b registers, and hears nothing of etcd from then on.
 *                           The backup is put back, a reads that a is registered, and b acts when its hold is over: only if b asks nobody once more.
 *     the backup knows no b  a backup is made while a acts alone; b joins, and both act. They are parted, the lease of a ends early, and a hears nothing. b acts alone, and hears nothing of
 *                           etcd from then on. The backup is put back, and a reads that a alone is registered.
 *     no backup, a client   in worlds with a client: the lease of a ends early, and a hears nothing. b acts when its hold is over, when neither a nor the client of a acts any more.
 */

import type { SimulatedEtcd } from '../../etcd/simulation/simulated-etcd.ts';
import type { Random } from '../../sim/random.ts';
import type { GroupWorld } from './group-world.ts';
import { REGISTRY_PREFIX, type Server } from './server.ts';

const ROUND_MS = 14_000;
/** In registrations. */
const JOINING = 1.2;
const HEARD_AGAIN = 2.5;

export class RestoredEtcd {
  readonly #group: GroupWorld;
  readonly #etcd: SimulatedEtcd;
  readonly #random: Random;
  #beganAtMs: number = Number.NEGATIVE_INFINITY;

  constructor(group: GroupWorld, etcd: SimulatedEtcd, random: Random) {
    this.#group = group;
    this.#etcd = etcd;
    this.#random = random;
  }

  begin(): void {
    this.#part();
    this.#group.world.every([300, 900], () => this.#unlessCalm(() => this.#beginRound()));
  }

  /** As soon as one of the servers acts alone. */
  #beginRound(): void {
    const { world, servers } = this.#group;
    const a = servers.find(
      (server) => server.standing() === 'acts' && server.member?.view?.members.length === 1,
    );
    const b = servers.find((server) => server !== a);
    if (a === undefined || b === undefined || world.trueMs < this.#beganAtMs + ROUND_MS) return;
    this.#beganAtMs = world.trueMs;
    world.count('stores put back');
    const restore = this.#etcd.backup();
    if (this.#group.clients.length > 0) {
      this.#endEarly(a);
      this.#after(HEARD_AGAIN, () => (a.etcdFaults.isCut = false));
      return;
    }
    if (this.#random.chance(0.5)) {
      this.#endEarly(a);
      this.#restore(restore, a, b, [0.3, 0.8]);
      return;
    }
    this.#group.network.heal();
    this.#after(JOINING, () => {
      this.#part();
      this.#endEarly(a);
      this.#restore(restore, a, b, [0.6, 0.85]);
    });
  }

  #part(): void {
    this.#group.network.partition(this.#group.servers.map(({ name }) => [name]));
  }

  /** The registration of this server ends, by an operator or by etcd's own change of leaders, and the server hears nothing of that. */
  #endEarly(server: Server): void {
    server.etcdFaults.isCut = true;
    const lease = this.#etcd.store.at(`${REGISTRY_PREFIX}${server.name}`)?.lease;
    if (lease !== undefined) this.#etcd.revoke(lease, 'an operator');
  }

  #restore(
    restore: (isCalledTheSame: boolean) => void,
    a: Server,
    b: Server,
    [low, high]: readonly [number, number],
  ): void {
    this.#after(this.#random.between(low, high), () => {
      b.etcdFaults.isCut = true;
      restore(true);
      a.etcdFaults.isCut = false;
    });
    this.#after(high + 1.5, () => {
      b.etcdFaults.isCut = false;
    });
  }

  #after(registrations: number, act: () => void): void {
    const { world, drawn } = this.#group;
    world.after(registrations * drawn.durations.registrationMs, () => this.#unlessCalm(act));
  }

  #unlessCalm(act: () => void): void {
    const { world, drawn } = this.#group;
    if (world.trueMs < drawn.chaosMs) act();
  }
}
