import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { bundled, Started } from '../testing/started.ts';
import { Watchman } from './watchman.ts';

const TIMEOUT_MS = 20_000;
/** Nobody else would sleep for just so long, or hardly anybody. */
const LONG_MS = 10_000_000 + process.pid;
const SHORT_MS = 700 + (process.pid % 300);
const GRACE_MS = 300;

const started: Target[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const { child } of started) child.kill('SIGKILL');
  await Promise.all(started.splice(0).map(({ ended }) => ended));
});

interface Target {
  readonly child: ChildProcess;
  readonly ended: Promise<NodeJS.Signals | number | null>;
}

/** A process that lasts until killed; a stubborn one only until SIGKILL. Resolves when the process runs. */
async function lasting(how: 'obedient' | 'stubborn' = 'obedient'): Promise<Target> {
  const script = `${how === 'stubborn' ? "trap '' TERM;" : ''} echo lasts; while :; do sleep 0.05; done`;
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended: Target['ended'] = new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? code));
  });
  started.push({ child, ended });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return { child, ended };
}

async function watching({ child }: Target, gone?: () => void): Promise<Watchman> {
  const watchman = new Watchman(GRACE_MS);
  expect(await watchman.watch(-(child.pid as number), gone)).toBe(true);
  return watchman;
}

const isAlive = ({ child }: Target): boolean => child.exitCode === null && child.signalCode === null;

/** The processes of this machine that have this in their command line, by their numbers. */
const processesWith = (word: string): readonly number[] =>
  readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(word) ? [Number(name)] : [];
    } catch {
      return []; // The process has ended meanwhile.
    }
  });

/** The argument of the `sleep` of a timer for so long: a little is subtracted. */
const sleepOf = (ms: number): string => ((ms - 20) / 1_000).toFixed(3);

const until = (isSo: () => boolean): Promise<void> =>
  vi.waitUntil(isSo, { timeout: TIMEOUT_MS, interval: 5 }).then(() => {});

