import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KEY_MAX, LocalLimiter } from './local-limiter.ts';
import { resolveRate } from './rate.ts';

const limiterOf = (maxKeys = 1_000, whenFull: 'deny' | 'admit' = 'deny'): LocalLimiter =>
  new LocalLimiter({ maxKeys, whenFull });
const rate = resolveRate({ limit: 10, per: '1s', burst: 5 });

describe('a limiter whose keys come from requests', () => {
  const hourly = resolveRate({ limit: 100, per: '1h' });

  it('refuses a key that is longer than any key should be', () => {
    const limiter = new LocalLimiter({ maxKeys: 10, whenFull: 'deny' });
    expect(() => limiter.consume('k'.repeat(KEY_MAX + 1), 1, hourly, 0)).toThrow('at most 3900 characters');
    expect(
      new LocalLimiter({ maxKeys: 99, whenFull: 'deny' }).consume('k'.repeat(KEY_MAX), 1, hourly, 0).allowed,
    ).toBe(true);
  });

  it('remembers as many characters of keys as keys of 128 characters would have', () => {
    const limiter = new LocalLimiter({ maxKeys: 1_000, whenFull: 'deny' });
    let allowed = 0;
    for (let at = 0; at < 1_000; at += 1)
      if (limiter.consume(`${at}`.padEnd(KEY_MAX, 'k'), 1, hourly, 0).allowed) allowed += 1;
    expect(allowed).toBeGreaterThanOrEqual(Math.floor((1_000 * 128) / KEY_MAX));
    expect(allowed).toBeLessThan(40);
  });

  it('admits a new customer in a flood of keys that are used once, and keeps what is known of a customer without tokens', () => {
    const limiter = new LocalLimiter({ maxKeys: 1_000, whenFull: 'deny', spares: true });
    for (let count = 0; count < 100; count += 1) limiter.consume('ann', 1, hourly, 0);
    for (let at = 0; at < 5_000; at += 1)
      expect(limiter.consume(`random ${at}`, 1, hourly, at / 100).allowed).toBe(true);
    expect(limiter.consume('bob', 1, hourly, 51).allowed).toBe(true);
    expect(limiter.consume('ann', 1, hourly, 51)).toMatchObject({ allowed: false, denied: 'rate' });
    expect(limiter.keys).toBeLessThanOrEqual(1_000);
  });

  it('keeps the debt of a key without tokens in such a flood, also if one token is the whole bucket', () => {
    const limiter = new LocalLimiter({ maxKeys: 1_000, whenFull: 'deny', spares: true });
    const one = resolveRate({ limit: 1, per: '1h' });
    limiter.consume('ann', 1, one, 0);
    for (let at = 0; at < 5_000; at += 1) limiter.consume(`random ${at}`, 1, one, at / 100);
    expect(limiter.consume('ann', 1, one, 51)).toMatchObject({ allowed: false, denied: 'rate' });
  });

  it('tells a customer for whom there is no room to come again soon, and not when a bucket is full', () => {
    const limiter = new LocalLimiter({ maxKeys: 1, whenFull: 'deny' });
    limiter.consume('ann', 100, hourly, 0);
    expect(limiter.consume('bob', 1, hourly, 0)).toMatchObject({ denied: 'full', retryAfterMs: 1_000 });
  });
});

