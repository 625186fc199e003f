import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listeningLogger } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import { keyHash } from '../../runtime/keys/hash.ts';
import { joinPool, type JoinPoolOptions } from './owner/join-pool.ts';
import { connectLookup } from './lookup/connect-lookup.ts';
import type { PoolOwner } from './owner/pool-owner.ts';
import { startManager } from './manager/start-manager.ts';

const settings = {
  listen: '127.0.0.1:0',
  firstStart: true,
  defaults: { leaseMs: 1_500 },
} as const;

const joining = (
  name: string,
  managers: readonly string[],
  more: Partial<JoinPoolOptions> = {},
): JoinPoolOptions => ({
  ...{ managers, pool: 'presence', name, url: `http://${name}`, logger: silent },
  ...more,
});

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
};

const holdsSomething = (owner: PoolOwner): boolean => owner.ranges().length > 0;

describe('two Managers that know nothing of each other in one list', () => {
  it('are named by joinPool, and an owner that reaches both holds nothing', async () => {
    await using one = await startManager(settings);
    await using other = await startManager(settings);
    const managers = [one.address, other.address];
    const joined = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((name) => joinPool(joining(name, managers))),
    );
    for (const outcome of joined) {
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({ code: 'MANAGERS_DISAGREE', retryable: false });
      else {
        // One of the Managers took seconds to answer at all. Then the owner hears of it later.
        await using owner = outcome.value;
        await until(() => owner.refusal?.code === 'MANAGERS_DISAGREE');
        expect(holdsSomething(owner)).toBe(false);
      }
    }
  });

  it('open no look-up', async () => {
    await using one = await startManager(settings);
    await using other = await startManager(settings);
    const managers = [one.address, other.address];
    await expect(connectLookup({ managers, pool: 'presence', logger: silent })).rejects.toMatchObject({
      code: 'MANAGERS_DISAGREE',
      details: {
        histories: expect.arrayContaining([
          { manager: one.address, history: expect.any(String), term: 1 },
          { manager: other.address, history: expect.any(String), term: 1 },
        ]),
      },
    });
  });

  it('cost an owner its keys when the second one starts, until one of them is gone', async () => {
    await using one = await startManager(settings);
    const other = await startManager(settings);
    const managers = [one.address, other.address];
    await other.close();
    const logger = listeningLogger();
    await using owner = await joinPool(joining('a', managers, { logger }));
    const number = await owner.whenOwned('alice');

    const again = await startManager({
      ...settings,
      listen: `127.0.0.1:${Number(other.address.split(':')[1])}`,
    });
    await until(() => owner.refusal?.code === 'MANAGERS_DISAGREE');
    expect(holdsSomething(owner)).toBe(false);
    expect(owner.isHeld('alice', number)).toBe(false);
    expect(logger.lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        message: 'the Managers disagree; this owner lets go of all keys',
      }),
    );

    await again.close();
    expect(await owner.whenOwned('alice')).toBeGreaterThan(number);
    expect(owner.refusal).toBeUndefined();
    expect(owner.isHeld('alice', number)).toBe(false);
  });
});

describe('two Managers on copies of one directory in one list', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'leasehold-copies-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('are named by joinPool and connectLookup, if they were started after the copy was made', async () => {
    const [directory, copy] = [join(folder, 'data'), join(folder, 'data2')];
    const before = await startManager({ ...settings, store: { directory } });
    await before.close();
    await cp(directory, copy, { recursive: true });
    await using one = await startManager({ ...settings, store: { directory } });
    await using other = await startManager({ ...settings, store: { directory: copy } });
    const managers = [one.address, other.address];
    const history = one.observe().history;
    expect(other.observe()).toMatchObject({ history, term: one.observe().term });
    const disagreement = {
      code: 'MANAGERS_DISAGREE',
      message: expect.stringContaining('one of their data directories is a copy of the other'),
      details: {
        histories: expect.arrayContaining(managers.map((manager) => ({ manager, history, term: 2 }))),
      },
    };
    await expect(joinPool(joining('a', managers))).rejects.toMatchObject(disagreement);
    await expect(connectLookup({ managers, pool: 'presence', logger: silent })).rejects.toMatchObject(
      disagreement,
    );
  });

  it('cost an owner its keys, if the copy was made while the first one led', async () => {
    const [directory, copy] = [join(folder, 'data'), join(folder, 'data2')];
    await using one = await startManager({ ...settings, store: { directory } });
    const spare = await startManager(settings);
    const port = Number(spare.address.split(':')[1]);
    await spare.close();
    const managers = [one.address, spare.address];
    await using owner = await joinPool(joining('a', managers));
    await owner.whenOwned('alice');
    await cp(directory, copy, { recursive: true });

    await using other = await startManager({
      ...settings,
      store: { directory: copy },
      listen: `127.0.0.1:${port}`,
    });
    expect(other.observe()).toMatchObject({ history: one.observe().history, term: 2 });
    await until(() => owner.refusal?.code === 'MANAGERS_DISAGREE');
    expect(holdsSomething(owner)).toBe(false);
  });
});

describe('one Manager in a list that is replaced by another on a new log', () => {
  it('is followed by its owners, because the old history is led by nobody', async () => {
    const first = await startManager(settings);
    const spare = await startManager(settings);
    const port = Number(spare.address.split(':')[1]);
    await spare.close();
    await using owner = await joinPool(joining('a', [first.address, spare.address]));
    const number = await owner.whenOwned(keyHash('alice'));
    await first.close();
    await using _ = await startManager({ ...settings, listen: `127.0.0.1:${port}` });
    await until(() => (owner.check('alice') ?? 0) > number);
    expect(owner.refusal).toBeUndefined();
  });
});
