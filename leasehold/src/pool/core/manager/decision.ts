/**
 * The next records for one pool, from the committed table and the reports that the leader has heard.
 *
 * The steps build on one another within a single batch, so that a range can be taken back and
 * granted again in one commit:
 *
 *     joins →  hand-overs →  leaves →  released keys are freed →  free keys are granted →  fragments are merged
 *
 * Pure: the same facts give the same records. Whether an owner is gone is judged by the leader, which
 * has the clock (`whyGone`); where keys belong, by the policy (`target`).
 */

import type { Span } from '../../../runtime/keys/range.ts';
import type { NumberedSpan, Report } from '../messages.ts';
import type { HandOvers } from '../moves/hand-overs.ts';
import type { Placement } from '../policy/policy.ts';
import type { LeaveReason, Member, PoolTable, Row, TableRecord } from '../table.ts';
import { covers, partsWithin } from '../spans.ts';
import type { WantedMove } from '../moves/tickets.ts';
import { type Misplaced, plan } from './plan.ts';
import type { MoveFacts } from './pool-moves.ts';
import type { Session } from './session.ts';

export type Recalls = ReadonlyMap<string, readonly NumberedSpan[]>;

export interface Facts {
  /** Everybody heard of, members or not, by incarnation. */
  readonly sessions: ReadonlyMap<string, Session>;
  /** Whether a candidate has shown lately that it lives, and may be admitted now. */
  mayJoin(session: Session): boolean;
  whyGone(member: Member): LeaveReason | undefined;
  target(table: PoolTable): readonly Placement[];
  /** The members to be called silent in the log, or silent no longer. */
  silences(members: PoolTable['members']): readonly TableRecord[];
  /** What an operator wants of these members that the log does not say yet. */
  orders?(members: PoolTable['members']): readonly TableRecord[];
  /** An operator wants the pool removed. */
  readonly isToBeRemoved?: boolean | undefined;
  /** Undefined if nobody moves keys here, or nothing may be handed over now. */
  readonly moves?: MoveFacts | undefined;
  readonly maxSpansPerBatch: number;
}

export interface Decision {
  readonly records: readonly TableRecord[];
  /** Members that are removed. */
  readonly condemned: readonly string[];
  /** The spans to ask back from each owner, once the records are committed. */
  readonly recalls: Recalls;
  /** The spans that should be handed over; undefined if there was no time to see. */
  readonly wanted: readonly WantedMove[] | undefined;
  /** There is more to do than fits into one batch. */
  readonly unfinished: boolean;
}

export function decide(table: PoolTable, position: number, facts: Facts): Decision {
  const most = facts.maxSpansPerBatch;
  const coming = joins(table, facts);
  if (facts.isToBeRemoved === true && mayBeRemoved(table, coming)) return REMOVAL;
  const joined = coming.slice(0, most);
  const afterJoins = table.apply(joined, position);
  // What source and target have both said counts before the dead are removed.
  const moved = facts.moves?.handOvers(afterJoins, most) ?? NO_HAND_OVERS;
  const gone = leaves(table, facts.whyGone);
  const removed = moved.isCut ? [] : gone.slice(0, most);
  const members = [...joined, ...moved.records, ...removed];
  const afterMembers = afterJoins.apply([...moved.records, ...removed], position);

  const letGo = takeBack(afterMembers, facts);
  const afterLetGo = afterMembers.apply(letGo.records, position);
  const left = leaves(afterLetGo, (member) => (hasLeft(member, afterLetGo, facts) ? 'left' : undefined));
  const afterLeft = afterLetGo.apply(left, position);

  // As long as some owners that are gone are still members, nothing is granted: it might be to them.
  const isCut = removed.length < gone.length;
  const target = isCut ? [] : facts.target(afterLeft);
  const mayMerge = (row: Row): boolean => ownerKnows(row, facts) && facts.moves?.isBusy(row) !== true;
  const steps = plan(afterLeft.rows, target, mayMerge);
  const { recalls, wanted } = movesOrRecalls(steps.recalls, afterLeft, facts);
  const grants = limited(steps.grants, most);
  const merges = steps.merges.slice(0, most);
  const records = [...members, ...letGo.records, ...left, ...grants.records];
  if (merges.length > 0) records.push({ kind: 'merge', spans: merges });
  records.push(...facts.silences(afterLeft.members));
  const ordered = facts.orders?.(afterLeft.members) ?? [];
  records.push(...ordered);
  const begins = facts.moves?.isToBegin === true;
  if (begins) records.push({ kind: 'moves' });
  return {
    records,
    condemned: [...removed, ...left].map(({ incarnation }) => incarnation),
    recalls,
    wanted: isCut ? undefined : wanted,
    unfinished:
      // Where keys belong, and whether they are asked back, is another question once these records are written.
      begins ||
      ordered.length > 0 ||
      coming.length > most ||
      moved.isCut ||
      isCut ||
      letGo.cut ||
      grants.cut ||
      merges.length < steps.merges.length,
  };
}

const REMOVAL: Decision = {
  records: [{ kind: 'remove' }],
  condemned: [],
  recalls: new Map(),
  wanted: [],
  unfinished: false,
};

