/**
 * Applications that use leases: acquire, hold for a while, release or hand over; try, ask, and give up waiting. Some
 * only poll: they try and ask, again and again, with hardly a pause.
 *
 * A holder works under its lease: it checks the lease, and its write takes some time to reach a register that
 * compares numbers. So some writes arrive when another process holds the lease, and have to be refused.
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { SimRuntime } from '../../sim/process.ts';
import type { Random } from '../../sim/random.ts';
import type { HeldLease } from '../core/held-lease.ts';
import type { MemberEvent } from '../core/member.ts';
import type { Checker } from './checker.ts';
import type { FleaseNode } from './node.ts';

export interface Demand {
  readonly resources: readonly string[];
  /** The longest idle time. */
  readonly idleMs: number;
  /** How long to hold, from the least to the most. */
  readonly holdMs: readonly number[];
  /** All members that a lease may be handed to. */
  members(): readonly string[];
}

/**
 * The present task of callers: anything; or only finishing; or only to acquire the first resource, hold it briefly
 * and release it, a few times each.
 */
export type Mood = 'as-they-like' | 'at-rest' | 'in-turn';

/** How many turns each caller gets when all go in turn. */
const TURNS = 8;
/** The share of callers that poll. */
const POLLING_SHARE = 0.15;

/** A user of leases, as far as the end of a run has to know it. */
export interface Occupied {
  /** Whether the caller waits for a lease or has one, and is alive. */
  readonly isBusy: boolean;
  /** Whether the caller has had all its turns, or died. */
  readonly isDone: boolean;
}

export class Caller implements Occupied {
  readonly #node: FleaseNode;
  readonly #runtime: SimRuntime;
  readonly #random: Random;
  readonly #demand: Demand;
  readonly #checker: Checker;
  readonly #mood: () => Mood;
  readonly #isPolling: boolean;
  #held: HeldLease | undefined;
  /** Turns taken so far. */
  #turns = 0;
  #waiting: { readonly resource: string; readonly id: number } | undefined;

  constructor(
    node: FleaseNode,
    runtime: SimRuntime,
    random: Random,
    context: { readonly demand: Demand; readonly checker: Checker; readonly mood: () => Mood },
  ) {
    this.#node = node;
    this.#runtime = runtime;
    this.#random = random;
    this.#demand = context.demand;
    this.#checker = context.checker;
    this.#mood = context.mood;
    this.#isPolling = random.chance(POLLING_SHARE);
    this.#rest();
  }

  get isBusy(): boolean {
    return this.#runtime.alive && (this.#waiting !== undefined || this.#held !== undefined);
  }

  get isDone(): boolean {
    return !this.#runtime.alive || (this.#turns > TURNS && this.#waiting === undefined);
  }

  #after(ms: number, act: () => void): void {
    this.#runtime.wakeAt(later(this.#runtime.now(), ms) as Instant, act);
  }

  #rest(): void {
    const mood = this.#mood();
    if (mood === 'in-turn') this.#turns += 1;
    if (this.#turns > TURNS) return;
    const idleMs = this.#isPolling ? this.#node.durations.answerTimeoutMs / 4 : this.#demand.idleMs;
    this.#after(mood === 'in-turn' ? 1 : this.#random.between(0, idleMs), () => this.#act());
  }

  #act(): void {
    const random = this.#random;
    const mood = this.#mood();
    if (mood === 'at-rest') {
      this.#after(this.#node.durations.answerTimeoutMs / 4, () => this.#act());
      return;
    }
    const { resources } = this.#demand;
    const resource = mood === 'in-turn' ? (resources[0] as string) : random.pick(resources);
    const draw = mood === 'in-turn' ? 0 : random.between(this.#isPolling ? 0.7 : 0, 1);
    const kind = draw < 0.6 ? 'acquire' : draw < 0.75 ? 'try' : 'ask';
    let isAnswered = false;
    const id = this.#node.request(kind, resource, (event) => {
      isAnswered = true; // A group of one answers before `request` returns.
      this.#answered(event);
    });
    if (isAnswered) return;
    this.#waiting = { resource, id };
    if (kind === 'acquire' && mood !== 'in-turn' && random.chance(0.2)) {
      this.#after(random.between(0, 3 * this.#node.durations.leaseMs), () => this.#loseHeart(id));
    }
  }

  #loseHeart(id: number): void {
    if (this.#waiting?.id !== id) return;
    this.#checker.happened('cancelled');
    this.#node.cancel(this.#waiting.resource, id);
    this.#checker.cancelled(this.#node, id);
    this.#waiting = undefined;
    this.#rest();
  }

  #answered(event: MemberEvent): void {
    this.#waiting = undefined;
    if (event.kind !== 'granted') {
      this.#rest();
      return;
    }
    const { held } = event;
    this.#held = held;
    const { answerTimeoutMs } = this.#node.durations;
    const holdMs = this.#mood() === 'as-they-like' ? this.#random.pick(this.#demand.holdMs) : answerTimeoutMs;
    this.#after(holdMs * this.#random.next(), () => this.#letGo(held));
    this.#work(held);
  }

  /** Checks the lease; the write that follows arrives a while later. */
  #work(held: HeldLease): void {
    if (this.#held !== held || !this.#node.holds(held)) return;
    const { world, durations } = this.#node;
    world.after(this.#random.between(0, durations.leaseMs / 4), () => this.#checker.fenced(this.#node, held));
    this.#after(durations.leaseMs / 5, () => this.#work(held));
  }

  #letGo(held: HeldLease): void {
    const random = this.#random;
    const successor =
      this.#mood() === 'as-they-like' && random.chance(0.2) ? random.pick(this.#demand.members()) : undefined;
    this.#held = undefined;
    if (successor !== undefined) this.#checker.happened('handed over');
    this.#node.release(held, successor);
    this.#rest();
  }
}
