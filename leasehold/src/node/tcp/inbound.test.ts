import { describe, expect, it } from 'vitest';
import { type Allowance, Inbound, type InboundPeer } from './inbound.ts';
import { resolveLimits, type TcpLimits } from './limits.ts';

const KIB = 1_024;

const LIMITS = resolveLimits({
  ...{ unfinishedBytesTotal: 1_000, unfinishedBytesBeforeAdmission: 100 },
  ...{ messagesPerSecondIn: 10, messagesBurstIn: 20, bytesPerSecondIn: 10_000 },
  ...{ messagesPerSecondInTotal: 30, bytesPerSecondInTotal: 20_000 },
});

class Peer implements InboundPeer {
  readonly remote: string;
  isAdmitted = false;
  unfinishedBytes = 0;
  readonly allowance: Allowance;
  isPaused = false;
  closedBecause: string | undefined;

  constructor(inbound: Inbound, remote = '') {
    this.remote = remote;
    this.allowance = inbound.newAllowance();
  }

  pause(): void {
    this.isPaused = true;
  }

  close(why: { readonly code: string }): void {
    this.closedBecause = why.code;
  }
}

function bench(limits: Partial<TcpLimits> = {}) {
  const held: string[] = [];
  const inbound = new Inbound({ ...LIMITS, ...limits }, (limit) => held.push(limit));
  const keeps = (peer: Peer, bytes: number): void => {
    peer.unfinishedBytes = bytes;
    inbound.read(peer, 0, 0, 0, 0);
  };
  return { inbound, held, keeps, peer: () => new Peer(inbound) };
}

describe('frames that have not ended', () => {
  it('of strangers cost the one with the largest its connection', () => {
    const { inbound, held, keeps, peer } = bench();
    const [small, large, last] = [peer(), peer(), peer()];
    keeps(small, 30);
    keeps(large, 60);
    keeps(last, 20);
    expect([small, large, last].map(({ closedBecause }) => closedBecause)).toEqual([
      undefined,
      'UNFINISHED_FRAMES',
      undefined,
    ]);
    expect([inbound.unfinishedBytes, held]).toEqual([50, ['unfinishedBytesBeforeAdmission']]);
  });

  it('of an admitted peer are not counted with those of strangers', () => {
    const { keeps, peer } = bench();
    const [stranger, admitted] = [peer(), peer()];
    admitted.isAdmitted = true;
    keeps(stranger, 90);
    keeps(admitted, 900);
    expect([stranger.closedBecause, admitted.closedBecause]).toEqual([undefined, undefined]);
  });

  it('of admitted peers cost the largest its connection, and not the peer that sent last', () => {
    const { inbound, held, keeps, peer } = bench({ unfinishedBytesTotal: 1_000 * KIB });
    const [first, second, honest] = [peer(), peer(), peer()];
    for (const each of [first, second, honest]) each.isAdmitted = true;
    keeps(first, 480 * KIB);
    keeps(second, 480 * KIB);
    keeps(honest, 100 * KIB);
    expect([first, second, honest].map(({ closedBecause }) => closedBecause)).toEqual([
      'UNFINISHED_FRAMES',
      undefined,
      undefined,
    ]);
    expect([honest.isPaused, inbound.unfinishedBytes, held]).toEqual([
      false,
      580 * KIB,
      ['unfinishedBytesTotal'],
    ]);
  });

  it('of up to 64 KiB are read to their end, whatever others hold', () => {
    const { inbound, keeps, peer } = bench({ unfinishedBytesTotal: 100 * KIB });
    const [small, large] = [peer(), peer()];
    for (const each of [small, large]) each.isAdmitted = true;
    keeps(small, 64 * KIB);
    keeps(large, 65 * KIB);
    expect([small.closedBecause, large.closedBecause]).toEqual([undefined, 'UNFINISHED_FRAMES']);
    const other = peer();
    other.isAdmitted = true;
    keeps(other, 64 * KIB);
    expect([small, other].map(({ closedBecause, isPaused }) => closedBecause ?? isPaused)).toEqual([
      false,
      false,
    ]);
    expect(inbound.mayRead(other, 0)).toBe(true);
  });

  it('of a peer that was admitted meanwhile are no longer a stranger’s', () => {
    const { keeps, peer } = bench();
    const [first, second] = [peer(), peer()];
    keeps(first, 80);
    first.isAdmitted = true;
    keeps(first, 85);
    keeps(second, 90);
    expect([first.closedBecause, second.closedBecause]).toEqual([undefined, undefined]);
  });
});

describe('a peer that sends more than it may', () => {
  it('is paused until it would have been allowed that much', () => {
    const { inbound, held, peer } = bench();
    const admitted = peer();
    admitted.isAdmitted = true;
    inbound.read(admitted, 20, 0, 0, 0);
    expect(admitted.isPaused).toBe(false);
    inbound.read(admitted, 5, 0, 0, 0);
    expect([admitted.isPaused, held]).toEqual([true, ['messagesPerSecondIn']]);
    expect([inbound.mayRead(admitted, 499), inbound.mayRead(admitted, 500)]).toEqual([false, true]);
  });

  it('shares an allowance with all others as long as it is a stranger', () => {
    const { inbound, peer } = bench();
    const [one, other, admitted] = [peer(), peer(), peer()];
    admitted.isAdmitted = true;
    inbound.read(one, 20, 0, 0, 0);
    inbound.read(other, 15, 0, 0, 0);
    inbound.read(admitted, 15, 0, 0, 0);
    expect([one, other, admitted].map(({ isPaused }) => isPaused)).toEqual([false, true, false]);
    expect([inbound.mayRead(other, 100), inbound.mayRead(other, 200)]).toEqual([false, true]);
  });

  it('costs strangers that come after a flood at most one second', () => {
    const { inbound, peer } = bench();
    for (let flooders = 0; flooders < 60; flooders += 1) inbound.read(peer(), 15_000, 0, 0, 0);
    const newcomer = peer();
    inbound.read(newcomer, 1, 0, 0, 0);
    expect([newcomer.isPaused, inbound.mayRead(newcomer, 1_000)]).toEqual([true, true]);
  });

  it('does not charge strangers with what it sends beyond its own allowance', () => {
    const { inbound, peer } = bench();
    const [flooder, newcomer] = [peer(), peer()];
    inbound.read(flooder, 1_000, 0, 0, 0);
    inbound.read(newcomer, 10, 0, 0, 0);
    expect([flooder.isPaused, newcomer.isPaused]).toEqual([true, false]);
  });

  it('pays for its heartbeats alone', () => {
    const { inbound, peer } = bench();
    const [flooder, newcomer] = [peer(), peer()];
    inbound.read(flooder, 0, 1_000, 0, 0);
    inbound.read(newcomer, 20, 0, 0, 0);
    expect([flooder.isPaused, newcomer.isPaused]).toEqual([true, false]);
  });
});
