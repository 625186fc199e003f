/**
 * **one-leader.** No two Managers may answer owners at one instant: each leader lease is over before the next one begins.
 *
 * Keys would stay safe for a while if it broke, because every leader waits long enough for one that was dropped early.
 * So it is watched by itself. A suspension too short to be noticed may make a leader lease longer by as much.
 */

import type { World } from '../../../sim/world.ts';
import type { ManagerNode } from '../nodes.ts';

export class OneLeader {
  readonly #world: World;
  readonly #managers: readonly ManagerNode[];
  readonly #toleranceMs: number;

  constructor(world: World, managers: readonly ManagerNode[], toleranceMs: number) {
    this.#world = world;
    this.#managers = managers;
    this.#toleranceMs = toleranceMs;
    world.afterEach(() => this.#look());
  }

  #look(): void {
    const leading = this.#managers.filter(({ core, lives }) => lives && core?.role === 'leading');
    if (leading.length < 2) return;
    const [one, other] = leading.filter((manager) => this.#mayAnswer(manager));
    if (one === undefined || other === undefined) return;
    throw this.#world.broken(
      'one-leader',
      `${one.name} leads in term ${one.core?.term}, and ${other.name} in term ${other.core?.term}`,
    );
  }

  #mayAnswer({ core, process, isDazed }: ManagerNode): boolean {
    if (process.clock.suspended || isDazed) return false;
    const { leadsUntil } = core?.observe() ?? {};
    return leadsUntil !== undefined && leadsUntil - process.now() > this.#toleranceMs;
  }
}
