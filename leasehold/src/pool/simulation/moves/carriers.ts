/**
 * All carriers of a world: one for each incarnation of an owner that keeps items, with a network between them on which items travel, and
 * clients that read and write at the owner that serves a key. What is written has a version of its own in the whole world.
 */

import { type LinkFaults, Network } from '../../../sim/network.ts';
import type { Random } from '../../../sim/random.ts';
import type { World } from '../../../sim/world.ts';
import type { NumberedSpan } from '../../core/messages.ts';
import type { MovableName } from '../../core/moves/seam.ts';
import type { OwnerEffect } from '../../core/owner/owner.ts';
import type { CarriedIncarnation, Carrier, OwnerNode } from '../nodes.ts';
import { type CarriedMessage, SimulatedCarrier } from './carrier.ts';
import { KEYS, POSITIONS } from './items.ts';

/** What a world wants to hear of its carriers. */
export interface CarriersEvents {
  wrote(key: number, version: number | undefined): void;
  told(node: OwnerNode, effect: OwnerEffect): void;
  tookUp?(node: OwnerNode, spans: readonly NumberedSpan[]): void;
}

export interface Carried {
  readonly node: OwnerNode;
  readonly carrier: SimulatedCarrier;
}

/** The form of items that every owner reads. */
export const ITEMS: readonly MovableName[] = [{ name: 'items', version: 1, reads: [] }];

export class Carriers {
  readonly network: Network<CarriedMessage>;
  readonly #world: World;
  readonly #events: CarriersEvents;
  readonly #all = new Map<OwnerNode, SimulatedCarrier>();
  #version = 0;

  constructor(world: World, links: Partial<LinkFaults>, events: CarriersEvents) {
    this.#world = world;
    this.#events = events;
    this.network = new Network<CarriedMessage>(world, { faults: links, name: 'transfer network' });
  }

  /** For the options of an owner: it keeps items in these forms. */
  keeping(names: readonly MovableName[] = ITEMS): (one: CarriedIncarnation) => Carrier {
    return (one) => {
      const carrier = new SimulatedCarrier(
        {
          ...{ world: this.#world, transfers: this.network },
          wrote: (key, version) => {
            this.#world.count('writes');
            this.#events.wrote(key, version);
          },
          told: (node, effect) => this.#told(node, effect),
          tookUp: (node, spans) => this.#events.tookUp?.(node, spans),
        },
        one,
        names,
      );
      this.#all.set(one.node, carrier);
      return carrier;
    };
  }

  #told(node: OwnerNode, effect: OwnerEffect): void {
    this.#events.told(node, effect);
    if (effect.do === 'abandon') this.#world.count(`abandoned: ${effect.why}`);
    if (!this.#world.tracing || !('ticket' in effect)) return;
    const facts = { ticket: effect.ticket, why: 'why' in effect ? effect.why : undefined };
    this.#world.note(node.incarnation, { what: effect.do, facts });
  }

  /** Of an incarnation that lives. */
  of(node: OwnerNode): SimulatedCarrier | undefined {
    return node.lives ? this.#all.get(node) : undefined;
  }

  running(owners: readonly OwnerNode[]): readonly Carried[] {
    return owners.flatMap((node) => {
      const carrier = node.process.running ? this.of(node) : undefined;
      return carrier === undefined ? [] : [{ node, carrier }];
    });
  }

  /** A client wants something of a key, at the owner that would do it. */
  client(dice: Random, owners: readonly OwnerNode[]): void {
    const key = dice.integer(0, KEYS - 1);
    const found = this.running(owners).find(({ node }) => node.check(POSITIONS[key] ?? 0n) !== undefined);
    if (found === undefined) return;
    const version = dice.chance(0.25) ? undefined : this.nextVersion();
    const ms = dice.chance(0.8) ? dice.between(0, 5) : dice.between(5, 90);
    found.carrier.work(key, version, ms, dice.chance(0.6));
  }

  /** Unlike all versions so far. */
  nextVersion(): number {
    this.#version += 1;
    return this.#version;
  }
}
