/**
 * A machine with too few processors. Every timer of every server is late by up to {@link TIMERS_LATE_MS}, less than a heartbeat, and now and then one server stands still for half a second.
 * The network is well all the time.
 *
 * So the newest stamp that a server has had echoed is often older than `downMs`, and every server can know from its own timers that there are too few processors.
 *
 * **views-last.** Once all servers act in one view, that view goes on.
 */

import type { Random } from '../../sim/random.ts';
import type { GroupWorld } from './group-world.ts';

const STALL_MS = [400, 600] as const;
/** A server has been late often enough by then to know. */
const KNOWN_MS = 3_000;

export class Stalls {
  readonly #group: GroupWorld;
  readonly #random: Random;
  #formedAtMs = Number.POSITIVE_INFINITY;
  #expected = 0;

  constructor(group: GroupWorld, random: Random) {
    this.#group = group;
    this.#random = random;
  }

  begin(): void {
    const { world } = this.#group;
    world.every([100, 100], () => this.#look());
    world.every([1_500, 3_000], () => this.#stallOne());
  }

  #isCalm(): boolean {
    const { world, drawn } = this.#group;
    return world.trueMs >= drawn.chaosMs;
  }

  #stallOne(): void {
    const { world, servers } = this.#group;
    if (this.#isCalm() || world.trueMs < this.#formedAtMs + KNOWN_MS) return;
    world.count('servers that stand still');
    this.#random.pick(servers).pause(this.#random.between(...STALL_MS));
  }

  #look(): void {
    const { world, servers, checker } = this.#group;
    if (this.#isCalm()) return;
    const views = servers.reduce((sum, { name }) => sum + checker.viewsAt(name), 0);
    if (world.trueMs < this.#formedAtMs + KNOWN_MS) {
      const isFormed = servers.every(
        (server) => server.standing() === 'acts' && server.member?.view?.members.length === servers.length,
      );
      if (!isFormed) this.#formedAtMs = Number.POSITIVE_INFINITY;
      else if (this.#formedAtMs > world.trueMs) this.#formedAtMs = world.trueMs;
      this.#expected = views;
    } else if (views > this.#expected)
      throw world.broken('views-last', 'a view was lost to servers that only waited for a processor');
  }
}
