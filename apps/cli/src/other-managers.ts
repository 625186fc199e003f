/**
 * How the Managers are that share a store: each is asked itself, all at the same time, and not for long. A Manager
 * that does not answer is shown as such; the user is most interested in just that one.
 */

import { LeaseholdError } from 'leasehold/manager';
import type { StatusAnswer } from './answers.ts';
import { isUnreachable, ManagerApi } from './api.ts';
import type { Context } from './context.ts';

export type ManagerAnswer = StatusAnswer['managers'][number];

/** One Manager: the list's entry, and the Manager's own answer. */
export interface AskedManager extends ManagerAnswer {
  readonly role: StatusAnswer['role'] | null;
  /** The log that this Manager leads or follows, and the latest term that it knows of. */
  readonly history: string | null;
  readonly term: number | null;
  readonly behind: number | null;
  readonly version: string | null;
  readonly uptimeSeconds: number | null;
  /** Why nothing is known of the Manager. */
  readonly problem: string | null;
}

const ANSWER_WITHIN_MS = 2_000;

const UNKNOWN = { role: null, history: null, term: null, behind: null, version: null, uptimeSeconds: null };

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

const wordOf = (status: StatusAnswer): Omit<Asked, 'problem'> => {
  const { role, history, term, behind, version, uptimeSeconds } = status;
  return { role, history, term, behind, version, uptimeSeconds };
};

/** Managers that no other Manager has told of, by the addresses of their APIs; without those that are known already. */
export async function askOthers(
  { calledAs }: Context,
  urls: readonly string[],
  known: readonly AskedManager[],
): Promise<readonly AskedManager[]> {
  const asked = await Promise.all(
    urls.map(async (http): Promise<AskedManager> => {
      const unknown = { id: 'not known', address: '-', http, isLeader: false, isSelf: false };
      try {
        const status = await new ManagerApi(http, calledAs).get<StatusAnswer>('/v1/status', ANSWER_WITHIN_MS);
        const self = status.managers.find(({ isSelf }) => isSelf) ?? { ...unknown, id: status.id };
        return { ...self, http, isSelf: false, ...wordOf(status), problem: null };
      } catch (error) {
        return { ...unknown, ...UNKNOWN, problem: problemOf(error) };
      }
    }),
  );
  const isKnown = ({ id, address }: AskedManager): boolean =>
    known.some((other) => other.id === id && other.address === address);
  return asked.filter((manager) => !isKnown(manager));
}

function problemOf(error: unknown): string {
  if (isUnreachable(error)) return String(error.details['reason']);
  if (error instanceof LeaseholdError) return error.message;
  throw error;
}