const NO_HAND_OVERS: HandOvers = { records: [], isCut: false, dueAt: [] };

/** What leaves an owner with its state is handed over, or stays; what cannot is asked back. */
function movesOrRecalls(
  misplaced: ReadonlyMap<string, readonly Misplaced[]>,
  { hasMoves }: PoolTable,
  { moves, sessions }: Facts,
): { readonly recalls: Recalls; readonly wanted: readonly WantedMove[] } {
  if (!hasMoves) return { recalls: misplaced, wanted: [] };
  if (moves === undefined) return { recalls: new Map(), wanted: [] };
  const recalls = new Map<string, readonly Misplaced[]>();
  const wanted: WantedMove[] = [];
  for (const [from, spans] of misplaced) {
    const isLeaving = sessions.get(from)?.report.leaving === true;
    if (moves.mayMoveState(from) && !isLeaving) wanted.push(...spans.map((span) => ({ ...span, from })));
    else
      recalls.set(
        from,
        spans.filter((span) => !moves.isBusy(span)),
      );
  }
  return { recalls, wanted };
}

/**
 * Only a pool without members: a member may hold keys, and the table is all that keeps others from being granted them.
 * An owner that is about to join comes first, because it has been asked to.
 */
const mayBeRemoved = (table: PoolTable, coming: readonly TableRecord[]): boolean =>
  table.members.size === 0 && coming.length === 0;

function joins(table: PoolTable, facts: Facts): TableRecord[] {
  const { sessions, mayJoin } = facts;
  const chosen = new Map<string, Session>();
  let names: Set<string> | undefined;
  let urls: Map<string, string> | undefined;
  for (const session of sessions.values()) {
    const { identity, report } = session;
    if (givesUp(report) || table.members.has(identity.incarnation) || !mayJoin(session)) continue;
    // Of two names with one url the first is taken; the other is told when it next reports.
    urls ??= new Map([...table.members.values()].map(({ url, name }) => [url, name]));
    if ((urls.get(identity.url) ?? identity.name) !== identity.name) continue;
    // A living member keeps the name.
    names ??= new Set(staying(table, facts).map(({ name }) => name));
    if (names.has(identity.name)) continue;
    // Of two candidates with one name the one that confirmed last is taken: the other may have died while it waited.
    const other = chosen.get(identity.name);
    if (other !== undefined && (other.aliveAt ?? 0) >= (session.aliveAt ?? 0)) continue;
    urls.set(identity.url, identity.name);
    chosen.set(identity.name, session);
  }
  return [...chosen.values()].map(({ identity }) => ({ kind: 'join', member: identity }));
}

/** An owner that drains gives its name up, too: the next process under the name can take its keys over. */
export const givesUp = ({ leaving, intent }: Pick<Report, 'leaving' | 'intent'>): boolean =>
  leaving || intent === 'draining';

/** Members that neither are gone nor want to leave: their names are in use. */
export const staying = (
  table: PoolTable,
  { sessions, whyGone }: Pick<Facts, 'sessions' | 'whyGone'>,
): Member[] =>
  [...table.members.values()].filter(
    (member) => whyGone(member) === undefined && !hasGivenUp(sessions.get(member.incarnation)),
  );

const hasGivenUp = (session: Session | undefined): boolean =>
  session !== undefined && givesUp(session.report);

type Leave = TableRecord & { kind: 'leave' };

function leaves(table: PoolTable, why: (member: Member) => LeaveReason | undefined): Leave[] {
  return [...table.members.values()].flatMap((member): Leave[] => {
    const reason = why(member);
    return reason === undefined ? [] : [{ kind: 'leave', incarnation: member.incarnation, why: reason }];
  });
}

/** A member that leaves is gone when it has given everything back; one that was never told of its keys, at once. */
function hasLeft({ incarnation }: Member, table: PoolTable, { sessions }: Facts): boolean {
  const session = sessions.get(incarnation);
  if (session?.report.leaving !== true) return false;
  return session.hasWithdrawn || table.rowsOf(incarnation).length === 0;
}

/** The keys that owners have let go of: released keys become free, lapsed ones get a new number. */
function takeBack(
  table: PoolTable,
  facts: Facts,
): { readonly records: TableRecord[]; readonly cut: boolean } {
  const free: Span[] = [];
  const renumber: Span[] = [];
  for (const [incarnation, { report }] of facts.sessions) {
    if (report.letGo.length === 0) continue;
    for (const { start, end, how } of partsWithin(report.letGo, table.rowsOf(incarnation))) {
      (how === 'released' || report.leaving ? free : renumber).push({ start, end });
    }
  }
  const freed = inOrder(free).slice(0, facts.maxSpansPerBatch);
  const renumbered = inOrder(renumber).slice(0, facts.maxSpansPerBatch);
  const records: TableRecord[] = [];
  if (freed.length > 0) records.push({ kind: 'free', spans: freed });
  if (renumbered.length > 0) records.push({ kind: 'renumber', spans: renumbered });
  return { records, cut: freed.length < free.length || renumbered.length < renumber.length };
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
