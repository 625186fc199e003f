/** The arguments of clients, in the process of a replica and over TCP: all replicas agree on them, or they are refused at once. */

import { describe, expect, it, vi } from 'vitest';
import type { QuorumClient } from './quorum-client.ts';
import { TestCell } from './testing/cells.ts';

const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);
const encode = (value: string): Uint8Array => new TextEncoder().encode(value);

/** The value of the key at each replica. */
async function everywhere(cell: TestCell, key: string): Promise<readonly (string | undefined)[]> {
  const reads = [...cell.replicas.keys()].map(async (name) =>
    (await cell.connect(name)).get(key, { timeoutMs: 20_000 }),
  );
  return (await Promise.all(reads)).map(({ value }) => text(value));
}

describe('the client in the process of the leader', () => {
  it('keeps nothing that its caller can change after a write', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const leader = cell.replicas.get(cell.leader ?? '') ?? expect.unreachable();
    const values = ['first', 'Buffer', 'condition'].map((word) => Buffer.from(word));
    const [plain, buffer, condition] = values as [Buffer, Buffer, Buffer];
    await leader.client.put('plain', new Uint8Array(plain.buffer, plain.byteOffset, plain.length));
    await leader.client.transaction([], [{ do: 'put', key: 'buffer', value: buffer }]);
    await leader.client.compareAndSet('condition', { value: condition }, condition);
    await leader.client.compareAndSet('condition', 'absent', condition);
    for (const value of values) value.fill(0x21);
    expect(await everywhere(cell, 'plain')).toEqual(['first', 'first', 'first']);
    expect(await everywhere(cell, 'buffer')).toEqual(['Buffer', 'Buffer', 'Buffer']);
    expect(await everywhere(cell, 'condition')).toEqual(['condition', 'condition', 'condition']);
  });

  it('gives out nothing with which its caller can change the state', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const leader = cell.replicas.get(cell.leader ?? '') ?? expect.unreachable();
    const { client } = leader;
    await client.put('k', 'first');
    await using watch = client.watch({ key: 'k' });
    const given = [
      (await client.get('k')).value,
      (await client.snapshot(['k'])).entries[0]?.value,
      (await client.getMany(['k']))[0]?.value,
      (await client.transaction([], [{ do: 'get', key: 'k' }])).found[0]?.value,
      (await client.compareAndSet('k', 'absent', 'x')).found[0]?.value,
      (await watch.next()).value.changes[0].value,
      await vi.waitUntil(() => leader.getLocal('k')?.value, { timeout: 60_000 }),
    ];
    for (const value of given) {
      expect(text(value)).toBe('first');
      value?.fill(0x21);
    }
    expect(await everywhere(cell, 'k')).toEqual(['first', 'first', 'first']);
  });

  it('takes a text for its UTF-8 in a transaction', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const leader = cell.replicas.get(cell.leader ?? '') ?? expect.unreachable();
    await leader.client.transaction([], [{ do: 'put', key: 'k', value: 'Zürich' }]);
    expect(await everywhere(cell, 'k')).toEqual(['Zürich', 'Zürich', 'Zürich']);
  });
});

