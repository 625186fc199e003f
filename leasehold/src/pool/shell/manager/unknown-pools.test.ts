import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silent } from '../../../runtime/logger.ts';
import { poolNames } from '../service/answers.ts';
import { joinPool } from '../owner/join-pool.ts';
import { connectLookup } from '../lookup/connect-lookup.ts';
import type { PoolManager } from './pool-manager.ts';
import type { PoolOwner } from '../owner/pool-owner.ts';
import { startManager } from './start-manager.ts';

let manager: PoolManager;
let owner: PoolOwner;
beforeAll(async () => {
  manager = await startManager({
    ...{ listen: '127.0.0.1:0', firstStart: true, logger: silent, pools: { rooms: {} } },
  });
  owner = await joinPool({ ...around(), pool: 'presence', name: 'a', url: 'http://a' });
});
afterAll(async () => {
  await owner.close();
  await manager.close();
});
const around = () => ({ managers: [manager.address], logger: silent });
const called = { timeoutMs: 200 };

describe('a look-up of a pool that nobody has joined', () => {
  it('fails a call with an error that names the pools that exist', async () => {
    await using lookup = await connectLookup({ ...around(), pool: 'presnce' });
    const failed = lookup.call('alice', () => 'never called', called);
    const message = expect.stringMatching(
      /no owner has joined a pool "presnce": there are presence, rooms\. Mend/,
    );
    await expect(failed).rejects.toMatchObject({
      ...{ code: 'NOT_SERVED', retryable: true, message },
      cause: { code: 'UNKNOWN_POOL', retryable: true },
    });
  });

  it('puts no pool into the lists of the Manager', async () => {
    await using _ = await connectLookup({ ...around(), pool: 'presnce' });
    const { source } = manager;
    expect(source.observe().lookups.map(({ pool }) => pool)).toContain('presnce');
    expect(poolNames(source, source.observe())).toEqual(['presence', 'rooms']);
  });

  it('finds the first owner that joins the pool, like any other look-up', async () => {
    await using lookup = await connectLookup({ ...around(), pool: 'new' });
    await using first = await joinPool({ ...around(), pool: 'new', name: 'a', url: 'http://a' });
    await first.whenOwned('alice');
    expect(await lookup.call('alice', ({ name }) => name)).toBe('a');
  });
});

describe('a look-up of a pool that is declared, or has owners', () => {
  it.each(['presence', 'rooms'])('is not told that the pool is unknown: %s', async (pool) => {
    await using lookup = await connectLookup({ ...around(), pool });
    const outcome = await lookup.call('alice', ({ name }) => name, called).catch((error: unknown) => error);
    if (pool === 'presence') expect(outcome).toBe('a');
    else expect(outcome).toMatchObject({ code: 'NOT_SERVED', cause: undefined });
  });
});
