import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../runtime/errors.ts';
import { openDirectory, FileSystemError } from './storage.ts';

let top: string;
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'leasehold-storage-'));
});
afterEach(() => rm(top, { recursive: true }));

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe('a directory', () => {
  it('is made, with those above it, for this user alone', async () => {
    const path = join(top, 'a', 'b', 'c');
    const storage = await openDirectory(path);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    expect(await storage.list()).toEqual([]);
    await storage.syncDirectory();
    expect(await (await openDirectory(path)).list()).toEqual([]);
  });

  it('lists what is there, renames files over others, and removes them', async () => {
    const storage = await openDirectory(top);
    await openDirectory(join(top, 'not a file'));
    for (const name of ['one', 'two']) {
      const file = await storage.open(name);
      await file.write(0, Buffer.from(name));
      await file.close();
    }
    await storage.rename('two', 'one');
    expect((await storage.list()).toSorted()).toEqual(['not a file', 'one']);
    expect(await readFile(join(top, 'one'), 'utf8')).toBe('two');
    await storage.remove('one');
    expect(await storage.list()).toEqual(['not a file']);
  });

  it('lists links, pipes and directories, and opens none of them', async () => {
    await writeFile(join(top, 'elsewhere'), 'a log');
    const storage = await openDirectory(join(top, 'data'));
    await symlink(join(top, 'elsewhere'), join(top, 'data', 'link'));
    await symlink(join(top, 'nowhere'), join(top, 'data', 'dangling'));
    await mkdir(join(top, 'data', 'directory'));
    execFileSync('mkfifo', [join(top, 'data', 'pipe')]);
    expect((await storage.list()).toSorted()).toEqual(['dangling', 'directory', 'link', 'pipe']);
    const codes = { dangling: 'ELOOP', directory: 'EISDIR', link: 'ELOOP', pipe: 'EFTYPE' };
    for (const [name, code] of Object.entries(codes)) {
      const opening = storage.open(name);
      await expect(opening).rejects.toThrow(FileSystemError);
      await expect(opening).rejects.toMatchObject({ code, retryable: false });
    }
  });

  it('that cannot be made says what is wrong', async () => {
    await writeFile(join(top, 'file'), '');
    const opening = openDirectory(join(top, 'file', 'below'));
    await expect(opening).rejects.toThrow(FileSystemError);
    await expect(opening).rejects.toMatchObject({ code: 'ENOTDIR', retryable: false });
  });

  it('has no files outside it', async () => {
    const storage = await openDirectory(top);
    for (const name of ['', '.', '..', '../x', 'a/b', 'a\\b', 'a\0b']) {
      await expect(storage.open(name)).rejects.toThrow(InvalidArgumentError);
    }
  });
});

describe('a file', () => {
  it('is read and written anywhere, and has zeros where nobody wrote', async () => {
    const file = await (await openDirectory(top)).open('log');
    await file.write(3, Buffer.from('abc'));
    expect(await file.size()).toBe(6);
    expect([...(await file.read(0, 100))]).toEqual([0, 0, 0, 97, 98, 99]);
    await file.write(4, Buffer.from('X'));
    expect(text(await file.read(3, 2))).toBe('aX');
    expect((await file.read(6, 10)).length).toBe(0);
    expect((await file.read(60, 10)).length).toBe(0);
    await file.truncate(4);
    await file.truncate(6);
    expect([...(await file.read(3, 9))]).toEqual([97, 0, 0]);
    await file.sync();
    await file.close();
    expect((await stat(join(top, 'log'))).mode & 0o777).toBe(0o600);
  });

  it('takes and gives more than one call of the system does', async () => {
    const file = await (await openDirectory(top)).open('log');
    const much = Buffer.alloc(9_000_000, 'leasehold');
    await file.write(1, much);
    expect(much.equals(await file.read(1, much.length))).toBe(true);
    await file.close();
  });

  it('says what could not be done, with the path and the code of the system', async () => {
    const storage = await openDirectory(top);
    const file = await storage.open('log');
    await file.close();
    await expect(file.sync()).rejects.toThrow(`could not sync "${join(top, 'log')}"`);
    await expect(storage.remove('none')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('that the disk has no room for says so, and may be tried again', async () => {
    const full = new FileSystemError('write', 'log', Object.assign(new Error('x'), { code: 'ENOSPC' }));
    expect(full.message).toBe('ENOSPC: could not write "log": the disk is full; free some space');
    expect([full.code, full.retryable]).toEqual(['ENOSPC', true]);
  });
});