describe('an argument that a replica could not write down', () => {
  const REFUSED: readonly [string, string, (client: QuorumClient) => Promise<unknown>][] = [
    ['a key with half a surrogate pair', 'INVALID_KEY', (client) => client.put('\ud800', 'v')],
    ['a key that is no text', 'INVALID_KEY', (client) => client.get(5 as never)],
    ['a value that is no bytes', 'INVALID_OPTION', (client) => client.put('k', { a: 1 } as never)],
    ['no value', 'INVALID_OPTION', (client) => client.put('k', undefined as never)],
    ['units of two bytes', 'INVALID_OPTION', (client) => client.put('k', new Uint16Array(2) as never)],
    [
      'a list in a transaction',
      'INVALID_OPTION',
      (client) => client.transaction([], [{ do: 'put', key: 'k', value: [1] as never }]),
    ],
    [
      'an unknown action',
      'INVALID_OPTION',
      (client) => client.transaction([], [{ do: 'incr', key: 'k' } as never]),
    ],
    [
      'an unknown condition',
      'INVALID_OPTION',
      (client) => client.transaction([{ key: 'k', is: 'odd' } as never], []),
    ],
    ['a negative revision', 'INVALID_OPTION', (client) => client.compareAndSet('k', { revision: -1 }, 'v')],
    [
      'a revision beyond all',
      'INVALID_OPTION',
      (client) => client.compareAndSet('k', { revision: 2 ** 60 }, 'v'),
    ],
    [
      'a fraction of a revision',
      'INVALID_OPTION',
      (client) => client.compareAndSet('k', { revision: 0.5 }, 'v'),
    ],
    ['an unknown mode', 'INVALID_OPTION', (client) => client.get('k', { mode: 'fast' as never })],
    [
      'three slices',
      'INVALID_OPTION',
      (client) =>
        client.setReaders({ mode: 'chosen', slices: [1, 2, 3], objects: new Map(), automatic: undefined }),
    ],
    [
      'a placement that does not exist',
      'INVALID_OPTION',
      (client) => client.setReaders({ mode: 'wild' } as never),
    ],
    ['a member that is no text', 'INVALID_OPTION', (client) => client.addReplica(5 as never)],
    ['no member', 'INVALID_OPTION', (client) => client.addReplica(undefined as never)],
    ['a value with half a surrogate pair', 'INVALID_OPTION', (client) => client.put('k', 'a\ud800b')],
    [
      'an expected value with half a surrogate pair',
      'INVALID_OPTION',
      (client) => client.compareAndSet('k', { value: '\udc00' }, 'v'),
    ],
    ...[null, undefined, 'x', 5, {}].map(
      (expected): [string, string, (client: QuorumClient) => Promise<unknown>] => [
        `an expectation of ${JSON.stringify(expected)}`,
        'INVALID_OPTION',
        (client) => client.compareAndSet('k', expected as never, 'v'),
      ],
    ),
    [
      'a transaction of nothing',
      'INVALID_OPTION',
      (client) => client.transaction(...([] as unknown as [[], []])),
    ],
    ['a condition that is null', 'INVALID_OPTION', (client) => client.transaction([null as never], [])],
    ['an action that is null', 'INVALID_OPTION', (client) => client.transaction([], [null as never])],
    ['no keys', 'INVALID_OPTION', (client) => client.snapshot(undefined as never)],
    ['keys in one text', 'INVALID_OPTION', (client) => client.snapshot('abc' as never)],
    ['many keys in one text', 'INVALID_OPTION', (client) => client.getMany('abc' as never)],
    ['an entry that is null', 'INVALID_OPTION', (client) => client.putMany([null as never])],
    ['options that are null', 'INVALID_OPTION', (client) => client.get('k', null as never)],
    ['a signal that is none', 'INVALID_OPTION', (client) => client.get('k', { signal: 5 as never })],
    ['an unknown option', 'INVALID_OPTION', (client) => client.put('k', 'v', { timeoutms: 5 } as never)],
    ['a placement without a mode', 'INVALID_OPTION', (client) => client.setReaders({} as never)],
    ['no placement', 'INVALID_OPTION', (client) => client.setReaders(null as never)],
    ['a watch without options', 'INVALID_OPTION', async (client) => client.watch(null as never)],
    [
      'a watch of a range without a beginning',
      'INVALID_KEY',
      async (client) => client.watch({ range: {} as never }),
    ],
    ['a watch from beyond all', 'INVALID_OPTION', async (client) => client.watch({ key: 'k', from: 1e15 })],
    ...[Number.NaN, Number.POSITIVE_INFINITY, '500', null, -1, 5n].map(
      (timeoutMs): [string, string, (client: QuorumClient) => Promise<unknown>] => [
        `a timeout of ${String(timeoutMs)}`,
        'INVALID_OPTION',
        (client) => client.get('k', { timeoutMs: timeoutMs as never }),
      ],
    ),
    [
      'more keys than fit into a call',
      'TOO_LARGE',
      (client) => client.snapshot(Array.from({ length: 4_200 }, (_, at) => String(at).padStart(4_096, 'k'))),
    ],
  ];

  it('is refused at once with a typed error, over TCP and in the process, and the replica starts again', async () => {
    await using cell = await TestCell.started('a');
    const replica = cell.replicas.get('a') ?? expect.unreachable();
    for (const client of [await cell.connect('a'), replica.client])
      for (const [what, code, act] of REFUSED)
        await expect(act(client), what).rejects.toMatchObject({ code, retryable: false });
    await replica.client.put('k', encode('v'));
    await cell.stop('a');
    await cell.serves('a');
    expect(await everywhere(cell, 'k')).toEqual(['v']);
  });
});

describe('many long keys', () => {
  it('are read in as many packets as they need, while other calls go on', async () => {
    await using cell = await TestCell.started('a');
    const client = await cell.connect('a');
    const keys = Array.from({ length: 1_500 }, (_, at) => String(at).padStart(4_096, '€'));
    const [found] = await Promise.all([client.getMany(keys), client.put('beside', 'v')]);
    expect(found.map(({ key }) => key)).toEqual(keys);
    const some = keys.slice(0, 600);
    expect((await client.snapshot(some)).entries).toHaveLength(600);
  }, 20_000);
});

describe('an answer that is larger than a client takes', () => {
  it('is a typed error at once, over TCP and in the process, while other calls go on', async () => {
    await using cell = await TestCell.started('a');
    const replica = cell.replicas.get('a') ?? expect.unreachable();
    const keys = Array.from({ length: 20 }, (_, place) => `large/${place}`);
    const value = new Uint8Array(1024 * 1024 - 1);
    for (const key of keys) await replica.client.put(key, value, { timeoutMs: 20_000 });
    const tooLarge = { code: 'TOO_LARGE', retryable: false };
    for (const client of [await cell.connect('a'), replica.client]) {
      await expect(client.snapshot(keys)).rejects.toMatchObject(tooLarge);
      const gets = keys.map((key) => ({ do: 'get', key }) as const);
      await expect(client.transaction([], [...gets, { do: 'put', key: 'k', value: 'v' }])).rejects.toThrow(
        'was carried out',
      );
      await expect(client.watch({ prefix: 'large/' }).next()).rejects.toMatchObject(tooLarge);
      expect((await client.getMany(keys)).length).toBe(keys.length);
      expect(text((await client.get('k')).value)).toBe('v');
    }
  }, 60_000);
});
