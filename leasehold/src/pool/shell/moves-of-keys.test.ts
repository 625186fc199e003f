/** Keys that move with their state between owners of one process, over real sockets. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Key } from '../../runtime/keys/hash.ts';
import { silent } from '../../runtime/logger.ts';
import { instant } from '../../runtime/time.ts';
import { connectLookup } from './lookup/connect-lookup.ts';
import type { Loss, PoolLookup } from './lookup/pool-lookup.ts';
import type { PoolManager } from './manager/pool-manager.ts';
import { startManager } from './manager/start-manager.ts';
import { joinPool, type JoinPoolOptions } from './owner/join-pool.ts';
import type { PoolOwner } from './owner/pool-owner.ts';
import { keyedState } from './state/keyed-state.ts';
import type { LeasedMap } from './state/leased-map.ts';

const pool = 'rooms';
const patience = { timeout: 20_000, interval: 10 };
const KEYS = Array.from({ length: 300 }, (_, index) => `room-${index}`);

interface Server {
  readonly owner: PoolOwner;
  readonly rooms: LeasedMap<number>;
}

let manager: PoolManager;
let servers: Server[];
beforeEach(async () => {
  manager = await startManager({ listen: '127.0.0.1:0', firstStart: true, logger: silent });
  servers = [];
});
afterEach(async () => {
  await Promise.all(servers.map(({ owner }) => owner.close()));
  await manager.close();
});

async function start(name: string, more: Partial<JoinPoolOptions> = {}): Promise<Server> {
  const owner = await joinPool({
    ...{ managers: [manager.address], pool, name, url: `local://${name}`, moves: true, logger: silent },
    ...more,
  });
  const server = { owner, rooms: owner.leasedMap<number>('rooms') };
  servers.push(server);
  return server;
}

/** Three servers that share the ring, and a caller that hears of losses. */
async function cluster(more: Partial<JoinPoolOptions> = {}) {
  const [a, b, c] = [await start('a', more), await start('b', more), await start('c', more)] as const;
  const losses: Loss[] = [];
  const lookup = await connectLookup({
    ...{ managers: [manager.address], pool, logger: silent },
    onLoss: (loss) => losses.push(loss),
  });
  await vi.waitUntil(() => [a, b, c].every(({ owner }) => owner.ranges().length > 0), patience);
  await vi.waitUntil(() => KEYS.every((key) => lookup.find(key) !== undefined), patience);
  return { a, b, c, lookup, losses };
}

const nothing = { entries: () => [], read: () => undefined, write: () => {}, forget: () => {} };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** As a server that is asked by another process: counts the calls of a key, and answers how many there were. */
const ask = (lookup: PoolLookup, key: Key, workMs = 0): Promise<number> =>
  lookup.call(key, async ({ url }) => {
    const server = servers.find(({ owner }) => owner.url === url);
    if (server === undefined) throw new Error(`nobody is at ${url}`);
    await turn();
    return server.owner.guard(key, async (held) => {
      const count = (server.rooms.get(held) ?? 0) + 1;
      await (workMs > 0 ? new Promise((resolve) => setTimeout(resolve, workMs)) : turn());
      return server.rooms.set(held, count);
    });
  });

const askAll = (lookup: PoolLookup): Promise<number[]> => Promise.all(KEYS.map((key) => ask(lookup, key)));

