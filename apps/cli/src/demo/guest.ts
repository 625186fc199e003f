/**
 * An owner that joins a demo from another terminal, and ends with the demo.
 *
 * Nobody tells a guest that the demo is over: the demo does not know its guests. But the demo's Manager lives exactly as
 * long as the demo, so a look-up beside the guest tells: either no Manager answers any more, or another one does, with
 * another log, which is another demo.
 */

import process from 'node:process';
import { type LossReason, LeaseholdError, connectLookup, type PoolLookup, silent } from 'leasehold/pool';
import { type SupervisedEnd, supervise } from 'leasehold/supervisor';
import { type Context, typed } from '../context.ts';
import { createLogger } from '../logger.ts';
import { writeLines } from '../output.ts';
import { selfCommand } from '../self.ts';
import { DemoError } from './demo-error.ts';
import { POOL } from './messages.ts';

export interface GuestOptions {
  readonly name: string;
  readonly managers?: readonly string[] | undefined;
}

const ANSWERS_WITHIN_MS = 2_000;
const ASK_EVERY_MS = 1_000;
/** Longer than a busy machine leaves a Manager without a turn. */
const GONE_AFTER_MS = 6_000;
/** Nobody may be left to be told. */
const CERTIFY_FOR_MS = 3_000;

/** @throws {DemoError} if there is no Manager to join */
export async function runGuest(context: Context, { name, managers }: GuestOptions): Promise<SupervisedEnd> {
  const logger = createLogger(context, { level: 'warn' });
  const over = new AbortController();
  await using _ = await findDemo(context, managers, () => over.abort());
  const list = managers === undefined ? [] : ['--managers', managers.join(',')];
  return await supervise({
    tls: false,
    ...selfCommand(['demo-owner', '--name', name, ...list]),
    ...{ managers, logger, certifyForMs: CERTIFY_FOR_MS },
    onChild: ({ pid }) => {
      over.signal.addEventListener('abort', () => {
        writeLines(context.out, [`The demo is over, and so is ${name}.`]);
        process.kill(pid, 'SIGTERM');
      });
    },
  });
}

async function findDemo(
  context: Context,
  managers: readonly string[] | undefined,
  onGone: () => void,
): Promise<PoolLookup> {
  const isGone = (why: LossReason): boolean => why === 'cut-off' || why === 'history-changed';
  try {
    return await connectLookup({
      tls: false,
      ...{ managers, pool: POOL, timeoutMs: ANSWERS_WITHIN_MS, logger: silent },
      ...{ syncEveryMs: ASK_EVERY_MS, staleAfterMs: GONE_AFTER_MS },
      onLoss: ({ why }) => (isGone(why) ? onGone() : undefined),
    });
  } catch (error) {
    if (!(error instanceof LeaseholdError) || error.code !== 'MANAGERS_UNREACHABLE') throw error;
    const where = (error.details['managers'] as readonly string[]).join(', ');
    throw new DemoError(
      `no demo answers at ${where}: start one with \`${typed(context, 'demo')}\`, or say where its Manager is with --managers`,
      error.code,
    );
  }
}
