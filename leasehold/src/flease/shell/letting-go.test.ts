import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Stopwatch } from '../../node/testing/undisturbed-time.ts';
import type { Lease } from './lease.ts';
import { TestGroup } from './testing/groups.ts';

const LONG_MS = 60_000;
const LEASE_MS = 5_000;
/** Only a waiter that has to wait for a lease to expire waits longer than this. */
const SOON_MS = LEASE_MS / 2;
const IN_LINE_MS = 300;

describe('a release', { timeout: LONG_MS }, () => {
  let groups: TestGroup[];
  beforeAll(async () => {
    const start = (): Promise<TestGroup> =>
      TestGroup.start(undefined, { leaseMs: LEASE_MS, clockSkewMs: 100 });
    groups = await Promise.all(Array.from({ length: 5 }, start));
  }, LONG_MS);
  afterAll(async () => {
    await Promise.all(groups.map((group) => group[Symbol.asyncDispose]()));
  }, LONG_MS);
  const fresh = (): TestGroup => {
    const group = groups.shift();
    if (group === undefined) throw new Error('one group for each test');
    return group;
  };

  /** Waits for the lease, and has taken a place in the line. */
  const inLine = async (group: TestGroup, member: string): Promise<{ lease: Promise<Lease> }> => {
    const lease = group.of(member).acquire('job');
    lease.catch(() => {}); // A caller that closes the member expects the rejection.
    await expect(group.of(member).acquire('job', { timeoutMs: IN_LINE_MS })).rejects.toThrow();
    return { lease };
  };

  const tookMs = async (act: () => Promise<unknown>): Promise<number> => {
    const since = new Stopwatch();
    await act();
    return since.ms;
  };

  it('of a place in the line by a closing member: waiters behind it need not wait for it', async () => {
    await using group = fresh();
    const held = await group.of('c').acquire('job');
    await inLine(group, 'a');
    const { lease: next } = await inLine(group, 'b');
    await group.of('a').close();
    const waitedMs = await tookMs(async () => {
      await held.release();
      await next;
    });
    expect(waitedMs).toBeLessThan(SOON_MS);
  });

  it('of a lease that is about to be taken, by a closing member', async () => {
    await using group = fresh();
    const wanted = group.of('b').acquire('job');
    wanted.catch(() => {});
    // The query of `a` has gone out, and the others answer.
    await vi.waitUntil(() => group.of('a').status().registers > 0, { timeout: LONG_MS, interval: 0 });
    await group.of('b').close();
    expect(await tookMs(() => group.of('a').acquire('job'))).toBeLessThan(SOON_MS);
  });

  it('by handing it over succeeds, although a listener of the end releases it as well', async () => {
    await using group = fresh();
    const lease = await group.of('a').acquire('job');
    lease.signal.addEventListener('abort', () => void lease.release());
    const { lease: other } = await inLine(group, 'b');
    let hasOther = false;
    other.then(
      () => {
        hasOther = true;
      },
      () => {},
    );
    const { lease: successor } = await inLine(group, 'c');
    await lease.handover('c');
    await successor;
    expect(hasOther).toBe(false);
  });

  it('succeeds, although a listener of the end closes the group', async () => {
    await using group = fresh();
    const lease = await group.of('a').acquire('job');
    const closed = new Promise((resolve) => {
      lease.signal.addEventListener('abort', () => resolve(group.of('a').close()));
    });
    await lease.release();
    await closed;
    expect(await tookMs(() => group.of('b').acquire('job'))).toBeLessThan(SOON_MS);
  });

  it('of what its holder was told is over, although the clock was wrong only for an instant', async () => {
    await using group = fresh();
    const lease = await group.of('a').acquire('job');
    const wallMs = Date.now;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => wallMs() + 3_600_000);
    expect(lease.isHeld()).toBe(false);
    clock.mockRestore();
    await group.of('b').acquire('job');
  });
});
