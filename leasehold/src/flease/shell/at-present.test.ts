import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { Member } from '../core/member.ts';
import { resolveFleaseDurations } from '../core/options.ts';
import { digestOf } from '../core/view-digest.ts';
import { peersAt, recoveryAt } from './at-present.ts';

const VIEW = { number: 1, members: ['a', 'b'], before: undefined };
const DURATIONS = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });
const WALL_MS = 1_750_000_000_000;

const at = (ms: number, wallMs = ms) => ({ now: instant(ms), wallMs: WALL_MS + wallMs });

/** Started at 0, and heard b at 100; nothing has happened since. */
function idle(): Member {
  const settings = {
    group: 'g',
    id: 'a',
    incarnation: 7,
    view: VIEW,
    durations: DURATIONS,
    random: () => 0.5,
  };
  const member = new Member(settings, at(0));
  const { leaseMs, clockSkewMs, takeoverMs } = DURATIONS;
  const says = {
    group: 'g',
    view: 1,
    from: 'b',
    incarnation: 1,
    toIncarnation: 7,
    leaseMs,
    clockSkewMs,
    takeoverMs,
  };
  const packet = { ...says, digest: digestOf(VIEW), sentMs: WALL_MS + 100, echo: undefined, items: [] };
  member.receive(packet, at(100));
  return member;
}

describe('a member to which nothing happens', () => {
  it('recovers for less and less, and has heard the others longer and longer ago', () => {
    const member = idle();
    const looks = [100, 300, 1_500].map((ms) => [
      recoveryAt(member, at(ms))?.forMs,
      peersAt(member, at(ms))[0]?.heardAgoMs,
    ]);
    expect(looks).toEqual([
      [1_000, 0],
      [800, 200],
      [0, 1_400],
    ]);
  });

  it('goes by its last input if its clock has jumped since, until it finds that out itself', () => {
    const member = idle();
    expect(recoveryAt(member, at(300, 9_000))?.forMs).toBe(1_000);
    expect(peersAt(member, at(300, 9_000))[0]?.heardAgoMs).toBe(0);
  });
});
