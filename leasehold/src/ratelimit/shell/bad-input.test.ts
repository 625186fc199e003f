import { describe, expect, it, vi } from 'vitest';
import { nodeRuntime } from '../../node/runtime.ts';
import { silent } from '../../runtime/logger.ts';
import { instant } from '../../runtime/time.ts';
import { wholeRight } from '../core/shared/directory.ts';
import { expressLimit, fastifyLimit, honoLimit, nodeLimit } from './http/middlewares.ts';
import type { Limiter } from './limiter.ts';
import { SharedLimits } from './shared-limits.ts';
import { joinLimitsInGroup } from './limits-in-group.ts';
import { ratelimit, type RateLimitOptions } from './ratelimit.ts';

const invalid = (option: string): unknown =>
  expect.objectContaining({
    code: 'INVALID_OPTION',
    details: expect.objectContaining({ option }),
    retryable: false,
  });

/** A process that owns every key of a shared limit. */
const limitsOf = (): SharedLimits =>
  new SharedLimits({
    ...{
      name: 'ada',
      instance: 'ratelimit',
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
    const shared = limitsOf();
    expect(() => ratelimit({ name: 'api', limit: 5, shared, ...options })).toThrow(invalid(option) as Error);
  });

  it('is refused when one request brings it, and nothing is charged', async () => {
    for (const limiter of [
      ratelimit({ limit: 5 }),
      ratelimit({ name: 'api', limit: 5, shared: limitsOf() }),
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
      ratelimit({ name: 'api', limit: 5, shared: limitsOf() }),
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
        ratelimit({ name: 'api', limit: 5, shared: limitsOf() }),
      ]) {
        await expect(limiter.consume('ann', { cost })).rejects.toEqual(invalid('cost'));
      }
    },
  );
});

describe('a key that the wire would change or not carry', () => {
  it.each([
    ['half of a surrogate pair', 'x\ud800', 'well-formed'],
    ['4,000 characters', 'x'.repeat(4_000), 'digest'],
  ])('is refused by a shared limit: %s', async (_what, key, rule) => {
    const limiter = ratelimit({ name: 'api', limit: 5, shared: limitsOf() });
    await expect(limiter.consume(key)).rejects.toThrow(rule);
    expect(() => limiter.tryConsume(key)).toThrow(rule);
    expect(() => limiter.block(key, { forMs: 1_000 })).toThrow(rule);
    expect(limiter.keys).toBe(0);
  });

  it('is taken with a whole surrogate pair', async () => {
    const limiter = ratelimit({ name: 'api', limit: 5, shared: limitsOf() });
    expect((await limiter.consume('x😀')).allowed).toBe(true);
  });
});

describe('a shared or a group that is none', () => {
  it('is refused with the option that is wrong', () => {
    const shared = {} as SharedLimits;
    expect(() => ratelimit({ name: 'api', limit: 5, shared })).toThrow(invalid('shared') as Error);
    expect(() => joinLimitsInGroup({ group: { name: 'a client' } } as never)).toThrow(
      invalid('group') as Error,
    );
  });
});

describe('a request that no limiter can count', () => {
  const responseOf = () => ({ statusCode: 200, setHeader: vi.fn(), end: vi.fn() });
  const shared = (): Limiter => ratelimit({ name: 'api', limit: 5, shared: limitsOf() });

  it.each<[string, Limiter, string, object | undefined]>([
    ['an empty key', ratelimit({ limit: 5 }), '', undefined],
    ['a key that is too long for a shared limit', shared(), 'x'.repeat(4_000), undefined],
    ['a key that is half of a surrogate pair, for a shared limit', shared(), 'x\ud800', undefined],
    ['a cost that is no number', ratelimit({ limit: 5 }), 'ann', { cost: Number.NaN }],
  ])('is answered with 400, and node:http goes on: %s', async (_what, limiter, key, options) => {
    const response = responseOf();
    const limit = nodeLimit(limiter, { key: () => key, options: () => options });
    expect(await limit({}, response)).toBe(false);
    expect(response.statusCode).toBe(400);
    const body = JSON.parse(response.end.mock.calls[0]?.[0]);
    expect(body).toMatchObject({
      error: 'INVALID_REQUEST',
      message: expect.stringContaining('cannot be counted'),
    });
  });

  it('is an error of the application if the application gave a limit that is none', async () => {
    const limit = nodeLimit(ratelimit({ limit: 5 }), { key: () => 'ann', options: () => ({ limit: -1 }) });
    await expect(limit({}, responseOf())).rejects.toEqual(invalid('limit'));
  });

  it('is denied although onLimited throws, and the error becomes a warning of the process', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    const onLimited = (): never => {
      throw new Error('the log is full');
    };
    const response = responseOf();
    const limiter = ratelimit({ limit: 1, per: '1h' });
    const limit = nodeLimit(limiter, { key: () => 'ann', onLimited });
    expect([await limit({}, response), await limit({}, response)]).toEqual([true, false]);
    expect(response.statusCode).toBe(429);
    expect((await warned).message).toBe('the log is full');
  });
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

describe('a part of a token', () => {
  it('is refused as the cost of a shared limit, which lends whole tokens, and taken by a limit of one process', async () => {
    const shared = ratelimit({ name: 'api', limit: 5, shared: limitsOf() });
    await expect(shared.consume('ann', { cost: 0.3 })).rejects.toEqual(invalid('cost'));
    expect(() => shared.tryConsume('ann', { cost: 1.5 })).toThrow(invalid('cost') as Error);
    expect(() => shared.refund('ann', { tokens: 0.5 })).toThrow(invalid('tokens') as Error);
    expect(shared.peek('ann').remaining).toBe(5);
    expect(await ratelimit({ limit: 5 }).consume('ann', { cost: 0.3 })).toMatchObject({ allowed: true });
  });
});
