/**
 * A copy: a directory that was restored from a backup, or moved, and may therefore lack votes that others have counted.
 *
 * Members count the votes of each other and refuse a directory that lacks some (`check-in.ts`). A count is durable up to 50 ms after the
 * vote was heard, so a member that loses power within this time has forgotten the count, though not the slots that the vote decided:
 *
 *     c     votes for slot 7 ─ copied before ─ ✝                  the copy of c: nothing of slot 7
 *     a     counts {a, c}: slot 7 is chosen, answered ── ✝ ──►    slot 7, but not that c voted
 *     b     ✝ ────────────────────────────────────────────────►   nothing
 *
 * Nobody refuses the copy. If `a` then fails, `b` and the copy are a majority without slot 7. So a log of a copy does not
 * count like the log of a complete member, until the copy has everything that the original can have voted for. A copy asks *all* other
 * members, and learns from them where that ends.
 *
 * **What can have followed from a forgotten vote?** The copy asks in two rounds. A member that has answered the first has noted the present
 * life, and hears no earlier one any more. So all consequences of a forgotten vote are older than the second round, and are on the disks of
 * the other voters:
 *
 *  - *A promised ballot.* The candidate, and every other member that promised, name that ballot or a higher one. The copy takes over the highest, P.
 *  - *A slot that was chosen* in ballot b ≤ P. Another voter has the slot and names P ≥ b. In a ballot B > P the leader's log had the slot when
 *    the term began (`merged`). In ballot P itself the slot is in the log of P's leader, and not beyond `reached`: the last slot that a
 *    member which names P knows to be chosen or has accepted in P. The *end* of the logs would be the wrong mark: the copy may be longer by entries
 *    of an older ballot than the one that was chosen, and the logs of others by entries that will never be chosen.
 *  - *A lease.* The holder is a member and names the length of the leases asked for, so the copy waits for the longest (L6).
 *
 * So the copy is **complete** when everything up to `merged`, and if B = P up to `reached`, is durably accepted in one ballot B ≥ P.
 *
 * **Until then** the copy follows leaders and votes for their proposals, which needs no memory but P. Everything else rests on the log:
 *
 *  - The report to a candidate is marked. A candidate counts marked reports only if every member has reported (`election.ts`). So a cell
 *    that is being founded, or all of whose directories are copies, still elects a leader.
 *  - The copy promises no lease and answers no quorum read: the floor would be too low. Nor does the copy read under a lease, or count
 *    in a quorum read of its own: a reader is one of the majority, as a member that has everything it voted for.
 *  - The files are noted as those of this replica (`shell/disk/place.ts`) only afterwards. A restart before begins as a copy again.
 *
 * Nothing can be done if every voter of a slot is a copy that forgot the slot: then a majority was restored from backups.
 */

import type { Ballot } from './ballot.ts';
import type { Entry } from './log.ts';

/** Forgotten votes lie within these. */
export interface TakenOver {
  /** The highest ballot that another member has promised: P above. */
  readonly promised: Ballot;
  /** In that ballot, how far the members that promised it have accepted or know to be chosen. */
  readonly reached: number;
  /** The longest hold that the copy may have promised. */
  readonly holdMs: number;
}

const NOTHING: TakenOver = { promised: 0, reached: 0, holdMs: 0 };

/** The sum of the answers of all other members. */
export function takenOver(answers: Iterable<TakenOver>): TakenOver {
  let all = NOTHING;
  for (const { promised, reached, holdMs } of answers) {
    const isHigher = promised > all.promised;
    all = {
      promised: isHigher ? promised : all.promised,
      reached: isHigher ? reached : promised === all.promised ? Math.max(reached, all.reached) : all.reached,
      holdMs: Math.max(holdMs, all.holdMs),
    };
  }
  return all;
}

/** The last slot that is chosen, or accepted in the promised ballot. `entries` end at slot `last`; undefined where they are lost. */
export function reachedIn(
  promised: Ballot,
  chosen: number,
  last: number,
  entries: (slot: number) => Entry | undefined,
): number {
  for (let slot = last; slot > chosen; slot -= 1) if (entries(slot)?.ballot === promised) return slot;
  return chosen;
}

/** Whether a copy that has durably accepted so much, in this ballot, has everything that can have been forgotten. */
export function isComplete(
  copy: TakenOver,
  { ballot, merged, synced }: { readonly ballot: Ballot; readonly merged: number; readonly synced: number },
): boolean {
  if (ballot === 0 || ballot < copy.promised || synced < merged) return false;
  return ballot > copy.promised || synced >= copy.reached;
}
