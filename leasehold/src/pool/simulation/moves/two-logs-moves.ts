/**
 * Keys that move in a world of two logs (`../two-logs-world.ts`): Managers that disagree while tickets are under way, copies of a log that knows of
 * moves, and a new log that knows of none.
 *
 * No log is the truth here, so the promises are about what owners do: **nothing-missing** and **nothing-revived** count from the last grant that began empty,
 * whoever made it. With that, owners that let go of everything because Managers disagree show nothing of it again, also not what
 * was staged. Where messages get lost, an owner may not know of the other log for a while, and its items are not judged.
 */

import { highOf, lowOf } from '../../../runtime/keys/position.ts';
import { Random } from '../../../sim/random.ts';
import type { World } from '../../../sim/world.ts';
import type { OwnerEffect } from '../../core/owner/owner.ts';
import type { OwnerNode } from '../nodes.ts';
import { TwoLogsWorld } from '../two-logs-world.ts';
import { Carriers } from './carriers.ts';
import { KEYS, keysIn, POSITIONS } from './items.ts';
import { Wishes } from './wishes.ts';

export class TwoLogsMoves {
  readonly world: World;
  readonly #around: TwoLogsWorld;
  readonly #dice: Random;
  readonly #wishes = new Wishes(16);
  readonly #expected = new Map<number, number>();
  readonly #beside: { isResting: boolean } = { isResting: false };
  #carriers: Carriers | undefined;

  constructor(seed: number, trace: boolean) {
    this.#dice = new Random(seed).fork('two logs, moves');
    const beside = this.#beside;
    const wishes = this.#wishes;
    this.#around = new TwoLogsWorld(seed, trace, ({ world, leaseMs }) => {
      const carriers = new Carriers(
        world,
        { delayMs: [0.1, 60] },
        {
          wrote: (key, version) => this.#wrote(key, version),
          told: (node, effect) => this.#told(node, effect),
        },
      );
      this.#carriers = carriers;
      const settings = { movesPolicy: wishes, quietAfterMs: 0.1 * leaseMs };
      return Object.assign(beside, { settings, carry: carriers.keeping() });
    });
    this.world = this.#around.world;
    this.world.count('worlds with two logs');
    if (!this.#around.isLossy) this.world.afterEach(() => this.#look());
  }

  run(): void {
    this.#clients();
    this.#unrest();
    this.#around.run();
    this.world.count('events', this.world.events);
  }

  #clients(): void {
    this.#carriers?.client(this.#dice, this.#around.owners);
    this.world.after(this.#dice.between(2, 20), () => this.#clients());
  }

  /** Keys belong elsewhere, again and again; while the world comes to rest, where they are. */
  #unrest(): void {
    const { leaseMs } = this.#around;
    this.world.after(leaseMs * this.#dice.between(0.02, 0.12), () => {
      this.#wishes.epoch = this.#beside.isResting ? 0 : this.#wishes.epoch + 1;
      // No fault of this world makes a leader decide when the policy changes its mind.
      const node = this.#around.owners.length > 0 ? this.#dice.pick(this.#around.owners) : undefined;
      const isCordoned = this.#dice.chance(0.5) && !this.#beside.isResting;
      node?.tell((core, now) => core.cordon(isCordoned, now));
      this.#unrest();
    });
  }

  #wrote(key: number, version: number | undefined): void {
    if (version === undefined) this.#expected.delete(key);
    else this.#expected.set(key, version);
  }

  #told(_node: OwnerNode, effect: OwnerEffect): void {
    if (effect.do === 'handed') this.world.count('handed over beside two logs');
    if (effect.do === 'commit') this.world.count('moved beside two logs');
    if (effect.do === 'abandon' && effect.why === 'the Managers disagree')
      this.world.count('tickets abandoned by a disagreement');
    if (effect.do === 'granted') for (const key of keysIn(effect.spans)) this.#expected.delete(key);
  }

  #look(): void {
    for (const { node, carrier } of this.#carriers?.running(this.#around.owners) ?? [])
      for (let key = 0; key < KEYS; key += 1) {
        const at = POSITIONS[key] ?? 0n;
        const [has, should] = [carrier.store.get(key), this.#expected.get(key)];
        if (has === should || node.check(at) === undefined) continue;
        const { phase, number } = node.core?.pieceAt(highOf(at), lowOf(at)) ?? {};
        throw this.world.broken(
          should === undefined ? 'nothing-revived' : 'nothing-missing',
          `${node.incarnation} (${phase} under ${number}) has ${has ?? 'nothing'} under key ${key}, acknowledged was ${should ?? 'nothing'}`,
        );
      }
  }
}
