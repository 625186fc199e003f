/**
 * An application that wants very many leases at once, like one that has just been started: it asks for all of them in
 * one turn, so that packets fill, and after a while releases all that it has by then in one turn. Leases granted
 * later are released at once: two such applications that each waited for the leases of the other would wait for ever.
 */

import { later } from '../../runtime/time.ts';
import type { SimRuntime } from '../../sim/process.ts';
import type { Random } from '../../sim/random.ts';
import type { MemberEvent } from '../core/member.ts';
import { ITEMS_ENOUGH } from '../core/messages.ts';
import type { HeldLease } from '../core/held-lease.ts';
import type { Mood, Occupied } from './callers.ts';
import type { FleaseNode } from './node.ts';

export interface BulkDemand {
  readonly resources: readonly string[];
  /** The longest idle time, and the longest holding time. */
  readonly idleMs: number;
  readonly holdMs: number;
}

export class BulkCaller implements Occupied {
  readonly #node: FleaseNode;
  readonly #runtime: SimRuntime;
  readonly #random: Random;
  readonly #demand: BulkDemand;
  readonly #mood: () => Mood;
  readonly #held = new Set<HeldLease>();
  #waiting = 0;
  #isOver = false;

  constructor(
    node: FleaseNode,
    runtime: SimRuntime,
    random: Random,
    context: { readonly demand: BulkDemand; readonly mood: () => Mood },
  ) {
    this.#node = node;
    this.#runtime = runtime;
    this.#random = random;
    this.#demand = context.demand;
    this.#mood = context.mood;
    this.#rest();
  }

  get isBusy(): boolean {
    return this.#runtime.alive && (this.#waiting > 0 || this.#held.size > 0);
  }

  /** A bulk caller takes no turns. */
  get isDone(): boolean {
    return !this.isBusy;
  }

  #after(ms: number, act: () => void): void {
    this.#runtime.wakeAt(later(this.#runtime.now(), ms), act);
  }

  #rest(): void {
    this.#after(this.#random.between(0, this.#demand.idleMs), () => this.#askForMany());
  }

  #askForMany(): void {
    if (this.#mood() !== 'as-they-like') return;
    const { resources } = this.#demand;
    const many = this.#random
      .shuffle(resources)
      .slice(0, this.#random.integer(ITEMS_ENOUGH, 1.5 * ITEMS_ENOUGH));
    this.#node.world.count('asked for in bulk', many.length);
    this.#waiting = many.length;
    this.#isOver = false;
    this.#after(this.#random.between(0, this.#demand.holdMs), () => this.#letGoOfAll());
    for (const resource of many) this.#node.request('acquire', resource, (event) => this.#answered(event));
  }

  #answered(event: MemberEvent): void {
    this.#waiting -= 1;
    if (event.kind === 'granted') this.#held.add(event.held);
    if (this.#isOver) this.#after(0, () => this.#letGoOfAll());
  }

  #letGoOfAll(): void {
    this.#isOver = true;
    for (const held of this.#held) this.#node.release(held);
    this.#held.clear();
    if (this.#waiting === 0) this.#rest();
  }
}
