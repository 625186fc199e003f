/**
 * One decision about one request, by each of the limiters that are compared across processes.
 *
 * The rivals are set up as strong as their documentation knows: one Redis connection a process with `enableAutoPipelining`, so that the
 * commands of a moment travel together. The middleware of express-rate-limit is called with the least that a request can be, without HTTP, without
 * header fields and without its checks of the set-up.
 *
 * `insured` is rate-limiter-flexible with everything its documentation offers against a lost Redis: no queue of commands while there is no connection, a
 * refusal at once, and a limiter in memory that decides in its place.
 */

import type { Request, Response } from 'express';
import { rateLimit } from 'express-rate-limit';
import { Redis } from 'ioredis';
import { ratelimit, joinLimits } from 'leasehold/ratelimit';
import { type RedisReply, RedisStore } from 'rate-limit-redis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';

export type LimiterKind = 'leasehold' | 'flexible' | 'insured' | 'express';

export interface LimitConfig {
  readonly kind: LimiterKind;
  readonly name: string;
  /** The Managers of ours, the port of Redis for the others. */
  readonly managers: readonly string[];
  readonly redisPort: number;
  readonly limit: number;
}

/** Resolves to whether the request is allowed. Rejects if there was no decision. */
type Consume = (key: string) => Promise<boolean>;

export interface ComparedLimiter {
  readonly consume: Consume;
  /** Questions that were sent to another process so far. */
  asks(): number;
}

const makers: Readonly<Record<LimiterKind, (config: LimitConfig) => Promise<Consume | ComparedLimiter>>> = {
  leasehold: async ({ managers, name, limit }) => {
    const shared = await joinLimits({ managers, name });
    const limiter = ratelimit({ name: 'api', limit, shared });
    return {
      consume: async (key) => {
        const { allowed, denied } = await limiter.consume(key);
        if (denied === 'cut-off') throw new Error('the owner of the key did not answer in time');
        return allowed;
      },
      asks: () => shared.status().limiters[0]?.asks ?? 0,
    };
  },
  flexible: async (config) => flexible(new RateLimiterRedis(await flexibleOptions(config, 'waits'))),
  insured: async (config) => {
    const { limit } = config;
    const insuranceLimiter = new RateLimiterMemory({ points: limit, duration: 1 });
    const options = { ...(await flexibleOptions(config, 'fails')), insuranceLimiter };
    return flexible(new RateLimiterRedis({ ...options, rejectIfRedisNotReady: true }));
  },
  express: async ({ redisPort, limit }) => {
    const redis = await connect(redisPort, 'waits');
    const sendCommand = (command: string, ...args: string[]): Promise<RedisReply> =>
      redis.call(command, ...args) as Promise<RedisReply>;
    const middleware = rateLimit({
      ...{ windowMs: 1_000, limit, validate: false, standardHeaders: false, legacyHeaders: false },
      store: new RedisStore({ sendCommand }),
      keyGenerator: (request) => request.url,
      handler: (_request, _response, next) => next('denied'),
    });
    return (key) =>
      new Promise((resolve, reject) => {
        const next = (why?: unknown): void => {
          if (why === undefined || why === 'denied') resolve(why === undefined);
          else reject(why);
        };
        void middleware({ url: key } as Request, {} as Response, next);
      });
  },
};

/** The rivals ask Redis about every request. */
export async function makeLimiter(config: LimitConfig): Promise<ComparedLimiter> {
  const made = await makers[config.kind](config);
  if (typeof made !== 'function') return made;
  let asks = 0;
  const consume: Consume = (key) => {
    asks += 1;
    return made(key);
  };
  return { consume, asks: () => asks };
}

const flexible =
  (limiter: RateLimiterRedis): Consume =>
  (key) =>
    limiter.consume(key).then(
      () => true,
      (denial: unknown) => {
        if (denial instanceof RateLimiterRes) return false;
        throw denial;
      },
    );

const flexibleOptions = async ({ redisPort, limit }: LimitConfig, withoutRedis: WithoutRedis) => ({
  storeClient: await connect(redisPort, withoutRedis),
  points: limit,
  duration: 1,
});

/** Whether a command waits for a connection that is lost, as is the default, or fails at once. */
type WithoutRedis = 'waits' | 'fails';
const FAILS = { enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 };

async function connect(port: number, withoutRedis: WithoutRedis): Promise<Redis> {
  const always = { host: '127.0.0.1', port, enableAutoPipelining: true, lazyConnect: true };
  const redis = new Redis(withoutRedis === 'waits' ? always : { ...always, ...FAILS });
  // A lost connection is noticed by the requests.
  redis.on('error', () => {});
  await redis.connect();
  await redis.ping();
  return redis;
}