describe('a watchman', { timeout: TIMEOUT_MS }, () => {
  it('kills its target when the time is over that it may live, and no more was said', async () => {
    const target = await lasting('stubborn');
    await using watchman = await watching(target);
    const since = performance.now();
    watchman.allow(200);
    expect(await target.ended).toBe('SIGKILL');
    expect(performance.now() - since).toBeGreaterThan(150);
    expect(await watchman.end()).toBe(true);
  });

  it('knows whether it was the one', async () => {
    const target = await lasting();
    await using watchman = await watching(target);
    watchman.allow(LONG_MS);
    target.child.kill('SIGKILL');
    await target.ended;
    expect(await watchman.end()).toBe(false);
  });

  it('does not know it if it was stopped, and is then not waited for', async () => {
    const target = await lasting();
    await using watchman = await watching(target);
    watchman.allow(LONG_MS);
    process.kill(watchman.pid as number, 'SIGSTOP');
    target.child.kill('SIGKILL');
    await target.ended;
    expect(await watchman.end()).toBeUndefined();
    await until(() => !watchman.isThere);
  });

  it('goes by what it was told last', async () => {
    const [one, other, last] = [await lasting(), await lasting(), await lasting()];
    await using ofOne = await watching(one);
    await using ofOther = await watching(other);
    await using ofLast = await watching(last);
    ofOne.allow(100);
    ofOne.allow(LONG_MS);
    ofOther.allow(LONG_MS);
    ofOther.allow(100);
    ofLast.allow(400);
    expect(await other.ended).toBe('SIGKILL');
    expect(await last.ended).toBe('SIGKILL');
    expect(isAlive(one)).toBe(true);
  });

  it('does nothing any more when it was told that it is over', async () => {
    const [target, last] = [await lasting(), await lasting()];
    await using ofLast = await watching(last);
    ofLast.allow(400);
    const gone = vi.fn();
    const watchman = await watching(target, gone);
    watchman.allow(100);
    void watchman.end();
    expect(await last.ended).toBe('SIGKILL');
    expect([isAlive(target), watchman.isThere]).toEqual([true, false]);
    expect(gone).not.toHaveBeenCalled();
  });

  it.runIf(process.platform === 'linux')('leaves no timer behind', async () => {
    const target = await lasting();
    const watchman = await watching(target);
    for (let words = 0; words < 20; words += 1) watchman.allow(LONG_MS);
    await until(() => processesWith(sleepOf(LONG_MS)).length === 1);
    void watchman.end();
    await until(() => processesWith(sleepOf(LONG_MS)).length === 0);
    expect(isAlive(target)).toBe(true);
  });

  it.runIf(process.platform === 'linux')('is missed if it is killed', async () => {
    const target = await lasting();
    let missed: () => void = () => {};
    const isMissed = new Promise<void>((resolve) => {
      missed = resolve;
    });
    await using watchman = await watching(target, missed);
    process.kill(watchman.pid as number, 'SIGKILL');
    await isMissed;
    expect(isAlive(target)).toBe(true);
  });

  it.runIf(process.platform === 'linux')(
    'kills nobody once it is killed itself: no word could stop it',
    async () => {
      const [target, last] = [await lasting(), await lasting()];
      await using watchman = await watching(target);
      await using ofLast = await watching(last);
      watchman.allow(SHORT_MS);
      await until(() => processesWith(sleepOf(SHORT_MS)).length === 1);
      process.kill(watchman.pid as number, 'SIGKILL');
      await until(() => processesWith(sleepOf(SHORT_MS)).length === 0);
      ofLast.allow(200);
      expect(await last.ended).toBe('SIGKILL');
      expect(isAlive(target)).toBe(true);
    },
  );

  it.runIf(process.platform === 'linux')('does not kill before the time if its sleep is', async () => {
    const target = await lasting();
    await using watchman = await watching(target);
    watchman.allow(LONG_MS);
    await until(() => processesWith(sleepOf(LONG_MS)).length === 1);
    const [sleeping] = processesWith(sleepOf(LONG_MS));
    process.kill(sleeping as number, 'SIGKILL');
    await until(() => {
      const [anew] = processesWith(sleepOf(LONG_MS));
      return !isAlive(target) || (anew !== undefined && anew !== sleeping);
    });
    expect(isAlive(target)).toBe(true);
    watchman.allow(100);
    expect(await target.ended).toBe('SIGKILL');
    expect(await watchman.end()).toBe(true);
  });

  it('is there even if our environment is all that the system allows', async () => {
    const target = await lasting();
    vi.stubEnv('LEASEHOLD_TOO_LONG', 'x'.repeat(1_000_000));
    await using watchman = await watching(target);
    watchman.allow(100);
    expect(await target.ended).toBe('SIGKILL');
  });

  it('is nobody if the system does not let us start one', async () => {
    vi.stubEnv('PATH', 'x'.repeat(1_000_000));
    await using watchman = new Watchman(GRACE_MS);
    expect([watchman.isThere, await watchman.watch(1), await watchman.end()]).toEqual([false, false, false]);
  });

  it('cannot be sent away by what ends a service', async () => {
    const target = await lasting('stubborn');
    await using watchman = await watching(target);
    watchman.allow(LONG_MS);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGPIPE', 'SIGUSR1'] as const) {
      process.kill(-(watchman.pid as number), signal);
    }
    watchman.allow(100);
    expect(await target.ended).toBe('SIGKILL');
  });
});

describe('a watchman whose employer is killed', { timeout: TIMEOUT_MS }, () => {
  let program: string;
  beforeAll(async () => {
    program = await bundled('apps/cli/src/testing/killed-while-watched.ts');
  });

  /** Resolves with how long the target lived after that, whether or not the target obeys. */
  async function livedOn(graceMs: number, allowedMs: number, command: string): Promise<number> {
    // The command keeps a descriptor open that no other process has any more.
    const script = `${command} echo lasts; exec >&2; while :; do sleep 0.05; done`;
    const employer = new Started(program, [graceMs, allowedMs, 'sh', '-c', script].map(String), {});
    await using _ = employer;
    const since = new Promise<number>((resolve) => {
      employer.child.once('exit', () => resolve(performance.now()));
    });
    await employer.ended;
    return performance.now() - (await since);
  }

  it('asks its target to end', async () => {
    expect(await livedOn(60_000, 60_000, '')).toBeLessThan(10_000);
  });

  it('kills it after its grace, if it does not', async () => {
    expect(await livedOn(200, 60_000, "trap '' TERM;")).toBeGreaterThan(150);
  });

  it('kills it when the time is over that it may live, however long its grace', async () => {
    expect(await livedOn(60_000, 200, "trap '' TERM;")).toBeLessThan(10_000);
  });
});
