/**
 * Watches from outside, where all servers can be seen at one instant.
 *
 *  - **sum.** For each key, all servers together use at most `limit × t × clock rate + burst` tokens in any interval of t, and one burst more
 *    for each fresh start in the interval; none more if owners start empty, and none for keys that their last owner handed over. Tokens that are refunded are subtracted.
 *  - **cut-off.** What a server allows without the owner stays within its own part, and ends after its time; a server that never knew how many servers there are allows nothing;
 *    all together allow no more than their parts add up to.
 *  - **in-time.** A request is decided within `askTimeoutMs` or its own shorter time, unless its server was stopped.
 *  - **decided-once.** Every request is decided once.
 *  - **flood.** Requests that are denied cost few messages.
 *  - **no-starvation.** In calm worlds every server that asks for more than its part of the limit gets at least a fifth of that part.
 *  - **calm-use.** In calm worlds at least 80 % of the tokens are used that a central limiter would allow; 60 % in a flood, where
 *    every token has several takers and a bucket may hold only one.
 *  - **forgets.** Keys that are full again are not remembered for ever.
 */

import type { Instant } from '../../runtime/time.ts';
import type { World } from '../../sim/world.ts';
import type { DecidedBy } from '../core/local/result.ts';
import { type DrawnWorld, FASTEST } from './drawn-world.ts';
import type { Decision, Grant, Observer, Server } from './server.ts';

export const PROMISES = [
  'sum',
  'cut-off',
  'in-time',
  'decided-once',
  'flood',
  'no-starvation',
  'calm-use',
  'forgets',
  'comes-to-an-end',
] as const;

/** Buckets differ by the slack of a comparison, once for each key. */
const SLACK_TOKENS = 0.05;

/** The strictest bucket that keeps the promise, beside the ones that are watched. */
export class IdealBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #level: number;
  #atMs: number;

  constructor(perMs: number, burst: number, atMs: number) {
    this.#perMs = perMs;
    this.#burst = burst;
    this.#level = burst;
    this.#atMs = atMs;
  }

  take(tokens: number, atMs: number): number {
    this.#level = Math.min(this.#burst, this.#level + (atMs - this.#atMs) * this.#perMs) - tokens;
    this.#atMs = atMs;
    return this.#level;
  }

  tryTake(tokens: number, atMs: number): boolean {
    if (this.take(0, atMs) < tokens) return false;
    this.#level -= tokens;
    return true;
  }

  fill(atMs: number): void {
    this.#level = this.#burst;
    this.#atMs = atMs;
  }
}

export class Checker implements Observer {
  readonly #world: World;
  readonly #drawn: DrawnWorld;
  readonly #ideal = new Map<string, IdealBucket>();
  readonly #central = new Map<string, IdealBucket>();
  readonly #parts = new Map<string, IdealBucket>();
  readonly #apart = new Map<string, IdealBucket>();
  readonly #started = new Set<string>();
  readonly #cutOffSince = new Map<string, Instant>();
  readonly #gained = new Map<string, number>();
  readonly #let = new Map<
    string,
    { readonly processes: Set<string>; tokens: number; readonly sinceMs: number }
  >();
  #asks = 0;

  constructor(world: World, drawn: DrawnWorld) {
    this.#world = world;
    this.#drawn = drawn;
  }

  get asks(): number {
    return this.#asks;
  }

  /** Tokens that a server got for a key. */
  gained(server: Server, key: string): number {
    return this.#gained.get(`${server.name} ${key}`) ?? 0;
  }

  /** What a central limiter, and static parts of the limit, would allow of the same requests. */
  requested(server: Server, key: string, cost: number): void {
    const { rate, names, kind } = this.#drawn;
    const { trueMs } = this.#world;
    const group = kind === 'mixed' ? 'storm' : kind;
    const central = bucketOf(
      this.#central,
      key,
      () => new IdealBucket(1 / rate.msPerToken, rate.burst, trueMs),
    );
    if (central.tryTake(cost, trueMs)) this.#world.count(`${group}: tokens of a central limiter`, cost);
    const size = names.length;
    const part = bucketOf(
      this.#parts,
      `${server.name} ${key}`,
      () => new IdealBucket(1 / rate.msPerToken / size, rate.burst / size, trueMs),
    );
    if (part.tryTake(cost, trueMs)) this.#world.count(`${group}: tokens of static parts`, cost);
  }

