import { cp, open, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { TestGroup } from './testing/groups.ts';

const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);
const eventually = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 });

/** A group in which only `a` and `c` know of the last write, and the directory of `c` is older than that. */
async function forgotten(restore: (group: TestGroup) => Promise<void>): Promise<TestGroup> {
  const group = await TestGroup.started('a', 'b', 'c');
  await group.connect('a', 'c').put('k', 'old');
  await group.stop('b');
  await cp(group.directory('c'), group.directory('backup'), { recursive: true, preserveTimestamps: true });
  // A member writes down the votes that were heard of the others with the next frame: that of the second write.
  for (const value of ['newer', 'new']) await group.connect('a', 'c').put('k', value, { timeoutMs: 20_000 });
  await group.stop('c');
  await group.stop('a');
  await restore(group);
  return group;
}

describe('a directory that is restored from a backup of its present life', () => {
  it.each([
    [
      'in an empty directory',
      async (group: TestGroup) => {
        await rm(group.directory('c'), { recursive: true });
        await cp(group.directory('backup'), group.directory('c'), { recursive: true });
      },
    ],
    [
      'over the files that were there',
      (group: TestGroup) =>
        cp(group.directory('backup'), group.directory('c'), { recursive: true, force: true }),
    ],
  ])(
    'does not vote with a member that was away, and is refused by one that was not, %s',
    async (_, restore) => {
      await using group = await forgotten(restore);
      await group.start('b');
      const c = await group.start('c');
      await eventually(() => expect(c.status()).toMatchObject({ state: 'checking-in', awaited: ['a'] }));
      await expect(group.connect('b', 'c').get('k', { timeoutMs: 3_000 })).rejects.toMatchObject({
        code: 'QUORUM_TIMEOUT',
      });
      await group.start('a');
      await eventually(() => expect(c.failed.aborted).toBe(true));
      expect(c.failed.reason).toMatchObject({ code: 'QUORUM_REPLICA_REFUSED', reason: 'old-copy' });
      const { value } = await group.connect('a', 'b').get('k', { timeoutMs: 20_000 });
      expect(text(value)).toBe('new');
      await c[Symbol.asyncDispose]();
      await expect(group.start('c')).rejects.toMatchObject({ code: 'QUORUM_REPLICA_REFUSED' });
    },
  );
});

/** The newest segment. */
async function segmentOf(group: TestGroup, name: string): Promise<string> {
  const files = await readdir(group.directory(name));
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
      async (group: TestGroup) => {
        const path = join(group.directory('c'), await segmentOf(group, 'c'));
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
      async (group: TestGroup) => {
        const segment = await segmentOf(group, 'c');
        const from = join(group.directory('backup'), segment);
        const { atime, mtime } = await stat(from);
        const path = join(group.directory('c'), segment);
        await using file = await open(path, 'w');
        await file.writeFile(await readFile(from));
        await utimes(path, atime, mtime);
      },
    ],
  ])(
    '%s, does not vote with a member that was away, now or after another start',
    async (_, reason, restore) => {
      await using group = await forgotten(restore);
      await group.start('b');
      for (let starts = 0; starts < 2; starts += 1) {
        await group.stop('c');
        const c = await group.start('c');
        await eventually(() => expect(c.status()).toMatchObject({ state: 'checking-in', awaited: ['a'] }));
        await expect(group.connect('b', 'c').get('k', { timeoutMs: 2_000 })).rejects.toMatchObject({
          code: 'QUORUM_TIMEOUT',
        });
      }
      await group.start('a');
      const c = group.replicas.get('c') ?? expect.unreachable();
      await eventually(() => expect(c.failed.aborted).toBe(true));
      expect(c.failed.reason).toMatchObject({ code: 'QUORUM_REPLICA_REFUSED', reason });
      const { value } = await group.connect('a', 'b').get('k', { timeoutMs: 20_000 });
      expect(text(value)).toBe('new');
    },
  );
});

