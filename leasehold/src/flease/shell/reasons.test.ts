import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import type { RefusalCause } from '../core/attempt.ts';
import { Member } from '../core/member.ts';
import type { Packet } from '../core/messages.ts';
import { resolveFleaseDurations } from '../core/options.ts';
import type { View } from '../core/view.ts';
import { digestOf } from '../core/view-digest.ts';
import { type PeerFacts, peerReason, Reasons } from './reasons.ts';

const FINE: PeerFacts = {
  heardAgoMs: 1_234,
  view: 1,
  trouble: undefined,
  connected: true,
  problem: undefined,
  recoversInMs: undefined,
};

describe('why a member did not say yes', () => {
  it.each<[RefusalCause | undefined, Partial<PeerFacts>, string]>([
    ['silent', {}, 'silent for 1.2 s'],
    ['silent', { heardAgoMs: undefined }, 'silent: never heard of'],
    ['silent', { heardAgoMs: 40 }, 'has not answered yet'],
    [undefined, { connected: false, problem: 'nobody is there' }, 'not connected: nobody is there'],
    [
      'silent',
      { heardAgoMs: undefined, problem: 'it has never connected to us' },
      'it has never connected to us',
    ],
    [
      'silent',
      { connected: false, problem: 'no process listens there', trouble: { why: 'same-name' } },
      'not connected: no process listens there',
    ],
    ['silent', { trouble: { why: 'same-name' } }, 'two processes speak in its name; stop one of them'],
    [
      'silent',
      { trouble: { why: 'later-view', view: 8 }, view: 8 },
      'it is in view 8 of the group, which is later; move this member there as well (changePeers, or a restart with that view and the peers before), or if it is to leave end it once that view is settled',
    ],
    [
      'other-view',
      { trouble: { why: 'later-view', view: 8 }, view: 8 },
      'it is in view 8 of the group, which is later; move this member there as well (changePeers, or a restart with that view and the peers before), or if it is to leave end it once that view is settled',
    ],
    ['other-view', { view: 6 }, 'it is in view 6 of the group, which is another'],
    ['recovering', { recoversInMs: 3_200 }, 'recovers for 3.2 s'],
    [
      'recovering',
      { recoversInMs: Number.POSITIVE_INFINITY },
      'recovers when its clock, or its peers, are corrected; its log says which',
    ],
    ['recovering', {}, 'recovers'],
    ['outbid', {}, 'outbid: another member asks for the same at the same time'],
    ['late', {}, 'by its clock the attempt began too long ago; its clock, or ours, may be off'],
    ['early', {}, 'by its clock the attempt has not begun yet; its clock, or ours, may be off'],
    [
      'clock-off',
      { trouble: { why: 'clock-off', bounds: { aheadAtLeastMs: 700, aheadAtMostMs: 704 } } },
      'its clock is ahead of ours by at least 700 ms, which is more than the skew',
    ],
    ['clock-off', {}, 'it finds our clock off from its own by more than the skew'],
  ])('is said in words: %s %o', (refusalCause, facts, words) => {
    expect(peerReason(refusalCause, { ...FINE, ...facts })).toBe(words);
  });
});

const DURATIONS = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });
const WALL_MS = 1_750_000_000_000;
const CONNECTED = { isConnected: () => true, problemOf: () => undefined };

/** A member `a` that was started at 0, and the reasons that `a` would give at a time that can be set. */
function started(view: View) {
  const settings = { group: 'g', id: 'a', incarnation: 7, view, durations: DURATIONS, random: () => 0.5 };
  const member = new Member(settings, { now: instant(0), wallMs: WALL_MS });
  const clock = { now: () => instant(clock.ms), wallMs: () => WALL_MS + clock.ms, ms: 0 };
  const wakeAt = (ms: number): void => {
    clock.ms = ms;
    member.wake({ now: clock.now(), wallMs: clock.wallMs() });
  };
  const move = (members: readonly string[]): void => {
    member.move(members, { now: clock.now(), wallMs: clock.wallMs() });
  };
  return { clock, wakeAt, move, reasons: new Reasons('a', member, CONNECTED, clock) };
}

const VIEW: View = { number: 1, members: ['a', 'b', 'c'], before: undefined };

describe('a member that recovers itself', () => {
  it('says first that it does, and for how long from then on, however long ago it was last woken', () => {
    const { clock, wakeAt, reasons } = started(VIEW);
    wakeAt(250);
    clock.ms = 490;
    const { message, details } = reasons.noMajority('job', undefined);
    const words = 'recovers for 0.6 s: it may have forgotten what it promised before it was started';
    expect(message).toBe(`no majority for "job": this member, a, ${words}`);
    expect(details.reasons).toEqual({ a: words });
  });
});

describe('the set of members that has to agree', () => {
  it('is a majority of the members before as well, while the group changes', () => {
    const view = { number: 2, members: ['a', 'b', 'd'], before: ['a', 'b', 'c', 'e'] };
    const { wakeAt, reasons } = started(view);
    wakeAt(1_200);
    expect(reasons.noMajority('job', new Map([['b', 'outbid']])).message).toContain(
      'no majority for "job": 2 of 3 members, and 3 of the 4 before, have to agree, and these did not: b (outbid: ',
    );
  });
});

const packetOf = (from: string, items: Packet['items']): Packet => ({
  ...{
    group: 'g',
    view: 1,
    from,
    incarnation: 1,
    toIncarnation: 7,
    sentMs: WALL_MS + 1_200,
    echo: undefined,
  },
  digest: digestOf(VIEW),
  ...{ leaseMs: 1_000, clockSkewMs: 50, takeoverMs: 0 },
  items,
});

describe('how long a peer recovers', () => {
  // A recovering member says so in answer to a request; a dequeue may stand in the same packet, before that.
  it('is heard wherever in a packet it is said', () => {
    const { wakeAt, reasons } = started(VIEW);
    wakeAt(1_200);
    reasons.hear(
      packetOf('b', [
        { kind: 'dequeue', resource: 'other', member: 'b' },
        { kind: 'refused', attempt: 1, of: 'read', why: 'recovering', detail: 700 },
      ]),
    );
    const why = reasons.noMajority('job', new Map<string, RefusalCause>([['b', 'recovering']]));
    expect(why.details.reasons).toEqual({ b: 'recovers for 0.7 s' });
  });

  it('is kept of members only: a stranger may have any name, and there may be any number of them', () => {
    const { wakeAt, move, reasons } = started(VIEW);
    wakeAt(1_200);
    const detail = 700;
    for (const name of ['stranger', 'b']) {
      reasons.hear(packetOf(name, [{ kind: 'refused', attempt: 1, of: 'read', why: 'recovering', detail }]));
    }
    move(['a', 'b', 'stranger']);
    const both = new Map<string, RefusalCause>([
      ['b', 'recovering'],
      ['stranger', 'recovering'],
    ]);
    expect(reasons.noMajority('job', both).details.reasons).toEqual({
      ...{ b: 'recovers for 0.7 s', stranger: 'recovers' },
    });
  });
});
