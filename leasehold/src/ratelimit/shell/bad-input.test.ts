import { describe, expect, it } from 'vitest';
import { nodeRuntime } from '../../node/runtime.ts';
import { silent } from '../../runtime/logger.ts';
import { instant } from '../../runtime/time.ts';
import { wholeRight } from '../owner/directory.ts';
import { expressLimit, fastifyLimit, honoLimit, nodeLimit } from './http/middlewares.ts';
import type { Limiter } from './limiter.ts';
import { LimitSharing } from './limit-sharing.ts';
import { ratelimit, type RateLimitOptions } from './ratelimit.ts';

const invalid = (option: string): unknown =>
  expect.objectContaining({ code: 'INVALID_OPTION', option, retryable: false });

/** A process that owns every key of a shared limit. */
const sharingOf = (): LimitSharing =>
  new LimitSharing({
    ...{
      name: 'ada',
      pool: 'ratelimit',
      address: '127.0.0.1:1',
      epoch: 'e1',
      runtime: nodeRuntime(),
      logger: silent,
    },
    directory: { rightTo: (_limiter, _key, now) => wholeRight(instant(-1e6), now), find: () => undefined },
    ...{ sendAsk: () => {}, sendAnswer: () => {}, close: async () => {} },
  });

const refused: readonly (readonly [string, Partial<RateLimitOptions>, string])[] = [
  ['a limit of 0', { limit: 0 }, 'limit'],
  ['a negative limit', { limit: -5 }, 'limit'],
  ['an infinite limit', { limit: Number.POSITIVE_INFINITY }, 'limit'],
  ['a limit that is no number', { limit: '5' as unknown as number }, 'limit'],
  ['a burst below 1', { burst: 0.9 }, 'burst'],
  ['a negative burst', { burst: -1 }, 'burst'],
  ['an infinite burst', { burst: Number.POSITIVE_INFINITY }, 'burst'],
  ['a duration of 0', { per: 0 }, 'per'],
  ['a duration without a unit', { per: '5' as unknown as '5s' }, 'per'],
];

describe.each(refused)('%s', (_what, options, option) => {
  it('is refused when a limiter is made, alone or shared', () => {
    expect(() => ratelimit({ limit: 5, ...options })).toThrow(invalid(option) as Error);
    const shared = { name: 'api', limit: 5, sharing: sharingOf(), ...options };
    expect(() => ratelimit(shared)).toThrow(invalid(option) as Error);
  });

  it('is refused when one request brings it, and nothing is charged', async () => {
    for (const limiter of [
      ratelimit({ limit: 5 }),
      ratelimit({ name: 'api', limit: 5, sharing: sharingOf() }),
    ]) {
      await expect(limiter.consume('ann', options)).rejects.toEqual(invalid(option));
      expect(() => limiter.tryConsume('ann', options)).toThrow(invalid(option) as Error);
      expect(limiter.peek('ann').remaining).toBe(5);
    }
  });
});

describe('a cost above the burst', () => {
  it('is denied for good, says so, and charges nothing', async () => {
    for (const limiter of [
      ratelimit({ limit: 5 }),
      ratelimit({ name: 'api', limit: 5, sharing: sharingOf() }),
    ]) {
      const denial = { allowed: false, denied: 'cost', retryAfterMs: Number.POSITIVE_INFINITY };
      expect(await limiter.consume('ann', { cost: 6 })).toMatchObject(denial);
      expect(limiter.tryConsume('ann', { cost: 6 })).toMatchObject(denial);
      expect(limiter.peek('ann').remaining).toBe(5);
    }
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '2' as unknown as number])(
    'is refused if it is %s',
    async (cost) => {
      for (const limiter of [
        ratelimit({ limit: 5 }),
        ratelimit({ name: 'api', limit: 5, sharing: sharingOf() }),
      ]) {
        await expect(limiter.consume('ann', { cost })).rejects.toEqual(invalid('cost'));
      }
    },
  );
});

describe('a middleware without a key function', () => {
  type Make = (limiter: Limiter, options: never) => unknown;
  it.each<[string, Make]>([
    ['expressLimit', expressLimit],
    ['fastifyLimit', fastifyLimit],
    ['honoLimit', honoLimit],
    ['nodeLimit', nodeLimit],
  ])('is refused by %s', (_name, make) => {
    const limiter = ratelimit({ limit: 5 });
    for (const options of [{}, { key: 'ip' }, { key: undefined }]) {
      expect(() => make(limiter, options as never)).toThrow(invalid('key') as Error);
    }
  });
});

describe('a clock that jumps', () => {
  const clockOf = () => {
    const clock = { ms: 1e6 };
    const backwards: number[] = [];
    const runtime = nodeRuntime({ clock: () => clock.ms, onBackwards: (ms) => backwards.push(ms) });
    const limiter = ratelimit({ limit: 10, burst: 5, runtime });
    const admitted = (): number => {
      let count = 0;
      while (limiter.tryConsume('ann').allowed) count += 1;
      return count;
    };
    return { clock, admitted, backwards, limiter };
  };

  it('ahead gives a key its burst and no more', () => {
    const { clock, admitted } = clockOf();
    expect(admitted()).toBe(5);
    clock.ms += 3_600_000;
    expect(admitted()).toBe(5);
  });

  it('back gives no tokens a second time, and denies nothing that was allowed', () => {
    const { clock, admitted, backwards, limiter } = clockOf();
    limiter.tryConsume('ann', { cost: 3 });
    clock.ms -= 3_600_000;
    expect(admitted()).toBe(2);
    expect(limiter.peek('ann').retryAfterMs).toBeLessThanOrEqual(100);
    clock.ms += 3_600_000 + 200;
    expect([admitted(), backwards]).toEqual([2, [3_600_000]]);
  });
});
