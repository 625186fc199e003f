/**
 * The state of a member as of this moment. The core uses the time of the last input, and without messages that may be
 * a quarter of a lease ago. A text for people about remaining time has to count on from there.
 */

import type { PeerStatus } from '../core/peer-table.ts';
import type { ClockReading } from '../core/group-clock.ts';
import type { Member, Recovery } from '../core/member.ts';

/** Why nothing is promised or asked, and for how long from this reading on. */
export function recoveryAt(member: Member, reading: ClockReading): Recovery | undefined {
  const { recovery } = member;
  return recovery && { ...recovery, forMs: Math.max(0, recovery.forMs - member.idleMs(reading)) };
}

/** The state of the peers, and how long before this reading each was heard. */
export function peersAt(member: Member, reading: ClockReading): PeerStatus[] {
  const idleMs = member.idleMs(reading);
  return member.peers().map((peer) => ({
    ...peer,
    heardAgoMs: peer.heardAgoMs === undefined ? undefined : peer.heardAgoMs + idleMs,
  }));
}
