/**
 * Watches from outside, where all servers can be seen at one instant.
 *
 *  - **sum.** For each key, all servers together use at most `limit × t × clock rate + burst` tokens in any interval of t, and for each fresh start
 *    of an owner in the interval its part of a burst more; none more if owners start empty.
 *    A key that its last owner handed over has no fresh start, unless that owner itself began afresh and minted nothing: then the next owner has that start.
 *  - **cut-off.** What servers let through without an owner adds up to one more central limiter at most, in which each process that starts has its part of a burst anew; and a server
 *    lets nothing through for longer than it may.
 *  - **parts.** At every instant the parts of the limit for which servers mint one key add up to at most the whole, and no member is counted by two servers.
 */

import type { Instant } from '../../../runtime/time.ts';
import type { World } from '../../../sim/world.ts';
import type { RateLimitResult } from '../../core/local/result.ts';
import type { Right } from '../../core/shared/directory.ts';
import { IdealBucket } from '../checker.ts';
import { type DrawnWorld, FASTEST } from './drawn-world.ts';
import type { LimitedServer, LimitObserver } from './limited-server.ts';

export const PROMISES = ['sum', 'parts', 'cut-off', 'calm-use', 'comes-to-an-end'] as const;

/** Buckets differ by the slack of a comparison, once for each server. */
const SLACK_TOKENS = 0.05;

export class Checker implements LimitObserver {
  readonly #world: World;
  readonly #drawn: DrawnWorld;
  readonly #ideal = new Map<string, IdealBucket>();
  readonly #central = new Map<string, IdealBucket>();
  readonly #statics = new Map<string, IdealBucket>();
  readonly #started = new Set<string>();
  /** Keys that were handed over, and whether that server had minted them or taken them over. */
  readonly #handedOver = new Map<string, boolean>();
  readonly #cutOffSince = new Map<string, Instant>();
  readonly #passed = new Map<
    string,
    { readonly processes: Set<string>; tokens: number; readonly sinceMs: number }
  >();
  /** Requests for each key, and those that were allowed. */
  readonly requests: Map<string, number> = new Map();
  readonly admissions: Map<string, number> = new Map();

  constructor(world: World, drawn: DrawnWorld) {
    this.#world = world;
    this.#drawn = drawn;
  }

