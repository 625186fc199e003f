/**
 * The supervised side: is this process one whose death a supervisor will prove, and by which secret?
 * Who may take the secret, and why nobody else, is argued in `handover.ts`.
 *
 * It is asked once a process. The letter can be read once; all pools that this process joins, and
 * all copies of this library in it, share what came of it. One proof covers them all, for they die
 * together.
 */

import { environment, removeVariable } from '../../../node/environment.ts';
import { answerInheritedLine } from '../../../node/inherited-line.ts';
import { ownProcess } from '../../../node/own-process.ts';
import { digest } from '../../../runtime/digest.ts';
import type { Logger } from '../../../runtime/logger.ts';
import {
  explainRefusal,
  LETTER_CHARACTERS_MAX,
  mayNotRead,
  parseLetter,
  parseSummons,
  type Refusal,
  SUPERVISOR_VARIABLE,
  TAKEN,
} from './handover.ts';

/** How long a supervisor may take to hand over its secret; it does so at once unless it is stopped. */
const LETTER_WITHIN_MS = 5_000;

const SHARED: unique symbol = Symbol.for('leasehold.supervised-secret');

interface Shared {
  [SHARED]?: Promise<string | undefined>;
}

/** What this process is to put into its reports; `undefined` if nobody would see its death. */
export async function supervisedProof(logger: Logger): Promise<{ readonly proof: string } | undefined> {
  const secret = await supervisedSecret(logger);
  return secret === undefined ? undefined : { proof: digest(secret) };
}

/** The secret itself. It goes nowhere but into a lock file of this process, and never into a log. */
export function supervisedSecret(logger: Logger): Promise<string | undefined> {
  const shared = globalThis as Shared;
  shared[SHARED] ??= takeSecret(logger);
  return shared[SHARED];
}

async function takeSecret(logger: Logger): Promise<string | undefined> {
  const text = environment(SUPERVISOR_VARIABLE);
  if (text === undefined) return undefined;
  const found = await readLetter(text);
  if ('secret' in found) {
    logger.debug('a supervisor will prove the death of this process');
    return found.secret;
  }
  logger.info(explainRefusal(found.refusal), { why: found.refusal });
  return undefined;
}

async function readLetter(
  text: string,
): Promise<{ readonly secret: string } | { readonly refusal: Refusal }> {
  const summons = parseSummons(text);
  if (summons === undefined) return { refusal: 'unreadable' };
  const self = ownProcess();
  const refusal = mayNotRead(summons, self);
  if (refusal !== undefined) return { refusal };
  // From here on the descriptor may be closed, and its number become something else.
  removeVariable(SUPERVISOR_VARIABLE);
  const isOurs = (line: string): boolean => parseLetter(line)?.childPid === self.pid;
  const line = await answerInheritedLine({
    descriptor: summons.descriptor,
    charactersMax: LETTER_CHARACTERS_MAX,
    withinMs: LETTER_WITHIN_MS,
    reply: (heard) => (isOurs(heard) ? TAKEN : undefined),
  });
  const letter = line === undefined ? undefined : parseLetter(line);
  if (letter === undefined) return { refusal: 'no-letter' };
  return letter.childPid === self.pid ? { secret: letter.secret } : { refusal: 'not-the-child' };
}
