/**
 * The supervised side: will a supervisor prove the death of this process, and by which secret? Which process may take
 * the secret, and why no other, is argued in `handover.ts`.
 *
 * The question is asked once a process. The letter can be read once; all pools that this process joins, and all copies
 * of this library in the process, share the result. One proof covers them all, for they die together.
 *
 * The same line tells when the supervisor is gone before us. Somebody who killed the supervisor, or the supervisor's
 * process group, meant the server as well: containers and services end as a whole, and an orphan would keep the name,
 * the port and the keys from the next server. So this process is then told to end, once, by a signal that the
 * process's handlers know.
 */

import { environment, removeVariable } from '../../../node/process/environment.ts';
import { answerInheritedLine } from '../../../node/process/inherited-line.ts';
import { ownProcess } from '../../../node/process/own-process.ts';
import { askSelfToEnd } from '../../../node/process/signals.ts';
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

/** How long a supervisor may take to hand over the secret; a supervisor that is not stopped does so at once. */
const LETTER_WITHIN_MS = 5_000;

const SHARED: unique symbol = Symbol.for('leasehold.supervised-secret');

interface Shared {
  [SHARED]?: Promise<string | undefined>;
}

/** The proof for the reports of this process; `undefined` if nobody would see the death. */
export async function supervisedProof(logger: Logger): Promise<{ readonly proof: string } | undefined> {
  const secret = await supervisedSecret(logger);
  return secret === undefined ? undefined : { proof: digest(secret) };
}

/** The secret itself. The secret goes nowhere but into a lock file of this process, and never into a log. */
export function supervisedSecret(logger: Logger): Promise<string | undefined> {
  const shared = globalThis as Shared;
  shared[SHARED] ??= takeSecret(logger);
  return shared[SHARED];
}

async function takeSecret(logger: Logger): Promise<string | undefined> {
  const text = environment(SUPERVISOR_VARIABLE);
  if (text === undefined) return undefined;
  const found = await readLetter(text, () => {
    logger.warn('leasehold run has ended before this server; telling the server to end (SIGTERM)');
    askSelfToEnd();
  });
  if ('secret' in found) {
    logger.debug('a supervisor will prove the death of this process');
    return found.secret;
  }
  // The user has asked for a supervisor and does not have one: nothing else would tell before a death is noticed late.
  logger.warn(explainRefusal(found.refusal), { why: found.refusal });
  return undefined;
}

async function readLetter(
  text: string,
  onSupervisorGone: () => void,
): Promise<{ readonly secret: string } | { readonly refusal: Refusal }> {
  const summons = parseSummons(text);
  if (summons === undefined) return { refusal: 'unreadable' };
  const self = ownProcess();
  const refusal = mayNotRead(summons, self);
  if (refusal !== undefined) return { refusal };
  // From here on the descriptor may be closed, and the number may become something else.
  removeVariable(SUPERVISOR_VARIABLE);
  const isOurs = (line: string): boolean => parseLetter(line)?.childPid === self.pid;
  const line = await answerInheritedLine({
    descriptor: summons.descriptor,
    charactersMax: LETTER_CHARACTERS_MAX,
    withinMs: LETTER_WITHIN_MS,
    reply: (heard) => (isOurs(heard) ? TAKEN : undefined),
    onParentGone: onSupervisorGone,
  });
  const letter = line === undefined ? undefined : parseLetter(line);
  if (letter === undefined) return { refusal: 'no-letter' };
  return letter.childPid === self.pid ? { secret: letter.secret } : { refusal: 'not-the-child' };
}
