import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireLock } from '../../../node/process/lock.ts';
import { HandMovedRuntime, listeningLogger, until } from '../../../node/tcp/socket-script.ts';
import { lockedProof } from './locked-proof.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-locked-'));
  path = join(folder, 'server.lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

function bench() {
  const [runtime, logger] = [new HandMovedRuntime(), listeningLogger()];
  const ask = (options: { signal?: AbortSignal; waitMs?: number } = {}) =>
    lockedProof({ path, runtime, logger, ...options });
  const isWaiting = (): boolean => logger.lines.some(({ message }) => message === 'waiting for the lock');
  return { runtime, ask, isWaiting };
}

describe('a process that waits for the lock of a predecessor', () => {
  it('gives up when it is told to, without waiting for the next try; others wait on', async () => {
    const lock = await acquireLock(path);
    const { runtime, ask, isWaiting } = bench();
    const caller = new AbortController();
    const [one, other] = [ask({ signal: caller.signal }), ask()];
    await until(() => isWaiting() && runtime.timers === 1);
    caller.abort(new Error('changed my mind'));
    await expect(one).rejects.toThrow('changed my mind');
    lock[Symbol.dispose]();
    runtime.pass(100);
    const { proof, release } = await other;
    expect(proof).not.toBe('');
    release();
  });

  it('does not try for ever when nobody wants it any more, and can ask anew', async () => {
    const lock = await acquireLock(path);
    const { runtime, ask, isWaiting } = bench();
    const caller = new AbortController();
    const given = ask({ signal: caller.signal });
    await until(() => isWaiting() && runtime.timers === 1);
    caller.abort(new Error('changed my mind'));
    await expect(given).rejects.toThrow('changed my mind');
    runtime.pass(100);
    lock[Symbol.dispose]();
    await until(() => runtime.timers === 0);
    const { release } = await ask();
    release();
  });

  it('hears which process has the lock when the time is over', async () => {
    using _ = await acquireLock(path);
    const { runtime, ask, isWaiting } = bench();
    const waiting = ask({ waitMs: 40 });
    await until(() => isWaiting() && runtime.timers === 1);
    runtime.pass(40);
    await expect(waiting).rejects.toMatchObject({ code: 'LOCKED', path });
  });
});
