/**
 * How a supervisor's secret gets to the child, and to no other process.
 *
 * *A proof must be used by no process but the one whose end the supervisor will see.* If another process used the
 * proof, the leases of that process would be given away while the process lives. The supervisor sees the end of the
 * direct child alone; but the environment and the descriptor that are handed over are inherited further, by a shell in
 * between, by `npm start`, by cluster workers, by a daemon that outlives the child. So a process that finds the
 * variable first asks whether this process is the child itself:
 *
 *     supervisor ─── sh ─── node          node's parent is not the supervisor        no
 *     supervisor ─── node ─── worker      the same; descriptor 3 is node's own       no, and not touched
 *     supervisor ─── sh, then node        after `exec`, the same process             yes
 *     supervisor ─── sh ✗     node        an orphan. If the supervisor is process 1
 *         └───────────────────┘           this is the parent now; but node has another
 *                                         number than the child had                  no
 *
 * The first question, in the variable, is the parent's number and pid namespace, for numbers mean nothing in another
 * namespace: only if they fit is the descriptor touched. The second is in the letter that comes through the
 * descriptor: the number of the child, which the supervisor learned at the start of the child. A number goes to
 * another process only after the former holder was reaped, and then the supervisor closes the line: a secret counts as
 * taken only when the answer to the letter could still be sent.
 *
 * The reader of the letter removes the variable from the environment; the descriptor stays open, because the end of
 * the line is the end of the supervisor (Node hands neither on to child processes; a shell hands on both). A worker
 * thread does not take part: a thread has an environment of its own, and the main thread would come upon a descriptor
 * that has been closed and has become something else.
 *
 * The child answers that the secret is taken *before* the child uses the secret. A command that never did, `ls` or a
 * shell whose child joined instead, has nothing to certify, and the end of such a command need not wait for a Manager.
 */

import type { OwnProcess } from '../../../node/process/own-process.ts';

export const SUPERVISOR_VARIABLE = 'LEASEHOLD_SUPERVISOR';

/** The child's answer when the secret is taken. */
export const TAKEN = 'taken\n';

export const LETTER_CHARACTERS_MAX = 1_024;

/** The content of the variable: the supervisor, and where to read the letter. */
export interface Summons {
  readonly supervisorPid: number;
  readonly pidNamespace: string | undefined;
  readonly descriptor: number;
}

/** The content of the line through the descriptor. */
export interface Letter {
  readonly childPid: number;
  readonly secret: string;
}

/** Why a process that finds the variable ignores it. */
export type Refusal = 'not-the-child' | 'other-namespace' | 'worker-thread' | 'unreadable' | 'no-letter';

/** `4711:4026531836:3`; a dash where there are no namespaces. */
export const formatSummons = ({ supervisorPid, pidNamespace, descriptor }: Summons): string =>
  `${supervisorPid}:${pidNamespace ?? '-'}:${descriptor}`;

export function parseSummons(text: string): Summons | undefined {
  const parts = /^(\d{1,10}):(\d{1,20}|-):(\d{1,4})$/.exec(text);
  if (parts === null) return undefined;
  const [, pid, namespace, descriptor] = parts;
  return {
    supervisorPid: Number(pid),
    pidNamespace: namespace === '-' ? undefined : namespace,
    descriptor: Number(descriptor),
  };
}

/** Why this process must not even touch the descriptor; `undefined` if reading is allowed. */
export function mayNotRead(summons: Summons, self: OwnProcess): Refusal | undefined {
  if (!self.isMainThread) return 'worker-thread';
  if (self.pidNamespace !== summons.pidNamespace) return 'other-namespace';
  if (self.parentPid !== summons.supervisorPid) return 'not-the-child';
  return undefined;
}

export const formatLetter = ({ childPid, secret }: Letter): string => `${childPid} ${secret}\n`;

/** @param line without the newline, which marks the end */
export function parseLetter(line: string): Letter | undefined {
  const parts = /^(\d{1,10}) ([0-9a-f]{32,128})$/.exec(line);
  return parts === null ? undefined : { childPid: Number(parts[1]), secret: parts[2] ?? '' };
}

/** For the log: the problem, and the remedy. */
export function explainRefusal(why: Refusal): string {
  const wait = 'if it dies, its leases have to expire';
  switch (why) {
    case 'not-the-child':
      return `leasehold run did not start this process itself but one between them (npm, a shell), so it cannot see its death: ${wait}. Start it directly (leasehold run -- node server.js), or with exec in the shell script`;
    case 'other-namespace':
      return `leasehold run is outside of this container, so it cannot see the death of this process: ${wait}. Use leasehold run inside of the container`;
    case 'worker-thread':
      return `joined in a worker thread, where the proof of leasehold run cannot be taken: ${wait}. Join in the main thread`;
    case 'unreadable':
    case 'no-letter':
      return `leasehold run has left no proof here; it may have been killed, or something between closed its descriptor: ${wait}`;
  }
}