  /** Counts tokens of this world's kind: of calm worlds, or of all others together, and of worlds with one hot server apart. */
  #count(tokens: string): void {
    const { kind } = this.#drawn;
    this.#world.count(`${kind === 'calm' ? 'calm' : 'storm'}: tokens ${tokens}`);
    if (kind === 'one-hot') this.#world.count(`one-hot: tokens ${tokens}`);
  }

  /** The tokens that a central limiter, and static parts of the limit, would allow of the same requests. */
  requested(server: LimitedServer, key: string): void {
    const { rate, names } = this.#drawn;
    const { trueMs } = this.#world;
    this.requests.set(key, (this.requests.get(key) ?? 0) + 1);
    const bucketOf = (map: Map<string, IdealBucket>, name: string, part: number): IdealBucket => {
      const bucket = map.get(name) ?? new IdealBucket(part / rate.msPerToken, rate.burst * part, trueMs);
      map.set(name, bucket);
      return bucket;
    };
    if (bucketOf(this.#central, key, 1).tryTake(1, trueMs)) this.#count('of a central limiter');
    if (bucketOf(this.#statics, `${server.name} ${key}`, 1 / names.length).tryTake(1, trueMs))
      this.#count('of static parts');
  }

  decided(server: LimitedServer, key: string, { allowed, by }: RateLimitResult): void {
    this.#world.count(`${allowed ? 'allowed' : 'denied'}, ${by}`);
    const id = `${server.life} ${key}`;
    if (by !== 'share' && by !== 'closed') this.#cutOffSince.delete(id);
    else if (!this.#cutOffSince.has(id)) this.#cutOffSince.set(id, server.group.process.now());
    if (!allowed) return;
    this.admissions.set(key, (this.admissions.get(key) ?? 0) + 1);
    if (by === 'share') {
      this.#letThrough(server, key);
      return;
    }
    this.#count('allowed');
    const level = this.#bucket(key).take(1, this.#world.trueMs);
    if (level >= -SLACK_TOKENS) return;
    throw this.#world.broken('sum', `${server.name} uses ${key}: ${(-level).toFixed(2)} too many`);
  }

  /** An owner has answered the server, about this key. */
  answered(server: LimitedServer, key: string): void {
    this.#cutOffSince.delete(`${server.life} ${key}`);
  }

  handedOver(server: LimitedServer, key: string, { since }: Right): void {
    this.#handedOver.set(`${server.identity} ${key}`, this.#started.has(`${server.life} ${key} ${since}`));
  }

  tookOver(server: LimitedServer, key: string, { since }: Right, from: string): void {
    this.#world.count('keys taken over');
    if (this.#world.tracing) this.#world.note(server.name, { what: 'taken-over', facts: { key, from } });
    if (this.#handedOver.get(`${from} ${key}`)) this.#started.add(`${server.life} ${key} ${since}`);
  }

  #letThrough(server: LimitedServer, key: string): void {
    const { rate, names, whenCutOff } = this.#drawn;
    const { trueMs } = this.#world;
    const id = `${server.life} ${key}`;
    const forMs = whenCutOff.kind === 'closed' ? 0 : whenCutOff.forMs;
    const sinceMs = server.group.process.now() - (this.#cutOffSince.get(id) ?? 0);
    if (sinceMs > forMs)
      throw this.#world.broken('cut-off', `${id} lets requests through after ${sinceMs.toFixed(0)} ms`);
    const passed = this.#passed.get(key) ?? { processes: new Set<string>(), tokens: 0, sinceMs: trueMs };
    this.#passed.set(key, passed);
    passed.processes.add(id);
    passed.tokens += 1;
    this.#world.count('tokens let through');
    const burst = Math.max(1, rate.burst / names.length);
    const most = ((trueMs - passed.sinceMs) * FASTEST) / rate.msPerToken + passed.processes.size * burst;
    if (passed.tokens <= most + SLACK_TOKENS) return;
    throw this.#world.broken(
      'cut-off',
      `${passed.tokens} tokens of ${key} were let through, not ${most.toFixed(1)}`,
    );
  }

  minted(server: LimitedServer, key: string, { since, share }: Right): void {
    const { rate, whenLost } = this.#drawn;
    const start = `${server.life} ${key} ${since}`;
    if (this.#started.has(start)) return;
    this.#started.add(start);
    this.#world.count('fresh starts');
    if (this.#world.tracing) this.#world.note(server.name, { what: 'fresh-start', facts: { key, share } });
    // More than a burst is never there at once, so the bucket takes no more.
    if (whenLost === 'full') this.#bucket(key).take(-share * rate.burst, this.#world.trueMs);
  }

  /** The claims of all servers at this instant. */
  look(servers: readonly LimitedServer[], keys: readonly string[]): void {
    for (const key of keys) {
      const claimedBy = new Map<string, string>();
      let sum = 0;
      for (const server of servers) {
        const claim = server.claim(key);
        if (claim === undefined) continue;
        sum += claim.share;
        this.#world.count('claims');
        for (const member of claim.members) {
          const other = claimedBy.get(member);
          if (other !== undefined)
            throw this.#world.broken(
              'parts',
              `${member} is counted by ${other} and ${server.name} for ${key}`,
            );
          claimedBy.set(member, server.name);
        }
      }
      if (sum > 1 + 1e-9) throw this.#world.broken('parts', `${sum.toFixed(2)} of the limit of ${key}`);
    }
  }

  #bucket(key: string): IdealBucket {
    const { rate } = this.#drawn;
    const bucket =
      this.#ideal.get(key) ?? new IdealBucket(FASTEST / rate.msPerToken, rate.burst, this.#world.trueMs);
    this.#ideal.set(key, bucket);
    return bucket;
  }
}
