import { describe, expect, it } from 'vitest';
import type { PeerTrouble } from './peer-table.ts';
import { disagreementWords, peerRecoveryWords, recoveryWords, troubleWords } from './wording.ts';

describe('the state of a peer', () => {
  it.each<[PeerTrouble, string]>([
    [{ why: 'other-group', group: 'x' }, 'it is of group "x"'],
    [{ why: 'not-a-member' }, 'it is not in this view of the group'],
    [{ why: 'same-name' }, 'two processes speak in its name; stop one of them'],
    [
      { why: 'other-durations', leaseMs: 5_000, clockSkewMs: 100.5, takeoverMs: 0 },
      'it was started with a lease of 5000 ms and a skew of 100.5 ms; both must be the same everywhere',
    ],
    [
      { why: 'other-members' },
      'it has other peers than this member in the same view; they must be the same everywhere: restart the one that is wrong with those of the others; if the group is to change, give each member a view one higher, and the old peers as those before',
    ],
    [
      { why: 'earlier-view', view: 1 },
      'it is in view 1 of the group, and this member was started in a later one without the peers before it, as if everybody had moved: restart it with them (peersBefore), or the other one in this view',
    ],
    [
      { why: 'later-view', view: 8 },
      'it is in view 8 of the group, which is later; move this member there as well (changePeers, or a restart with that view and the peers before), or if it is to leave end it once that view is settled',
    ],
    [
      { why: 'clock-off', bounds: { aheadAtLeastMs: 700.4, aheadAtMostMs: Number.POSITIVE_INFINITY } },
      'its clock is ahead of ours by at least 700 ms, which is more than the skew',
    ],
    [
      { why: 'clock-off', bounds: { aheadAtLeastMs: -900, aheadAtMostMs: -800 } },
      'its clock is behind ours by at least 800 ms, which is more than the skew',
    ],
  ])('is said in words, and with figures: %o', (trouble, words) => {
    expect(troubleWords(trouble)).toBe(words);
  });
});

describe('a missing majority', () => {
  const reasons = new Map([
    ['b', 'outbid'],
    ['c', 'silent'],
  ]);

  it('is said with how many it takes, of those before as well while the group changes', () => {
    const view = { number: 2, members: ['a', 'b', 'c'], before: undefined };
    expect(disagreementWords(view, reasons)).toBe(
      '2 of 3 members have to agree, and these did not: b (outbid), c (silent)',
    );
    expect(disagreementWords({ ...view, before: ['a', 'c', 'd', 'e'] }, reasons)).toBe(
      '2 of 3 members, and 3 of the 4 before, have to agree, and these did not: b (outbid), c (silent)',
    );
  });
});

describe('why a member recovers', () => {
  it('is said with how long it will, if there is an end', () => {
    expect(recoveryWords('began', 10_340)).toBe(
      'recovers for 10.3 s: it may have forgotten what it promised before it was started',
    );
    expect(recoveryWords('clock-outlier', Number.POSITIVE_INFINITY)).toBe(
      'recovers: its clock is off from those of most other members, so it holds nothing until that is mended',
    );
  });

  it('is not known of a peer, but how long it will', () => {
    expect(peerRecoveryWords(3_240)).toBe('recovers for 3.2 s');
    expect(peerRecoveryWords(Number.POSITIVE_INFINITY)).toBe(
      'recovers when its clock, or its peers, are corrected; its log says which',
    );
  });
});