describe('a replica that comes back to a group whose other members have forgotten a write', () => {
  it('ends with an error that names the slot, instead of going on with another history', async () => {
    // As a volume that goes back: the same files, with their old content and times.
    const goBack = async (group: TestGroup): Promise<void> => {
      for (const name of await readdir(group.directory('backup'))) {
        const from = join(group.directory('backup'), name);
        const to = join(group.directory('c'), name);
        const { atime, mtime } = await stat(from);
        await using file = await open(to, 'w');
        await file.writeFile(await readFile(from));
        await utimes(to, atime, mtime);
      }
    };
    await using group = await forgotten(goBack);
    await group.start('b');
    await group.start('c');
    await group.ready();
    const client = group.connect('b', 'c');
    // Histories are compared once the leader has decided as many slots as the replica that comes back.
    for (let write = 0; write < 20; write += 1)
      await client.put('k', `other ${write}`, { timeoutMs: 20_000 });
    const a = await group.start('a');
    await eventually(() => expect(a.failed.aborted).toBe(true));
    expect(a.failed.reason).toMatchObject({ code: 'QUORUM_HISTORIES_DIFFER', retryable: false });
  });
});

describe('a directory that was moved with everything in it', () => {
  it('serves again once every other member has confirmed it, and after that by a majority', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await group.connect('a').put('k', 'v');
    await group.stop('c');
    await cp(group.directory('c'), group.directory('moved'), { recursive: true });
    const directory = group.directory('moved');
    await group.serves('c', { directory });
    await group.stop('c');
    await group.stop('a');
    await group.serves('c', { directory });
    expect(text((await group.connect('b').get('k', { timeoutMs: 20_000 })).value)).toBe('v');
  });
});

describe('a copy of a directory in use', () => {
  it('is refused when the links of the original break, if the original has voted since', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await cp(group.directory('c'), group.directory('copy'), { recursive: true });
    for (let times = 0; times < 3; times += 1) await group.connect('c').put('k', `${times}`);
    const original = group.replicas.get('c') ?? expect.unreachable();
    const listen = await group.freeAddress();
    const directory = group.directory('copy');
    const copy = await group.start('c', { directory, listen, peers: { ...group.peers, c: listen } });
    await eventually(() => expect(copy.status().state).toBe('checking-in'));
    await original[Symbol.asyncDispose](); // For the others the links of the original are gone, and the copy is there.
    await eventually(() => expect(copy.failed.aborted).toBe(true));
    expect(copy.failed.reason).toMatchObject({ code: 'QUORUM_REPLICA_REFUSED', reason: 'old-copy' });
  });
});

describe('a backup of a directory that waited for the others', () => {
  it('is asked about by all members after the founding, and refused by one that heard its votes', async () => {
    await using group = await TestGroup.of('a', 'b', 'c');
    const waiting = await group.start('c');
    await eventually(() => expect(waiting.status().state).toBe('gathering'));
    await cp(group.directory('c'), group.directory('backup'), { recursive: true });
    await group.start('a');
    await group.start('b');
    await group.ready();
    await group.stop('b'); // It knows the founders, and need not have heard a vote.
    await group.stop('c');
    await rm(group.directory('c'), { recursive: true });
    await cp(group.directory('backup'), group.directory('c'), { recursive: true });
    await group.start('b');
    const c = await group.start('c');
    await eventually(() => expect(c.failed.aborted).toBe(true));
    expect(c.failed.reason).toMatchObject({ code: 'QUORUM_REPLICA_REFUSED', reason: 'old-copy' });
  });

  it.each([{}, { join: true }])('is not put beside a newer journal (%o)', async (options) => {
    await using group = await TestGroup.of('a', 'b');
    const waiting = await group.start('a');
    await eventually(() => expect(waiting.status().state).toBe('gathering'));
    await cp(group.directory('a'), group.directory('backup'), { recursive: true });
    await group.start('b');
    await group.ready();
    await group.stop('a');
    await cp(join(group.directory('backup'), 'identity'), join(group.directory('a'), 'identity'));
    const error = { code: 'QUORUM_DIRECTORY_MISMATCH' };
    await expect(group.serves('a', options)).rejects.toMatchObject(error);
  });
});
