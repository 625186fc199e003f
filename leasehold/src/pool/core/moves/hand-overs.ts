/**
 * The one commit that decides a move: the keys go to the target, or back to the source under a later number.
 *
 * **Why nothing is lost** (rule 8 of `docs/design/moves.md`). `handed` is for ever: a source that has said so serves these keys no more under this number,
 * and remembers them until the table answers. So the leader may take its time, and may change, and the words are said again. It commits
 *
 *  - `move`, if source and target have said the same digest for one ticket, over the whole span, the target is there and hears this leader,
 *    and this leader has not declared the ticket void;
 *  - `renumber`, if that will not be: the source serves on, and lacks nothing, because nobody has served the keys since;
 *  - `free`, a loss, if that will not be and the source leaves, so that it cannot take the keys back. The target may hold everything all the same, and
 *    its word be on the way. So the leader waits until the target is gone, or lacks the digest in a report that follows from an update
 *    sent after the source's word.
 *
 * A word of the target counts only from a report that has heard this term: an earlier leader may have told the target to drop the import, and a report
 * from before can come late. A word of the source always counts.
 *
 * A target that was no member for a while may have dropped the import, too, so its joining makes the tickets that it named void.
 *
 * Hand-overs come before removals in a batch, and a certificate removes a process, not what it said: so a source that dies after both words has lost nothing.
 */

import type { Instant } from '../../../runtime/time.ts';
import { later } from '../../../runtime/time.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import type { Session } from '../manager/session.ts';
import type { Handed } from '../messages.ts';
import { covers, partsWithin } from '../spans.ts';
import type { PoolTable, TableRecord } from '../table.ts';

/** What the source has said, and what this leader made of it. */
export interface HandedWord {
  readonly word: Handed;
  readonly from: string;
  readonly isSourceLeaving: boolean;
  /** When this leader first heard the word, and which update was the last that it had sent by then. */
  readonly heardAt: Instant;
  readonly heardAfter: number;
  readonly isVoid: boolean;
}

export interface HandOverFacts {
  readonly sessions: ReadonlyMap<string, Session>;
  readonly term: number;
  readonly now: Instant;
  readonly confirmTimeoutMs: number;
  readonly renewEveryMs: number;
  isGone(incarnation: string): boolean;
  /** The owner reports, and hears nothing, so it would not hear of the grant. */
  isDeaf(session: Session): boolean;
}

export interface HandOvers {
  readonly records: readonly TableRecord[];
  /** There are more than fit into the batch. */
  readonly isCut: boolean;
  /** When the next word has waited for long enough. */
  readonly dueAt: readonly Instant[];
}

export function handOvers(
  table: PoolTable,
  words: Iterable<HandedWord>,
  facts: HandOverFacts,
  most: number,
): HandOvers {
  const records: TableRecord[] = [];
  const [renumber, free]: [Span[], Span[]] = [[], []];
  const dueAt: Instant[] = [];
  let made = 0;
  for (const each of words) {
    const { ticket, to, start, end } = each.word;
    const rows = table.rowsOf(each.from);
    const parts = partsWithin([each.word], rows);
    if (parts.length === 0) continue;
    const verdict = judge(each, covers(rows, each.word), table, facts);
    if (verdict === 'wait') continue;
    if (typeof verdict === 'number') {
      dueAt.push(verdict);
      continue;
    }
    if (made >= most) return { ...inBatch(records, renumber, free), isCut: true, dueAt };
    made += 1;
    if (verdict === 'move') records.push({ kind: 'move', incarnation: to, spans: [{ start, end }], ticket });
    else
      for (const part of parts)
        (verdict === 'free' ? free : renumber).push({ start: part.start, end: part.end });
  }
  return { ...inBatch(records, renumber, free), isCut: false, dueAt };
}

/** What becomes of a hand-over now, or when to ask again. */
function judge(
  { word, isVoid, isSourceLeaving, heardAt, heardAfter }: HandedWord,
  isWhole: boolean,
  table: PoolTable,
  facts: HandOverFacts,
): 'move' | 'renumber' | 'free' | 'wait' | Instant {
  const { now, term, confirmTimeoutMs, renewEveryMs } = facts;
  const target = facts.sessions.get(word.to);
  const isThere = table.members.has(word.to) && !facts.isGone(word.to);
  const isFresh = target?.report.heard?.term === term;
  const isConfirmed = isFresh && isStaged(word, target);
  const isDeaf = target === undefined || facts.isDeaf(target);
  const isOver = !isThere || !isWhole || isVoid;
  if (isConfirmed && !isOver && !isDeaf) return 'move';
  if (isSourceLeaving) {
    const isDenied = !isConfirmed && target?.hasHeard(term, heardAfter + 1) === true;
    return isOver || isDenied ? 'free' : 'wait';
  }
  const lateAt = later(heardAt, confirmTimeoutMs + (isFresh ? 0 : renewEveryMs));
  return isOver || now >= lateAt ? 'renumber' : lateAt;
}

const isStaged = ({ ticket, digest }: Handed, target: Session | undefined): boolean =>
  target?.report.receiving?.some((one) => one.ticket === ticket && one.digest === digest) === true;

function inBatch(
  moved: readonly TableRecord[],
  renumber: Span[],
  free: Span[],
): { readonly records: readonly TableRecord[] } {
  const records = [...moved];
  if (renumber.length > 0) records.push({ kind: 'renumber', spans: inOrder(renumber) });
  if (free.length > 0) records.push({ kind: 'free', spans: inOrder(free) });
  return { records };
}

const inOrder = (spans: Span[]): readonly Span[] => spans.sort((a, b) => (a.start < b.start ? -1 : 1));
