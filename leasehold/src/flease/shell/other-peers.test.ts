/** Somebody edits the list of peers and restarts members one by one, without a higher view, or without those before. */

import { describe, expect, it, vi } from 'vitest';
import { UnavailableError } from '../../runtime/errors.ts';
import type { NoMajority } from '../core/errors.ts';
import type { FleaseMember } from './flease-member.ts';
import { freePeers, join, LEASE_MS } from './testing/groups.ts';

const LONG_MS = 30_000;

/** As the first were started, and as the last were. */
async function twoLists() {
  const { a, b, c, d } = (await freePeers('a', 'b', 'c', 'd')) as Record<'a' | 'b' | 'c' | 'd', string>;
  return { old: { a, b, c }, edited: { a, b, d } };
}

const until = (isSo: () => boolean): Promise<boolean> =>
  vi.waitUntil(isSo, { timeout: LONG_MS, interval: 5 });
const troubleWith = (member: FleaseMember, peer: string): string | undefined =>
  member.status().peers.find(({ name }) => name === peer)?.trouble?.why;
const isKeptOut = (member: FleaseMember, why = 'other-members'): boolean =>
  member.status().recovery?.why === why;
const whyNot = (member: FleaseMember): Promise<unknown> =>
  member.acquire('job', { timeoutMs: LEASE_MS }).catch((error: unknown) => error);

describe('members that were started with other peers in the same view', { timeout: LONG_MS }, () => {
  it('take nothing from those that were there before, and hold nothing beside them', async () => {
    const { old, edited } = await twoLists();
    await using a = await join('a', old);
    await using c = await join('c', old);
    const restarted = await join('b', old);
    await Promise.all([a, restarted, c].map((member) => member.ready()));
    const held = await a.acquire('job');
    await restarted.close();
    await using b = await join('b', edited);
    await using d = await join('d', edited);
    await until(() => isKeptOut(b));
    await d.ready(); // It hears of nobody but b.
    const why = await whyNot(d);
    expect(why).toBeInstanceOf(UnavailableError);
    expect((why as NoMajority).details.reasons['b']).toBe(
      'recovers when its clock, or its peers, are corrected; its log says which',
    );
    expect(held.isHeld()).toBe(true);
    expect(troubleWith(a, 'b')).toBe('other-members');
    expect(troubleWith(b, 'a')).toBe('other-members');
  });

  it('hold it one after the other, when the last of them has been restarted with the same', async () => {
    const { old, edited } = await twoLists();
    await using c = await join('c', old);
    const before = await join('a', old);
    const restarted = await join('b', old);
    await Promise.all([before, restarted, c].map((member) => member.ready()));
    const held = await before.acquire('job');
    await restarted.close();
    await using b = await join('b', edited);
    await using d = await join('d', edited);
    await until(() => isKeptOut(b));
    await before.close();
    expect(held.isHeld()).toBe(false);
    await using _ = await join('a', edited);
    const next = await d.acquire('job');
    expect(next.number).toBeGreaterThan(held.number);
    await until(() => !isKeptOut(b));
  });

  it('hold nothing at all if they were started together, and say why', async () => {
    const { old, edited } = await twoLists();
    await using a = await join('a', old);
    await using b = await join('b', edited);
    await using c = await join('c', old);
    await using d = await join('d', edited);
    await until(() => isKeptOut(a) && isKeptOut(b));
    await Promise.all([c.ready(), d.ready()]);
    const reasons = await Promise.all([a, b, c, d].map(whyNot));
    for (const why of reasons) expect(why).toBeInstanceOf(UnavailableError);
    expect((reasons[0] as NoMajority).details.reasons['a']).toMatch(
      /^recovers: another member has other peers in the same view; /,
    );
  });
});

describe('members that were started in the next view as if all had moved', { timeout: LONG_MS }, () => {
  it('hold nothing beside those that have not, and go on when they have', async () => {
    const { old, edited } = await twoLists();
    const b = await join('b', old);
    await using c = await join('c', old);
    const restarted = await join('a', old);
    await Promise.all([restarted, b, c].map((member) => member.ready()));
    const held = await b.acquire('job');
    await restarted.close();
    const next = { peersVersion: 2 };
    await using a = await join('a', edited, next);
    await using d = await join('d', edited, next);
    await until(() => isKeptOut(a, 'earlier-view'));
    expect(await whyNot(d)).toBeInstanceOf(UnavailableError);
    expect([held.isHeld(), troubleWith(a, 'b'), troubleWith(b, 'a')]).toEqual([
      ...[true, 'earlier-view', 'later-view'],
    ]);
    await b.close();
    await using _ = await join('b', edited, next);
    const later = await d.acquire('job');
    expect(later.number).toBeGreaterThan(held.number);
    await until(() => a.status().recovery === undefined);
  });
});
