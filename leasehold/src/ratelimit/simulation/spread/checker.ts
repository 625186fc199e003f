/**
 * Watches a spread limit from outside.
 *
 *  - **credits.** The credits of the members that take part in one view, held and on their way between them, are at most its members.
 *  - **levels.** At no instant may all processes together use more than the limit.
 *  - **tokens.** In any interval t, all processes together use at most limit × t + burst, by the fastest of their clocks.
 *  - **conserves**, **converges**, **no-starvation.** See `calm.ts`.
 *  - **comes-to-an-end.** Time goes on.
 */

import type { RateLimitResult } from '../../core/local/result.ts';
import { CREDIT } from '../../core/spread/credits.ts';
import type { SpreadMember } from './member.ts';
import type { World } from '../../../sim/world.ts';

export const PROMISES = [
  'credits',
  'levels',
  'tokens',
  'conserves',
  'converges',
  'no-starvation',
  'comes-to-an-end',
] as const;

/** Levels are quotients. */
const ROUNDING = 1e-9;

/** As much of a world as is checked. */
interface CheckedWorld {
  readonly world: World;
  readonly options: { readonly names: readonly string[]; readonly limit: number; readonly burst: number };
  readonly members: readonly SpreadMember[];
}

export class SpreadChecker {
  readonly #world: CheckedWorld;
  /** A bucket that takes what all processes use. */
  #tokens: number;
  #atMs = 0;
  /** The rate of the fastest clock so far. */
  #fastest = 0;
  /** Tokens allowed at each member so far. */
  readonly allowed: number[];
  readonly denied: number[];
  greatestSum = 0;

  constructor(world: CheckedWorld) {
    this.#world = world;
    this.#tokens = world.options.burst;
    this.allowed = world.options.names.map(() => 0);
    this.denied = world.options.names.map(() => 0);
    world.world.afterEach(() => this.#levels());
    // Credits that were made stay in the cohort, so there is time to find them.
    world.world.every([20, 40], () => this.#credits());
  }

  decided(index: number, cost: number, { allowed, by }: RateLimitResult): void {
    const { world, options } = this.#world;
    const counts = allowed ? this.allowed : this.denied;
    counts[index] = (counts[index] ?? 0) + cost;
    world.count(`${allowed ? 'allowed' : 'denied'}, ${by}`);
    if (!allowed) return;
    const perMs = (options.limit / 1_000) * this.#fastest;
    this.#tokens = Math.min(options.burst, this.#tokens + (world.trueMs - this.#atMs) * perMs) - cost;
    this.#atMs = world.trueMs;
    if (this.#tokens >= -1e-6 * options.burst) return;
    throw world.broken('tokens', `more than limit × time + burst by ${(-this.#tokens).toFixed(2)} tokens`);
  }

  #levels(): void {
    const { members, world } = this.#world;
    let sum = 0;
    for (const { running, server } of members) {
      sum += running?.level(server.process.now()) ?? 0;
      this.#fastest = Math.max(this.#fastest, server.process.clock.rate);
    }
    this.greatestSum = Math.max(this.greatestSum, sum / members.length);
    if (sum <= members.length * (1 + ROUNDING)) return;
    const levels = members.map(({ running, server }) => {
      const text = running?.level(server.process.now()).toFixed(3) ?? 'none';
      return `${server.name} ${text} (${server.standing()})`;
    });
    throw world.broken('levels', `${(sum / members.length).toFixed(3)} of the limit: ${levels.join(', ')}`);
  }

  #credits(): void {
    const cohorts = new Map<string, SpreadMember[]>();
    for (const member of this.#world.members) {
      const { participation } = member.alive ?? {};
      if (participation?.takesPart !== true) continue;
      const cohort = cohorts.get(participation.cohort);
      if (cohort === undefined) cohorts.set(participation.cohort, [member]);
      else cohort.push(member);
    }
    for (const [cohort, members] of cohorts) {
      const size = this.#sizeOf(cohort, members);
      const total = totalCredits(members);
      if (size === undefined || total <= size * CREDIT) continue;
      const text = members
        .map(({ server, alive }) => `${server.name} ${alive?.credits.toFixed(3)}`)
        .join(', ');
      throw this.#world.world.broken('credits', `${total / CREDIT} credits of ${size} members: ${text}`);
    }
  }

  #sizeOf(cohort: string, members: readonly SpreadMember[]): number | undefined {
    for (const { server } of members) {
      const { view } = server.member ?? {};
      if (view?.id === cohort) return view.members.length;
    }
    return undefined;
  }
}

/** In units: held by these members, and on their way between them. */
export function totalCredits(members: readonly SpreadMember[]): number {
  let total = 0;
  for (const giver of members) {
    const { alive, id } = giver;
    if (alive === undefined || id === undefined) continue;
    total += alive.credits * CREDIT;
    for (const receiver of members) {
      if (receiver === giver || receiver.alive === undefined || receiver.id === undefined) continue;
      const account = alive.book.accountWith(receiver.id);
      if (account === undefined || alive.book.lineWith(receiver.id) !== receiver.alive.book.lineWith(id))
        continue;
      for (const [amount = 0] of account.unseenBy(receiver.alive.book.accountWith(id))) total += amount;
    }
  }
  return total;
}
