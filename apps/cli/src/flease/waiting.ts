/**
 * The lines for a person who waits for a lease: the holder, or the missing members of the member. Each line once, until
 * the state changes.
 */

import type { FleaseMember, Logger } from 'leasehold/flease';
import { isNoMajority } from 'leasehold/internal';
import { pause } from '../event-stream.ts';

const LOOK_EVERY_MS = 2_000;

/** Until the signal aborts. */
export async function tellWhoIsWaitedFor(
  member: FleaseMember,
  resource: string,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  let told = '';
  /** The members that were missing since the holder was last known. One attempt may miss others than the next. */
  const missing = new Set<string>();
  const tell = (about: string, line: string, facts: Record<string, string | number>): void => {
    if (about !== told && !signal.aborted) logger.info(line, facts);
    told = about;
  };
  while (!signal.aborted) {
    try {
      await member.ready({ signal });
      const held = await member.holder(resource);
      missing.clear();
      if (held === undefined) told = '';
      else if (held.holder === member.name) tell('we', 'waiting: this member has it already', { resource });
      else {
        const { holder, number } = held;
        tell(`held ${number}`, `waiting for ${holder}, which has it`, { resource, holder, number });
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isNoMajority(error)) throw error;
      for (const member of Object.keys(error.details.reasons)) missing.add(member);
      tell(`missing ${[...missing].join()}`, `waiting: ${error.message}`, { resource });
    }
    await pause(LOOK_EVERY_MS, signal);
  }
}
