/**
 * What a member knows, as of this moment. The core goes by the time of its last input, and while nobody speaks to it
 * that may be a quarter of a lease ago: whoever tells people how much longer something takes has to count on from
 * there.
 */

import type { PeerStatus } from '../acquaintances.ts';
import type { ClockReading } from '../group-clock.ts';
import type { Member, Silence } from '../member.ts';

/** Why nothing is promised or asked, and for how long from this reading on. */
export function silenceAt(member: Member, reading: ClockReading): Silence | undefined {
  const { silence } = member;
  return silence && { ...silence, forMs: Math.max(0, silence.forMs - member.idleMs(reading)) };
}

/** What is known of the others, and how long before this reading they were heard. */
export function peersAt(member: Member, reading: ClockReading): PeerStatus[] {
  const idleMs = member.idleMs(reading);
  return member.peers().map((peer) => ({
    ...peer,
    heardAgoMs: peer.heardAgoMs === undefined ? undefined : peer.heardAgoMs + idleMs,
  }));
}
