/** The meaning of the demo's numbers, for a first-time user. */

import { duration } from '../output.ts';
import { ANSWER_WITHIN_MS } from './front-end.ts';

/** Short enough to stand behind the number in a terminal of 80 columns. */
export const MEANING: Readonly<
  Record<'owners' | 'reads' | 'wrong' | 'unanswered' | 'lost' | 'republished', string>
> = {
  owners: 'Each owner keeps the status of the users whose keys it has a lease on.',
  reads: 'users look each other up, by way of a front end',
  wrong: 'no status or an old one',
  unanswered: `no owner answered within ${duration(ANSWER_WITHIN_MS)}`,
  lost: 'their keys got another owner',
  republished: 'their front end was told, and has sent their status to the next owner',
};

/** For a user who sees the numbers in a line without room for explanations. */
export const LEGEND: readonly string[] = [
  ['ada 26 % 42/s', 'the owner ada: its share of all keys, and the requests it answers'],
  ['reads', MEANING.reads],
  ['wrong', `reads that found ${MEANING.wrong}; they are repeated until they are right`],
  ['unanswered', MEANING.unanswered],
  ['lost', `users: ${MEANING.lost}, and what the last one kept is gone`],
  ['published again', MEANING.republished],
].map(([words = '', meaning = '']) => `  ${words.padEnd(15)}  ${meaning}`);
