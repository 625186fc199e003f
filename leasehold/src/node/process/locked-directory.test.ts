import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NetworkDirectoryError, openLockedDirectory } from './locked-directory.ts';
import { openDirectory } from '../storage.ts';

const NFS = 0x6969;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leasehold-locked-directory-'));
  path = join(folder, 'data');
  await openDirectory(path);
});
afterEach(() => rm(folder, { recursive: true }));

describe('a locked directory', () => {
  it('is had once at a time, and the second is told who has it', async () => {
    const first = await openLockedDirectory(path);
    await expect(openLockedDirectory(path)).rejects.toThrow(`locked by pid ${process.pid}`);
    first[Symbol.dispose]();
    (await openLockedDirectory(path))[Symbol.dispose]();
  });

  it('is left free if its lock file cannot be had', async () => {
    await openDirectory(join(path, 'lock'));
    await expect(openLockedDirectory(path)).rejects.toMatchObject({ code: 'EISDIR' });
    await rm(join(path, 'lock'), { recursive: true });
    (await openLockedDirectory(path))[Symbol.dispose]();
  });

  it('is out of place while the path leads elsewhere, and in place again when it was put back', async () => {
    using locked = await openLockedDirectory(path);
    expect(await locked.isInPlace()).toBe(true);
    await rename(path, join(folder, 'moved'));
    expect(await locked.isInPlace()).toBe(false);
    await openDirectory(path);
    expect(await locked.isInPlace()).toBe(false);
    await rm(path, { recursive: true });
    await rename(join(folder, 'moved'), path);
    expect(await locked.isInPlace()).toBe(true);
  });

  it.runIf(process.platform === 'linux')('is written to where it is, not where the path leads', async () => {
    using locked = await openLockedDirectory(path);
    await rename(path, join(folder, 'moved'));
    const other = await openDirectory(path);
    const theirs = await other.open('1.log');
    await theirs.write(0, bytes('theirs'));
    await theirs.close();
    await writeFile(join(folder, 'moved', '1.log'), 'ours');
    await locked.storage.rename('1.log', '2.log');
    const file = await locked.storage.open('2.log');
    await file.write(0, bytes('OURS'));
    expect(await file.isInPlace()).toBe(true);
    await locked.storage.remove('2.log');
    expect(await file.isInPlace()).toBe(false);
    await file.close();
    expect(await readFile(join(path, '1.log'), 'utf8')).toBe('theirs');
  });

  it('is refused on a network file system, unless that is allowed', async () => {
    const fileSystemOf = (): number => NFS;
    const refused = openLockedDirectory(path, { fileSystemOf });
    await expect(refused).rejects.toThrow(NetworkDirectoryError);
    await expect(refused).rejects.toThrow(/NFS.*allowNetworkDirectory: true \(--allow-network-directory\)/);
    (await openLockedDirectory(path, { fileSystemOf, allowNetwork: true }))[Symbol.dispose]();
  });

  it('must be there', async () => {
    await expect(openLockedDirectory(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
