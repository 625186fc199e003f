import { describe, expect, it, vi } from 'vitest';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import { TestCell } from './testing/cells.ts';
import type { Call } from '../wire/calls.ts';
import { Watch } from './watch.ts';

const text = (value: Uint8Array | undefined): string =>
  value === undefined ? 'deleted' : new TextDecoder().decode(value);

/** The next event, as `whole a=1 b=2`. */
async function next(watch: Watch): Promise<string> {
  const { value } = await watch.next();
  const changes = value?.changes.map(
    ({ key, value: of }: { key: string; value: Uint8Array | undefined }) => `${key}=${text(of)}`,
  );
  return [...(value?.isWhole ? ['whole'] : []), ...(changes ?? [])].join(' ');
}

describe('a watch', () => {
  it('begins with what there is, and goes on with every change of its keys', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a');
    await client.putMany([
      ['x/1', '1'],
      ['y', 'other'],
    ]);
    await using watch = client.watch({ prefix: 'x/' });
    expect(await next(watch)).toBe('whole x/1=1');
    await client.put('x/2', '2');
    await client.put('y', 'again');
    await client.compareAndSet('x/2', 'absent', 'refused');
    await client.delete('x/1');
    expect(await next(watch)).toBe('x/2=2');
    expect(await next(watch)).toBe('x/1=deleted');
  });

  it('from the position of a read misses nothing that came after it', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('b');
    await client.put('k', '1');
    const { position } = await client.get('k');
    await client.put('k', '2');
    await using watch = client.watch({ key: 'k', from: position });
    expect(await next(watch)).toBe('k=2');
  });

  it('goes on at another server when its own is gone, and repeats nothing', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a', 'b', 'c');
    await client.put('k', '1');
    await using watch = client.watch({ key: 'k' });
    expect(await next(watch)).toBe('whole k=1');
    await cell.stop('a');
    const other = await cell.connect('b', 'c');
    await other.put('k', '2');
    expect(await next(watch)).toBe('k=2');
  });

  it('goes on at a leader to which its client was sent, and which was connected already', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a', 'b', 'c');
    const leadBy = async (name: string): Promise<void> => {
      await client.stepDown({ to: name, timeoutMs: 20_000 });
      await vi.waitFor(() => expect(cell.leader).toBe(name), { timeout: 20_000, interval: 20 });
    };
    await leadBy('b');
    await client.put('k', '1', { timeoutMs: 20_000 });
    await using watch = client.watch({ key: 'k' });
    expect(await next(watch)).toBe('whole k=1');
    // Each transfer sends the client on to the leader; after two transfers the client is connected to all of them.
    for (const [place, name] of ['a', 'b', 'c'].entries()) {
      await leadBy(name);
      await client.put('k', String(place + 2), { timeoutMs: 20_000 });
      expect(await next(watch)).toBe(`k=${place + 2}`);
    }
  }, 60_000);

  it('begins under another number each time, so that no reply of a server that was left behind is taken for its next change', async () => {
    const numbers: number[] = [];
    const watch = new Watch(
      { key: 'n' },
      {
        renumber: () => numbers.push(numbers.length + 1),
        ...{ send: () => {}, refused: () => {}, ended: () => {} },
      },
    );
    watch.begin(); // At another server.
    expect(numbers).toEqual([1, 2]);
  });

  it.each([
    ['jobs/', 'jobs0'],
    ['a\ud7ff', 'a\u{10000}'],
    ['a\u{10ffff}', 'a\ue000'],
    ['a\u{1f600}', 'a\u{1f601}'],
    ['a\uffff', 'b'],
    ['\uffff', undefined],
  ])('of the prefix %j ends before %j, a text that the wire can carry', (prefix, end) => {
    const calls: Call[] = [];
    new Watch(
      { prefix },
      { renumber: () => 1, send: (call) => calls.push(call), refused: () => {}, ended: () => {} },
    );
    expect(calls).toMatchObject([{ kind: 'watch', first: prefix, end }]);
  });

  it('is ended by its signal, and by the end of its client', async () => {
    await using cell = await TestCell.started('a');
    const client = await cell.connect('a');
    const ending = new AbortController();
    const watch = client.watch({ key: 'k', signal: ending.signal });
    expect(await next(watch)).toBe('whole');
    ending.abort(new Error('enough'));
    await expect(watch.next()).rejects.toThrow('enough');
    const other = client.watch({ key: 'k' });
    await other.next();
    await client[Symbol.asyncDispose]();
    await expect(other.next()).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('is refused unless it names a key, a prefix or a range', async () => {
    await using cell = await TestCell.started('a');
    const client = await cell.connect('a');
    expect(() => client.watch({})).toThrow(InvalidArgumentError);
    expect(() => client.watch({ key: 'a', prefix: 'b' })).toThrow(InvalidArgumentError);
    expect(() => client.watch({ key: 'a', from: -1 })).toThrow(InvalidArgumentError);
    expect(() => client.watch({ prefix: '\ud800' })).toThrow('well-formed Unicode');
  });

  it('is no more at the server when its client is gone', async () => {
    await using cell = await TestCell.started('a');
    const client = await cell.connect('a');
    await next(client.watch({ key: 'k' }));
    const replica = cell.replicas.get('a') ?? expect.unreachable();
    expect(replica.status().watches).toBe(1);
    await client[Symbol.asyncDispose]();
    await vi.waitFor(() => expect(replica.status().watches).toBe(0), { timeout: 20_000 });
  });
});
