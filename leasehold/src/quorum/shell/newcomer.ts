/**
 * Which directory an operator means by a name, decided once: the change then names the directory, and a repeated change can mean no
 * other one. A replica that was just started may not be connected to the leader yet, so the leader is asked again for a while.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import type { Change } from '../core/membership.ts';
import { changeRefused } from '../core/errors.ts';
import type { Reply } from '../wire/calls.ts';

/** The directories under a name, as the leader knows them. */
export type Resolved = Extract<Reply, { kind: 'resolved' }>;

const RETRY_MS = 50;

/** The change that seats the replica which has joined under a name. @throws {RefusedError} {UnavailableError} */
export async function additionOf(
  resolve: () => Promise<Resolved>,
  runtime: Runtime,
  timeoutMs: number,
): Promise<Change> {
  const until = later(runtime.now(), timeoutMs);
  for (;;) {
    const { member, isMemberConnected, newcomers, wasRemoved } = await resolve();
    const [by, another] = newcomers;
    if (another !== undefined) throw changeRefused('several-of-that-name');
    if (by !== undefined)
      return member === undefined ? { kind: 'add', storage: by } : { kind: 'replace', storage: member, by };
    if (isMemberConnected) throw changeRefused('already-a-member');
    if (runtime.now() >= until)
      throw changeRefused(wasRemoved && member === undefined ? 'only-removed' : 'not-known');
    await new Promise<void>((proceed) => {
      runtime.wakeAt(later(runtime.now(), RETRY_MS), proceed);
    });
  }
}
