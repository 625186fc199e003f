import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from 'vitest';
import { openLockedDirectory } from '../../node/process/locked-directory.ts';
import { nodeRuntime, randomId } from '../../node/runtime.ts';
import { silent } from '../../runtime/logger.ts';
import type { LogStart } from '../log.ts';
import { verified } from './committing-script.ts';
import { openFileLog } from './file-log.ts';

const TIMEOUT_MS = 120_000;
const KILLS = 40;
const IMAGES = 4;

/** The process that commits: the script, in real surroundings. */
const PROCESS = `
import { writeSync } from 'node:fs';
import { commitForEver } from ${here('./committing-script.ts')};
import { openLockedDirectory } from ${here('../../node/process/locked-directory.ts')};
import { nodeRuntime, randomId } from ${here('../../node/runtime.ts')};
import { openDirectory } from ${here('../../node/storage.ts')};
import { silent } from ${here('../../runtime/logger.ts')};

const path = process.argv[2] ?? '';
// A pipe that is full, because the process that reads it is not scheduled, refuses a write with EAGAIN: then it is tried again.
function say(line: string) {
  let rest = Buffer.from(line + '\\n');
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
await openDirectory(path);
const locked = await openLockedDirectory(path);
await commitForEver(
  {
    storage: locked.storage,
    lock: async () => locked,
    leaderLeaseMs: () => 2_000,
    runtime: nodeRuntime(),
    logger: silent,
    randomId,
    beginAbove: () => 0,
    preallocateBytes: 100_000,
    onFatal: (error) => {
      say('fatal ' + error.code);
      process.exit(70);
    },
  },
  say,
);
`;

function here(file: string): string {
  return JSON.stringify(join(import.meta.dirname, file));
}

let top: string;
let script: string;
beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'leasehold-real-disk-'));
  writeFileSync(join(top, 'committing.ts'), PROCESS);
  script = join(top, 'committing.mjs');
  const shape = { bundle: true, platform: 'node', format: 'esm', target: 'node20' } as const;
  await build({ entryPoints: [join(top, 'committing.ts')], outfile: script, ...shape, logLevel: 'warning' });
}, TIMEOUT_MS);
afterAll(() => rmSync(top, { recursive: true, force: true }));

/** A committing process and its output. */
class Committing {
  readonly child: ChildProcess;
  readonly said: string[] = [];
  readonly #ended: Promise<unknown>;
  #onLine: () => void = () => {};

  constructor(command: string, args: readonly string[]) {
    this.child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#ended = once(this.child, 'close');
    const { stdout } = this.child;
    if (stdout === null) throw new Error('no output');
    createInterface(stdout).on('line', (line) => {
      this.said.push(line);
      this.#onLine();
    });
  }

  /** The last position that was acknowledged, or found at the start. */
  get acknowledged(): number {
    const last = this.said.findLast((line) => /^(?:start|appended) /.test(line));
    return Number(last?.split(' ')[1] ?? 0);
  }

