/**
 * What follows, for one pool, from the committed table and from what the leader has heard.
 *
 * The steps build on one another within a single batch, so that a range can be taken back and
 * granted again in one commit:
 *
 *     who comes and goes  →  what was let go of  →  what is free is granted  →  splinters are merged
 *
 * Pure: the same facts give the same records. Whether an owner is gone is judged by the leader, who
 * has the clock (`whyGone`); where keys belong, by the policy (`wish`).
 */

import type { Span } from '../../runtime/keys/range.ts';
import type { NumberedSpan } from '../messages.ts';
import type { Placement } from '../policy/policy.ts';
import type { LeaveReason, Member, PoolTable, Row, TableRecord } from '../table.ts';
import { plan } from './plan.ts';
import { knows, type Session } from './session.ts';

export type Recalls = ReadonlyMap<string, readonly NumberedSpan[]>;

export interface Facts {
  /** Everybody heard of, members or not, by incarnation. */
  readonly sessions: ReadonlyMap<string, Session>;
  /** Whether somebody who is no member has shown that it lives, now and not only when it wrote. */
  isPresent(session: Session): boolean;
  whyGone(member: Member): LeaveReason | undefined;
  wish(table: PoolTable): readonly Placement[];
  readonly maxSpansPerBatch: number;
}

export interface Decision {
  readonly records: readonly TableRecord[];
  /** Members that are removed. */
  readonly condemned: readonly string[];
  /** What to ask back from whom, once the records are committed. */
  readonly recalls: Recalls;
  /** There is more to do than fits into one batch. */
  readonly unfinished: boolean;
}

export function decide(table: PoolTable, position: number, facts: Facts): Decision {
  const members = [...joins(table, facts), ...leaves(table, facts)];
  const afterMembers = table.apply(members, position);
  const letGo = takeBack(afterMembers, facts);
  const afterLetGo = afterMembers.apply(letGo, position);

  const steps = plan(afterLetGo.rows, facts.wish(afterLetGo), (row) => ownerKnows(row, facts));
  const grants = limited(steps.grants, facts.maxSpansPerBatch);
  const merges = steps.merges.slice(0, facts.maxSpansPerBatch);
  const records = [...members, ...letGo, ...grants.records];
  if (merges.length > 0) records.push({ kind: 'merge', spans: merges });
  return {
    records,
    condemned: members.flatMap((record) => (record.kind === 'leave' ? [record.incarnation] : [])),
    recalls: steps.recalls,
    unfinished: grants.cut || merges.length < steps.merges.length,
  };
}

function joins(table: PoolTable, { sessions, isPresent }: Facts): TableRecord[] {
  const records: TableRecord[] = [];
  for (const session of sessions.values()) {
    const { identity, report } = session;
    if (report.leaving || table.members.has(identity.incarnation) || !isPresent(session)) continue;
    records.push({ kind: 'join', member: identity });
  }
  return records;
}

function leaves(table: PoolTable, { sessions, whyGone }: Facts): TableRecord[] {
  const records: TableRecord[] = [];
  for (const member of table.members.values()) {
    const { incarnation } = member;
    const hasLeft = sessions.get(incarnation)?.report.leaving && table.rowsOf(incarnation).length === 0;
    const why = hasLeft ? 'left' : whyGone(member);
    if (why !== undefined) records.push({ kind: 'leave', incarnation, why });
  }
  return records;
}

/** What owners have let go of: released keys become free, lapsed ones get a new number. */
function takeBack(table: PoolTable, { sessions }: Facts): TableRecord[] {
  const free: Span[] = [];
  const renumber: Span[] = [];
  for (const [incarnation, { report }] of sessions) {
    for (const { start, end, number, how } of report.letGo) {
      for (const row of table.rowsOf(incarnation)) {
        if (row.number !== number || row.end <= start || row.start >= end) continue;
        const span = { start: row.start > start ? row.start : start, end: row.end < end ? row.end : end };
        (how === 'released' || report.leaving ? free : renumber).push(span);
      }
    }
  }
  const records: TableRecord[] = [];
  if (free.length > 0) records.push({ kind: 'free', spans: inOrder(free) });
  if (renumber.length > 0) records.push({ kind: 'renumber', spans: inOrder(renumber) });
  return records;
}

/** An owner that does not know the row's present number could not follow the line to the next. */
function ownerKnows(row: Row, { sessions }: Facts): boolean {
  const session = row.owner === undefined ? undefined : sessions.get(row.owner);
  return session !== undefined && knows(session.report.held, row);
}

const inOrder = (spans: Span[]): readonly Span[] => spans.sort((a, b) => (a.start < b.start ? -1 : 1));

/** As many grants as fit; the rest comes in the next batch. */
function limited(
  grants: ReadonlyMap<string, readonly Span[]>,
  most: number,
): { readonly records: TableRecord[]; readonly cut: boolean } {
  const records: TableRecord[] = [];
  let left = most;
  for (const [incarnation, spans] of grants) {
    const taken = spans.slice(0, left);
    left -= taken.length;
    if (taken.length > 0) records.push({ kind: 'grant', incarnation, spans: taken });
    if (taken.length < spans.length) return { records, cut: true };
  }
  return { records, cut: false };
}
