/**
 * Tests that only calculate have no limits by the clock of the wall: neither a time limit of their own, nor patience that
 * ends. A busy machine lets any of them take as long as it likes, and that says nothing of the code. Tests with real
 * processes do wait, and need a limit for what hangs: each wait says its own, because a second, the limit of a wait that
 * says none, is nothing on a busy machine. `scripts/test/kinds.mjs` says which are which.
 */

import { kindOf } from '../test/kinds.mjs';
import { complaint, matches, type Source } from './source.ts';

const LIMITS: readonly RegExp[] = [
  // In the options of a test or a group, or of a wait; the last argument of a test.
  /\btimeout:/,
  /^ *\}, (?:\d[\d_]*|[A-Z_]+_MS)\);$/m,
  /^ *\},\n *(?:\d[\d_]*|[A-Z_]+_MS),\n *\);$/m,
  /\bvi\.wait(?:For|Until)\(/,
  /\bexpect\.poll\(/,
];
const WAIT = /\b(?:vi\.wait(?:For|Until)|expect\.poll)\(/;

export function limitComplaints(file: Source, kind: (path: string) => string = kindOf): string[] {
  if (!file.path.endsWith('.test.ts')) return [];
  if (kind(file.path) === 'real') return waitComplaints(file);
  return LIMITS.flatMap((limit) =>
    [...matches(file.bare, limit)].map(({ index }) =>
      complaint(file, index, 'a test that only calculates has no limit by the clock of the wall'),
    ),
  );
}

function waitComplaints(file: Source): string[] {
  return [...matches(file.bare, WAIT)]
    .filter(({ index }) => {
      const limit = secondArgument(file.bare, index);
      return limit === '' || (limit.startsWith('{') && !limit.includes('timeout'));
    })
    .map(({ index }) => complaint(file, index, 'a wait without a timeout ends after a second'));
}

/** Of the call at this place; empty if there is none. */
function secondArgument(text: string, from: number): string {
  let [open, second] = [0, text.length];
  for (let at = text.indexOf('(', from); at < text.length; at += 1) {
    const character = text[at] ?? '';
    if ('([{'.includes(character)) open += 1;
    else if (')]}'.includes(character)) open -= 1;
    else if (character === ',' && open === 1) second = Math.min(second, at + 1);
    if (open === 0) return text.slice(second, at).trim();
  }
  return '';
}
