/**
 * Until when clients may prove that a log is older than the one they have seen, or is not the first.
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
 *
 * **A log that is said to be the first** (`firstStart`) is judged by the same clients. A Manager in memory that is restarted with
 * `firstStart`, or one whose directory was emptied, begins a log too, and its operator is wrong: owners hold leases of the log
 * before. Such an owner, or a look-up, reports to the address that it knows, and shows the history it has seen. So this process
 * changes nothing before such clients could tell either. If one of them does, no key is granted until every lease that the
 * earlier log can have given has expired, as if the operator had said nothing (`leader.ts`):
 *
 *     Manager     begins a log, "the first" ├─── changes nothing ───┼── waits for earlier leases ──┤ grants
 *     old owner   ── holds k, cut off ──────────────────────────┤ expired
 *     other owner ─────────────────────── connects: seen x ─┘
 *
 * A port that the system has just chosen is known to no earlier client, so there a first start begins at once; a client that
 * comes later with another history (its list was rewritten) is heard all the same. No stamp is asked for, since the key of the
 * other history is not here: a false claim costs the wait that everybody has who does not say `firstStart`, and no more.
 */

import type { LogStart } from '../../../log/log.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import type { Seen } from '../messages.ts';
import { longestWitnessWithinMs, type ManagerSettings } from './settings.ts';

/** No later than now if nothing is to be waited for. */
export function witnessesUntil(settings: ManagerSettings, { begunHere }: LogStart, now: Instant): Instant {
  const { openedAt, firstStart, isAddressNew } = settings;
  const isHeard = begunHere !== true || (firstStart === true && isAddressNew !== true);
  return openedAt === undefined || !isHeard ? now : later(openedAt, longestWitnessWithinMs(settings));
}

/** The client has heard of a log that is not this one. */
export const hasSeenAnotherLog = (seen: Seen | undefined, history: string): seen is Seen =>
  seen !== undefined && seen.history !== history;
