/**
 * A world of the pool in which owners keep items and carry them to one another, and clients read and write.
 */

import type { LinkFaults, Network } from '../../../sim/network.ts';
import type { Random } from '../../../sim/random.ts';
import type { OwnerEffect } from '../../core/owner/owner.ts';
import type { NodeOptions, OwnerNode, OwnerNodeOptions } from '../nodes.ts';
import { PoolWorld, type PoolWorldOptions } from '../pool-world.ts';
import type { CarriedMessage, SimulatedCarrier } from './carrier.ts';
import { type Carried, Carriers } from './carriers.ts';
import { MovesCheck } from './moves-check.ts';

export interface MovesWorldOptions extends PoolWorldOptions {
  /** Of the links between owners. */
  readonly transferLinks: Partial<LinkFaults>;
  /** How probable it is that an owner moves nothing. */
  readonly withoutMovesChance: number;
  /** How probable it is that an owner keeps its items in another form than others. */
  readonly otherFormChance: number;
}

type More = Partial<Omit<OwnerNodeOptions, keyof NodeOptions>>;

export class MovesWorld extends PoolWorld {
  readonly check: MovesCheck;
  readonly #carriers: Carriers;
  readonly #dice: Random;
  readonly #movesOptions: MovesWorldOptions;
  /** Told when a source gives up a ticket, and when it has handed keys over. */
  onAbandon: (() => void) | undefined;
  onHanded: ((node: OwnerNode) => void) | undefined;
  /** Told when an owner without keys is told that it will be brought some. */
  onFirstImport: ((node: OwnerNode) => void) | undefined;

  constructor(options: MovesWorldOptions, dice: Random) {
    super(options);
    this.#movesOptions = options;
    this.#dice = dice;
    this.#carriers = new Carriers(this.world, options.transferLinks, {
      wrote: (key, version) => this.check.wrote(key, version),
      told: (node, effect) => this.#told(node, effect),
      tookUp: (node, spans) => this.check.tookUp(node, spans),
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
    if (this.#dice.chance(withoutMovesChance)) return this.addOwnerWithoutMoves(name, more);
    const isOther = this.#dice.chance(otherFormChance);
    const names = isOther
      ? [{ name: 'items', version: 2, reads: this.#dice.chance(0.5) ? [1] : [] }]
      : undefined;
    return super.addOwner(name, { ...more, carry: this.#carriers.keeping(names) });
  }

  /** An owner that can neither be brought state nor hand its own over. */
  addOwnerWithoutMoves(name: string, more: More = {}): OwnerNode {
    return super.addOwner(name, more);
  }

  /** The network on which items travel. */
  get transfers(): Network<CarriedMessage> {
    return this.#carriers.network;
  }

  /** Of an incarnation that lives. */
  carrierOf(node: OwnerNode): SimulatedCarrier | undefined {
    return this.#carriers.of(node);
  }

  get carriers(): readonly Carried[] {
    return this.#carriers.running(this.owners);
  }

  #told(node: OwnerNode, effect: OwnerEffect): void {
    this.check.told(node, effect);
    if (effect.do === 'receive' && node.core?.pieces.length === 0) this.onFirstImport?.(node);
    if (effect.do === 'handed') this.onHanded?.(node);
    if (effect.do === 'abandon') this.onAbandon?.();
  }

  /** A client wants something of a key, at the owner that would do it. */
  client(): void {
    this.#carriers.client(this.#dice, this.owners);
  }

  nextVersion(): number {
    return this.#carriers.nextVersion();
  }
}
