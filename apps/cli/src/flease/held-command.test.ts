import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Lease } from 'leasehold/flease';
import { describe, expect, it } from 'vitest';
import { resolveFleaseDurations } from '../../../../leasehold/src/flease/core/options.ts';
import { freePeers } from '../../../../leasehold/src/flease/shell/testing/groups.ts';
import { createLogger } from '../logger.ts';
import { recordedContext } from '../testing/recorded-context.ts';
import { type Started, start } from '../testing/started.ts';
import { runHeld } from './held-command.ts';
import { CommandSignals } from './signals.ts';

const TIMEOUT_MS = 60_000;
const TIMES = ['--lease', '1500ms', '--clock-skew', '100ms'];

/** Where commands call to show that they run: an ended command, waited for or not, has hung up. */
async function switchboard() {
  let called: (socket: Socket) => void = () => {};
  const calling = new Promise<Socket>((resolve) => {
    called = resolve;
  });
  const server = createServer((socket) => called(socket.on('error', () => {}).resume()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    command: [process.execPath, '-e', `require('node:net').connect(${port}, '127.0.0.1')`],
    calling,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

async function holding(command: readonly string[]) {
  const { a } = await freePeers('a');
  return start(['flease', 'hold', 'r', '--name', 'a', '--peers', `a=${a}`, ...TIMES, '--', ...command]);
}

/** The same, as one of three, of which the third is away: two have to be there, and are. */
async function holdingWithOthers(command: readonly string[]) {
  const { a, b, c } = await freePeers('a', 'b', 'c');
  const group = ['--peers', `a=${a},b=${b},c=${c}`, ...TIMES];
  const other = await start(['flease', 'start', '--name', 'b', ...group, '--no-http']);
  const holder = await start(['flease', 'hold', 'r', '--name', 'a', ...group, '--', ...command]);
  return {
    holder,
    [Symbol.asyncDispose]: async () => {
      await holder[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
    },
  };
}

/** The command's first line. */
const said = (holder: Started): Promise<string> => holder.until('a word', () => holder.lines[0]);

/** The watchman of this process. */
function watchmanOf({ pid }: Started): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  const isWatchman = (child: number): boolean =>
    readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0').includes('leasehold-watchman');
  return children.find(isWatchman) as number;
}

/** One that is held, and never has to be renewed. */
const LEASE = {
  ...{ resource: 'r', number: 1, leftMs: 60_000, isHeld: () => true, signal: new AbortController().signal },
  onRenewal: () => ({ [Symbol.dispose]: () => {} }),
} as unknown as Lease;

describe('a command that is to run under a lease', () => {
  it('is said not to start if its arguments are more than the system allows', async () => {
    using signals = new CommandSignals();
    const running = runHeld({
      ...{ command: 'true', args: ['x'.repeat(1_000_000)], lease: LEASE, signals },
      ...{ durations: resolveFleaseDurations({}), logger: createLogger(recordedContext()) },
      suspects: () => ({ unheard: [], problems: [] }),
    });
    await expect(running).rejects.toMatchObject({ code: 'COMMAND_NOT_STARTED', exitCode: 126 });
    await expect(running).rejects.toThrow('more than the system allows');
  });
});

describe('a command that runs under a lease', { timeout: TIMEOUT_MS }, () => {
  it('is killed at the end of the lease if the holder stands still, and the holder says so when it goes on', async () => {
    await using board = await switchboard();
    await using holder = await holding(board.command);
    const call = await board.calling;
    const hungUp = new Promise((resolve) => call.once('close', resolve));
    holder.child.kill('SIGSTOP');
    await hungUp;
    holder.child.kill('SIGCONT');
    expect(await holder.ended).toBe(76);
    expect(holder.stderr).toMatch(
      /the lease on "r" \(number \d+\) was (?:not renewed in time, because|held, but) this process stood still/,
    );
    expect(holder.stderr).not.toContain('not heard from');
  });

  it('is not said to have been ended by a member that is away, which has nothing to do with that', async () => {
    await using board = await switchboard();
    await using group = await holdingWithOthers(board.command);
    const { holder } = group;
    const call = await board.calling;
    const hungUp = new Promise((resolve) => call.once('close', resolve));
    holder.child.kill('SIGSTOP');
    await hungUp;
    holder.child.kill('SIGCONT');
    expect(await holder.ended).toBe(76);
    expect(holder.stderr).toContain('this process stood still');
    expect(holder.stderr).not.toContain('not heard from');
  });

  it('that only the system can tell is none does not start, and that is said', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-held-'));
    try {
      const circle = join(folder, 'circle');
      symlinkSync(circle, circle);
      await using holder = await holding([circle]);
      expect(await holder.ended).toBe(126);
      expect(holder.stderr).toContain('could not be started: ELOOP');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  describe.runIf(process.platform === 'linux')('whose watchman was stopped', () => {
    const COMMAND =
      "process.on('SIGUSR2', () => process.exit(5)); setInterval(() => {}, 1_000); console.log(process.pid)";

    it('is not waited for any longer when somebody has killed it, and who is not known', async () => {
      await using holder = await holding([process.execPath, '-e', COMMAND]);
      const command = Number(await said(holder));
      process.kill(watchmanOf(holder), 'SIGSTOP');
      process.kill(command, 'SIGKILL');
      expect(await holder.ended).toBe(137);
      expect(holder.stderr).toContain('cannot tell which process killed the command');
    });

    it('ends as it does otherwise when it has ended by itself', async () => {
      await using holder = await holding([process.execPath, '-e', COMMAND]);
      const command = Number(await said(holder));
      process.kill(watchmanOf(holder), 'SIGSTOP');
      process.kill(command, 'SIGUSR2');
      expect(await holder.ended).toBe(5);
    });
  });

  it('runs on while the lease is renewed', async () => {
    await using board = await switchboard();
    await using holder = await holding(board.command);
    const call = await board.calling;
    let isOver = false;
    call.once('close', () => {
      isOver = true;
    });
    await using second = await switchboard();
    // A new member, here in a group of its own, recovers for longer than a lease.
    await using other = await holding(second.command);
    await second.calling;
    expect(isOver).toBe(false);
    for (const each of [holder, other]) each.child.kill('SIGKILL');
  });
});
