import { describe, expect, it, vi } from 'vitest';
import { HandMovedRuntime, listeningLogger } from '../../node/tcp/socket-script.ts';
import { AckTracker } from './ack-tracker.ts';
import { freePeers, join, TestGroup } from './testing/groups.ts';

const LONG_MS = 30_000;
const LEASE_MS = 1_000;
const ANSWER_MS = 100;

function between() {
  const clock = new HandMovedRuntime();
  const told: string[] = [];
  let [isConnected, isTroubled] = [true, false];
  const acks = new AckTracker({
    ...{ clock, durations: { answerTimeoutMs: ANSWER_MS }, isConnected: () => isConnected },
    isTroubled: () => isTroubled,
    changed: (peer, isAcknowledging) =>
      told.push(`${peer} ${isAcknowledging ? 'acknowledges' : 'does not acknowledge'}`),
  });
  return {
    ...{ acks, clock, told },
    say: (sentMs: number) => acks.said('b', { sentMs }),
    /** It speaks, and this was the last of ours that counted. */
    had: (sentMs: number | undefined) =>
      acks.heard({ from: 'b', echo: sentMs === undefined ? undefined : { sentMs, receivedMs: 0 } }),
    cut: () => {
      isConnected = false;
    },
    mend: () => {
      isConnected = true;
    },
    trouble: () => {
      isTroubled = true;
    },
  };
}

describe('a peer that sends to us', () => {
  it('acknowledges nothing if the packet that it names stands still while both sides send', () => {
    const { clock, say, had, told, acks } = between();
    say(7);
    had(7);
    say(8);
    clock.pass(ANSWER_MS);
    had(7);
    say(9);
    clock.pass(ANSWER_MS - 1);
    had(7);
    expect(told).toEqual([]);
    clock.pass(1);
    had(7);
    had(7);
    expect([told, acks.isAcknowledging('b')]).toEqual([['b does not acknowledge'], false]);
    say(10);
    had(10);
    expect([told, acks.isAcknowledging('b')]).toEqual([['b does not acknowledge', 'b acknowledges'], true]);
  });

  it('acknowledges nothing if it has never named a packet', () => {
    const { clock, say, had, told } = between();
    say(7);
    clock.pass(ANSWER_MS);
    had(undefined);
    say(8);
    clock.pass(ANSWER_MS);
    had(undefined);
    expect(told).toEqual(['b does not acknowledge']);
  });

  it('could not acknowledge what we sent before it knew us, for example before it moved to our view', () => {
    const { clock, say, had, told } = between();
    for (const sentMs of [7, 8, 9]) {
      say(sentMs);
      clock.pass(LEASE_MS);
    }
    for (const _ of [1, 2, 3]) {
      had(undefined);
      clock.pass(LEASE_MS);
    }
    say(10);
    had(10);
    expect(told).toEqual([]);
  });

  it('may not have read yet what came while it was stopped', () => {
    const { clock, say, had, told } = between();
    say(7);
    had(7);
    say(8);
    clock.pass(10 * LEASE_MS);
    had(7);
    had(8);
    say(9);
    clock.pass(ANSWER_MS - 1);
    had(8);
    expect(told).toEqual([]);
  });

  it('has nothing to acknowledge while we send nothing, or while it cannot be reached', () => {
    const { clock, say, had, told, cut, mend } = between();
    for (const _ of [1, 2, 3]) {
      say(7);
      had(7);
      clock.pass(LEASE_MS);
    }
    say(8);
    cut();
    for (const _ of [1, 2, 3]) {
      clock.pass(LEASE_MS);
      had(7);
      say(9);
    }
    mend();
    had(7);
    clock.pass(LEASE_MS / 4);
    had(7);
    expect(told).toEqual([]);
  });

  it('is not doubted if something else is known to be the matter with it, and was said', () => {
    const { clock, say, had, told, trouble } = between();
    trouble();
    for (const _ of [1, 2, 3]) {
      say(7);
      clock.pass(LEASE_MS);
      had(undefined);
    }
    expect(told).toEqual([]);
  });
});

describe('two processes that have one id', { timeout: LONG_MS }, () => {
  it('are both told that this may be why they get nothing', async () => {
    const peers = await freePeers('a', 'b', 'c');
    const { elsewhere = '' } = await freePeers('elsewhere');
    const [running, second] = [listeningLogger(), listeningLogger()];
    await using _ = await TestGroup.with(['a', 'b'], peers);
    await using c = await join('c', peers, { logger: running });
    const lease = await c.acquire('r');
    await using again = await join('c', peers, { logger: second, listen: elsewhere });
    await vi.waitUntil(() => lease.signal.aborted, { timeout: LONG_MS });
    await vi.waitUntil(() => c.status().peers.every(({ problem }) => problem !== undefined), {
      timeout: LONG_MS,
    });
    const words =
      'it acknowledges nothing that we send: another process may run under the name c, or what we send is lost';
    expect(c.status().peers.map(({ problem }) => problem)).toEqual([words, words]);
    expect(running.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: 'member a acknowledges no packet of this member',
        why: words,
      }),
    );
    await vi.waitUntil(() => again.status().recovery === undefined, { timeout: LONG_MS });
    expect(again.status().peers[0]?.problem).toContain('Or another process is c, and is there');
    await again.close();
    await vi.waitUntil(
      () => running.lines.some(({ message }) => message === 'member a acknowledges this member again'),
      { timeout: LONG_MS },
    );
    expect((await c.acquire('r')).isHeld()).toBe(true);
  });
});
