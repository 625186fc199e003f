/**
 * How the Managers are that share a store: each is asked itself, all at the same time, and not for long. A Manager
 * that does not answer is shown as such; the user is most interested in just that one.
 */

import { LeaseholdError } from 'leasehold/manager';
import type { StatusAnswer } from './answers.ts';
import { ApiUnreachableError, ManagerApi } from './api.ts';
import type { Context } from './context.ts';

export type ManagerAnswer = StatusAnswer['managers'][number];

/** One Manager: the list's entry, and the Manager's own answer. */
export interface AskedManager extends ManagerAnswer {
  readonly role: StatusAnswer['role'] | null;
  readonly behind: number | null;
  readonly version: string | null;
  readonly uptimeSeconds: number | null;
  /** Why nothing is known of the Manager. */
  readonly problem: string | null;
}

const ANSWER_WITHIN_MS = 2_000;

const UNKNOWN = { role: null, behind: null, version: null, uptimeSeconds: null };

/** All of them, in the order in which they were told, by the word of each. */
export function askManagers(context: Context, status: StatusAnswer): Promise<readonly AskedManager[]> {
  return Promise.all(
    status.managers.map(async (manager) => {
      if (manager.isSelf) return { ...manager, ...wordOf(status), problem: null };
      if (manager.http === null)
        return { ...manager, ...UNKNOWN, problem: 'its HTTP API cannot be reached from elsewhere' };
      return { ...manager, ...(await askOne(context, manager, manager.http)) };
    }),
  );
}

type Asked = Omit<AskedManager, keyof ManagerAnswer>;

async function askOne(context: Context, { id }: ManagerAnswer, url: string): Promise<Asked> {
  const api = new ManagerApi(url, context.calledAs);
  try {
    const status = await api.get<StatusAnswer>('/v1/status', ANSWER_WITHIN_MS);
    if (status.id === id) return { ...wordOf(status), problem: null };
    return { ...UNKNOWN, problem: `another Manager answers there, ${status.id}` };
  } catch (error) {
    return { ...UNKNOWN, problem: problemOf(error) };
  }
}

const wordOf = ({ role, behind, version, uptimeSeconds }: StatusAnswer): Omit<Asked, 'problem'> => ({
  ...{ role, behind, version, uptimeSeconds },
});

function problemOf(error: unknown): string {
  if (error instanceof ApiUnreachableError) return error.reason;
  if (error instanceof LeaseholdError) return error.message;
  throw error;
}
