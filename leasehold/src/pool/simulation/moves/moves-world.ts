/**
 * A world of the pool in which owners keep items and carry them to one another, and clients read and write.
 */

import { type LinkFaults, Network } from '../../../sim/network.ts';
import type { Random } from '../../../sim/random.ts';
import type { MovableName } from '../../core/moves/seam.ts';
import type { OwnerEffect } from '../../core/owner/owner.ts';
import type { NodeOptions, OwnerNode, OwnerNodeOptions } from '../nodes.ts';
import { PoolWorld, type PoolWorldOptions } from '../pool-world.ts';
import { type CarriedMessage, SimulatedCarrier } from './carrier.ts';
import { KEYS, POSITIONS } from './items.ts';
import { MovesCheck } from './moves-check.ts';
import type { Wishes } from './wishes.ts';

export interface MovesWorldOptions extends PoolWorldOptions {
  readonly movesPolicy: Wishes;
  /** Of the links between owners. */
  readonly transferLinks: Partial<LinkFaults>;
  /** How probable it is that an owner moves nothing. */
  readonly withoutMovesChance: number;
  /** How probable it is that an owner keeps its items in another form than others. */
  readonly otherFormChance: number;
}

type More = Partial<Omit<OwnerNodeOptions, keyof NodeOptions>>;

export class MovesWorld extends PoolWorld {
  readonly transfers: Network<CarriedMessage>;
  readonly wishes: Wishes;
  readonly check: MovesCheck;
  readonly #carriers = new Map<OwnerNode, SimulatedCarrier>();
  readonly #dice: Random;
  readonly #movesOptions: MovesWorldOptions;
  #version = 0;
  /** Told when a source gives up a ticket, and when it has handed keys over. */
  onAbandon: (() => void) | undefined;
  onHanded: ((node: OwnerNode) => void) | undefined;
  /** Told when an owner without keys is told that it will be brought some. */
  onFirstImport: ((node: OwnerNode) => void) | undefined;

  constructor(options: MovesWorldOptions, dice: Random) {
    super(options);
    this.#movesOptions = options;
    this.#dice = dice;
    this.wishes = options.movesPolicy;
    this.transfers = new Network<CarriedMessage>(this.world, {
      faults: options.transferLinks,
      name: 'transfer network',
    });
    this.check = new MovesCheck(
      this.world,
      this.checker,
      () => this.owners,
      (node) => this.carrierOf(node),
      options.durations.holdMs,
      (name) => this.manager(name).wroteAtMs,
    );
  }

  override addOwner(name: string, more: More = {}): OwnerNode {
    const { withoutMovesChance, otherFormChance } = this.#movesOptions;
    if (this.#dice.chance(withoutMovesChance)) return super.addOwner(name, more);
    const names: MovableName[] = this.#dice.chance(otherFormChance)
      ? [{ name: 'items', version: 2, reads: this.#dice.chance(0.5) ? [1] : [] }]
      : [{ name: 'items', version: 1, reads: [] }];
    return super.addOwner(name, {
      ...more,
      carry: (one) => {
        const carrier = new SimulatedCarrier(
          {
            ...{ world: this.world, transfers: this.transfers },
            wrote: (key, version) => {
              this.world.count('writes');
              this.check.wrote(key, version);
            },
            told: (node, effect) => this.#told(node, effect),
          },
          one,
          names,
        );
        this.#carriers.set(one.node, carrier);
        return carrier;
      },
    });
  }

  /** Of an incarnation that lives. */
  carrierOf(node: OwnerNode): SimulatedCarrier | undefined {
    return node.lives ? this.#carriers.get(node) : undefined;
  }

  get carriers(): readonly { readonly node: OwnerNode; readonly carrier: SimulatedCarrier }[] {
    return this.owners.flatMap((node) => {
      const carrier = node.process.running ? this.carrierOf(node) : undefined;
      return carrier === undefined ? [] : [{ node, carrier }];
    });
  }

  #told(node: OwnerNode, effect: OwnerEffect): void {
    const { incarnation } = node;
    this.check.told(node, effect);
    if (this.world.tracing && 'ticket' in effect) {
      const { ticket } = effect;
      const facts = { ticket, why: 'why' in effect ? effect.why : undefined };
      this.world.note(incarnation, { what: effect.do, facts });
    }
    if (effect.do === 'receive' && node.core?.pieces.length === 0) this.onFirstImport?.(node);
    if (effect.do === 'handed') this.onHanded?.(node);
    if (effect.do === 'abandon') {
      this.world.count(`abandoned: ${effect.why}`);
      this.onAbandon?.();
    }
  }

  /** A client wants something of a key, at the owner that would do it. */
  client(): void {
    const dice = this.#dice;
    const key = dice.integer(0, KEYS - 1);
    const found = this.carriers.find(({ node }) => node.check(POSITIONS[key] ?? 0n) !== undefined);
    if (found === undefined) return;
    this.#version += 1;
    const version = dice.chance(0.25) ? undefined : this.#version;
    const ms = dice.chance(0.8) ? dice.between(0, 5) : dice.between(5, 90);
    found.carrier.work(key, version, ms, dice.chance(0.6));
  }
}
