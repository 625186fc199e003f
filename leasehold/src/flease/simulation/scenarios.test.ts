import { describe, expect, it } from 'vitest';
import { BrokenPromise } from '../../sim/world.ts';
import type { HeldLease } from '../core/held-lease.ts';
import type { Item, Packet } from '../core/messages.ts';
import { type Asked, QuietGroup } from './quiet-group.ts';

// A lease is 1000 ms, clocks are within 50, unless something else is said. All messages take 1 ms.

/** A holder that is stopped while others wait for what it holds; its clock goes on. */
function stopHolder(group: QuietGroup): void {
  const first = group.acquire('a');
  group.pass(20);
  expect(first.held).toBeDefined();
  const second = group.acquire('b');
  group.pass(20);
  group.node('a').pause(5_000);
  group.pass(4_000);
  expect(second.held).toBeDefined();
}

// A millisecond of the skew is for each of the two that read their clocks.
describe('clocks that differ by as much as they may', () => {
  it.each([0, 10, 25, 48])(
    'are harmless: the holder %d ms behind, the next ahead of true time by the rest',
    (behindMs) => {
      stopHolder(new QuietGroup({ deviationsMs: { a: -behindMs, b: 48 - behindMs } }));
    },
  );
});

describe('clocks that differ by more than the skew', () => {
  it.each([60, 100, 200])(
    'give a resource two holders if nobody compares them, and that is seen: %d ms',
    (behindMs) => {
      const group = new QuietGroup({ deviationsMs: { a: -behindMs }, comparesClocks: false });
      expect(() => stopHolder(group)).toThrow(BrokenPromise);
      expect(() =>
        stopHolder(new QuietGroup({ deviationsMs: { a: -behindMs }, comparesClocks: false })),
      ).toThrow(/one-holder/);
    },
  );

  it('are found out when members compare them: the one that is off gets nothing', () => {
    const group = new QuietGroup({ deviationsMs: { a: -60 } });
    const asked = group.acquire('a');
    group.pass(3_000);
    expect(asked.held).toBeUndefined();
    expect(group.node('a').member?.recovery?.why).toBe('clock-outlier');
    const other = group.acquire('b');
    group.pass(100);
    expect(other.held).toBeDefined();
  });
});

describe('an acceptor that restarts', () => {
  it.each(['crashed', 'shut down'])('is silent until a lease and two skews have passed, if it %s', (how) => {
    const group = new QuietGroup();
    group.acquire('a');
    group.pass(100);
    const said: { kind: Item['kind']; atMs: number }[] = [];
    const { world, network } = group.flease;
    const send = network.send.bind(network);
    network.send = (from: string, to: string, packet: Packet) => {
      if (from === 'b') for (const { kind } of packet.items) said.push({ kind, atMs: world.trueMs });
      send(from, to, packet);
    };
    if (how === 'shut down') group.node('b').releaseAll();
    group.node('b').process.restart();
    const restartedMs = world.trueMs;
    group.acquire('b');
    group.pass(2_000);
    const words = said.filter(({ kind }) => kind !== 'refused');
    expect(said.some(({ kind, atMs }) => kind === 'refused' && atMs < restartedMs + 1_100)).toBe(true);
    expect(words).not.toEqual([]);
    expect(Math.min(...words.map(({ atMs }) => atMs))).toBeGreaterThanOrEqual(restartedMs + 1_099);
  });

  it('cannot be asked by itself either: two of three that have forgotten are no majority', () => {
    const group = new QuietGroup();
    const held = group.acquire('a');
    group.pass(100);
    for (const name of ['b', 'c']) group.node(name).process.restart();
    const asked = [group.acquire('b'), group.acquire('c')];
    group.pass(1_000);
    expect(asked.map(({ held }) => held)).toEqual([undefined, undefined]);
    expect(held.held?.ended).toBe('lapsed');
    group.pass(2_000);
    expect(asked.some(({ held }) => held !== undefined)).toBe(true);
  });
});

describe('messages that come twice', () => {
  it('are harmless', () => {
    const group = new QuietGroup({ links: { delayMs: [1, 300], duplicateChance: 1 } });
    const asked = ['a', 'b', 'c'].map((name) => group.acquire(name));
    const holders = (): number => asked.filter(({ held }) => held !== undefined).length;
    // Most answers come too late, so it takes a while. That there never are two is for the checker to say.
    for (let passedMs = 0; holders() === 0 && passedMs < 60_000; passedMs += 20) group.pass(20);
    expect(holders()).toBe(1);
  });
});

describe('a write that is answered when the lease is over', () => {
  it('gives nothing: it is asked for anew, under another number', () => {
    const group = new QuietGroup({ links: { delayMs: [5, 5] } });
    const written = new Set<number>();
    const { network } = group.flease;
    const send = network.send.bind(network);
    network.send = (from: string, to: string, packet: Packet) => {
      for (const item of packet.items) if (item.kind === 'write') written.add(item.lease.number);
      send(from, to, packet);
    };
    const asked = group.acquire('a');
    group.pass(15); // The answers to what it wrote are on their way.
    group.node('a').pause(1_200);
    group.pass(1_200);
    expect(asked.held).toBeUndefined();
    const [number = 0] = written;
    group.pass(100);
    const { held } = asked;
    expect(held && group.node('a').holds(held)).toBe(true);
    expect(number).toBeGreaterThan(0);
    expect(held?.number).toBeGreaterThan(number);
  });
});

