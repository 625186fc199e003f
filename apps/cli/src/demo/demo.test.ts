/** The demo, with all processes. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Started, start } from '../testing/started.ts';
import type { DemoState } from './state.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-demo-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TIMEOUT_MS = 120_000;
const PORTS = ['--port', '0', '--http', '0'];

/** Of all reads: one owner of three is gone for a moment, and the users of that owner wait for the next one. */
const MOST_UNANSWERED = 0.05;

type Line = DemoState & { readonly kind: string };

/** All processes that a demo has told of. */
const pidsOf = (states: readonly DemoState[]): readonly number[] => [
  ...new Set(
    states.flatMap(({ manager, owners, frontEnds }) =>
      [
        manager.pid,
        ...owners.flatMap(({ pid, supervisorPid }) => [pid, supervisorPid]),
        ...frontEnds.map(({ pid }) => pid),
      ].flatMap((pid) => (pid === null ? [] : [pid])),
    ),
  ),
];

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // One that nobody has reaped yet is dead all the same.
  return !existsSync('/proc/self/stat') || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
};

const demo = (...argv: string[]): Promise<Started> =>
  start(['demo', '--json', '--users', '60', ...PORTS, ...argv], {
    // A token in the environment is none of the demo's business: this one could not even be read.
    environment: { TMPDIR: folder, LEASEHOLD_TOKEN_FILE: '/not/there', LEASEHOLD_TOKEN: 'lh1.x' },
  });

const statesOf = ({ lines }: Started): readonly Line[] =>
  lines.map((line) => JSON.parse(line) as Line).filter(({ kind }) => kind !== 'news');

/** A service that answers nobody has no wrong answers either. */
function expectAnswers(state: DemoState | undefined): void {
  const { unanswered = Number.NaN, reads: { count } = { count: 0 } } = state ?? {};
  expect(unanswered).toBeLessThanOrEqual(MOST_UNANSWERED * count);
}

/** The directory is gone, and so are all processes. */
async function expectNothingLeft(demo: Started): Promise<void> {
  const pids = pidsOf(statesOf(demo));
  expect(pids.length).toBeGreaterThan(5);
  await expect.poll(() => pids.filter(isAlive), { timeout: 20_000 }).toEqual([]);
}

describe('the demo', { timeout: TIMEOUT_MS }, () => {
  it('ends by itself when it was told to, and leaves nothing behind', async () => {
    await using playing = await demo('--for', '6s');
    expect(await playing.ended).toBe(0);
    const end = statesOf(playing).at(-1);
    expect(end).toMatchObject({ kind: 'end', reads: { wrongNow: 0 } });
    expect(end?.reads.count).toBeGreaterThan(100);
    expectAnswers(end);
    expect(end?.owners.map(({ name }) => name)).toEqual(['ada', 'ben', 'cyd']);
    await expectNothingLeft(playing);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('replaces an owner that is told to end, as a deploy does: no user is lost, and the next process gets a part again', async () => {
    await using playing = await demo();
    const running = await playing.json<Line>(
      'all users connected',
      ({ kind, users, owners }) =>
        kind === 'state' &&
        users.connected === users.expected &&
        owners.every(({ users: kept }) => kept !== null && kept > 0),
    );
    const [replaced] = running.owners;
    process.kill(replaced?.pid ?? 0, 'SIGTERM');
    await playing.json<Line>(
      'the others having taken over',
      ({ kind, owners }) =>
        kind === 'state' && owners[0]?.isRunning === false && owners[0].sharePercent === 0,
    );
    const returned = await playing.json<Line>(
      'its return, with users',
      ({ kind, owners }) =>
        kind === 'state' && owners[0]?.pid !== replaced?.pid && (owners[0]?.users ?? 0) > 0,
    );
    expect(returned).toMatchObject({ lost: running.lost, republished: running.republished });
    expect(await playing.stop('SIGINT')).toBe(0);
    expectAnswers(statesOf(playing).at(-1));
    await expectNothingLeft(playing);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('survives the death of an owner: others take over, and users are published again', async () => {
    await using playing = await demo();
    const running = await playing.json<Line>(
      'reads',
      ({ kind, reads, owners }) =>
        kind === 'state' && reads.count > 50 && owners.every(({ users }) => users !== null && users > 0),
    );
    const victim = running.owners[0];
    process.kill(victim?.pid ?? 0, 'SIGKILL');
    const shifted = await playing.json<Line>(
      'the others having taken over',
      ({ kind, owners, lost, republished }) =>
        kind === 'state' && owners[0]?.sharePercent === 0 && lost > 0 && republished === lost,
    );
    expect(shifted.owners.slice(1).reduce((sum, { sharePercent }) => sum + sharePercent, 0)).toBeCloseTo(
      100,
      0,
    );
    const restored = await playing.json<Line>(
      'its return',
      ({ kind, owners }) => kind === 'state' && owners[0]?.pid !== victim?.pid && (owners[0]?.users ?? 0) > 0,
    );
    const settled = await playing.json<Line>(
      'right answers alone',
      ({ kind, reads }) =>
        kind === 'state' && reads.count > restored.reads.count + 50 && reads.wrongNow === 0,
    );
    expectAnswers(settled);
    expect(await playing.stop('SIGINT')).toBe(0);
    expect(statesOf(playing).at(-1)).toMatchObject({ kind: 'end', reads: { wrongNow: 0 } });
    await expectNothingLeft(playing);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves no process behind even if it is killed itself', async () => {
    await using playing = await demo();
    await playing.json<Line>('its first state', ({ kind }) => kind === 'state');
    await playing.stop('SIGKILL');
    await expectNothingLeft(playing);
    for (const left of readdirSync(folder)) rmSync(join(folder, left), { recursive: true });
  });

  it('takes a guest of add-owner along: the guest ends when the Manager of the demo is gone', async () => {
    const data = join(folder, 'of-a-guest');
    await using manager = await start([
      'manager',
      'start',
      '--json',
      '--first-start',
      '--data',
      data,
      ...['--listen', '127.0.0.1:0', '--http', '0'],
    ]);
    const { address } = await manager.json<{ readonly address: string }>('its place', () => true);
    await using guest = await start(['demo', 'add-owner', '--name', 'eve', '--managers', address]);
    await guest.until('its joining', () => guest.stdout.includes('Joined') || undefined);
    await manager.stop('SIGTERM');
    expect(await guest.ended).toBe(0);
    expect(guest.stdout).toContain('The demo is over, and so is eve.');
    rmSync(data, { recursive: true });
  });

  it('says why it cannot start', async () => {
    await using first = await demo();
    const { manager } = await first.json<Line>('its first state', ({ kind }) => kind === 'state');
    const port = manager.address.split(':')[1] ?? '';
    await using second = await start(['demo', '--port', port, '--http', '0'], {
      environment: { TMPDIR: folder },
    });
    expect(await second.ended).toBe(1);
    expect(second.stderr).toContain(`port ${port} on 127.0.0.1 is in use`);
    expect(await first.stop()).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });
});
