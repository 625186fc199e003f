import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { NO_CLIENTS } from './attachment.ts';
import { membershipOf, type SetMember } from './incarnation.ts';
import type { ServerRecord } from './messages.ts';
import { Promises } from './promises.ts';

const idOf = (name: string, startedMs = 5): SetMember => ({
  name,
  incarnation: { startedMs, nonce: 0 },
  listVersion: 0,
});
const [a, b] = [idOf('a'), idOf('b')];
const alone = membershipOf([a]);
const unknown = (): undefined => undefined;

/** A server that started 10 s before it promised something to b, at 10,000. Promises last 2 s. */
function promised(): Promises {
  const promises = new Promises(2_000, instant(0));
  promises.give(b, instant(10_000));
  return promises;
}

const recordOf = (id: SetMember, hasLeft: boolean): ServerRecord => ({
  ...id,
  list: NO_CLIENTS,
  ...{ sequence: 1, links: [], cannotReach: [], hasLeft },
  proposal: { ...membershipOf([id]), number: 1, holdMs: 0, chain: [] },
});

describe('the promises of a server', () => {
  it('bind it for their rest when it proposes a set without the receiver', () => {
    expect(promised().holdMs(alone, unknown, instant(10_500))).toBe(1_500);
    expect(promised().holdMs(alone, unknown, instant(12_000))).toBe(0);
  });

  it('do not bind it when the receiver, or a later process of its name, is in the set', () => {
    for (const inside of [b, idOf('b', 6)]) {
      expect(promised().holdMs(membershipOf([a, inside]), unknown, instant(10_500))).toBe(0);
    }
    expect(promised().holdMs(membershipOf([a, idOf('b', 4)]), unknown, instant(10_500))).toBe(1_500);
  });

  it('end when the receiver has left, but not because a greater incarnation is known: its clock may have gone back', () => {
    const holdMs = (record: ServerRecord): number => promised().holdMs(alone, () => record, instant(10_500));
    expect(holdMs(recordOf(b, true))).toBe(0);
    expect(holdMs(recordOf(idOf('b', 6), false))).toBe(1_500);
    expect(holdMs(recordOf(idOf('b', 6), true))).toBe(1_500);
    expect(holdMs(recordOf(b, false))).toBe(1_500);
    expect(holdMs(recordOf(idOf('b', 4), true))).toBe(1_500);
  });

  it('to an earlier process do not end when a later process of that name leaves: it does not know the clients', () => {
    const promises = promised();
    const later = idOf('b', 6);
    promises.give(later, instant(10_400));
    const left = (): ServerRecord => recordOf(later, true);
    expect(promises.holdMs(alone, left, instant(10_500))).toBe(1_500);
    expect(promises.holdMs(membershipOf([a, later]), left, instant(10_500))).toBe(0);
    expect(promises.holdMs(alone, left, instant(12_000))).toBe(0);
  });

  it('of the process before are unknown, and bind for a whole promise whatever the set contains', () => {
    const promises = new Promises(2_000, instant(10_000));
    expect(promises.holdMs(alone, unknown, instant(10_500))).toBe(1_500);
    expect(promises.holdMs(membershipOf([a, b]), unknown, instant(10_500))).toBe(1_500);
    expect(promises.holdMs(alone, unknown, instant(12_000))).toBe(0);
  });

  it('count as given at the end of a suspension', () => {
    const promises = promised();
    promises.suspended(instant(10_900));
    expect(promises.holdMs(alone, unknown, instant(11_000))).toBe(1_900);
  });
});
