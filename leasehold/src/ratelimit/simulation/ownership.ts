/**
 * Which server holds which key: a directory with leases, as a pool gives them, with margins as thin as the clocks allow.
 *
 * A holder counts the lease by the holder's clock from the last renewal. The next holder gets the key as soon as the slowest clock must
 * have shown the end of that lease; at once, when the holder gives the key back or is known to be dead. No change of holders waits for
 * tokens that are away.
 */

import { later } from '../../runtime/time.ts';
import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import { SLOTS, SUSPENSION_MS } from './drawn-world.ts';
import type { Grant, Server } from './server.ts';

const LEASE_MS = 1_000;
const SLOWEST_CLOCK = 1.0955;

interface Holder extends Grant {
  readonly server: Server;
  readonly incarnation: number;
  renewedAtMs: number;
}

export class Ownership {
  readonly #world: World;
  readonly #servers: readonly Server[];
  readonly #random: Random;
  #number = 0;
  readonly #holders: (Holder | undefined)[] = Array<Holder | undefined>(SLOTS).fill(undefined);
  /** The last holder, which goes on with the same level after getting the key back. */
  readonly #last: (Holder | undefined)[] = Array<Holder | undefined>(SLOTS).fill(undefined);

  constructor(world: World, servers: readonly Server[]) {
    this.#world = world;
    this.#servers = servers;
    this.#random = world.random.fork('ownership');
    world.every([50, 150], () => this.#look());
  }

  holderOf(slot: number): Server | undefined {
    return this.#holders[slot]?.server;
  }

  /** The holder gives the key back, and another server gets it. */
  move(slot: number): void {
    const holder = this.#holders[slot];
    if (holder === undefined || !this.#isHeard(holder)) return;
    this.#world.count('moves');
    holder.server.letGo(slot);
    this.#free(slot);
    this.#world.after(this.#random.between(0, 20), () => this.#give(slot, holder.server));
  }

  /** The server gives back all keys, for good. */
  left(server: Server): void {
    for (let slot = 0; slot < SLOTS; slot++) {
      if (this.#holders[slot]?.server !== server) continue;
      this.#world.count('keys of servers that leave');
      server.letGo(slot);
      this.#free(slot);
      this.#world.after(this.#random.between(0, 30), () => this.#give(slot, server));
    }
  }

  /** The server is known to be dead: the leases end at once. */
  died(server: Server): void {
    for (let slot = 0; slot < SLOTS; slot++) {
      if (this.#holders[slot]?.server !== server) continue;
      this.#free(slot);
      this.#give(slot, server);
    }
  }

  #look(): void {
    for (let slot = 0; slot < SLOTS; slot++) {
      const holder = this.#holders[slot];
      if (holder === undefined) this.#give(slot);
      else if (this.#isHeard(holder)) this.#renew(slot, holder);
      else if (this.#world.trueMs > holder.renewedAtMs + (LEASE_MS + SUSPENSION_MS) * SLOWEST_CLOCK) {
        this.#free(slot);
        this.#give(slot);
      }
    }
  }

  #isHeard({ server, incarnation }: Holder): boolean {
    return server.process.running && server.process.incarnation === incarnation && !server.isIsolated;
  }

  #renew(slot: number, holder: Holder): void {
    holder.renewedAtMs = this.#world.trueMs;
    const { server, before, since, number, tenure } = holder;
    server.hold(slot, { before, since, number, tenure }, later(server.process.now(), LEASE_MS));
  }

  #free(slot: number): void {
    this.#last[slot] = this.#holders[slot] ?? this.#last[slot];
    this.#holders[slot] = undefined;
    this.#number += 1;
    this.#tell(slot, undefined);
  }

  #give(slot: number, except?: Server): void {
    if (this.#holders[slot] !== undefined) return;
    const able = this.#servers.filter(
      (server) => server.process.running && !server.isIsolated && !server.isLeaving && server !== except,
    );
    if (able.length === 0) return;
    const server = this.#random.pick(able);
    const last = this.#last[slot];
    const goesOn = last?.server === server && last.incarnation === server.process.incarnation;
    const since = goesOn ? last.since : server.process.now();
    if (last !== undefined) this.#world.count(goesOn ? 'holders that go on' : 'other holders');
    this.#number += 1;
    const holder = {
      server,
      number: this.#number,
      tenure: goesOn ? last.tenure : this.#number,
      before: goesOn ? last.before : idOf(last),
      incarnation: server.process.incarnation,
      since,
      renewedAtMs: this.#world.trueMs,
    };
    this.#holders[slot] = holder;
    this.#renew(slot, holder);
    this.#tell(slot, server);
  }

  /** Every server hears of the holder sooner or later. */
  #tell(slot: number, holder: Server | undefined): void {
    const number = this.#number;
    for (const server of this.#servers) {
      const { incarnation } = server.process;
      this.#world.after(this.#random.between(0, this.#random.chance(0.2) ? 600 : 20), () => {
        if (server.process.incarnation === incarnation) server.hear(slot, holder?.name, number);
      });
    }
  }
}

const idOf = (holder: Holder | undefined): string =>
  holder === undefined ? '' : `${holder.server.name}/${holder.incarnation} since ${holder.since}`;