  decided(server: Server, { key, cost, result, waitedMs, waitsMs }: Decision): void {
    const { by, allowed } = result;
    const { kind, lateMs } = this.#drawn;
    this.#world.count(`${allowed ? 'allowed' : 'denied'}, ${by}`);
    if (result.denied === 'full') this.#world.count('denied, table full');
    if (waitedMs !== undefined && waitedMs > waitsMs + lateMs + 1) {
      throw this.#world.broken(
        'in-time',
        `${server.name} decided about ${key} after ${waitedMs.toFixed(0)} ms`,
      );
    }
    const isApart = by === 'share' || by === 'open' || by === 'closed';
    const id = `${server.name}/${server.process.incarnation} ${key}`;
    if (!isApart) this.#cutOffSince.delete(id);
    else if (!this.#cutOffSince.has(id)) this.#cutOffSince.set(id, server.process.now());
    if (!allowed) return;
    if (isApart) this.#usedApart(server, id, key, by, cost);
    else this.#used(server, key, cost);
    const name = `${server.name} ${key}`;
    this.#gained.set(name, (this.#gained.get(name) ?? 0) + cost);
    if (this.#central.has(key))
      this.#world.count(`${kind === 'mixed' ? 'storm' : kind}: tokens allowed`, cost);
  }

  minted(server: Server, key: string, { before, since: grantedAt }: Grant, since: Instant): void {
    const start = `${key} of ${server.name}/${server.process.incarnation} since ${grantedAt}`;
    if (this.#started.has(start)) return;
    this.#started.add(start);
    // An owner that claims to go on for the last one has no burst more, unless the last one had begun afresh and minted nothing.
    const startBefore = `${key} of ${before}`;
    if (since < grantedAt && this.#started.has(startBefore)) {
      this.#world.count('keys taken over');
      return;
    }
    this.#started.add(startBefore);
    this.#world.count('fresh starts');
    if (this.#world.tracing) this.#world.note(server.name, { what: 'fresh-start', facts: { key } });
    if (this.#drawn.whenLost === 'full') this.#bucket(key).fill(this.#world.trueMs);
  }

  refunded(key: string, cost: number): void {
    this.#world.count('refunds');
    this.#bucket(key).take(-cost, this.#world.trueMs);
  }

  answered(server: Server, key: string): void {
    this.#cutOffSince.delete(`${server.name}/${server.process.incarnation} ${key}`);
  }

  asked(): void {
    this.#asks += 1;
    this.#world.count('asks');
  }

  #used(server: Server, key: string, cost: number): void {
    const level = this.#bucket(key).take(cost, this.#world.trueMs);
    if (level >= -SLACK_TOKENS) return;
    throw this.#world.broken('sum', `${server.name} uses ${cost} of ${key}: ${(-level).toFixed(2)} too many`);
  }

  #usedApart(server: Server, id: string, key: string, by: DecidedBy, cost: number): void {
    const { rate, whenCutOff } = this.#drawn;
    const { trueMs } = this.#world;
    if (whenCutOff.kind === 'closed') throw this.#world.broken('cut-off', `${server.name} allows: ${by}`);
    const factor =
      whenCutOff.kind === 'share' ? this.#partOf(server, whenCutOff.maxServers) : whenCutOff.factor;
    const perMs = (factor * FASTEST) / rate.msPerToken;
    const burst = Math.max(1, rate.burst * factor);
    const level = bucketOf(this.#apart, id, () => new IdealBucket(perMs, burst, trueMs)).take(cost, trueMs);
    if (level < -SLACK_TOKENS)
      throw this.#world.broken('cut-off', `${id} uses more than ${factor} of the limit`);
    const sinceMs = server.process.now() - (this.#cutOffSince.get(id) ?? 0);
    if (sinceMs > whenCutOff.forMs) {
      throw this.#world.broken('cut-off', `${id} lets requests through after ${sinceMs.toFixed(0)} ms`);
    }
    if (whenCutOff.kind === 'share') this.#letThrough(id, key, cost, burst);
  }

  /** The part of the limit that a server without an owner may use: there must be a number of servers that it was told or knows. */
  #partOf(server: Server, size: number | undefined): number {
    if (size === undefined && server.knownMembers === undefined)
      throw this.#world.broken(
        'cut-off',
        `${server.name} lets requests through and never knew how many servers there are`,
      );
    return 1 / this.#drawn.names.length;
  }

  /** What all servers that are cut off add to the sum: one more central limiter, in which each process that starts has its part of a burst anew. */
  #letThrough(id: string, key: string, cost: number, burst: number): void {
    const { rate } = this.#drawn;
    const { trueMs } = this.#world;
    const passed = this.#let.get(key) ?? { processes: new Set<string>(), tokens: 0, sinceMs: trueMs };
    this.#let.set(key, passed);
    passed.processes.add(id);
    passed.tokens += cost;
    this.#world.count('tokens let through', cost);
    const most = ((trueMs - passed.sinceMs) * FASTEST) / rate.msPerToken + passed.processes.size * burst;
    if (passed.tokens <= most + SLACK_TOKENS) return;
    throw this.#world.broken(
      'cut-off',
      `${passed.tokens} tokens of ${key} were let through, not ${most.toFixed(1)}`,
    );
  }

  #bucket(key: string): IdealBucket {
    const { rate } = this.#drawn;
    return bucketOf(
      this.#ideal,
      key,
      () => new IdealBucket(FASTEST / rate.msPerToken, rate.burst, this.#world.trueMs),
    );
  }
}

function bucketOf(buckets: Map<string, IdealBucket>, name: string, make: () => IdealBucket): IdealBucket {
  const bucket = buckets.get(name) ?? make();
  buckets.set(name, bucket);
  return bucket;
}