describe('an owner that drains', () => {
  it('loses nothing: entries arrive, under a later number, and callers see no error', async () => {
    const { a, lookup, losses } = await cluster();
    expect(await askAll(lookup)).toEqual(KEYS.map(() => 1));
    const before = new Map(KEYS.map((key) => [key, lookup.find(key)]));
    const ofA = KEYS.filter((key) => before.get(key)?.name === 'a');
    expect(ofA.length).toBeGreaterThan(0);
    losses.length = 0;
    const calls = { counted: 1, isOver: false };
    const calling = (async () => {
      while (!calls.isOver) {
        calls.counted += 1;
        expect(await askAll(lookup)).toEqual(KEYS.map(() => calls.counted));
      }
    })();
    const drained = a.owner.drain({ timeoutMs: 60_000 }).finally(() => (calls.isOver = true));
    expect(await Promise.all([drained, calling])).toMatchObject([{ lost: 0 }, undefined]);
    expect(await askAll(lookup)).toEqual(KEYS.map(() => calls.counted + 1));
    for (const key of ofA) {
      const found = lookup.find(key);
      expect(found?.name).not.toBe('a');
      expect(found?.number).toBeGreaterThan(before.get(key)?.number ?? 0);
    }
    expect(losses).toEqual([]);
    expect(await a.owner.closed).toBeUndefined();
    await lookup.close();
  }, 60_000);

  it('loses nothing either when two drain at once: the third has everything in the end', async () => {
    const { a, b, lookup, losses } = await cluster();
    await askAll(lookup);
    const drained = await Promise.all([a, b].map(({ owner }) => owner.drain({ timeoutMs: 60_000 })));
    expect(drained.map(({ lost }) => lost)).toEqual([0, 0]);
    expect(await askAll(lookup)).toEqual(KEYS.map(() => 2));
    expect(new Set(KEYS.map((key) => lookup.find(key)?.name))).toEqual(new Set(['c']));
    expect(losses).toEqual([]);
    await lookup.close();
  }, 60_000);

  it('is what disposing does, and so an end by signals', async () => {
    const { a, lookup, losses } = await cluster();
    await askAll(lookup);
    await a.owner[Symbol.asyncDispose]();
    expect(await askAll(lookup)).toEqual(KEYS.map(() => 2));
    expect(losses).toEqual([]);
    await lookup.close();
  }, 60_000);

  it('is what closing does: nothing is lost', async () => {
    const { a, lookup, losses } = await cluster();
    await askAll(lookup);
    await a.owner.close();
    expect(await askAll(lookup)).toEqual(KEYS.map(() => 2));
    expect(losses).toEqual([]);
    await lookup.close();
  }, 60_000);

  it('goes out by one way only: the last one leaves at once, and its keys are lost', async () => {
    const { owner } = await start('a');
    await owner.whenOwned('room-1');
    const ranges = owner.ranges().length;
    expect(await owner.drain({ timeoutMs: 600_000 })).toEqual({ moved: 0, lost: ranges });
  }, 60_000);

  it('waits for no other that drains, too: all leave at once, and everything is lost', async () => {
    const { a, b, c, lookup } = await cluster();
    const owners = [a, b, c].map(({ owner }) => owner);
    const before = owners.map((owner) => owner.ranges().length);
    const drained = await Promise.all(owners.map((owner) => owner.drain({ timeoutMs: 600_000 })));
    // What one has handed to another before a Manager knew that both drain is lost there.
    const sum = (counts: readonly number[]): number => counts.reduce((one, other) => one + other, 0);
    expect(sum(drained.map(({ lost }) => lost))).toBe(sum(before));
    await lookup.close();
  }, 60_000);

  it('loses everything at once where keys do not move', async () => {
    const owner = await joinPool({
      ...{ managers: [manager.address], pool, name: 'z', url: 'local://z', logger: silent },
    });
    await owner.whenOwned('room-1');
    const ranges = owner.ranges().length;
    expect(await owner.drain({ timeoutMs: 600_000 })).toEqual({ moved: 0, lost: ranges });
    expect(await owner.closed).toBeUndefined();
  }, 60_000);

  it('waits for guarded work under way, and callers wait for the next owner', async () => {
    const { a, lookup, losses } = await cluster();
    await askAll(lookup);
    const key = KEYS.find((each) => lookup.find(each)?.name === 'a') as string;
    let finish = (): void => {};
    const working = a.owner.guard(key, async (held) => {
      await new Promise<void>((resolve) => (finish = resolve));
      return a.rooms.set(held, 100);
    });
    const draining = a.owner.drain({ timeoutMs: 60_000 });
    const left = (): number => a.owner.ranges().length;
    await vi.waitUntil(() => left() === 1, patience);
    expect(a.owner.check(key)).toBeDefined();
    finish();
    expect(await working).toBe(100);
    expect(await draining).toMatchObject({ lost: 0 });
    expect(await ask(lookup, key)).toBe(101);
    expect(losses).toEqual([]);
    await lookup.close();
  }, 60_000);

  it('hands over everything although its keys are never idle for as long as a short stop', async () => {
    const { a, lookup, losses } = await cluster({ moves: { stopTimeoutMs: 10 } });
    await askAll(lookup);
    const ofA = KEYS.filter((key) => lookup.find(key)?.name === 'a');
    losses.length = 0;
    let isOver = false;
    const asking = ofA.map(async (key) => {
      for (let count = 2; !isOver; count += 1) expect(await ask(lookup, key, 100)).toBe(count);
    });
    const draining = a.owner.drain({ timeoutMs: 30_000 }).finally(() => (isOver = true));
    expect(await draining).toMatchObject({ lost: 0 });
    await Promise.all(asking);
    expect(losses).toEqual([]);
    await lookup.close();
  }, 60_000);

  it('brings what the application keeps by itself, and asks it before and after', async () => {
    const story: string[] = [];
    const memory = new Map<string, Map<string, number>>();
    const join = async (name: string): Promise<void> => {
      const own = new Map<string, number>();
      memory.set(name, own);
      const server = await start(name, {
        onDepart: (_, { isStopped }) => void story.push(`${name} departs, stopped: ${isStopped}`),
        onArrive: (ranges) => {
          const here = [...own.keys()].filter((key) => ranges.has(key));
          story.push(`${name} has ${here.length > 0 ? 'some' : 'none'}`);
        },
      });
      server.owner.movable(
        'own',
        keyedState<number>({
          entries: (keys) => [...own].filter(([key]) => keys.has(key)),
          read: (key) => own.get(key),
          write: (key, value) => void own.set(key, value),
          forget: (keys) => {
            for (const key of [...own.keys()]) if (keys.has(key)) own.delete(key);
          },
        }),
      );
    };
    await join('a');
    await join('b');
    const [a, b] = servers as [Server, Server];
    const isShared = (): boolean =>
      KEYS.every((key) => (a.owner.check(key) ?? b.owner.check(key)) !== undefined);
    await vi.waitUntil(() => b.owner.ranges().length > 0 && isShared(), patience);
    for (const key of KEYS) memory.get(a.owner.check(key) === undefined ? 'b' : 'a')?.set(key, 7);
    expect(await a.owner.drain({ timeoutMs: 60_000, otherwise: 'stay' })).toMatchObject({ lost: 0 });
    expect([memory.get('a')?.size, memory.get('b')?.size]).toEqual([0, KEYS.length]);
    expect(story).toContain('a departs, stopped: false');
    expect(story).toContain('a departs, stopped: true');
    expect(story).toContain('b has some');
  }, 60_000);

  it('loses what cannot be flushed, at its end, and tells of it', async () => {
    const { a, lookup, losses } = await cluster({
      onDepart: () => {
        throw new Error('the store is down');
      },
    });
    const ofA = KEYS.filter((key) => lookup.find(key)?.name === 'a');
    const ranges = a.owner.ranges().length;
    expect(await a.owner.drain({ timeoutMs: 500 })).toEqual({ moved: 0, lost: ranges });
    await vi.waitUntil(() => ofA.every((key) => losses.some((loss) => loss.has(key))), patience);
    await lookup.close();
  }, 60_000);

  it('hands nothing to an owner that moves nothing', async () => {
    const { owner } = await start('a');
    await owner.whenOwned('room-1');
    const other = await joinPool({
      managers: [manager.address],
      pool,
      name: 'z',
      url: 'local://z',
      logger: silent,
    });
    const failed = owner.drain({ timeoutMs: 500, otherwise: 'stay' });
    await expect(failed).rejects.toMatchObject({
      ...{ code: 'NOT_DRAINED', retryable: true },
      details: { progress: { moved: 0, waitsFor: 'target' } },
    });
    expect(owner.status()).toMatchObject({ isReady: true, intent: 'stay' });
    await other.close();
  }, 60_000);
});

