/**
 * What an application does with leases: acquires, holds for a while, gives back or hands over; tries, asks, and
 * loses patience. Some only poll: they try and ask, again and again, with hardly a pause.
 *
 * Who holds a lease works under it: it looks whether it still has it, and what it then writes takes its time to come
 * to a register that compares numbers. So some of it comes when somebody else has the lease, and has to be refused.
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { SimRuntime } from '../../sim/process.ts';
import type { Random } from '../../sim/random.ts';
import type { Tenure } from '../tenure.ts';
import type { MemberEvent } from '../member.ts';
import type { Checker } from './checker.ts';
import type { FleaseNode } from './node.ts';

export interface Demand {
  readonly resources: readonly string[];
  /** How long to do nothing, up to. */
  readonly idleMs: number;
  /** How long to hold, from the least to the most. */
  readonly holdMs: readonly number[];
  /** All of those who may be handed something. */
  members(): readonly string[];
}

/**
 * What callers are to do at present: whatever they like; or to finish what they have begun; or only to acquire the
 * first resource, hold it briefly and give it back, a few times each.
 */
export type Mood = 'as-they-like' | 'at-rest' | 'in-turn';

/** How often everybody has it when all go in turn. */
const TURNS = 8;
/** How many of all callers poll. */
const POLLING_SHARE = 0.15;

export class Caller {
  readonly #node: FleaseNode;
  readonly #runtime: SimRuntime;
  readonly #random: Random;
  readonly #demand: Demand;
  readonly #checker: Checker;
  readonly #mood: () => Mood;
  readonly #isPolling: boolean;
  #tenure: Tenure | undefined;
  /** In turn with others. */
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

  /** Whether it waits for something or has it, and lives. */
  get isBusy(): boolean {
    return this.#runtime.alive && (this.#waiting !== undefined || this.#tenure !== undefined);
  }

  /** Whether it has had all its turns, or died. */
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
    const idleMs = this.#isPolling ? this.#node.durations.answerMs / 4 : this.#demand.idleMs;
    this.#after(mood === 'in-turn' ? 1 : this.#random.between(0, idleMs), () => this.#act());
  }

  #act(): void {
    const random = this.#random;
    const mood = this.#mood();
    if (mood === 'at-rest') {
      this.#after(this.#node.durations.answerMs / 4, () => this.#act());
      return;
    }
    const { resources } = this.#demand;
    const resource = mood === 'in-turn' ? (resources[0] as string) : random.pick(resources);
    const draw = mood === 'in-turn' ? 0 : random.between(this.#isPolling ? 0.7 : 0, 1);
    const kind = draw < 0.6 ? 'acquire' : draw < 0.75 ? 'try' : 'ask';
    let isAnswered = false;
    const id = this.#node.request(kind, resource, (event) => {
      isAnswered = true; // Where there is one member, before it was asked, so to speak.
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
    const { tenure } = event;
    this.#tenure = tenure;
    const { answerMs } = this.#node.durations;
    const holdMs = this.#mood() === 'as-they-like' ? this.#random.pick(this.#demand.holdMs) : answerMs;
    this.#after(holdMs * this.#random.next(), () => this.#letGo(tenure));
    this.#work(tenure);
  }

  /** Looks whether it still holds it; what it then writes arrives a while later. */
  #work(tenure: Tenure): void {
    if (this.#tenure !== tenure || !this.#node.holds(tenure)) return;
    const { world, durations } = this.#node;
    world.after(this.#random.between(0, durations.leaseMs / 4), () =>
      this.#checker.fenced(this.#node, tenure),
    );
    this.#after(durations.leaseMs / 5, () => this.#work(tenure));
  }

  #letGo(tenure: Tenure): void {
    const random = this.#random;
    const heir =
      this.#mood() === 'as-they-like' && random.chance(0.2) ? random.pick(this.#demand.members()) : undefined;
    this.#tenure = undefined;
    if (heir !== undefined) this.#checker.happened('handed over');
    this.#node.release(tenure, heir);
    this.#rest();
  }
}
