/** What owners, look-ups and Managers have in common as handles, on real sockets. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silent } from '../../runtime/logger.ts';
import { instant } from '../../runtime/time.ts';
import { connectLookup } from './lookup/connect-lookup.ts';
import type { PoolManager } from './manager/pool-manager.ts';
import { startManager } from './manager/start-manager.ts';
import { joinPool } from './owner/join-pool.ts';
import { Refusals } from './refusals.ts';

const pool = 'presence';
const begin = { pool, logger: silent };

let manager: PoolManager;
beforeEach(async () => {
  manager = await startManager({ listen: '127.0.0.1:0', firstStart: true, logger: silent });
});
afterEach(() => manager.close());

const join = (more: object = {}) =>
  joinPool({ ...begin, managers: [manager.address], name: 'a', url: 'http://a', ...more });
const connect = (more: object = {}) => connectLookup({ ...begin, managers: [manager.address], ...more });

describe('the status', () => {
  it('of an owner says what it holds, and is not ready once it is closed', async () => {
    const owner = await join();
    await owner.whenOwned('alice');
    expect(owner.status()).toMatchObject({
      ...{ module: 'pool', role: 'owner', instance: pool, name: 'a', isReady: true, waitsFor: undefined },
      ...{ problems: [], isAdmitted: true, sharePercent: 100 },
    });
    await owner.close();
    expect(owner.status()).toMatchObject({ isReady: false, ranges: 0, sharePercent: 0 });
  });

  it('of a look-up says how old its table is', async () => {
    await using lookup = await connect();
    const { ageMs, position, ...rest } = lookup.status();
    expect(rest).toMatchObject({ module: 'pool', role: 'lookup', isReady: true, isCutOff: false });
    expect(ageMs).toBeGreaterThanOrEqual(0);
    expect(position).toMatchObject({ history: manager.observe().history });
  });

  it('of a Manager says which Manager leads', () => {
    expect(manager.status()).toMatchObject({
      ...{ module: 'manager', role: 'leading', name: manager.name, isReady: true, term: 1 },
      leader: { name: manager.name, address: manager.address },
    });
  });

  it('names a refusal as a problem, with its age, until the refusal is over', () => {
    let now = 0;
    const refusals = new Refusals('owner', silent, { now: () => instant(now) });
    const refused = { kind: 'refused', pool, asker: 'i', code: 'NAME_IN_USE', retryable: true } as const;
    refusals.heard({ ...refused, message: 'another has this name' });
    now = 700;
    refusals.heard({ ...refused, message: 'another still has this name' });
    now = 1_000;
    expect(refusals.problems).toMatchObject([
      { id: 'NAME_IN_USE', level: 'failing', what: 'another still has this name', sinceMs: 1_000 },
    ]);
    expect(refusals.last).toMatchObject({ name: 'InUseError', retryable: true });
    refusals.forget();
    expect(refusals.problems).toEqual([]);
  });
});

describe('a wait', () => {
  it('for a key ends with TIMEOUT when its time is over, and nothing was done', async () => {
    await using lookup = await connect();
    const over = { name: 'UnavailableError', code: 'TIMEOUT', retryable: true, details: { timeoutMs: 20 } };
    await expect(lookup.whenFound('alice', { timeoutMs: 20 })).rejects.toMatchObject(over);
    const why = new Error('no patience');
    await expect(lookup.whenFound('alice', { signal: AbortSignal.abort(why) })).rejects.toBe(why);
  });

  it('for readiness ends at once where nothing is awaited, and with CLOSED at the end', async () => {
    await using owner = await join();
    await using lookup = await connect();
    await Promise.all([owner.ready(), lookup.ready(), manager.ready(), manager.whenLeading()]);
    await lookup.close();
    await expect(lookup.ready()).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

describe('the signal of a beginning', () => {
  it('closes an owner, a look-up and a Manager later', async () => {
    const life = new AbortController();
    const another = await startManager({
      ...{ listen: '127.0.0.1:0', firstStart: true, logger: silent },
      signal: life.signal,
    });
    const [owner, lookup] = [await join({ signal: life.signal }), await connect({ signal: life.signal })];
    life.abort();
    expect(await Promise.all([owner.closed, lookup.closed, another.closed])).toEqual([
      ...[undefined, undefined, undefined],
    ]);
    expect(() => lookup.find('alice')).toThrow(expect.objectContaining({ code: 'CLOSED' }));
  });
});

describe('what is told', () => {
  it('as events begins where a reader left off, and ends with the handle', async () => {
    const owner = await join();
    await owner.whenOwned('alice');
    const kinds: string[] = [];
    let after = '';
    for await (const { kind, id } of owner.events({ after: 'other-1' })) {
      kinds.push(kind);
      after = id;
      if (kind === 'pool.granted') break;
    }
    expect(kinds).toEqual(['gap', 'pool.admitted', 'pool.granted']);
    const rest: string[] = [];
    const reading = (async () => {
      for await (const { kind } of owner.events({ after })) rest.push(kind);
    })();
    await owner.close();
    await reading;
    expect(rest.filter((kind) => kind !== 'pool.lost')).toEqual([]);
  });

  it('by watch() is the position of the table, now and at each change, until the end', async () => {
    const lookup = await connect();
    const seen: number[] = [];
    const watching = (async () => {
      for await (const { position } of lookup.watch()) seen.push(position);
    })();
    await using owner = await join();
    await owner.whenOwned('alice');
    await lookup.whenFound('alice');
    await lookup.close();
    await watching;
    expect(seen.length).toBeGreaterThan(1);
    expect(seen).toEqual([...seen].sort((one, other) => one - other));
  });

  it('of a Manager as events has its own election and the joins of owners', async () => {
    await using owner = await join();
    await owner.whenOwned('alice');
    const kinds: string[] = [];
    for await (const { kind } of manager.events({ after: 'other-1' })) {
      kinds.push(kind);
      if (kind === 'pool.joined') break;
    }
    expect(kinds[0]).toBe('gap');
    expect(kinds).toContain('manager.elected');
  });
});

describe('the time limit of a wait', () => {
  it.each([Number.NaN, -5, '5', null])('is refused if it is %s', async (timeoutMs) => {
    await using owner = await join();
    const wrong = { timeoutMs } as { timeoutMs: number };
    const refused = { code: 'INVALID_OPTION', retryable: false };
    await expect(owner.ready(wrong)).rejects.toMatchObject(refused);
    await expect(owner.whenOwned('alice', wrong)).rejects.toMatchObject(refused);
    await expect(manager.ready({ signal: 5 } as object)).rejects.toMatchObject(refused);
  });
});
