import { cp, open, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { TestCell } from './testing/cells.ts';

const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);
const eventually = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 });

/** A cell in which only `a` and `c` know of the last write, and the directory of `c` is older than that. */
async function forgotten(restore: (cell: TestCell) => Promise<void>): Promise<TestCell> {
  const cell = await TestCell.started('a', 'b', 'c');
  await (await cell.connect('a', 'c')).put('k', 'old');
  await cell.stop('b');
  await cp(cell.directory('c'), cell.directory('backup'), { recursive: true, preserveTimestamps: true });
  // A member writes down the votes that were heard of the others with the next frame: that of the second write.
  for (const value of ['newer', 'new'])
    await (await cell.connect('a', 'c')).put('k', value, { timeoutMs: 20_000 });
  await cell.stop('c');
  await cell.stop('a');
  await restore(cell);
  return cell;
}

describe('a directory that is restored from a backup of its present life', () => {
  it.each([
    [
      'in an empty directory',
      async (cell: TestCell) => {
        await rm(cell.directory('c'), { recursive: true });
        await cp(cell.directory('backup'), cell.directory('c'), { recursive: true });
      },
    ],
    [
      'over the files that were there',
      (cell: TestCell) => cp(cell.directory('backup'), cell.directory('c'), { recursive: true, force: true }),
    ],
  ])(
    'does not vote with a member that was away, and is refused by one that was not, %s',
    async (_, restore) => {
      await using cell = await forgotten(restore);
      await cell.start('b');
      const c = await cell.start('c');
      await eventually(() => expect(c.status()).toMatchObject({ role: 'checking-in', awaited: ['a'] }));
      await expect((await cell.connect('b', 'c')).get('k', { timeoutMs: 3_000 })).rejects.toMatchObject({
        code: 'TIMEOUT',
      });
      await cell.start('a');
      expect(await c.closed).toMatchObject({ code: 'DATA_LOST', details: { reason: 'old-copy' } });
      const { value } = await (await cell.connect('a', 'b')).get('k', { timeoutMs: 20_000 });
      expect(text(value)).toBe('new');
      await c[Symbol.asyncDispose]();
      await expect(cell.start('c')).rejects.toMatchObject({ code: 'DATA_LOST' });
    },
  );
});

/** The newest segment. */
async function segmentOf(cell: TestCell, name: string): Promise<string> {
  const files = await readdir(cell.directory(name));
  return (
    files
      .filter((each) => each.endsWith('.journal'))
      .toSorted()
      .at(-1) ?? expect.unreachable()
  );
}

/** Overwrites a part of a file in place. */
async function overwrite(path: string, at: number, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, at);
}

describe('a journal whose last frames others have counted', () => {
  it.each([
    [
      'in which a byte of the last frame was changed',
      'votes-missing',
      async (cell: TestCell) => {
        const path = join(cell.directory('c'), await segmentOf(cell, 'c'));
        const bytes = await readFile(path);
        const at = bytes.lastIndexOf('newer');
        const begin = bytes.lastIndexOf('LHfr', at);
        const end = begin + 24 + bytes.readUInt32LE(begin + 4);
        await overwrite(path, end, new Uint8Array(bytes.length - end)); // As after a crash before the marks that follow.
        await overwrite(path, at, new TextEncoder().encode('N'));
      },
    ],
    [
      'over which an older one was copied, with its old times',
      'old-copy',
      async (cell: TestCell) => {
        const segment = await segmentOf(cell, 'c');
        const from = join(cell.directory('backup'), segment);
        const { atime, mtime } = await stat(from);
        const path = join(cell.directory('c'), segment);
        await using file = await open(path, 'w');
        await file.writeFile(await readFile(from));
        await utimes(path, atime, mtime);
      },
    ],
  ])(
    '%s, does not vote with a member that was away, now or after another start',
    async (_, reason, restore) => {
      await using cell = await forgotten(restore);
      await cell.start('b');
      for (let starts = 0; starts < 2; starts += 1) {
        await cell.stop('c');
        const c = await cell.start('c');
        await eventually(() => expect(c.status()).toMatchObject({ role: 'checking-in', awaited: ['a'] }));
        await expect((await cell.connect('b', 'c')).get('k', { timeoutMs: 2_000 })).rejects.toMatchObject({
          code: 'TIMEOUT',
        });
      }
      await cell.start('a');
      const c = cell.replicas.get('c') ?? expect.unreachable();
      expect(await c.closed).toMatchObject({ code: 'DATA_LOST', details: { reason } });
      const { value } = await (await cell.connect('a', 'b')).get('k', { timeoutMs: 20_000 });
      expect(text(value)).toBe('new');
    },
  );
});

