import { describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../../runtime/time.ts';
import { Holdings } from '../owner/holdings.ts';
import { noTransitions } from '../owner/transitions.ts';
import { granted, numbered } from '../script.ts';
import { type Circumstances, Outgoing } from './outgoing.ts';
import { DEFAULT_MOVE_SETTINGS } from './seam.ts';

const ORDER = { ...numbered('0-8#2'), ticket: 't', to: 'b.1', toName: 'b', address: 'b' };

/** An owner of 0-8 under 2 that streams by ticket `t`, and heard a Manager at 0. */
function streaming() {
  const holdings = new Holdings();
  const lease = { until: instant(9_000), now: instant(0), revokeBy: instant(3_000), isLeaving: false };
  holdings.reconcile([granted('0-8#2')], lease, 0, noTransitions());
  holdings.loaded([numbered('0-8#2')]);
  const outgoing = new Outgoing(holdings, DEFAULT_MOVE_SETTINGS);
  outgoing.hear([ORDER], 0, true);
  const at = (now: number, heardAt: Instant = instant(0)): Circumstances => ({
    ...{ now: instant(now), heardAt, renewEveryMs: 1_500, revokeTimeoutMs: 3_000 },
    ...{ handsAllOver: false, drainUntil: undefined },
  });
  const caughtUp = (now: number) =>
    outgoing.hearMove({ is: 'caughtUp', ticket: 't' }, at(now), noTransitions());
  return { outgoing, at, caughtUp };
}

describe('a source whose stops took too long', () => {
  it('is due when its pause is over, and then waits for the word of a Manager and for no instant', () => {
    const { outgoing, at, caughtUp } = streaming();
    expect(caughtUp(10)).toMatchObject([{ do: 'stop', by: 110 }]);
    expect(outgoing.expire(instant(110), false, noTransitions())).toMatchObject([{ do: 'resume' }]);
    expect(caughtUp(120)).toEqual([]);
    expect(outgoing.dueAt).toBe(610);
    expect(outgoing.goOn(at(610))).toMatchObject([{ do: 'stop', by: 710 }]);
    outgoing.expire(instant(710), false, noTransitions());
    caughtUp(720);
    expect(outgoing.dueAt).toBe(1_710);
    expect(outgoing.goOn(at(1_710))).toEqual([]); // No Manager was heard for too long.
    expect(outgoing.dueAt).toBeUndefined();
    expect(outgoing.goOn(at(2_000, instant(2_000)))).toMatchObject([{ do: 'stop', by: 2_100 }]);
  });

  it('makes longer ones if it hands everything over, of all its ranges, and up to the time for giving back', () => {
    const { outgoing, at } = streaming();
    const all = (now: number): Circumstances => ({ ...at(now, instant(now)), handsAllOver: true });
    const caughtUp = (now: number) =>
      outgoing.hearMove({ is: 'caughtUp', ticket: 't' }, all(now), noTransitions());
    const lengths = [100, 400, 1_600, 3_000];
    let now = 0;
    for (const length of lengths) {
      expect(caughtUp(now)).toMatchObject([{ do: 'stop', by: now + length }]);
      now += length;
      expect(outgoing.expire(instant(now), true, noTransitions())).toMatchObject([{ do: 'resume' }]);
      // For as long as its callers have waited they are served.
      now += length;
      expect(outgoing.dueAt).toBe(undefined);
      expect(outgoing.goOn(all(now))).toEqual([]);
    }
    expect(outgoing.goOn(at(now, instant(now)))).toEqual([]); // It is to serve on after all.
    expect(outgoing.hearMove({ is: 'caughtUp', ticket: 't' }, at(now), noTransitions())).toEqual([]);
    expect(
      outgoing.hearMove({ is: 'caughtUp', ticket: 't' }, at(now, instant(now)), noTransitions()),
    ).toMatchObject([{ do: 'stop', by: now + 100 }]);
  });
});
