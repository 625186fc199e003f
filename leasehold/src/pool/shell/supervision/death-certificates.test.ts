/**
 * The effect of a death certificate, with a real Manager: keys are free at once, or stay where they are. A lease lasts
 * ten minutes here, so that nothing but a certificate can free a key while a test runs.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { nodeRuntime } from '../../../node/runtime.ts';
import { digest } from '../../../runtime/digest.ts';
import { silent } from '../../../runtime/logger.ts';
import { connectLookup } from '../lookup/connect-lookup.ts';
import type { Loss, PoolLookup } from '../lookup/pool-lookup.ts';
import type { PoolManager } from '../manager/pool-manager.ts';
import { startManager } from '../manager/start-manager.ts';
import { ManagerLine } from './manager-line.ts';
import { type SupervisedChild, superviseChild } from './supervise-child.ts';
import type { SupervisedEnd } from './supervised-end.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-certificates-'));
const owner = join(folder, 'owner.mjs');
const runtime = nodeRuntime();
const pids = new Set<number>();

/** <manager> <lock file>: joins as `a`, with the process number as url. */
const OWNER = `
  import { joinPool } from '../owner/join-pool.ts';
  const [manager, lockFile] = process.argv.slice(2);
  await joinPool({
    managers: [manager], pool: 'presence', name: 'a', url: 'pid:' + process.pid, lockFile: lockFile || undefined,
  });
`;

beforeAll(async () => {
  await build({
    stdin: { contents: OWNER, resolveDir: import.meta.dirname, loader: 'ts' },
    outfile: owner,
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
  });
});
afterAll(() => {
  for (const pid of pids) end(pid);
  rmSync(folder, { recursive: true, force: true });
});

function end(pid: number): void {
  pids.delete(pid);
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process is gone already, as wanted.
  }
}

const manager = (): Promise<PoolManager> =>
  startManager({
    ...{ listen: '127.0.0.1:0', firstStart: true },
    defaults: { leaseMs: 600_000, renewEveryMs: 1_500, retryMs: 500, leaderLeaseMs: 2_000 },
  });

function supervised({ address }: PoolManager, command: readonly string[]) {
  const [program = '', ...args] = command;
  let ended: Promise<SupervisedEnd> | undefined;
  return new Promise<{ child: SupervisedChild; ended: () => Promise<SupervisedEnd> | undefined }>(
    (resolve) => {
      const onChild = (child: SupervisedChild): void => {
        pids.add(child.pid);
        resolve({ child, ended: () => ended });
      };
      ended = superviseChild({
        ...{ command: program, args, managers: [address], runtime, logger: silent },
        ...{ onChild, forwardSignals: false },
      });
    },
  );
}

function unsupervised({ address }: PoolManager, lockFile: string): ChildProcess {
  const child = spawn(process.execPath, [owner, address, lockFile], { stdio: 'inherit' });
  pids.add(child.pid as number);
  return child;
}

/** The process that has the key, once that is another than `before`. */
async function holder(lookup: PoolLookup, before?: number): Promise<number> {
  const pid = await vi.waitUntil(
    () => {
      const url = lookup.find('alice')?.url;
      return url === undefined || url === `pid:${before}` ? undefined : Number(url.slice(4));
    },
    { timeout: 30_000, interval: 5 },
  );
  pids.add(pid);
  return pid;
}

/** As a new look-up sees the owner: an older look-up may hear of a change later. */
async function holderNow({ address }: PoolManager): Promise<string | undefined> {
  await using lookup = await connectLookup({ managers: [address], pool: 'presence' });
  return lookup.find('alice')?.url;
}

/** Shows the secret, until the Manager has confirmed. */
async function shown({ address }: PoolManager, secret: string): Promise<void> {
  await using line = new ManagerLine({
    managers: () => [address],
    runtime,
    logger: silent,
    onConnected: () => {},
  });
  await new Promise<void>((resolve) => {
    line.listen((_, message) => {
      if (message.kind === 'certified' && message.proof === digest(secret)) resolve();
    });
    line.send(address, { kind: 'certificate', secret });
  });
}

describe('the keys of a supervised owner', { timeout: 60_000 }, () => {
  it('are free as soon as it is killed, and look-ups hear of the loss', async () => {
    await using there = await manager();
    const losses: Loss[] = [];
    await using lookup = await connectLookup({
      ...{ managers: [there.address], pool: 'presence' },
      onLoss: (loss) => losses.push(loss),
    });
    const { child, ended } = await supervised(there, [process.execPath, owner, there.address]);
    expect(await holder(lookup)).toBe(child.pid);
    end(child.pid);
    expect(await ended()).toMatchObject({ death: 'certified', exitCode: 137 });
    await vi.waitUntil(() => losses.some((loss) => loss.has('alice')), { timeout: 30_000, interval: 5 });
    expect(lookup.find('alice')).toBeUndefined();
  });

  it('stay with it when a shell between it and the supervisor is killed', async () => {
    await using there = await manager();
    await using lookup = await connectLookup({ managers: [there.address], pool: 'presence' });
    const command = `${process.execPath} ${owner} ${there.address}; true`;
    const { child, ended } = await supervised(there, ['sh', '-c', command]);
    const pid = await holder(lookup);
    expect(pid).not.toBe(child.pid);
    end(child.pid);
    expect(await ended()).toMatchObject({ death: 'not-needed' });
    expect(await holderNow(there)).toBe(`pid:${pid}`);
    end(pid);
  });

  it('stay with it when somebody shows a secret that is not its own', async () => {
    await using there = await manager();
    await using lookup = await connectLookup({ managers: [there.address], pool: 'presence' });
    const { child, ended } = await supervised(there, [process.execPath, owner, there.address]);
    const pid = await holder(lookup);
    await shown(there, 'cd'.repeat(32));
    expect(await holderNow(there)).toBe(`pid:${pid}`);
    end(child.pid);
    await ended();
  });
});

describe('the keys of an owner that is started again with its lock', { timeout: 60_000 }, () => {
  it('are its own again at once, and an old certificate does not take them away', async () => {
    await using there = await manager();
    await using lookup = await connectLookup({ managers: [there.address], pool: 'presence' });
    const lockFile = join(folder, 'a.lock');
    const first = unsupervised(there, lockFile);
    expect(await holder(lookup)).toBe(first.pid);
    const { secret } = JSON.parse(readFileSync(lockFile, 'utf8').slice(128)) as { secret: string };
    first.kill('SIGKILL');
    const second = unsupervised(there, lockFile);
    expect(await holder(lookup, first.pid)).toBe(second.pid);
    await shown(there, secret);
    expect(await holderNow(there)).toBe(`pid:${second.pid}`);
    second.kill('SIGKILL');
  });
});
