/**
 * Every waiting member gets its turn, in a group in which nothing fails: no deaths, no lost messages, no clock skew.
 * Each schedule here is one of many in which messages cross each other on their way, and once cost waiting members a
 * lease or more.
 */

import { describe, expect, it } from 'vitest';
import type { HeldLease } from '../core/held-lease.ts';
import { QuietGroup } from './quiet-group.ts';

const LEASE_MS = 10_000;
/** At rest a lease is taken, or handed over, within a few times this. */
const SOON_MS = 1_000;
/** Three answer timeouts and the skew: how long a lease is left for a successor that has gone. */
const LEFT_MS = 3_500;

const groupOf = (members: number, delayMs: number): QuietGroup =>
  new QuietGroup({ members, leaseMs: LEASE_MS, links: { delayMs: [delayMs, delayMs], inOrder: true } });

const nowMs = ({ flease }: QuietGroup): number => flease.world.trueMs;
const after = ({ flease }: QuietGroup, ms: number, act: () => void): void => {
  flease.world.after(ms, act);
};

/** Passes time until the condition holds, and returns how long that took. */
function until(group: QuietGroup, isSo: () => boolean): number {
  const fromMs = nowMs(group);
  while (!isSo() && nowMs(group) - fromMs < 3 * LEASE_MS) group.pass(5);
  return nowMs(group) - fromMs;
}

/** Acquires the lease and waits for it. */
const acquired = (group: QuietGroup, name: string): HeldLease => {
  const asked = group.acquire(name);
  until(group, () => asked.held !== undefined);
  return asked.held as HeldLease;
};

const steps = (from: number, to: number, count: number): number[] =>
  Array.from({ length: count }, (_, step) => from + ((to - from) * step) / count);

describe('members that take turns at one resource, all the time', () => {
  it.each([3, 5])('are overtaken a few times at most: %i members', (members) => {
    const group = groupOf(members, 1);
    const waitsMs: number[] = [];
    const grants = new Map<string, number>();
    const takeTurns = (name: string, pauseMs: number): void => {
      const fromMs = nowMs(group);
      group.node(name).request('acquire', 'job', (event) => {
        if (event.kind !== 'granted') return;
        waitsMs.push(nowMs(group) - fromMs);
        grants.set(name, (grants.get(name) ?? 0) + 1);
        after(group, 5, () => {
          group.node(name).release(event.held);
          after(group, pauseMs, () => takeTurns(name, (pauseMs * 7 + 3) % 40));
        });
      });
    };
    for (const [place, { name }] of group.flease.nodes.entries())
      after(group, 3 * place, () => takeTurns(name, 11 * place));
    group.pass(60_000);
    expect(Math.max(...waitsMs)).toBeLessThan(SOON_MS);
    const counts = [...grants.values()];
    expect(counts).toHaveLength(members);
    expect(Math.min(...counts)).toBeGreaterThan(Math.max(...counts) / 2);
  });
});

describe('one that asks while it is being given back', () => {
  it.each([1, 5, 40])('has it soon, whenever it asked: %i ms away', (delayMs) => {
    for (const beforeMs of steps(-3 * delayMs, 3 * delayMs + 8, 40)) {
      const group = groupOf(3, delayMs);
      const held = acquired(group, 'c');
      const meetMs = 4 * delayMs + 10;
      after(group, meetMs, () => group.node('c').release(held));
      let asked: ReturnType<QuietGroup['acquire']> | undefined;
      after(group, meetMs - beforeMs, () => {
        asked = group.acquire('a');
      });
      const tookMs = until(group, () => asked?.held !== undefined);
      expect(tookMs, `asked ${beforeMs} ms before`).toBeLessThan(SOON_MS);
    }
  });
});

describe('a lease that is taken for the next one in the same process, which gives up', () => {
  it('is given back, and a member that waits elsewhere has it soon', () => {
    for (const asksAtMs of steps(-4, 6, 20))
      for (const givesUpAtMs of steps(1, 38, 12)) {
        const group = groupOf(3, 2);
        const held = acquired(group, 'a');
        const next = group.acquire('a');
        group.pass(20);
        after(group, 10, () => group.node('a').release(held));
        let asked: ReturnType<QuietGroup['acquire']> | undefined;
        after(group, 10 + asksAtMs, () => {
          asked = group.acquire('b');
        });
        after(group, 10 + givesUpAtMs, () => {
          if (next.held === undefined) group.node('a').cancel('job', next.id);
          else group.node('a').release(next.held);
        });
        const tookMs = until(group, () => asked?.held !== undefined);
        expect(tookMs, `b asks at ${asksAtMs} ms, a gives up at ${givesUpAtMs} ms`).toBeLessThan(SOON_MS);
      }
  });
});

describe('the first in line, which gives up when its turn has come', () => {
  it('keeps those behind it no longer than something is left for it', () => {
    for (const givesUpAtMs of steps(-6, 18, 60)) {
      const group = groupOf(3, 2);
      const held = acquired(group, 'a');
      const first = group.acquire('c');
      group.pass(100);
      const second = group.acquire('b');
      group.pass(100);
      after(group, 10, () => group.node('a').release(held));
      after(group, 10 + givesUpAtMs, () => {
        if (first.held === undefined) group.node('c').cancel('job', first.id);
        else group.node('c').release(first.held);
      });
      const tookMs = until(group, () => second.held !== undefined);
      expect(tookMs, `c gives up at ${givesUpAtMs} ms`).toBeLessThan(LEFT_MS + SOON_MS);
    }
  });
});

describe('the first in line, which has died', () => {
  it('keeps those behind it no longer than something is left for it, however long a lease is', () => {
    const group = new QuietGroup({
      members: 5,
      leaseMs: 3_600_000,
      links: { delayMs: [1, 2], inOrder: true },
    });
    const held = acquired(group, 'a');
    group.acquire('c');
    group.pass(100);
    const second = group.acquire('b');
    group.pass(100);
    group.node('c').process.crash();
    group.node('a').release(held);
    const tookMs = until(group, () => second.held !== undefined);
    expect(tookMs).toBeLessThan(LEFT_MS + SOON_MS);
  });
});

describe('a lease of a day', () => {
  it('goes to the next one as soon as one of seconds', () => {
    const group = new QuietGroup({ leaseMs: 24 * 3_600_000, links: { delayMs: [1, 3] } });
    const held = acquired(group, 'a');
    const waiting = ['b', 'c'].map((name) => group.acquire(name));
    group.pass(200);
    group.node('a').release(held);
    const tookMs = until(group, () => waiting.some((asked) => asked.held !== undefined));
    expect(tookMs).toBeLessThan(SOON_MS);
  });
});