describe('those who only look', () => {
  it.each(['ask', 'try'] as const)('do not keep a holder from renewing, however often they %s', (kind) => {
    const group = new QuietGroup();
    const held = group.acquire('a');
    group.pass(20);
    const looks: Asked[] = [];
    for (let ms = 0; ms < 5_000; ms += 5) {
      looks.push(group.acquire('b', kind), group.acquire('c', kind));
      group.pass(5);
    }
    group.pass(300);
    expect(held.held?.ended).toBeUndefined();
    const told = looks.flatMap(({ events }) => events.map((event) => event.kind));
    expect(told).toEqual(looks.map(() => (kind === 'ask' ? 'told' : 'held')));
  });
});

describe('a race of those who try', () => {
  it('is won by one, and the others are told so: nobody is told that there is no majority', () => {
    for (let race = 0; race < 20; race++) {
      const group = new QuietGroup({ members: 5, links: { delayMs: [1, 1 + race / 4] } });
      const racers = ['a', 'b', 'c', 'd', 'e'].map((name) => group.acquire(name, 'try'));
      group.pass(900);
      const told = racers.flatMap(({ events }) => events.map(({ kind }) => kind)).sort();
      expect(told.filter((kind) => kind === 'failed')).toEqual([]);
      expect(told.filter((kind) => kind === 'granted')).toHaveLength(1);
    }
  });
});

describe('waiting members', () => {
  it('have it one after the other, in the order in which they came, however it is given back', () => {
    const group = new QuietGroup({ members: 5 });
    const order: string[] = [];
    const asked = new Map<string, Asked>();
    for (const name of 'adbec') {
      asked.set(name, group.acquire(name));
      group.pass(50);
    }
    for (let turn = 0; turn < 5; turn++) {
      for (const [name, { held }] of asked) {
        if (held === undefined || held.ended !== undefined) continue;
        order.push(name);
        group.node(name).release(held);
      }
      group.pass(60);
    }
    expect(order.join('')).toBe('adbec');
  });
});

describe('a member that is busy', () => {
  const heard = (group: QuietGroup) => {
    const questions = new Map<string, number>();
    const { network } = group.flease;
    const send = network.send.bind(network);
    network.send = (from: string, to: string, packet: Packet) => {
      const asked = packet.items.filter(({ kind }) => kind === 'read' || kind === 'write').length;
      if (from === 'a') questions.set(to, (questions.get(to) ?? 0) + asked);
      send(from, to, packet);
    };
    return questions;
  };

  it('asks no more others than it has to, as long as they answer', () => {
    const group = new QuietGroup({ members: 5, busyFrom: 0 });
    const questions = heard(group);
    const asked = group.acquire('a');
    group.pass(20);
    expect(asked.held).toBeDefined();
    expect([...questions.values()].filter((count) => count > 0)).toEqual([2, 2]);
  });

  it('asks the rest when somebody has fallen silent, and the silent one last from then on', () => {
    const group = new QuietGroup({ busyFrom: 0 });
    group.node('b').pause(5_000);
    const first = group.acquire('a');
    group.pass(3);
    expect(first.held).toBeUndefined(); // b was asked, and nobody else.
    group.pass(20);
    expect(first.held).toBeDefined();
    group.node('a').release(first.held as HeldLease);
    group.pass(20);
    const questions = heard(group);
    const second = group.acquire('a');
    group.pass(5);
    expect(second.held).toBeDefined();
    expect(questions.get('b')).toBeUndefined();
  });

  it('asks the rest at once when somebody refuses', () => {
    const group = new QuietGroup({ busyFrom: 0 });
    const { process } = group.node('b');
    process.crash();
    process.start();
    const asked = group.acquire('a');
    group.pass(5); // There and back, twice over: b recovers, and says so.
    expect(asked.held).toBeUndefined();
    group.pass(5);
    expect(asked.held).toBeDefined();
  });
});

describe('those who only ask', () => {
  it.each(['acquire', 'try'] as const)('do not keep one of their own process from having it: %s', (kind) => {
    const group = new QuietGroup({ links: { delayMs: [25, 25] }, leaseMs: 2_000 });
    const askAgain = (): void => void group.node('a').request('ask', 'job', askAgain);
    askAgain();
    group.pass(20);
    askAgain(); // So that somebody always asks.
    group.pass(20);
    const asked = group.acquire('a', kind);
    group.pass(500);
    expect(asked.held).toBeDefined();
  });
});

describe('a member whose clock jumps', () => {
  it.each(['try', 'ask'] as const)('says so to who asks then, and to who has asked: %s', (kind) => {
    const group = new QuietGroup();
    const before = group.acquire('a', kind);
    group.node('a').process.clock.stepWall(group.flease.world.trueMs, 3_600_000);
    const then = group.acquire('a', kind);
    group.pass(5);
    for (const { events } of [before, then]) expect(events.map((event) => event.kind)).toEqual(['failed']);
  });
});

describe('a holder for which each round of questions takes 240 ms, as behind long turns of its event loop', () => {
  const links = { delayMs: [120, 120] } as const;

  it('keeps a lease of 2 s for which it makes promises', () => {
    const group = new QuietGroup({ members: 2, leaseMs: 2_000, clockSkewMs: 200, takeoverMs: 15_000, links });
    const { events, held } = after10s(group);
    expect(events.map(({ kind }) => kind)).toEqual(['granted']);
    expect(held?.state).toBe('held');
  });

  it('never gets such a lease if it waits for answers for 200 ms, as a holder without promises does', () => {
    const group = new QuietGroup({ members: 2, leaseMs: 2_000, clockSkewMs: 200, links });
    expect(after10s(group).events).toEqual([]);
  });

  function after10s(group: QuietGroup): Asked {
    const asked = group.acquire('a');
    group.pass(10_000);
    return asked;
  }
});
