/**
 * Do the Managers that were asked lead one log? Owners and look-ups find out by themselves (`MANAGERS_DISAGREE`), and an
 * operator wants to see which Manager has to be stopped.
 *
 * One history is led by one Manager at a time. Two leaders with two histories have separate logs. Two leaders with one
 * history have copies of one log, unless the answer of one is from before a change of leaders: then their terms
 * differ, so equal terms are said to be copies, and different ones to be either.
 */

import type { AskedManager } from './other-managers.ts';

export type SeparateLogs = 'separate-logs' | 'copies-of-one-log' | 'copies-or-a-change-of-leaders';

type Asked = Pick<AskedManager, 'id' | 'address' | 'role' | 'history' | 'term'>;

/** Undefined if no two of these Managers lead. */
export function separateLogs(managers: readonly Asked[]): SeparateLogs | undefined {
  const leaders = managers.filter(({ role }) => role === 'leading');
  if (leaders.length < 2) return undefined;
  if (new Set(leaders.map(({ history }) => history)).size > 1) return 'separate-logs';
  const terms = new Set(leaders.map(({ term }) => term));
  return terms.size < leaders.length ? 'copies-of-one-log' : 'copies-or-a-change-of-leaders';
}

const WORDS: Readonly<Record<SeparateLogs, string>> = {
  'separate-logs': 'These Managers lead SEPARATE LOGS. A key can have an owner under each.',
  'copies-of-one-log': 'These Managers lead COPIES OF ONE LOG. A key can have an owner under each.',
  'copies-or-a-change-of-leaders':
    'These Managers say that they lead one log. If they still do in a few seconds, they lead copies of it.',
};

export function separateLogsLines(managers: readonly Asked[]): readonly string[] {
  const found = separateLogs(managers);
  if (found === undefined) return [];
  const leaders = managers.filter(({ role }) => role === 'leading');
  return [
    '',
    WORDS[found],
    ...leaders.map(
      ({ id, address, history, term }) => `  ${id} at ${address}: history ${history}, term ${term}`,
    ),
    'Owners that are given both addresses let go of everything (MANAGERS_DISAGREE). Stop all but one of these Managers.',
  ];
}