  /** Waits for so many lines, or for the end. */
  async lines(count: number): Promise<void> {
    const enough = new Promise<void>((resolve) => {
      this.#onLine = () => this.said.length >= count && resolve();
      this.#onLine();
    });
    await Promise.race([enough, this.#ended]);
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#ended;
  }

  async ended(): Promise<number | null> {
    await this.#ended;
    return this.child.exitCode;
  }
}

const committing = (path: string): Committing => new Committing(process.execPath, [script, path]);

/** A process that looks through all mounts of this machine keeps the mount busy for a moment. */
const unmount = (path: string): Promise<unknown> =>
  vi.waitFor(() => execFileSync('umount', [path], { stdio: 'pipe' }), { timeout: 10_000, interval: 20 });

/**
 * A copy of the image as it was at one instant. The kernel commits the journal of the mounted file system every few seconds, so a copy
 * that takes long enough may have blocks from before and from after a commit, which no power cut leaves. Two equal copies in a
 * row prove that no block changed between the end of the first and the begin of the second.
 */
function copyOfOneMoment(image: string, copy: string): void {
  const again = `${copy}-again`;
  const take = (path: string): void => void execFileSync('cp', ['--sparse=always', image, path]);
  take(copy);
  for (let copies = 1; copies < 20; copies++) {
    take(again);
    const isOfOneMoment = works('cmp', '--silent', copy, again);
    renameSync(again, copy);
    if (isOfOneMoment) return;
  }
  throw new Error('the image changes all the time, although the process that writes into it is stopped');
}

/** The contents of the log, as a leader would find them. */
async function contents(path: string): Promise<LogStart> {
  const locked = await openLockedDirectory(path);
  await using log = await openFileLog({
    storage: locked.storage,
    lock: async () => locked,
    runtime: nodeRuntime(),
    logger: silent,
    randomId,
    beginAbove: () => 0,
    onFatal: (error) => {
      throw error;
    },
  });
  return await new Promise((resolve) =>
    log.campaign('reader', {
      elected: ({ start }) => resolve(start),
      extended: () => {},
      deposed: () => {},
    }),
  );
}

/** Loud where a test is left out, and a failure where leaving out is forbidden. */
function leaveOut(context: TestContext, why: string): never {
  if (process.env['CI'] === 'true') throw new Error(`${why}, and this must be tested in CI`);
  console.warn(`LEFT OUT: ${context.task.name}: ${why}`);
  return context.skip(why);
}

const works = (command: string, ...args: readonly string[]): boolean => spawnSync(command, args).status === 0;

describe('a process that commits, on a real disk', () => {
  it(
    `can be killed at any moment: all that it acknowledged is there (${KILLS} times)`,
    async () => {
      const path = join(top, 'killed');
      let acknowledged = 0;
      for (let kill = 0; kill < KILLS; kill++) {
        const run = committing(path);
        await run.lines(2 + ((kill * 37) % 60));
        await run.kill();
        const found = Number(run.said[0]?.split(' ')[1]);
        expect(run.said[0], 'what a run starts with').toMatch(/^start \d+$/);
        expect(found).toBeGreaterThanOrEqual(acknowledged);
        acknowledged = run.acknowledged;
      }
      expect(verified(await contents(path))).toBeGreaterThanOrEqual(acknowledged);
      expect(acknowledged).toBeGreaterThan(10 * KILLS);
    },
    TIMEOUT_MS,
  );

  it(
    'keeps others out while it lives',
    async () => {
      const path = join(top, 'locked');
      const run = committing(path);
      await run.lines(1);
      await expect(contents(path)).rejects.toMatchObject({ code: 'LOCKED' });
      await run.kill();
      expect(verified(await contents(path))).toBeGreaterThanOrEqual(run.acknowledged);
    },
    TIMEOUT_MS,
  );

  it(
    'ends when a sync fails, and acknowledges nothing more',
    async (context) => {
      if (!works('strace', '-qq', '-o', '/dev/null', 'true')) leaveOut(context, 'strace cannot be used here');
      const path = join(top, 'failing');
      const inject = ['-e', 'trace=fdatasync', '-e', 'inject=fdatasync:error=EIO:when=5+'];
      const args = ['-f', '-qq', '-o', '/dev/null', ...inject, process.execPath, script, path];
      const run = new Committing('strace', args);
      expect(await run.ended()).toBe(70);
      expect(run.said.slice(-2)).toEqual([`appended ${run.acknowledged}`, 'fatal STORAGE_FAILED']);
      expect(verified(await contents(path))).toBeGreaterThanOrEqual(run.acknowledged);
    },
    TIMEOUT_MS,
  );

  it(
    `can lose its power at any moment: all that it acknowledged is there (${IMAGES} images)`,
    async (context) => {
      const image = join(top, 'image');
      const mounted = join(top, 'mounted');
      const copy = join(top, 'copy');
      execFileSync('mkdir', [mounted, join(top, 'mounted-copy')]);
      execFileSync('truncate', ['-s', '32M', image]);
      const isReady = works('mkfs.ext4', '-q', image) && works('mount', '-o', 'loop', image, mounted);
      if (!isReady) leaveOut(context, 'no file system can be mounted from an image here (it takes root)');
      try {
        for (let round = 0; round < IMAGES; round++) {
          const run = committing(join(mounted, 'log'));
          let acknowledged: number;
          try {
            await run.lines(20 + round * 41);
            // Stopped, so that the caches of the process are not in the image.
            run.child.kill('SIGSTOP');
            acknowledged = run.acknowledged;
            copyOfOneMoment(image, copy);
          } finally {
            await run.kill();
          }
          execFileSync('mount', ['-o', 'loop', copy, join(top, 'mounted-copy')]);
          try {
            const found = verified(await contents(join(top, 'mounted-copy', 'log')));
            expect(found).toBeGreaterThanOrEqual(acknowledged);
          } finally {
            await unmount(join(top, 'mounted-copy'));
          }
        }
      } finally {
        await unmount(mounted);
      }
    },
    TIMEOUT_MS,
  );
});
