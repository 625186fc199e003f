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
import { covers } from '../spans.ts';
import { plan } from './plan.ts';
import type { Session } from './session.ts';

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
  const most = facts.maxSpansPerBatch;
  const coming = joins(table, facts);
  const gone = leaves(table, facts.whyGone);
  const removed = gone.slice(0, most);
  const members = [...coming.slice(0, most), ...removed];
  const afterMembers = table.apply(members, position);

  const letGo = takeBack(afterMembers, facts);
  const afterLetGo = afterMembers.apply(letGo.records, position);
  const left = leaves(afterLetGo, (member) => (hasLeft(member, afterLetGo, facts) ? 'left' : undefined));
  const afterLeft = afterLetGo.apply(left, position);

  // As long as some who are gone are still members, nothing is granted: it might be to them.
  const isCut = removed.length < gone.length;
  const wish = isCut ? [] : facts.wish(afterLeft);
  const steps = plan(afterLeft.rows, wish, (row) => ownerKnows(row, facts));
  const grants = limited(steps.grants, most);
  const merges = steps.merges.slice(0, most);
  const records = [...members, ...letGo.records, ...left, ...grants.records];
  if (merges.length > 0) records.push({ kind: 'merge', spans: merges });
  return {
    records,
    condemned: [...removed, ...left].map(({ incarnation }) => incarnation),
    recalls: steps.recalls,
    unfinished:
      coming.length > most || isCut || letGo.cut || grants.cut || merges.length < steps.merges.length,
  };
}

function joins(table: PoolTable, { sessions, isPresent }: Facts): TableRecord[] {
  const records: TableRecord[] = [];
  let urls: Map<string, string> | undefined;
  for (const session of sessions.values()) {
    const { identity, report } = session;
    if (report.leaving || table.members.has(identity.incarnation) || !isPresent(session)) continue;
    // Of two names with one url the first is taken; the other is told when it next reports.
    urls ??= new Map([...table.members.values()].map(({ url, name }) => [url, name]));
    if ((urls.get(identity.url) ?? identity.name) !== identity.name) continue;
    urls.set(identity.url, identity.name);
    records.push({ kind: 'join', member: identity });
  }
  return records;
}

type Leave = TableRecord & { kind: 'leave' };

function leaves(table: PoolTable, why: (member: Member) => LeaveReason | undefined): Leave[] {
  return [...table.members.values()].flatMap((member): Leave[] => {
    const reason = why(member);
    return reason === undefined ? [] : [{ kind: 'leave', incarnation: member.incarnation, why: reason }];
  });
}

const hasLeft = ({ incarnation }: Member, table: PoolTable, { sessions }: Facts): boolean =>
  sessions.get(incarnation)?.report.leaving === true && table.rowsOf(incarnation).length === 0;

/** What owners have let go of: released keys become free, lapsed ones get a new number. */
function takeBack(
  table: PoolTable,
  facts: Facts,
): { readonly records: TableRecord[]; readonly cut: boolean } {
  const free: Span[] = [];
  const renumber: Span[] = [];
  for (const [incarnation, { report }] of facts.sessions) {
    if (report.letGo.length === 0) continue;
    const byNumber = rowsByNumber(table.rowsOf(incarnation));
    for (const { start, end, number, how } of report.letGo) {
      for (const row of byNumber.get(number) ?? []) {
        if (row.end <= start || row.start >= end) continue;
        const span = { start: row.start > start ? row.start : start, end: row.end < end ? row.end : end };
        (how === 'released' || report.leaving ? free : renumber).push(span);
      }
    }
  }
  const freed = inOrder(free).slice(0, facts.maxSpansPerBatch);
  const renumbered = inOrder(renumber).slice(0, facts.maxSpansPerBatch);
  const records: TableRecord[] = [];
  if (freed.length > 0) records.push({ kind: 'free', spans: freed });
  if (renumbered.length > 0) records.push({ kind: 'renumber', spans: renumbered });
  return { records, cut: freed.length < free.length || renumbered.length < renumber.length };
}

function rowsByNumber(rows: readonly Row[]): ReadonlyMap<number, readonly Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.number);
    if (group === undefined) groups.set(row.number, [row]);
    else group.push(row);
  }
  return groups;
}

/** An owner that does not know the row's present number could not follow the line to the next. */
function ownerKnows(row: Row, { sessions }: Facts): boolean {
  const session = row.owner === undefined ? undefined : sessions.get(row.owner);
  return session !== undefined && covers(session.report.held, row);
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
