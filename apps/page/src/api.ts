/** What the page asks of the Manager that served it, and what it is answered. */

import type { StatusAnswer } from '../../../leasehold/src/pool/shell/service/answers.ts';

export type {
  OwnerAnswer,
  OwnersAnswer,
  PoolAnswer,
  PoolSummary,
  RowAnswer,
  StatusAnswer,
  TableAnswer,
} from '../../../leasehold/src/pool/shell/service/answers.ts';
export type { Gap, LoggedEvent } from '../../../leasehold/src/pool/shell/service/event-log.ts';
export type { ExplainAnswer } from '../../../leasehold/src/pool/shell/service/explain.ts';

/** A Manager that stands still accepts connections and never answers. */
const ANSWER_WITHIN_MS = 5_000;

/** @throws if nobody answers in time, or with the Manager's own sentence if it says no */
export async function ask<Answer>(path: string): Promise<Answer> {
  const response = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  const body = (await response.json()) as { readonly error?: { readonly message: string } };
  if (!response.ok) throw new Error(body.error?.message ?? `the answer was ${response.status}`);
  return body as Answer;
}

/** The status of the Manager, of all handles of the process. @throws as {@link ask} */
export async function askManager(): Promise<StatusAnswer> {
  const { handles } = await ask<{ readonly handles: readonly StatusAnswer[] }>('/v1/status');
  const manager = handles.find(({ module }) => module === 'manager');
  if (manager === undefined) throw new Error('there is no Manager here');
  return manager;
}

/** The path of something about a pool. */
export const poolPath = (pool: string, rest = ''): string => `/v1/pool/${encodeURIComponent(pool)}${rest}`;
