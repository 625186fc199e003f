import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ClosedError, InUseError, LeaseLostError, UnavailableError } from '../../runtime/errors.ts';
import type { Lease } from './lease.ts';
import { freePeers, join, LEASE_MS, TestGroup } from './testing/groups.ts';

const LONG_MS = 30_000;

const until = (isSo: () => unknown): Promise<unknown> =>
  vi.waitUntil(isSo, { timeout: LONG_MS, interval: 2 });

describe('three members in one process', { timeout: LONG_MS }, () => {
  let group: TestGroup;
  beforeAll(async () => {
    group = await TestGroup.start();
  }, LONG_MS);
  afterAll(async () => {
    await group[Symbol.asyncDispose]();
  });

  it('give a lease to one of them at a time, and numbers that grow', async () => {
    const [a, b] = [group.of('a'), group.of('b')];
    const first = await a.acquire('r1');
    expect(first.isHeld()).toBe(true);
    expect(first.signal.aborted).toBe(false);
    expect(await b.acquireIfFree('r1')).toBeUndefined();
    expect(await a.acquireIfFree('r1')).toBeUndefined();
    expect(await b.holder('r1')).toMatchObject({ holder: 'a', number: first.number });
    await first.release();
    expect(first.isHeld()).toBe(false);
    expect(first.signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { how: 'released' } });
    expect(await b.holder('r1')).toBeUndefined();
    const second = await b.acquireIfFree('r1');
    expect(second?.number).toBeGreaterThan(first.number);
  });

  it('keep a lease for as long as it is wanted', async () => {
    const lease = await group.of('a').acquire('r2');
    const { validUntil } = lease;
    await until(() => lease.validUntil > validUntil + 2 * LEASE_MS);
    expect(lease.isHeld()).toBe(true);
    expect(lease.signal.aborted).toBe(false);
    expect(await group.of('c').holder('r2')).toMatchObject({ holder: 'a', number: lease.number });
  });

  it('serve those who wait in the order in which they came, in other processes and in the same', async () => {
    const order: string[] = [];
    const wait = async (member: string, name: string): Promise<void> => {
      await using lease = await group.of(member).acquire('r3');
      order.push(name);
      expect(lease.isHeld()).toBe(true);
    };
    const first = await group.of('a').acquire('r3');
    const waiting: Promise<void>[] = [];
    for (const [member, name] of [
      ['b', 'b1'],
      ['c', 'c1'],
      ['a', 'a1'],
    ] as const) {
      waiting.push(wait(member, name));
      const other = group.of(member);
      // The other member has been told that the lease is held, and so has taken a place in the line.
      await expect(other.acquire('r3', { timeoutMs: LEASE_MS / 4 })).rejects.toThrow(InUseError);
    }
    await first.release();
    await Promise.all(waiting);
    expect(order).toEqual(['b1', 'c1', 'a1']);
  });

  it('do not wait longer than they are told to, and say who has it', async () => {
    const held = await group.of('a').acquire('r4');
    const why = await group
      .of('b')
      .acquire('r4', { timeoutMs: LEASE_MS / 3 })
      .catch((error: unknown) => error);
    expect(why).toBeInstanceOf(InUseError);
    expect(why).toMatchObject({
      ...{ code: 'LEASE_HELD', retryable: true, details: { resource: 'r4', holder: 'a' } },
    });
    expect((why as InUseError).details['untilMs']).toBeGreaterThan(held.validUntil - 2 * LEASE_MS);
    await expect(group.of('a').acquire('r4', { timeoutMs: 10 })).rejects.toMatchObject({
      details: { holder: 'a' },
    });
  });

  it('stop waiting when they are told to, and then stand in nobody’s way', async () => {
    const held = await group.of('a').acquire('r5');
    const stop = new AbortController();
    const waiting = group.of('b').acquire('r5', { signal: stop.signal });
    const reason = new Error('no longer wanted');
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(group.of('b').acquire('r5', { signal: stop.signal })).rejects.toBe(reason);
    expect(group.of('b').status().waiting).toBe(0);
    await held.release();
    expect((await group.of('c').acquire('r5')).isHeld()).toBe(true);
  });

  it('hand a lease over to the named member, although others wait', async () => {
    const lease = await group.of('a').acquire('r6');
    const taken: string[] = [];
    const take = async (member: string): Promise<void> => {
      await using _ = await group.of(member).acquire('r6');
      taken.push(member);
    };
    const both = Promise.all([take('b'), take('c')]);
    await lease.handover('c');
    expect(lease.isHeld()).toBe(false);
    await both;
    expect(taken).toEqual(['c', 'b']);
    await expect(lease.handover('c')).rejects.toThrow(LeaseLostError);
    const again = await group.of('a').acquire('again');
    await expect(again.handover('d')).rejects.toThrow('it must be another member of the cell: b, c');
    await again.handover('b');
    expect(again.isHeld()).toBe(false);
  });

  it('do not hand over a lease that has run out', async () => {
    const lease = await group.of('a').acquire('over');
    lease.held.renewed({ number: lease.held.number, untilMs: 0 }); // The lease has expired, and nobody has looked yet.
    await expect(lease.handover('b')).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { how: 'lapsed' },
    });
    await expect(lease.handover('b')).rejects.toThrow(LeaseLostError);
  });

  it('tell who watches of every holder', async () => {
    const stop = new AbortController();
    const seen: (string | undefined)[] = [];
    const watching = (async () => {
      for await (const now of group.of('c').watch('r7', { signal: stop.signal })) seen.push(now?.holder);
    })();
    await until(() => seen.length === 1);
    const first = await group.of('a').acquire('r7');
    await until(() => seen.length === 2);
    await first.handover('b');
    await group.of('b').acquire('r7');
    await until(() => seen.at(-1) === 'b');
    expect(seen.filter((one) => one !== undefined)).toEqual(['a', 'b']);
    expect(seen[0]).toBeUndefined();
    stop.abort(new Error('seen enough'));
    await expect(watching).rejects.toThrow('seen enough');
  });

  it('elect one leader after the other', async () => {
    const terms: { readonly member: string; readonly number: number }[] = [];
    let leading = 0;
    const stand = async (member: string): Promise<void> => {
      for await (const term of group.of(member).elect('leader')) {
        leading += 1;
        expect(leading).toBe(1);
        terms.push({ member, number: term.number });
        expect(term.isHeld()).toBe(true);
        leading -= 1;
        if (terms.filter((each) => each.member === member).length === 2) break;
      }
    };
    await Promise.all([stand('a'), stand('b'), stand('c')]);
    expect(terms.map(({ member }) => member).sort()).toEqual(['a', 'a', 'b', 'b', 'c', 'c']);
    const numbers = terms.map(({ number }) => number);
    expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(await group.of('a').holder('leader')).toBeUndefined();
  });

  it('are asked for a thousand things at once', async () => {
    const names = Array.from({ length: 1_000 }, (_, at) => `one of many ${at}`);
    const leases: Lease[] = await Promise.all(names.map((name) => group.of('a').acquire(name)));
    // A busy machine may take so long over the last of them that the first have run out, and say so.
    const over = leases.filter((lease) => !lease.isHeld());
    expect(over.filter(({ how }) => how !== 'lapsed')).toEqual([]);
    expect(group.of('a').status().waiting).toBe(0);
    expect(group.of('a').status().held).toBeGreaterThanOrEqual(1_000 - over.length);
    // A busy member asks only a majority: itself and the quicker of its peers, for each lease.
    const registers = group.of('b').status().registers + group.of('c').status().registers;
    expect(registers).toBeGreaterThanOrEqual(1_000);
  });

  it('say how they are', async () => {
    const { a } = group.peers;
    const status = group.of('b').status();
    expect(status).toMatchObject({
      name: 'b',
      instance: 'default',
      peersVersion: 1,
      isSettled: true,
      recovery: undefined,
    });
    const [peer] = status.peers;
    expect(peer).toMatchObject({ name: 'a', address: a, connected: true, trouble: undefined });
    expect(peer?.heardAgoMs).toBeLessThan(LEASE_MS);
    expect(peer?.clockAheadMs?.atLeast).toBeLessThanOrEqual(peer?.clockAheadMs?.atMost ?? -1);
  });
});

