import { describe, expect, it } from 'vitest';
import { freePeers, join, TestGroup } from './testing/groups.ts';

const LONG_MS = 30_000;

describe('a member as a handle', { timeout: LONG_MS }, () => {
  it('waits for the end of its recovery first, and says so', async () => {
    await using member = await join('a', await freePeers('a'));
    const { isReady, waitsFor, problems } = member.status();
    expect([isReady, problems]).toEqual([false, []]);
    expect(waitsFor).toMatch(/^recovers for .* s: it may have forgotten/);
    await member.ready();
    expect(member.status()).toMatchObject({
      ...{ module: 'flease', role: 'member', instance: 'default', name: 'a' },
      ...{ isReady: true, waitsFor: undefined, problems: [] },
    });
  });

  it('is not ready while a request needs a majority that is not heard, and names the missing member', async () => {
    await using member = await join('a', await freePeers('a', 'b'));
    await member.ready();
    const stop = new AbortController();
    const request = member.acquire('r', { signal: stop.signal });
    const { isReady, waitsFor, problems } = member.status();
    expect(isReady).toBe(false);
    expect(waitsFor).toMatch(/^it hears too few members to renew a lease: 2 of 2 members are needed.* b \(/);
    expect(problems).toMatchObject([
      { id: 'majority', level: 'failing', what: waitsFor, cure: expect.stringMatching(/^start the missing/) },
      { id: 'peer-b', level: 'warning', what: expect.stringMatching(/^member b: /) },
    ]);
    await expect(member.ready({ timeoutMs: 1 })).rejects.toMatchObject({
      ...{ name: 'UnavailableError', code: 'TIMEOUT', module: 'flease', retryable: true },
    });
    stop.abort();
    await expect(request).rejects.toBe(stop.signal.reason);
    await member.ready();
  });

  it('tells of its recovery and of a lost lease as events, to late readers too', async () => {
    await using group = await TestGroup.start(['a', 'b']);
    const [a, b] = [group.of('a'), group.of('b')];
    const lease = await a.acquire('r');
    const events = a.events({ after: 'unknown' })[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => (await events.next()).value;
    expect(await next()).toMatchObject({ kind: 'gap' });
    expect(await next()).toMatchObject({ kind: 'flease.recovering', instance: 'default', why: 'began' });
    expect(await next()).toMatchObject({ kind: 'flease.ready' });
    await b.close();
    expect(await next()).toMatchObject({
      ...{ kind: 'flease.lost', resource: 'r', number: lease.number, how: 'lapsed' },
    });
    await a.close();
    expect(await events.next()).toMatchObject({ done: true });
  });

  it('tells no event of a lease that was given back', async () => {
    await using group = await TestGroup.start(['a']);
    const a = group.of('a');
    const released = await a.acquire('released');
    await released.release();
    const kept = await a.acquire('kept');
    await a.close();
    expect([released.how, kept.how]).toEqual(['released', 'closed']);
    const told: string[] = [];
    for await (const { kind } of a.events({ after: 'unknown' })) told.push(kind);
    expect(told.filter((kind) => kind === 'flease.lost')).toEqual([]);
  });
});
