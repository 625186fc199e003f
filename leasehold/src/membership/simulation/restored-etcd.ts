/**
 * etcd is put back from a backup while two servers act, each on its own reading of the registry. Each round plays a story, with server a and server b, or in worlds of three servers with one server on one side and two on the other:
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
    const sides = this.#sides();
    const a = sides.find((side) =>
      side.every(
        (server) => server.standing() === 'acts' && server.member?.view?.members.length === side.length,
      ),
    );
    if (a === undefined || world.trueMs < this.#beganAtMs + ROUND_MS) return;
    const b = servers.filter((server) => !a.includes(server));
    this.#beganAtMs = world.trueMs;
    world.count('stores put back');
    const restore = this.#etcd.backup();
    if (this.#group.clients.length > 0) {
      this.#endEarly(a);
      this.#after(HEARD_AGAIN, () => hear(a, true));
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

  /** The first server on one side, and the others on the other. */
  #sides(): readonly (readonly Server[])[] {
    const { servers } = this.#group;
    return [servers.slice(0, 1), servers.slice(1)];
  }

  #part(): void {
    this.#group.network.partition(this.#sides().map((side) => side.map(({ name }) => name)));
  }

  /** The registrations of these servers end, by an operator or by etcd's own change of leaders, and the servers hear nothing of that. */
  #endEarly(side: readonly Server[]): void {
    hear(side, false);
    for (const { name } of side) {
      const lease = this.#etcd.store.at(`${REGISTRY_PREFIX}${name}`)?.lease;
      if (lease !== undefined) this.#etcd.revoke(lease, 'an operator');
    }
  }

  #restore(
    restore: (isCalledTheSame: boolean) => void,
    a: readonly Server[],
    b: readonly Server[],
    [low, high]: readonly [number, number],
  ): void {
    this.#after(this.#random.between(low, high), () => {
      hear(b, false);
      restore(true);
      hear(a, true);
    });
    this.#after(high + 1.5, () => hear(b, true));
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

/** Whether these servers hear etcd. */
function hear(side: readonly Server[], does: boolean): void {
  for (const { etcdFaults } of side) etcdFaults.isCut = !does;
}