describe('members that come and go', { timeout: LONG_MS }, () => {
  it('give everything back when they leave, at once', async () => {
    await using group = await TestGroup.start();
    const a = group.of('a');
    const lease = await a.acquire('r');
    const next = group.of('b').acquire('r');
    const other = await group.of('b').acquire('s');
    const refused = expect(a.acquire('s')).rejects.toThrow(ClosedError);
    await a.close();
    await refused;
    expect(lease.isHeld()).toBe(false);
    expect(lease.signal.reason).toMatchObject({ details: { how: 'closed' } });
    await expect(a.acquire('t')).rejects.toThrow(ClosedError);
    await expect(a.ready()).rejects.toThrow(ClosedError);
    const { number } = await next;
    expect(number).toBeGreaterThan(lease.number);
    expect(Date.now()).toBeLessThan(lease.validUntil);
    expect(other.isHeld()).toBe(true);
  });

  it('say so if a lease could not be handed over, since most of them were gone', async () => {
    await using group = await TestGroup.start();
    const a = group.of('a');
    const [lease, other] = await Promise.all([a.acquire('r'), a.acquire('s')]);
    await Promise.all([group.of('b').close(), group.of('c').close()]);
    const [handedOver, released] = [lease.handover('b'), other.release()];
    expect(lease.isHeld()).toBe(false);
    await expect(handedOver).rejects.toMatchObject({
      ...{ code: 'OUTCOME_UNKNOWN', retryable: false, isOutcomeKnown: false, details: { resource: 'r' } },
    });
    await expect(handedOver).rejects.toThrow(/these did not: b \(.+\), c \(.+\)/);
    await expect(released).resolves.toBeUndefined();
    const last = await a.acquire('t', { timeoutMs: 1 }).catch((error: unknown) => error);
    expect(last).toBeInstanceOf(UnavailableError);
  });

  it('say so if they were closed before a lease was handed over', async () => {
    await using group = await TestGroup.start();
    const a = group.of('a');
    const lease = await a.acquire('r');
    await Promise.all([group.of('b').close(), group.of('c').close()]);
    const refused = expect(lease.handover('b')).rejects.toThrow(ClosedError);
    await a.close();
    await refused;
  });

  it('are closed for those who hear of it by the end of a lease', async () => {
    await using group = await TestGroup.start(['a']);
    const a = group.of('a');
    const lease = await a.acquire('r');
    const heard: Promise<unknown>[] = [];
    lease.signal.addEventListener('abort', () => {
      heard.push(expect(a.acquire('s')).rejects.toThrow(ClosedError));
    });
    await a.close();
    expect(heard).toHaveLength(1);
    await Promise.all(heard);
    expect(a.status()).toMatchObject({ held: 0, waiting: 0, closed: { code: 'CLOSED' } });
    await expect(lease.handover('b')).rejects.toThrow(ClosedError);
    await expect(a.changePeers({ peers: {} })).rejects.toThrow(ClosedError);
  });

  it('go on when one of them is gone, and take it back when it has been silent', async () => {
    await using group = await TestGroup.start();
    const lease = await group.of('a').acquire('r');
    await group.of('c').close();
    expect((await group.of('b').acquire('s')).isHeld()).toBe(true);
    await using again = await join('c', group.peers);
    expect(again.status().recovery?.why).toBe('began');
    await expect(again.acquireIfFree('t')).rejects.toThrow(
      'no majority for "t": this member, c, recovers for 1.1 s: it may have forgotten',
    );
    await again.ready();
    expect(again.status().recovery).toBeUndefined();
    expect(await again.holder('r')).toMatchObject({ holder: 'a', number: lease.number });
    expect(lease.isHeld()).toBe(true);
  });
});

