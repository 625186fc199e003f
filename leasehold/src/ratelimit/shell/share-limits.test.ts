import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type Certificates,
  hasOpenssl,
  leaveOutWithoutOpenssl,
  makeCertificates,
} from '../../node/http-client/certificates-script.ts';
import { startManager } from '../../pool/shell/start-manager.ts';
import { type Logger, silent } from '../../runtime/logger.ts';
import type { LimitSharing } from './limit-sharing.ts';
import type { Limiter } from './limiter.ts';
import { ratelimit, type RateLimitOptions } from './ratelimit.ts';
import { shareLimits, type ShareLimitsOptions } from './share-limits.ts';

const LONG_MS = 30_000;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(
  names: readonly string[],
  logger: Logger = silent,
  options: Partial<ShareLimitsOptions> = {},
): Promise<readonly LimitSharing[]> {
  const manager = await startManager({ port: 0, http: false, firstStart: true, logger: silent });
  closing.push(() => manager.close());
  const sharings: LimitSharing[] = [];
  for (const name of names) {
    const sharing = await shareLimits({ managers: [manager.address], name, logger, ...options });
    closing.push(() => sharing.close());
    sharings.push(sharing);
  }
  return sharings;
}

const limitersOf = (sharings: readonly LimitSharing[], options: Partial<RateLimitOptions> = {}): Limiter[] =>
  sharings.map((sharing) => ratelimit({ name: 'api', limit: 20, per: '1h', sharing, ...options }));

/** Until every key has an owner that mints: requests for other keys say so. */
async function untilOwned(limiters: readonly Limiter[]): Promise<void> {
  for (const [at, limiter] of limiters.entries()) {
    for (let key = 0; key < 20; key += 1) {
      await vi.waitFor(async () => {
        expect((await limiter.consume(`warm-up ${at} ${key}`)).denied).not.toBe('cut-off');
      }, LONG_MS);
    }
  }
}

describe('processes that share a limit', () => {
  it('allow its burst together, and no more, whichever of them is asked', async () => {
    // As long as a new owner of a key may wait, and a busy machine may let all processes of this test wait.
    const limiters = limitersOf(await start(['ada', 'ben', 'cyd']), { waitMs: 2_000 });
    await untilOwned(limiters);
    for (const key of ['ann', 'bob', 'eve', 'kim', 'lou']) {
      const answers = [];
      for (let count = 0; count < 30; count += 1) {
        answers.push(await limiters[count % 3]?.consume(key));
      }
      expect(answers.filter((answer) => answer?.allowed)).toHaveLength(20);
      expect(answers.at(-1)).toMatchObject({ allowed: false, denied: 'rate' });
      expect(new Set(answers.map((answer) => answer?.by))).not.toContain('closed');
    }
  }, 60_000);

  it('admit requests that do not wait, whichever of them owns the key', async () => {
    const limiters = limitersOf(await start(['ada', 'ben']), { limit: 1_000, per: '1s' });
    await untilOwned(limiters);
    for (const limiter of limiters) {
      for (const key of ['ann', 'bob', 'eve', 'kim', 'lou', 'max', 'pat', 'sue']) {
        await vi.waitFor(() => expect(limiter.tryConsume(key).allowed).toBe(true), LONG_MS);
      }
    }
  }, 60_000);

  it('go on when one of them leaves', async () => {
    const sharings = await start(['ada', 'ben']);
    const limiters = limitersOf(sharings, { limit: 1_000, per: '1s' });
    await untilOwned(limiters);
    await sharings[0]?.close();
    await untilOwned(limiters.slice(1));
    expect((await limiters[1]?.consume('ann'))?.by).toBe('owner');
    expect(await limiters[0]?.consume('ann')).toMatchObject({ allowed: false, denied: 'closed' });
  }, 60_000);

  it('find out that their limits differ, and say which', async () => {
    const warnings: string[] = [];
    const sharings = await start(['ada', 'ben'], { ...silent, warn: (message) => warnings.push(message) });
    const [ada, ben] = sharings;
    const limiters = [
      ratelimit({ name: 'api', limit: 20, sharing: ada }),
      ratelimit({ name: 'api', limit: 30, sharing: ben }),
    ];
    await untilOwned(limiters);
    const differences = sharings.flatMap((sharing) => sharing.differences);
    expect(differences[0]).toMatchObject({
      limiter: 'api',
      ours: expect.stringMatching(/^[23]0 per 1000 ms/),
    });
    expect(warnings).toContain('limiter api has another limit in another process');
  }, 60_000);
});

describe('processes that share a limit, with TLS', () => {
  let directory: string;
  let certificates: Certificates;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'leasehold-ratelimit-'));
    if (hasOpenssl()) certificates = makeCertificates(directory);
  }, LONG_MS);
  afterAll(() => rmSync(directory, { recursive: true }));

  it('answer each other', async (context) => {
    leaveOutWithoutOpenssl(context);
    const tls = { ca: certificates.ca, ...certificates.server };
    const limiters = limitersOf(await start(['ada', 'ben'], silent, { tls }));
    await untilOwned(limiters);
    for (const limiter of limiters) expect((await limiter.consume('ann')).denied).not.toBe('cut-off');
  }, 60_000);
});

describe('the options of a shared limit', () => {
  it.each([
    [{ onLoss: 'empty' as const }, 'onLoss'],
    [{ whenCutOff: 'share' as const }, 'whenCutOff'],
    [{ waitMs: 10 }, 'waitMs'],
    [{ size: 4 }, 'size'],
  ])('%j are refused without sharing', (options, option) => {
    expect(() => ratelimit({ limit: 5, ...options })).toThrow(expect.objectContaining({ option }));
  });

  const sharing = { add: () => ({}) } as unknown as LimitSharing;
  it.each([
    [{}, 'name'],
    [{ name: 'api', onLoss: 'half' as 'full' }, 'onLoss'],
    [{ name: 'api', whenCutOff: 'share' as const }, 'size'],
    [{ name: 'api', whenCutOff: 'share' as const, size: 0 }, 'size'],
    [{ name: 'api', size: 4 }, 'size'],
    [{ name: 'api', whenCutOff: { open: 0, forMs: 5 } }, 'whenCutOff'],
    [{ name: 'api', whenCutOff: 'ajar' as 'closed' }, 'whenCutOff'],
    [{ name: 'api', waitMs: -1 }, 'waitMs'],
    [{ name: 'api', limit: 0 }, 'limit'],
  ])('%j are refused with sharing', (options, option) => {
    expect(() => ratelimit({ limit: 5, sharing, ...options })).toThrow(expect.objectContaining({ option }));
  });

  it.each([
    [{ name: '' }, 'name'],
    [{ name: 'ada', host: '0.0.0.0', insecure: true }, 'advertise'],
    [{ name: 'ada', host: '0.0.0.0', advertise: '10.0.0.1' }, 'host'],
    [{ name: 'ada', host: '10.255.255.1' }, 'host'],
    [{ name: 'ada', tls: { ca: 'x', cert: 'y' } as never }, 'tls.key'],
    [{ name: 'ada', prot: 5 } as { name: string }, 'prot'],
  ])('shareLimits(%j) is refused', async (options, option) => {
    await expect(shareLimits(options)).rejects.toMatchObject({ code: 'INVALID_OPTION', option });
  });
});
