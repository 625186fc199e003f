import { describe, expect, it } from 'vitest';
import type { Reluctance } from '../attempt.ts';
import { ownReason, type PeerFacts, peerReason } from './reasons.ts';

const FINE: PeerFacts = {
  ...{ heardAgoMs: 1_234, view: 1, trouble: undefined, clock: undefined, problem: undefined },
  ...{ recoversInMs: undefined, otherDurations: undefined },
};

describe('why a member did not say yes', () => {
  it.each<[Reluctance | undefined, Partial<PeerFacts>, string]>([
    ['silent', {}, 'silent for 1.2 s'],
    ['silent', { heardAgoMs: undefined }, 'silent: never heard of'],
    [undefined, { problem: 'nobody listens there' }, 'not connected: nobody listens there'],
    [
      'silent',
      { trouble: 'other-durations', otherDurations: { leaseMs: 5_000, clockSkewMs: 100 } },
      'it was started with another leaseMs or clockSkewMs: 5000 and 100',
    ],
    ['silent', { trouble: 'same-name' }, 'two processes speak in its name'],
    ['silent', { trouble: 'later-view', view: 8 }, 'in another view of the group: 8'],
    ['other-view', { view: 8 }, 'in another view of the group: 8'],
    ['recovering', { recoversInMs: 3_200 }, 'keeps silent for 3.2 s'],
    [
      'recovering',
      { recoversInMs: Number.POSITIVE_INFINITY },
      'keeps silent for as long as its clock is off',
    ],
    ['recovering', {}, 'keeps silent'],
    ['outbid', {}, 'outbid: another member asks for the same at the same time'],
    ['late', {}, 'by its clock the attempt began too long ago; its clock, or ours, may be off'],
    ['early', {}, 'by its clock the attempt has not begun yet; its clock, or ours, may be off'],
    [
      'clock-off',
      { clock: { aheadAtLeastMs: 700, aheadAtMostMs: 704 } },
      'its clock is ahead of ours by at least 700 ms',
    ],
    [
      'silent',
      { trouble: 'clock-off', clock: { aheadAtLeastMs: -900, aheadAtMostMs: -800 } },
      'its clock is behind ours by at least 800 ms',
    ],
  ])('is said in words: %s %o', (reluctance, facts, words) => {
    expect(peerReason(reluctance, { ...FINE, ...facts })).toBe(words);
  });

  it('is said of this process, too', () => {
    expect(ownReason('began', 10_340)).toBe(
      'keeps silent for 10.3 s: it may have forgotten what it promised before it was started',
    );
    expect(ownReason('odd-one-out', Number.POSITIVE_INFINITY)).toBe(
      'keeps silent for as long as its clock is off: its clock is off from those of most others',
    );
  });
});
