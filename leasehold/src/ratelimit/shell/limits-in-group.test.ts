import { afterEach, describe, expect, it, vi } from 'vitest';
import { type GroupMember, joinGroup } from '../../membership/index.ts';
import { lastingPort } from '../../node/testing/lasting-port.ts';
import { silent } from '../../runtime/logger.ts';
import type { RateLimitResult } from '../core/local/result.ts';
import type { SharedLimits } from './shared-limits.ts';
import type { Limiter } from './limiter.ts';
import { ratelimit, type RateLimitOptions } from './ratelimit.ts';
import { joinLimits } from './join-limits.ts';
import { joinLimitsInGroup } from './limits-in-group.ts';

const LONG_MS = 30_000;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function groupOf(names: readonly string[], size = names.length): Promise<readonly GroupMember[]> {
  const addresses = new Map<string, string>();
  for (const name of names) addresses.set(name, `127.0.0.1:${await lastingPort()}`);
  const groups: GroupMember[] = [];
  for (const [name, listen] of addresses) {
    const peers = Object.fromEntries([...addresses].filter(([peer]) => peer !== name));
    const group = await joinGroup({ name, listen, peers, maxServers: size, logger: silent });
    closing.push(() => group.close());
    groups.push(group);
  }
  return groups;
}

/** Until all servers act in one view, and owners may mint. */
async function limitersOf(
  groups: readonly GroupMember[],
  options: Partial<RateLimitOptions> = {},
): Promise<readonly Limiter[]> {
  const handles = groups.map((group) => joinLimitsInGroup({ group }));
  const limiters = handles.map((shared) =>
    ratelimit({
      name: 'api',
      limit: 20,
      per: '1h',
      shared,
      askTimeoutMs: 5_000,
      whenCutOff: 'closed',
      ...options,
    }),
  );
  await vi.waitFor(() => {
    for (const group of groups) expect(group.view?.members).toHaveLength(groups.length);
  }, LONG_MS);
  for (const [at, limiter] of limiters.entries()) {
    for (let key = 0; key < 20; key += 1) {
      await vi.waitFor(async () => {
        expect((await limiter.consume(`warm-up ${at} ${key}`)).denied).not.toBe('cut-off');
      }, LONG_MS);
    }
  }
  return limiters;
}

/** No more than these; a few less on a slow machine, because borrowed tokens are lost when nobody uses them in time. */
function expectAbout(most: number, answers: readonly (RateLimitResult | undefined)[]): void {
  const { length } = answers.filter((answer) => answer?.allowed);
  expect(length).toBeLessThanOrEqual(most);
  expect(length).toBeGreaterThanOrEqual(most - 5);
}

