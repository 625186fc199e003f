import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireLock, LockedError } from './lock.ts';
import { FileSystemError } from '../storage.ts';

const SOURCE = fileURLToPath(new URL('lock.ts', import.meta.url));

let folder: string;
let path: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leasehold-lock-'));
  path = join(folder, 'lock');
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

/** A real process that takes the lock with these sources, and writes this into it. */
async function otherHolder(text: string): Promise<ChildProcess> {
  const bundle = join(folder, 'lock.mjs');
  await build({ entryPoints: [SOURCE], outfile: bundle, bundle: true, platform: 'node', format: 'esm' });
  const program = `
    import { acquireLock } from ${JSON.stringify(pathToFileURL(bundle).href)};
    const lock = await acquireLock(${JSON.stringify(path)});
    lock.write(${JSON.stringify(text)});
    setInterval(() => lock.read(), 1000);
    console.log('locked');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

describe('a lock', () => {
  it('is had by one at a time, in one process as well', async () => {
    const lock = await acquireLock(path);
    const second = acquireLock(path);
    await expect(second).rejects.toThrow(LockedError);
    await expect(second).rejects.toMatchObject({ code: 'LOCKED', retryable: true, path });
    await expect(second).rejects.toThrow(`locked by pid ${process.pid} on ${hostname()}`);
    lock[Symbol.dispose]();
    lock[Symbol.dispose]();
    (await acquireLock(path))[Symbol.dispose]();
  });

  it('that another process has is taken', async () => {
    const { pid } = await otherHolder('');
    await expect(acquireLock(path)).rejects.toThrow(`locked by pid ${pid} on ${hostname()}`);
  });

  it('is free as soon as the process that had it is killed', async () => {
    const child = await otherHolder('');
    child.kill('SIGKILL');
    await once(child, 'exit');
    using lock = await acquireLock(path);
    expect(lock.path).toBe(path);
  });

  it('is not passed on to the children of who has it', async () => {
    const lock = await acquireLock(path);
    const child = spawn(process.execPath, ['-e', `console.log('up'); setInterval(() => {}, 1000);`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    await once(child.stdout, 'data');
    lock[Symbol.dispose]();
    (await acquireLock(path))[Symbol.dispose]();
  });

  it.each([
    ['replaced', 'mv "$folder/new" "$folder/lock"'],
    ['removed', 'rm "$folder/lock"'],
  ])('is on the file that the path leads to, although that was %s before it was locked', async (_, does) => {
    const realPath = process.env['PATH'];
    await writeFile(join(folder, 'new'), '');
    const script = `#!/bin/sh
      PATH='${realPath}'; folder='${folder}'
      if mkdir "$folder/once" 2>/dev/null; then ${does}; fi
      exec flock "$@"`;
    await writeFile(join(folder, 'flock'), script, { mode: 0o755 });
    process.env['PATH'] = folder;
    try {
      using lock = await acquireLock(path);
      lock.write('found');
      expect(await readFile(path, 'utf8')).toContain('found');
    } finally {
      process.env['PATH'] = realPath;
    }
  });

  it('is given up on when the path is replaced again and again', async () => {
    const realPath = process.env['PATH'];
    const script = `#!/bin/sh\nPATH='${realPath}'; rm '${path}'; exec flock "$@"`;
    await writeFile(join(folder, 'flock'), script, { mode: 0o755 });
    process.env['PATH'] = folder;
    try {
      await expect(acquireLock(path)).rejects.toThrow('another process keeps replacing the file');
    } finally {
      process.env['PATH'] = realPath;
    }
  });

  it('needs a program that can lock', async () => {
    const realPath = process.env['PATH'];
    process.env['PATH'] = folder;
    try {
      await expect(acquireLock(path)).rejects.toMatchObject({
        code: 'UNSUPPORTED_PLATFORM',
        retryable: false,
      });
    } finally {
      process.env['PATH'] = realPath;
    }
  });

  it('is worth nothing on a file that was removed, so the next one locks a new file', async () => {
    using first = await acquireLock(path);
    await unlink(path);
    using second = await acquireLock(path);
    second.write('second');
    first.write('first');
    expect(await readFile(path, 'utf8')).toContain('second');
  });

  it('cannot be had where there is no file', async () => {
    await expect(acquireLock(join(folder, 'none', 'lock'))).rejects.toThrow(FileSystemError);
    await expect(acquireLock(folder)).rejects.toMatchObject({ code: 'EISDIR' });
  });
});

describe('the text in a lock', () => {
  it('is what the last holder wrote, also after it was killed', async () => {
    const first = await acquireLock(path);
    expect(first.read()).toBe('');
    first.write('a long text of an earlier time');
    first.write('incarnation 1');
    expect(first.read()).toBe('incarnation 1');
    first[Symbol.dispose]();
    const child = await otherHolder('incarnation 2');
    child.kill('SIGKILL');
    await once(child, 'exit');
    using third = await acquireLock(path);
    expect(third.read()).toBe('incarnation 2');
    expect(() => first.read()).toThrow('which has been released');
  });

  it('is for this user alone, and is not told to those who find it locked', async () => {
    using lock = await acquireLock(path);
    lock.write('a secret');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await expect(acquireLock(path)).rejects.not.toThrow('secret');
  });
});
