/**
 * From a target to steps: the keys to be granted, recalled and merged to bring the table to where the
 * policy wants it?
 *
 *     table    ├──── a ────┼── nobody ──┼──────── b ────────┤
 *     target     ├─ a ─┼─────── c ────────┼───── b ─────┼─ c ─┤
 *     steps          recall  grant c                  recall
 *                    from a                           from b
 *
 * Pure, and no part of the safety argument: a grant is of keys that nobody owns, and a recall only
 * asks. Rows that lie in one target span and have the right owner are merged, so that owners that
 * come and go do not leave the table in fragments; `mayMerge` says whether the owner knows the
 * row's present number, without which it could not follow the line from it to the new one.
 */

import type { Span } from '../../../runtime/keys/range.ts';
import type { NumberedSpan } from '../messages.ts';
import type { Placement } from '../policy/policy.ts';
import type { Row } from '../table.ts';

/** Keys that belong to another owner than they have. */
export interface Misplaced extends NumberedSpan {
  readonly to: string;
}

export interface Plan {
  readonly grants: ReadonlyMap<string, readonly Span[]>;
  readonly recalls: ReadonlyMap<string, readonly Misplaced[]>;
  readonly merges: readonly Span[];
}

export function plan(
  rows: readonly Row[],
  target: readonly Placement[],
  mayMerge: (row: Row) => boolean,
): Plan {
  const grants = new Map<string, Span[]>();
  const recalls = new Map<string, Misplaced[]>();
  const merges: Span[] = [];
  let index = 0;
  for (const placed of target) {
    while ((rows[index]?.end ?? placed.end) <= placed.start) index += 1; // The policy wants nothing with these.
    if (isAsTarget(rows[index], placed)) {
      index += 1;
      continue;
    }
    let run: { start: bigint; end: bigint; rows: number } | undefined;
    const endRun = (): void => {
      if (run !== undefined && run.rows > 1) merges.push({ start: run.start, end: run.end });
      run = undefined;
    };
    for (let row = rows[index]; row !== undefined && row.start < placed.end; row = rows[index]) {
      const start = row.start > placed.start ? row.start : placed.start;
      const end = row.end < placed.end ? row.end : placed.end;
      const whole = start === row.start && end === row.end;
      if (row.owner === placed.incarnation && whole && mayMerge(row)) {
        if (run === undefined) run = { start, end, rows: 1 };
        else run = { start: run.start, end, rows: run.rows + 1 };
      } else endRun();
      if (row.owner === undefined) add(grants, placed.incarnation, { start, end });
      else if (row.owner !== placed.incarnation)
        add(recalls, row.owner, { start, end, number: row.number, to: placed.incarnation });
      if (row.end > placed.end) break;
      index += 1;
    }
    endRun();
  }
  return { grants, recalls, merges };
}

/** By far the most are. */
const isAsTarget = (row: Row | undefined, placed: Placement): boolean =>
  row !== undefined &&
  row.owner === placed.incarnation &&
  row.start === placed.start &&
  row.end === placed.end;

function add<T>(map: Map<string, T[]>, key: string, item: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [item]);
  else list.push(item);
}
