import { describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../runtime/time.ts';
import { DrivenMember } from './driven-member.ts';
import type { MemberEvent } from './member.ts';
import type { Packet } from './messages.ts';
import { ITEMS_ENOUGH } from './messages.ts';
import { resolveFleaseDurations } from './options.ts';

const LEASE_MS = 1_000;
const DURATIONS = resolveFleaseDurations({ leaseMs: LEASE_MS, clockSkewMs: 50 });

/** A group of one, which needs nobody's word, or one of three, which only speaks. Turns end when they are told to. */
function bench(members: readonly string[] = ['a'], { turns = true } = {}) {
  const clock = { ms: 5_000_000 };
  const ends: (() => void)[] = [];
  const sent: { to: string; packet: Packet }[] = [];
  const events: MemberEvent[] = [];
  const alarms: (Instant | undefined)[] = [];
  const hooks: { tell: (event: MemberEvent) => void; send: (to: string) => void } = {
    tell: () => {},
    send: () => {},
  };
  let ring = (): void => {};
  const unwanted = new Set<number>();
  const driver = new DrivenMember({
    settings: {
      ...{ group: 'g', id: 'a', incarnation: 1, durations: DURATIONS, random: () => 0.5 },
      view: { number: 1, members, before: undefined },
    },
    clock: { now: () => instant(clock.ms - 4_000_000), wallMs: () => clock.ms },
    alarm: (wake) => {
      ring = wake;
      return { set: (at) => alarms.push(at) };
    },
    atEndOfTurn: (callback) => (turns ? ends.push(callback) : callback()),
    send: (to, packet) => {
      sent.push({ to, packet });
      hooks.send(to);
    },
    tell: (event) => {
      events.push(event);
      hooks.tell(event);
    },
    isWanted: (request) => !unwanted.has(request),
  });
  const endTurn = (): void => {
    for (const end of ends.splice(0)) end();
  };
  /** The silence is over. */
  const speak = (): void => {
    driver.start();
    endTurn();
    clock.ms += DURATIONS.recoveryMs + 1;
    ring();
    endTurn();
    events.length = 0;
    sent.length = 0;
  };
  const acquire = (resource: string, id: number): void =>
    driver.input((reading) => driver.member.request(resource, { kind: 'acquire', id }, reading));
  const kinds = (): string[] => events.map(({ kind }) => kind);
  return {
    driver,
    clock,
    ends,
    endTurn,
    sent,
    events,
    kinds,
    alarms,
    hooks,
    unwanted,
    speak,
    acquire,
    ring: () => ring(),
  };
}

describe('a driver', () => {
  it('tells what its member had to say when it began, and sets its alarm', () => {
    const { driver, endTurn, kinds, alarms } = bench();
    expect(kinds()).toEqual([]);
    driver.start();
    endTurn();
    expect(kinds()).toEqual(['recovering']);
    expect(alarms).toHaveLength(1);
  });

  it('sends all that was asked in one turn as one packet to each peer', () => {
    const { speak, acquire, ends, endTurn, sent } = bench(['a', 'b', 'c']);
    speak();
    for (let id = 1; id <= 50; id += 1) acquire(`r${id}`, id);
    expect(ends).toHaveLength(1);
    expect(sent).toEqual([]);
    endTurn();
    expect(sent.map(({ to, packet }) => [to, packet.items.length])).toEqual([
      ['b', 50],
      ['c', 50],
    ]);
  });

  it('does not let a peer wait for the end of the turn if there is enough to say', () => {
    const { speak, acquire, endTurn, sent, events } = bench(['a', 'b', 'c']);
    speak();
    for (let id = 1; id <= ITEMS_ENOUGH; id += 1) acquire(`r${id}`, id);
    expect(sent.map(({ to, packet }) => [to, packet.items.length])).toEqual([
      ['b', ITEMS_ENOUGH],
      ['c', ITEMS_ENOUGH],
    ]);
    acquire('one more', ITEMS_ENOUGH + 1);
    expect(sent).toHaveLength(2);
    endTurn();
    expect(sent.slice(2).map(({ packet }) => packet.items)).toMatchObject([[{ resource: 'one more' }]]);
    expect(events).toEqual([]);
  });

  it.each([false, true])(
    'throws the first error of sending such a packet once, when the turn ends, and not to the caller: stopped %s',
    (isStopped) => {
      const { driver, speak, acquire, endTurn, hooks } = bench(['a', 'b', 'c']);
      speak();
      hooks.send = (to) => {
        throw new Error(`nothing can be sent to ${to}`);
      };
      for (let id = 1; id <= ITEMS_ENOUGH; id += 1) acquire(`r${id}`, id);
      hooks.send = () => {};
      if (isStopped) driver.stop();
      expect(endTurn).toThrow('nothing can be sent to b');
      acquire('r', ITEMS_ENOUGH + 1);
      expect(endTurn).not.toThrow();
    },
  );

  it('sends the packets of an input that arrives meanwhile after all full packets', () => {
    const { speak, acquire, endTurn, hooks, sent } = bench(['a', 'b', 'c']);
    speak();
    let id = 0;
    const many = (): void => {
      for (let count = 0; count < ITEMS_ENOUGH; count += 1) acquire(`r${(id += 1)}`, id);
    };
    hooks.send = (to) => {
      hooks.send = () => {};
      if (to === 'b') many();
    };
    many();
    expect(sent.map(({ to }) => to)).toEqual(['b', 'c']);
    endTurn();
    expect(sent.slice(2).flatMap(({ packet }) => packet.items)).toHaveLength(ITEMS_ENOUGH);
  });

  it('reads both clocks for every input', () => {
    const { speak, acquire, endTurn, clock, sent } = bench(['a', 'b', 'c']);
    speak();
    acquire('r1', 1);
    clock.ms += 7;
    acquire('r2', 2);
    endTurn();
    const asked = sent[0]?.packet.items.map((item) => (item.kind === 'read' ? item.askedMs : 0)) ?? [];
    expect(asked).toEqual([clock.ms - 7, clock.ms]);
  });

  it('takes an input from a listener of an event, and executes it after all earlier inputs', () => {
    const { speak, acquire, endTurn, hooks, events } = bench();
    speak();
    hooks.tell = (event) => {
      if (event.kind === 'granted' && event.request === 1) acquire('r3', 3);
    };
    acquire('r1', 1);
    acquire('r2', 2);
    endTurn();
    endTurn();
    expect(events.map((event) => (event.kind === 'granted' ? event.request : 0))).toEqual([1, 2, 3]);
  });

  it('does the same without turns', () => {
    const { speak, acquire, hooks, events, alarms } = bench(['a'], { turns: false });
    speak();
    hooks.tell = (event) => {
      if (event.kind === 'granted' && event.request < 3) acquire(`r${event.request + 1}`, event.request + 1);
    };
    const before = alarms.length;
    acquire('r1', 1);
    expect(events.map((event) => (event.kind === 'granted' ? event.request : 0))).toEqual([1, 2, 3]);
    expect(alarms.length).toBeGreaterThan(before);
  });

  it('carries out the rest when one of them throws, and then throws it on', () => {
    const { speak, acquire, endTurn, hooks, events, sent } = bench(['a', 'b', 'c']);
    speak();
    hooks.send = (to) => {
      if (to === 'b') throw new Error('this packet cannot be sent');
    };
    acquire('r1', 1);
    expect(endTurn).toThrow('this packet cannot be sent');
    expect(sent.map(({ to }) => to)).toEqual(['b', 'c']);
    expect(events).toEqual([]);
  });

  it('hands out no lease that has expired by then, but asks for it anew, and says nothing of it', () => {
    const { driver, speak, acquire, endTurn, clock, events } = bench();
    speak();
    acquire('r', 1);
    driver.input((reading) => driver.member.request('s', { kind: 'try', id: 2 }, reading));
    clock.ms += LEASE_MS + 1;
    endTurn();
    expect(events).toEqual([]);
    endTurn();
    const granted = events.flatMap((event) => (event.kind === 'granted' ? [event] : []));
    expect(granted.map(({ request, wanted }) => [request, wanted])).toEqual([
      [1, 'acquire'],
      [2, 'try'],
    ]);
    expect(events).toHaveLength(granted.length);
    for (const { held } of granted)
      expect([driver.holds(held), held.untilMs]).toEqual([true, clock.ms + LEASE_MS]);
  });

  it('hands nothing out that nobody wants any more, whether it is over by then or not, but gives it back', () => {
    const { driver, speak, acquire, endTurn, clock, events, unwanted } = bench();
    speak();
    for (const passedMs of [0, LEASE_MS + 1]) {
      acquire('r', 1);
      unwanted.add(1);
      clock.ms += passedMs;
      endTurn();
      endTurn();
      expect(events).toEqual([]);
      expect([...driver.member.heldLeases]).toEqual([]);
      expect(driver.member.hasUnfinished).toBe(false);
    }
  });

  it('throws the error of the member to the caller, and goes on', () => {
    const { driver, speak, acquire, endTurn, kinds } = bench();
    speak();
    const move = (): void => driver.input((reading) => driver.member.move([], reading));
    expect(move).toThrow('a group needs a member');
    acquire('r', 1);
    endTurn();
    expect(kinds()).toEqual(['granted']);
  });

  it('does nothing more once it was stopped, not even the work that was due', () => {
    const { driver, speak, acquire, endTurn, kinds, alarms } = bench();
    speak();
    acquire('r', 1);
    driver.stop();
    endTurn();
    acquire('r2', 2);
    endTurn();
    expect(kinds()).toEqual([]);
    expect(alarms.at(-1)).toBeUndefined();
  });
});
