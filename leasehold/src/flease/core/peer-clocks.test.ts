import { describe, expect, it } from 'vitest';
import type { Packet } from './messages.ts';
import { PeerClocks } from './peer-clocks.ts';

const SKEW_MS = 50;

/** A packet that was sent at a time of its sender's clock; and when it had our last one, by whose clock. */
const packet = (from: string, sentMs: number, echo?: { sentMs: number; receivedMs: number }): Packet => ({
  ...{
    group: 'g',
    view: 1,
    digest: { members: 1, before: 0 },
    from,
    incarnation: 1,
    toIncarnation: 0,
    sentMs,
    echo,
    leaseMs: 1_000,
    clockSkewMs: SKEW_MS,
    takeoverMs: 0,
    items: [],
  },
});

describe('the clock of a peer', () => {
  it('is not known before a packet has gone to and fro', () => {
    const clocks = new PeerClocks(SKEW_MS);
    expect(clocks.judge('b')).toBe('unknown');
    clocks.hear(packet('b', 1_000), 1_005);
    expect(clocks.judge('b')).toBe('unknown');
    expect(clocks.bounds('b')).toEqual({ aheadAtLeastMs: -5, aheadAtMostMs: Number.POSITIVE_INFINITY });
  });

  it('is enclosed by one packet each way', () => {
    const clocks = new PeerClocks(SKEW_MS);
    clocks.hear(packet('b', 1_030, { sentMs: 1_000, receivedMs: 1_025 }), 1_012);
    expect(clocks.bounds('b')).toEqual({ aheadAtLeastMs: 18, aheadAtMostMs: 25 });
    expect(clocks.judge('b')).toBe('agrees');
  });

  it('is off if it is ahead for certain: a packet from a time to come', () => {
    const clocks = new PeerClocks(SKEW_MS);
    clocks.hear(packet('b', 1_051), 1_000);
    expect(clocks.judge('b')).toBe('off');
  });

  it('is off if it is behind for certain: ours came before it was sent', () => {
    const clocks = new PeerClocks(SKEW_MS);
    clocks.hear(packet('b', 900, { sentMs: 960, receivedMs: 899 }), 1_000);
    expect(clocks.judge('b')).toBe('off');
  });

  it('is not called off because a packet took long', () => {
    const clocks = new PeerClocks(SKEW_MS);
    clocks.hear(packet('b', 1_000, { sentMs: 900, receivedMs: 990 }), 9_000);
    expect(clocks.judge('b')).toBe('agrees');
  });

  it('is measured anew when ours was set: what is echoed from before counts for nothing', () => {
    const clocks = new PeerClocks(SKEW_MS);
    clocks.hear(packet('b', 1_051), 1_000);
    clocks.reset(5_000);
    expect(clocks.judge('b')).toBe('unknown');
    clocks.hear(packet('b', 5_001, { sentMs: 1_000, receivedMs: 900 }), 5_002);
    expect(clocks.judge('b')).toBe('unknown');
  });

  it('is not called off if ours was set back, and what is echoed was sent at a time that is yet to come', () => {
    const clocks = new PeerClocks(SKEW_MS);
    clocks.reset(1_000);
    clocks.hear(packet('b', 1_001, { sentMs: 5_000, receivedMs: 998 }), 1_002);
    expect(clocks.judge('b')).toBe('unknown');
  });
});

describe('our own clock', () => {
  it('is a clock outlier if two peers disagree and fewer agree', () => {
    const clocks = new PeerClocks(SKEW_MS);
    clocks.hear(packet('b', 1_100), 1_000);
    expect(clocks.isClockOutlier).toBe(false);
    clocks.hear(packet('c', 1_100), 1_000);
    expect(clocks.isClockOutlier).toBe(true);
  });

  it('is no clock outlier if as many peers agree', () => {
    const clocks = new PeerClocks(SKEW_MS);
    const echo = { sentMs: 990, receivedMs: 991 };
    for (const id of ['b', 'c']) clocks.hear(packet(id, 1_100), 1_000);
    for (const id of ['d', 'e']) clocks.hear(packet(id, 999, echo), 1_000);
    expect(clocks.isClockOutlier).toBe(false);
  });
});