describe('a replica that comes back to a cell whose other members have forgotten a write', () => {
  it('ends with an error that names the slot, instead of going on with another history', async () => {
    // As a volume that goes back: the same files, with their old content and times.
    const goBack = async (cell: TestCell): Promise<void> => {
      for (const name of await readdir(cell.directory('backup'))) {
        const from = join(cell.directory('backup'), name);
        const to = join(cell.directory('c'), name);
        const { atime, mtime } = await stat(from);
        await using file = await open(to, 'w');
        await file.writeFile(await readFile(from));
        await utimes(to, atime, mtime);
      }
    };
    await using cell = await forgotten(goBack);
    await cell.start('b');
    await cell.start('c');
    await cell.ready();
    const client = await cell.connect('b', 'c');
    // Histories are compared once the leader has decided as many slots as the replica that comes back.
    for (let write = 0; write < 20; write += 1)
      await client.put('k', `other ${write}`, { timeoutMs: 20_000 });
    const a = await cell.start('a');
    expect(await a.closed).toMatchObject({ code: 'HISTORIES_DIFFER', retryable: false });
  });
});

describe('a directory that was moved with everything in it', () => {
  it('serves again once every other member has confirmed it, and after that by a majority', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await (await cell.connect('a')).put('k', 'v');
    await cell.stop('c');
    await cp(cell.directory('c'), cell.directory('moved'), { recursive: true });
    const directory = cell.directory('moved');
    await cell.serves('c', { directory });
    await cell.stop('c');
    await cell.stop('a');
    await cell.serves('c', { directory });
    expect(text((await (await cell.connect('b')).get('k', { timeoutMs: 20_000 })).value)).toBe('v');
  });
});

describe('a copy of a directory in use', () => {
  it('is refused when the links of the original break, if the original has voted since', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await cp(cell.directory('c'), cell.directory('copy'), { recursive: true });
    for (let times = 0; times < 3; times += 1) await (await cell.connect('c')).put('k', `${times}`);
    const original = cell.replicas.get('c') ?? expect.unreachable();
    const listen = await cell.freeAddress();
    const directory = cell.directory('copy');
    const copy = await cell.start('c', { directory, listen, peers: { ...cell.peers, c: listen } });
    await eventually(() => expect(copy.status().role).toBe('checking-in'));
    await original[Symbol.asyncDispose](); // For the others the links of the original are gone, and the copy is there.
    expect(await copy.closed).toMatchObject({ code: 'DATA_LOST', details: { reason: 'old-copy' } });
  });
});

describe('a backup of a directory that waited for the others', () => {
  it('is asked about by all members after the founding, and refused by one that heard its votes', async () => {
    await using cell = await TestCell.of('a', 'b', 'c');
    const waiting = await cell.start('c');
    await eventually(() => expect(waiting.status().role).toBe('gathering'));
    await cp(cell.directory('c'), cell.directory('backup'), { recursive: true });
    await cell.start('a');
    await cell.start('b');
    await cell.ready();
    await cell.stop('b'); // It knows the founders, and need not have heard a vote.
    await cell.stop('c');
    await rm(cell.directory('c'), { recursive: true });
    await cp(cell.directory('backup'), cell.directory('c'), { recursive: true });
    await cell.start('b');
    const c = await cell.start('c');
    expect(await c.closed).toMatchObject({ code: 'DATA_LOST', details: { reason: 'old-copy' } });
  });

  it.each([{}, { newcomer: true }])('is not put beside a newer journal (%o)', async (options) => {
    await using cell = await TestCell.of('a', 'b');
    const waiting = await cell.start('a');
    await eventually(() => expect(waiting.status().role).toBe('gathering'));
    await cp(cell.directory('a'), cell.directory('backup'), { recursive: true });
    await cell.start('b');
    await cell.ready();
    await cell.stop('a');
    await cp(join(cell.directory('backup'), 'identity'), join(cell.directory('a'), 'identity'));
    const error = { code: 'DIRECTORY_MISMATCH' };
    await expect(cell.serves('a', options)).rejects.toMatchObject(error);
  });
});
