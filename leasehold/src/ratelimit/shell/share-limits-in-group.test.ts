import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Group, joinGroup } from '../../membership/index.ts';
import { freePort } from '../../etcd/testing/free-ports.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { silent } from '../../runtime/logger.ts';
import type { RateLimitResult } from '../core/result.ts';
import { decodeBundle, encodeBundle } from '../wire/bundle.ts';
import type { LimitSharing } from './limit-sharing.ts';
import type { Limiter } from './limiter.ts';
import { ratelimit, type RateLimitOptions } from './ratelimit.ts';
import { shareLimitsInGroup } from './share-limits-in-group.ts';

const LONG_MS = 30_000;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function groupOf(names: readonly string[], size = names.length): Promise<readonly Group[]> {
  const addresses = new Map<string, string>();
  for (const name of names) addresses.set(name, `127.0.0.1:${await freePort()}`);
  const groups: Group[] = [];
  for (const [name, listen] of addresses) {
    const peers = Object.fromEntries([...addresses].filter(([peer]) => peer !== name));
    const group = await joinGroup({ name, listen, peers, size, logger: silent });
    closing.push(() => group.close());
    groups.push(group);
  }
  return groups;
}

/** Until all servers act in one view, and owners may mint. */
async function limitersOf(
  groups: readonly Group[],
  options: Partial<RateLimitOptions> = {},
): Promise<readonly Limiter[]> {
  const sharings = groups.map((group) => shareLimitsInGroup(group));
  const limiters = sharings.map((sharing) =>
    ratelimit({ name: 'api', limit: 20, per: '1h', sharing, waitMs: 5_000, ...options }),
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
    const limiters = await limitersOf(groups, { limit: 1_000, per: '1s' });
    await groups[2]?.close();
    for (const key of ['ann', 'bob', 'eve', 'kim', 'lou', 'max']) {
      await vi.waitFor(async () => expect((await limiters[0]?.consume(key))?.allowed).toBe(true), LONG_MS);
    }
    expect(await limiters[2]?.consume('ann')).toMatchObject({ allowed: false, denied: 'closed' });
  }, 60_000);

  it('find out that their limits or sizes differ, say so, and count with the greater size', async () => {
    const groups = await groupOf(['ada', 'ben']);
    const sharings = groups.map((group, at) => shareLimitsInGroup(group, { size: 2 + 2 * at }));
    const limiters = sharings.map((sharing) => ratelimit({ name: 'api', limit: 20, per: '1h', sharing }));
    await vi.waitFor(async () => {
      for (const limiter of limiters) {
        for (const key of ['ann', 'bob', 'eve', 'kim', 'lou', 'max']) await limiter.consume(key);
      }
      expect(sharings.map(({ differences }) => differences.length)).toEqual([1, 1]);
    }, LONG_MS);
    expect(sharings[0]?.differences[0]).toMatchObject({
      ours: expect.stringContaining('size 2'),
      theirs: expect.stringContaining('size 4'),
    });
  }, 60_000);

  it('need to know how many servers there can be', async () => {
    const name = 'ada';
    await using group = await joinGroup({
      name,
      listen: `127.0.0.1:${await freePort()}`,
      peers: {},
      logger: silent,
    });
    for (const size of [undefined, 0, -1, 1.5, Number.POSITIVE_INFINITY]) {
      expect(() => shareLimitsInGroup(group, { size })).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', option: 'size' }),
      );
    }
    const sharing: LimitSharing = shareLimitsInGroup(group, { size: 2 });
    expect(() => ratelimit({ name: 'api', limit: 5, sharing, whenCutOff: 'share', size: 2 })).toThrow(
      'whenCutOff',
    );
    expect(() => shareLimitsInGroup(group, { size: 2 })).toThrow('already');
  }, 60_000);
});

describe('a bundle of asks or answers', () => {
  const ask = {
    ...{ id: 7, limiter: 'api', key: 'ann', limit: 5, perMs: 1_000, burst: 5, isDefault: true },
    ...{ onLoss: 'full' as const, size: 3, need: 1, want: 4, left: [{ id: 3, tokens: 2 }] },
  };

  it('is read as it was written, in as many messages as it needs', () => {
    const asks = Array.from({ length: 40 }, (_, id) => ({ ...ask, id, key: 'k'.repeat(3_000) }));
    const messages = encodeBundle({ kind: 'asks', asks });
    expect(messages.length).toBeGreaterThan(1);
    for (const message of messages) expect(message.length).toBeLessThan(64 * 1024);
    const read = messages.map(decodeBundle).flatMap((bundle) => (bundle.kind === 'asks' ? bundle.asks : []));
    expect(read).toEqual(asks);
    const answers = [{ kind: 'later' as const, id: 9 }];
    expect(encodeBundle({ kind: 'answers', answers }).map(decodeBundle)).toEqual([
      { kind: 'answers', answers },
    ]);
  });

  it('is refused when it was cut short or is of another kind', () => {
    const [message = new Uint8Array()] = encodeBundle({ kind: 'asks', asks: [ask] });
    for (let length = 2; length < message.length; length += 1) {
      expect(() => decodeBundle(message.subarray(0, length))).toThrow(MalformedMessageError);
    }
    for (const bytes of [[], [3], [9, 1, 1]]) {
      expect(() => decodeBundle(new Uint8Array(bytes))).toThrow(MalformedMessageError);
    }
  });
});