describe('servers of a group that share a limit', () => {
  it('allow its burst together, and no more, whichever of them is asked', async () => {
    const limiters = await limitersOf(await groupOf(['ada', 'ben', 'cyd']));
    const places = new Set<string | undefined>();
    for (const key of ['ann', 'bob', 'eve', 'kim', 'lou', 'max']) {
      const answers = [];
      for (let count = 0; count < 30; count += 1) answers.push(await limiters[count % 3]?.consume(key));
      expectAbout(20, answers);
      expect(answers.at(-1)).toMatchObject({ allowed: false, denied: 'rate' });
      for (const answer of answers) places.add(answer?.by);
    }
    expect([...places].sort()).toEqual(['batch', 'cached', 'owner']);
  }, 60_000);

  it('use their part of the limit when some of them are missing', async () => {
    const [limiter] = await limitersOf(await groupOf(['ada', 'ben'], 4));
    const answers = [];
    for (let count = 0; count < 30; count += 1) answers.push(await limiter?.consume('ann'));
    expectAbout(10, answers);
  }, 60_000);

  it('go on with the limit of the rest when one of them leaves', async () => {
    const groups = await groupOf(['ada', 'ben', 'cyd']);
    const limiters = await limitersOf(groups, { limit: 1_000, per: '1s', whenCutOff: 'closed' });
    await groups[2]?.close();
    for (const key of ['ann', 'bob', 'eve', 'kim', 'lou', 'max']) {
      await vi.waitFor(async () => expect((await limiters[0]?.consume(key))?.allowed).toBe(true), LONG_MS);
    }
    expect(await limiters[2]?.consume('ann')).toMatchObject({ allowed: false, denied: 'closed' });
  }, 60_000);

  it('decide all keys by an owner when one server of the group shares no limits, or stops sharing and stays', async () => {
    const groups = await groupOf(['ada', 'ben', 'cyd']);
    await vi.waitFor(
      () => expect(groups.map(({ view }) => view?.members.length)).toEqual([3, 3, 3]),
      LONG_MS,
    );
    const handles = groups.slice(0, 2).map((group) => joinLimitsInGroup({ group }));
    const limiters = handles.map((shared) =>
      ratelimit({ name: 'api', limit: 20, per: '1h', shared, askTimeoutMs: 5_000, whenCutOff: 'closed' }),
    );
    await Promise.all(handles.map((handle) => handle.ready()));
    const keys = Array.from({ length: 60 }, (_, at) => `key-${at}`);
    for (const key of keys)
      for (const limiter of limiters) expect(await limiter.consume(key)).toMatchObject({ allowed: true });
    await handles[1]?.close();
    for (const key of keys) {
      await vi.waitFor(
        async () => expect(await limiters[0]?.consume(key)).toMatchObject({ allowed: true, by: 'owner' }),
        LONG_MS,
      );
      expect(limiters[0]?.peek(key).remaining).toBeLessThanOrEqual(17);
    }
  }, 60_000);

  it('have no tokens more when a server that leaves hands a key without tokens over', async () => {
    const groups = await groupOf(['ada', 'ben']);
    const handles = groups.map((group) => joinLimitsInGroup({ group }));
    const limiters = handles.map((shared) => ratelimit({ name: 'api', limit: 20, per: '1h', shared }));
    await Promise.all(handles.map((handle) => handle.ready()));
    await vi.waitFor(() => expect(groups.map(({ view }) => view?.members.length)).toEqual([2, 2]), LONG_MS);
    await Promise.all(handles.map((handle) => handle.ready()));
    const keys = ['ann', 'bob', 'eve', 'kim', 'lou', 'max', 'pat', 'sue'];
    const owned = keys.filter((key) => limiters[0]?.peek(key).by === 'owner');
    expect(owned).not.toEqual([]);
    for (const key of owned) for (let count = 0; count < 20; count += 1) await limiters[0]?.consume(key);
    await handles[0]?.close();
    for (const key of owned) expect(limiters[1]?.peek(key)).toMatchObject({ by: 'owner', denied: 'rate' });
    await groups[0]?.close();
    await vi.waitFor(() => expect(groups[1]?.view?.members).toEqual(['ben']), LONG_MS);
    for (const key of owned) expect(limiters[1]?.peek(key)).toMatchObject({ denied: 'rate' });
  }, 60_000);

  it('find out that their limits or sizes differ, say so, and count with the greater size', async () => {
    const groups = await groupOf(['ada', 'ben']);
    const handles = groups.map((group, at) => joinLimitsInGroup({ group, maxServers: 2 + 2 * at }));
    const limiters = handles.map((shared) => ratelimit({ name: 'api', limit: 20, per: '1h', shared }));
    await vi.waitFor(async () => {
      for (const limiter of limiters) {
        for (const key of ['ann', 'bob', 'eve', 'kim', 'lou', 'max']) await limiter.consume(key);
      }
      expect(handles.map((handle) => handle.status().differences.length)).toEqual([1, 1]);
    }, LONG_MS);
    expect(handles[0]?.status().differences[0]).toMatchObject({
      ours: expect.stringContaining('maxServers 2'),
      theirs: expect.stringContaining('maxServers 4'),
    });
  }, 60_000);

  it('are not ready in a group with more servers than its size', async () => {
    const groups = await groupOf(['ada', 'ben', 'cyd']);
    const handles = groups.map((group, at) => joinLimitsInGroup({ group, maxServers: at === 0 ? 2 : 3 }));
    await vi.waitFor(
      () => expect(groups.map(({ view }) => view?.members.length)).toEqual([3, 3, 3]),
      LONG_MS,
    );
    await expect(handles[0]?.ready()).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      details: expect.objectContaining({ option: 'maxServers' }),
    });
    await handles[1]?.ready();
    expect(handles.map((handle) => handle.status().isReady)).toEqual([false, true, expect.any(Boolean)]);
    expect(handles[0]?.whyCutOff).toContain('raise maxServers');
  }, 60_000);

  it('give up or close their limits by the signal of the beginning, and stay in the group', async () => {
    const [group] = await groupOf(['ada']);
    if (group === undefined) throw new Error('ada has joined');
    const gone = AbortSignal.abort(new Error('not wanted any more'));
    await expect(joinLimits({ group, signal: gone })).rejects.toThrow('not wanted any more');
    await expect(joinLimits({ name: 'ada', signal: gone })).rejects.toThrow('not wanted any more');
    const life = new AbortController();
    const shared = await joinLimits({ group, signal: life.signal });
    await shared.ready({ timeoutMs: LONG_MS });
    expect(shared.status()).toMatchObject({
      instance: 'default',
      name: 'ada',
      address: 'ada',
      isReady: true,
    });
    life.abort();
    expect(await shared.closed).toBeUndefined();
    await vi.waitFor(() => expect(group.standing()).toBe('acts'), LONG_MS);
    await using again = await joinLimits({ group });
    await again.ready({ timeoutMs: LONG_MS });
  }, 60_000);

  it('need to know how many servers there can be', async () => {
    const name = 'ada';
    await using group = await joinGroup({
      name,
      listen: `127.0.0.1:${await lastingPort()}`,
      peers: {},
      logger: silent,
    });
    for (const maxServers of [undefined, 0, -1, 1.5, Number.POSITIVE_INFINITY]) {
      expect(() => joinLimitsInGroup({ group, maxServers })).toThrow(
        expect.objectContaining({
          code: 'INVALID_OPTION',
          details: expect.objectContaining({ option: 'maxServers' }),
        }),
      );
    }
    const shared: SharedLimits = joinLimitsInGroup({ group, maxServers: 2 });
    expect(() => ratelimit({ name: 'api', limit: 5, shared, whenCutOff: 'share', maxServers: 2 })).toThrow(
      'maxServers',
    );
    expect(() => joinLimitsInGroup({ group, maxServers: 2 })).toThrow('already');
  }, 60_000);
});
