import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { allLimits } from './all-limits.ts';
import { ratelimit, type RateLimitOptions } from './ratelimit.ts';

const clock = { ms: 0, now: () => instant(clock.ms) };
const limiterOf = (options: Partial<RateLimitOptions> = {}) =>
  ratelimit({ limit: 10, burst: 5, runtime: clock, ...options });

describe('a limiter', () => {
  it('never rejects for a denial', async () => {
    const limiter = limiterOf();
    await limiter.consume('ann', { cost: 5 });
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, remaining: 0, by: 'local' });
  });

  it('takes another limit for one request', () => {
    const limiter = limiterOf();
    expect(limiter.tryConsume('ann', { cost: 8, limit: 20, burst: 10 })).toMatchObject({
      allowed: true,
      remaining: 2,
      limit: 20,
    });
  });

  it('counts by the clock of this process when it is given none', () => {
    const limiter = ratelimit({ limit: 1, per: '1h' });
    expect([limiter.tryConsume('ann').allowed, limiter.tryConsume('ann').allowed]).toEqual([true, false]);
  });

  it.each([
    [{ maxKeys: 0 }, 'maxKeys'],
    [{ whenFull: 'drop' as 'deny' }, 'whenFull'],
    [{ name: '' }, 'name'],
    [{ limt: 5 } as object, 'limt'],
  ])('refuses the option %j', (options, option) => {
    expect(() => limiterOf(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option }) }),
    );
  });
});

describe('several limits at once', () => {
  const both = () => {
    const [second, day] = [limiterOf({ burst: 5 }), limiterOf({ limit: 6, per: '1d', burst: 6 })];
    return { second, day, limits: allLimits([second, day]) };
  };

  it.each(['consume', 'tryConsume'] as const)('charge all of them or none: %s', async (method) => {
    const { second, day, limits } = both();
    expect((await limits[method]('ann', { cost: 5 })).allowed).toBe(true);
    second.reset('ann');
    expect(await limits[method]('ann', { cost: 2 })).toMatchObject({ allowed: false, limit: 6 });
    expect([second.peek('ann').remaining, day.peek('ann').remaining]).toEqual([5, 1]);
  });

  it.each(['consume', 'tryConsume'] as const)(
    'charge none of them when one refuses the key with an error: %s',
    async (method) => {
      const [first, second] = [limiterOf(), limiterOf()];
      const refuse = (): never => {
        throw new Error('too long');
      };
      Object.assign(second, { consume: refuse, tryConsume: refuse });
      await expect(async () => allLimits([first, second])[method]('ann', { cost: 2 })).rejects.toThrow(
        'too long',
      );
      expect(first.peek('ann').remaining).toBe(5);
    },
  );

  it('answer with what the scarcest has left', async () => {
    expect((await both().limits.consume('ann')).remaining).toBe(4);
  });

  it('are refused when there are none, or one is there twice', () => {
    const one = limiterOf();
    expect(() => allLimits([])).toThrow('at least one');
    expect(() => allLimits([one, one])).toThrow('twice');
  });
});
