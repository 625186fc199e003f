/**
 * Until when clients may prove that a log is older than the one they have seen.
 *
 * A log that was put back from a backup, and that nobody has recovered, shows keys as free that owners hold. An owner proves the
 * rollback by the position that it has seen, and the Manager halts (`rollback-detector.ts`). But that takes until the owner
 * has connected again, and a process that starts then may ask for keys first:
 *
 *     Manager     starts on a backup ├─── changes nothing ───┤
 *     old owner   ── holds k ──────────── connects: seen 120 ──► halt
 *     new owner        joins, asks for k
 *
 * So a process changes nothing in a log that it found before every client that lives, and reaches the Manager, could tell
 * (`witnessWithinMs`). Renewals need no change, and are answered meanwhile: a renewal extends leases that the owner holds anyway, under
 * a number that the owner knows. A standby has followed the log, and need not wait. An owner that is cut off tells
 * nothing; for its sake a log that was put back has to be recovered.
 */

import type { LogStart } from '../../log/log.ts';
import { type Instant, later } from '../../runtime/time.ts';
import { longestWitnessWithinMs, type ManagerSettings } from './settings.ts';

/** No later than now if nothing is to be waited for. */
export function witnessesUntil(settings: ManagerSettings, { begunHere }: LogStart, now: Instant): Instant {
  const { openedAt } = settings;
  return openedAt === undefined || begunHere === true
    ? now
    : later(openedAt, longestWitnessWithinMs(settings));
}
