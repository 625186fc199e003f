import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import type { Reluctance } from '../attempt.ts';
import { Member } from '../member.ts';
import type { Packet } from '../messages.ts';
import { resolveFleaseDurations } from '../options.ts';
import { digestOf } from '../view-digest.ts';
import { ownReason, type PeerFacts, peerReason, Reasons } from './reasons.ts';

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
    ['silent', { trouble: 'same-name' }, 'two processes speak in its name; stop one of them'],
    [
      'silent',
      { trouble: 'other-members' },
      'it was started with other peers; they must be the same everywhere, see "Changing the group" in docs/flease.md',
    ],
    ['silent', { trouble: 'later-view', view: 8 }, 'in another view of the group: 8'],
    ['other-view', { view: 8 }, 'in another view of the group: 8'],
    ['recovering', { recoversInMs: 3_200 }, 'keeps silent for 3.2 s'],
    [
      'recovering',
      { recoversInMs: Number.POSITIVE_INFINITY },
      'keeps silent until its clock, or its peers, are put right; its log says which',
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
      'keeps silent: its clock is off from those of most others, and has to be mended',
    );
  });
});

describe('how long a peer keeps silent', () => {
  // It says so when it is asked something; that it waits no longer may stand in the same packet, and before that.
  it('is heard wherever in a packet it is said', () => {
    const durations = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });
    const view = { number: 1, members: ['a', 'b', 'c'], before: undefined };
    const settings = { group: 'g', id: 'a', life: 7, view, durations, random: () => 0.5 };
    const member = new Member(settings, { now: instant(0), wallMs: 1_750_000_000_000 });
    member.wake({ now: instant(1_200), wallMs: 1_750_000_001_200 });
    const connections = { problemOf: () => undefined };
    const reasons = new Reasons('a', member, durations, connections, { now: () => instant(1_200) });
    const packet: Packet = {
      ...{ group: 'g', view: 1, from: 'b', life: 1, toLife: 7, sentMs: 1_750_000_001_200, echo: undefined },
      digest: digestOf(view),
      ...{ leaseMs: 1_000, clockSkewMs: 50 },
      items: [
        { kind: 'unwish', resource: 'other', member: 'b' },
        { kind: 'refused', attempt: 1, of: 'read', why: 'recovering', detail: 700 },
      ],
    };
    reasons.hear(packet);
    const why = reasons.noMajority('job', new Map<string, Reluctance>([['b', 'recovering']]));
    expect(why.reasons).toEqual(new Map([['b', 'keeps silent for 0.7 s']]));
  });
});