describe('a change of the group', { timeout: LONG_MS }, () => {
  it('replaces a member while leases go on', async () => {
    await using group = await TestGroup.start();
    const [a, b, c] = group.members;
    const lease = await a?.acquire('r');
    const { d } = await freePeers('d');
    const { a: atA = '', b: atB = '' } = group.peers;
    const peers = { a: atA, b: atB, d: d ?? '' };
    await using added = await join('d', peers, { peersVersion: 2, peersBefore: group.peers });
    await Promise.all([a?.changePeers({ peers }), b?.changePeers({ peers })]);
    await expect(a?.changePeers({ peers })).rejects.toMatchObject({
      code: 'CHANGE_PENDING',
      retryable: true,
    });
    await c?.close();
    await Promise.all([a?.settled(), b?.settled(), added.settled()]);
    await added.ready();
    expect(added.status()).toMatchObject({ peersVersion: 2, isSettled: true });
    expect(lease?.isHeld()).toBe(true);
    expect(await added.holder('r')).toMatchObject({ holder: 'a', number: lease?.number });
    await b?.close();
    expect((await added.acquire('s')).isHeld()).toBe(true);
  });

  it.each([
    ['ab', 'ad', 'nobody'],
    ['abc', 'ad', 'nobody'],
    ['abcd', 'abc', 'b'],
    ['a', 'd', 'nobody'],
  ])('from %s to %s, while %s is away, settles by the word of those that go', async (old, next, away) => {
    await using group = await TestGroup.start([...old]);
    if (old.includes(away)) await group.of(away).close();
    const known: Record<string, string> = { ...(await freePeers('d')), ...group.peers };
    const peers = Object.fromEntries([...next].map((member) => [member, known[member] ?? '']));
    const lease = await group.of('a').acquire('r');
    const added = await Promise.all(
      [...next]
        .filter((member) => !old.includes(member))
        .map((member) => join(member, peers, { peersVersion: 2, peersBefore: group.peers })),
    );
    await Promise.all(added.map((member) => member.ready()));
    const present = group.members.filter(({ name }) => name !== away);
    // A caller that waits at a closed member is told so, and does not wait for ever.
    const waiting = present
      .filter(({ name }) => !next.includes(name) && next.includes('a'))
      .map((member) => expect(member.acquire('r')).rejects.toThrow(ClosedError));
    await Promise.all(present.map((member) => member.changePeers({ peers })));
    const all = [...present, ...added];
    await Promise.all(all.map((member) => member.settled()));
    const going = present.filter(({ name }) => !next.includes(name));
    if (next.includes('a')) expect(lease.isHeld()).toBe(true);
    for (const member of going) {
      await expect(member.changePeers({ peers })).rejects.toThrow('it has left the group already');
      const words = 'is not in view 2 of the group, and takes no part any more: close it';
      expect(member.status().closed).toEqual({ code: 'REMOVED', words });
      expect(await member.closed).toMatchObject({ code: 'REMOVED', details: { view: 2 } });
      await expect(member.acquire('t')).rejects.toThrow(`this member, ${member.name}, ${words}`);
      await expect(member.ready()).rejects.toMatchObject({
        code: 'REMOVED',
        retryable: false,
        details: { view: 2 },
      });
      await expect(member.watch('t').next()).rejects.toThrow(ClosedError);
    }
    await Promise.all(waiting);
    await Promise.all(going.map((member) => member.close()));
    const staying = all.filter(({ name }) => next.includes(name));
    await Promise.all(
      staying.map(async (member) => expect((await member.acquire(`of ${member.name}`)).isHeld()).toBe(true)),
    );
    await Promise.all(added.map((member) => member.close()));
  });
});

describe('groups', { timeout: LONG_MS }, () => {
  it('of one or two work', async () => {
    await using one = await TestGroup.start(['a']);
    expect((await one.of('a').acquire('r')).isHeld()).toBe(true);
    await using two = await TestGroup.start(['a', 'b']);
    await using _ = await two.of('a').acquire('r');
    expect(await two.of('b').acquireIfFree('r')).toBeUndefined();
  });

  it('of different names do not know each other', async () => {
    const one = await freePeers('a');
    const other = await freePeers('a');
    await using first = await join('a', one, { cell: 'one' });
    await using second = await join('a', other, { cell: 'two' });
    await Promise.all([first.ready(), second.ready()]);
    const leases = await Promise.all([first.acquire('r'), second.acquire('r')]);
    expect(leases.map((lease) => lease.isHeld())).toEqual([true, true]);
  });
});