describe('an owner that is cordoned', () => {
  it('takes no keys, and takes them again afterwards', async () => {
    const [a, b] = [await start('a'), await start('b')];
    await vi.waitUntil(() => a.owner.ranges().length > 0 && b.owner.ranges().length > 0, patience);
    b.owner.cordon();
    await expect(a.owner.drain({ timeoutMs: 500, otherwise: 'stay' })).rejects.toMatchObject({
      code: 'NOT_DRAINED',
    });
    expect(b.owner.status().intent).toBe('cordoned');
    b.owner.uncordon();
    expect(await a.owner.drain({ timeoutMs: 60_000, otherwise: 'stay' })).toMatchObject({ lost: 0 });
  }, 60_000);
});

describe('an owner that an operator empties', () => {
  it('stays, ready and without keys, and is given some again when it is uncordoned', async () => {
    const { a, b, c, lookup, losses } = await cluster();
    await askAll(lookup);
    losses.length = 0;
    await manager.order(pool, { kind: 'drain', owner: 'a' });
    await vi.waitUntil(() => a.owner.ranges().length === 0, patience);
    expect(a.owner.status()).toMatchObject({ isReady: true, intent: 'emptying', ranges: 0 });
    expect(
      a.owner
        .toService()
        .checks?.()
        .map((check) => check.standsStill(instant(0))),
    ).toEqual([undefined, undefined]);
    expect(await askAll(lookup)).toEqual(KEYS.map(() => 2));
    expect(losses).toEqual([]);
    await manager.order(pool, { kind: 'uncordon', owner: 'a' });
    await vi.waitUntil(() => a.owner.status().intent === 'stay', patience);
    const drained = await Promise.all(
      [b, c].map(({ owner }) => owner.drain({ timeoutMs: 60_000, otherwise: 'stay' })),
    );
    expect(drained.map(({ lost }) => lost)).toEqual([0, 0]);
    expect(await askAll(lookup)).toEqual(KEYS.map(() => 3));
    await lookup.close();
  }, 60_000);
});