describe('a key', () => {
  it('may use its burst at once, and then one token for each that comes back', () => {
    const limiter = limiterOf();
    const allowed = (now: number): boolean => limiter.consume('ann', 1, rate, now).allowed;
    expect([1, 2, 3, 4, 5, 6].map(() => allowed(0))).toEqual([true, true, true, true, true, false]);
    expect([allowed(99), allowed(100), allowed(100)]).toEqual([false, true, false]);
  });

  it('gets all tokens of a burst that is no whole number in binary', () => {
    const limiter = limiterOf();
    const thirds = resolveRate({ limit: 3, per: '1s' });
    const answers = [1, 2, 3, 4].map(() => limiter.consume('ann', 1, thirds, 1e9 / 3).allowed);
    expect(answers).toEqual([true, true, true, false]);
  });

  it('is told when the same request may be allowed, and then it is', () => {
    const limiter = limiterOf();
    limiter.consume('ann', 5, rate, 0);
    const { retryAfterMs, denied } = limiter.consume('ann', 3, rate, 40);
    expect([denied, Math.round(retryAfterMs)]).toEqual(['rate', 260]);
    expect(limiter.consume('ann', 3, rate, 40 + retryAfterMs).allowed).toBe(true);
  });

  it('loses nothing by a denial', () => {
    const limiter = limiterOf();
    limiter.consume('ann', 4, rate, 0);
    for (let flood = 0; flood < 100; flood += 1) limiter.consume('ann', 2, rate, 0);
    expect(limiter.consume('ann', 1, rate, 0).allowed).toBe(true);
  });

  it('is told that a request which costs more than the burst will never be allowed', () => {
    const answer = limiterOf().consume('ann', 6, rate, 0);
    expect(answer).toMatchObject({ allowed: false, denied: 'cost', retryAfterMs: Number.POSITIVE_INFINITY });
  });

  it('shares nothing with another key', () => {
    const limiter = limiterOf();
    limiter.consume('ann', 5, rate, 0);
    expect(limiter.consume('bob', 5, rate, 0).allowed).toBe(true);
  });

  it('gets back what it did not use, and no more than its burst', () => {
    const limiter = limiterOf();
    limiter.consume('ann', 5, rate, 0);
    limiter.refund('ann', 2, rate, 0);
    expect(limiter.peek('ann', rate, 0).remaining).toBe(2);
    limiter.refund('ann', 100, rate, 0);
    expect(limiter.peek('ann', rate, 0).remaining).toBe(5);
  });

  it('that is blocked is denied for that long and then has one token', () => {
    const limiter = limiterOf();
    limiter.block('ann', 1_000, rate, 0);
    expect(limiter.consume('ann', 1, rate, 999).allowed).toBe(false);
    expect(limiter.consume('ann', 1, rate, 1_000).allowed).toBe(true);
    expect(limiter.consume('ann', 1, rate, 1_000).allowed).toBe(false);
  });

  it('that is reset has all its tokens', () => {
    const limiter = limiterOf();
    limiter.consume('ann', 5, rate, 0);
    limiter.reset('ann');
    expect(limiter.consume('ann', 5, rate, 0).allowed).toBe(true);
  });

  it.each(['', 5, undefined, {}])('must be text: %j is refused', (key) => {
    expect(() => limiterOf().consume(key as string, 1, rate, 0)).toThrow(/option key/);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('cannot be charged %d tokens', (cost) => {
    expect(() => limiterOf().consume('ann', cost, rate, 0)).toThrow(/option cost/);
  });
});

describe('the promise', () => {
  it('holds: in any interval at most limit × time + burst tokens are used', () => {
    const step = fc.record({
      waitMs: fc.double({ min: 0, max: 400, noNaN: true }),
      cost: fc.integer({ min: 0, max: 6 }),
      key: fc.constantFrom('ann', 'bob'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const limiter = limiterOf(2);
        const used: { at: number; cost: number }[] = [];
        let now = 0;
        for (const { waitMs, cost, key } of steps) {
          now += waitMs;
          const { allowed } = limiter.consume(key, cost, rate, now);
          if (allowed && key === 'ann') used.push({ at: now, cost });
        }
        for (const [first, { at: from }] of used.entries()) {
          let sum = 0;
          for (const { at, cost } of used.slice(first)) {
            sum += cost;
            expect(sum).toBeLessThanOrEqual((at - from) / rate.msPerToken + rate.burst + 0.002);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('the table of keys', () => {
  it('forgets keys that have all their tokens again, and only those', () => {
    const limiter = limiterOf(100_000);
    limiter.consume('slow', 1, resolveRate({ limit: 1, per: '1h' }), 0);
    for (let second = 1; second <= 100; second += 1) {
      for (let id = 0; id < 100; id += 1) limiter.consume(`${second}-${id}`, 5, rate, second * 1_000);
    }
    expect(limiter.keys).toBeLessThan(400);
    expect(limiter.consume('slow', 1, resolveRate({ limit: 1, per: '1h' }), 100_000).allowed).toBe(false);
  });

  it('never drops a key in use for a new key: the new key is denied', () => {
    const limiter = limiterOf(2);
    for (const key of ['ann', 'bob']) limiter.consume(key, 5, rate, 0);
    expect(limiter.consume('cyd', 1, rate, 0)).toMatchObject({ allowed: false, denied: 'full' });
    expect(limiter.block('cyd', 1_000, rate, 0)).toBe(false);
    expect(limiter.consume('ann', 1, rate, 0).allowed).toBe(false);
    expect(limiter.consume('cyd', 1, rate, 500).allowed).toBe(true);
  });

  it('admits new keys when it is full, if the application wants that', () => {
    const limiter = limiterOf(1, 'admit');
    limiter.consume('ann', 5, rate, 0);
    expect(limiter.consume('cyd', 1, rate, 0).allowed).toBe(true);
    expect(limiter.keys).toBe(1);
  });
});

describe('a limit', () => {
  it.each([
    [{ limit: 0 }, 'limit'],
    [{ limit: -1 }, 'limit'],
    [{ limit: Number.POSITIVE_INFINITY }, 'limit'],
    [{ limit: Number.NaN }, 'limit'],
    [{ limit: 2e6 }, 'limit'],
    [{ limit: 5, per: '0s' as const }, 'per'],
    [{ limit: 5, per: '1 second' as unknown as '1s' }, 'per'],
    [{ limit: 5, per: -1 }, 'per'],
    [{ limit: 5, burst: 0.5 }, 'burst'],
    [{ limit: 5, burst: Number.POSITIVE_INFINITY }, 'burst'],
    [{ limit: 1, per: '300d' as const, burst: 2 }, 'burst'],
  ])('%j is refused', (options, option) => {
    expect(() => resolveRate(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option }) }),
    );
  });

  it('below one a second has a burst of one', () => {
    expect(resolveRate({ limit: 0.5 })).toMatchObject({ burst: 1, msPerToken: 2_000, refillMs: 2_000 });
  });
});