describe('moves', () => {
  it.each([
    ['onGrant without onArrive', { onGrant: () => {} }, 'onArrive'],
    ['onRevoke without onDepart', { onRevoke: () => {} }, 'onDepart'],
    ['a number', { moves: 1 }, 'moves'],
    ['an option that is none', { moves: { atOnce: 1 } }, 'moves.atOnce'],
    ['three at once', { moves: { maxAtOnce: 3 } }, 'moves.maxAtOnce'],
    ['a port that means another machine to others', { listen: '0.0.0.0:0', insecure: true }, 'advertise'],
    ['an address that is none', { advertise: 'nowhere' }, 'advertise'],
    ['a port without moves', { moves: false, listen: '127.0.0.1:0' }, 'listen'],
  ] as const)('are refused before anything has started with %s', async (_, more, option) => {
    await expect(start('a', more as object)).rejects.toMatchObject({
      name: 'InvalidArgumentError',
      details: { option },
    });
  });

  it('are refused a port for all the world without a token', async () => {
    await expect(start('a', { listen: '0.0.0.0:0' } as object)).rejects.toMatchObject({
      code: 'NO_TOKEN',
      details: { option: 'listen' },
    });
  });

  it('are refused a map without a name; and state by name is refused without moves', async () => {
    const { owner } = await start('a');
    expect(() => owner.leasedMap()).toThrow(/needs a name/);
    const other = await joinPool({
      managers: [manager.address],
      pool,
      name: 'z',
      url: 'local://z',
      logger: silent,
    });
    expect(() => other.movable('own', keyedState<number>(nothing))).toThrow(/moves: true/);
    await other.close();
  });
});
