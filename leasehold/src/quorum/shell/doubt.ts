/**
 * Why every other member must confirm a directory, in the words of the log. If a member is dead for good, nobody else knows whether the directory
 * has every vote: the operator is told of the way out.
 */

import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import { nameOf } from '../core/founding.ts';
import { isOlder, type FilePlaces, removePlace } from './disk/place.ts';
import type { JournalTail } from './disk/journal-disk.ts';
import type { Storage } from '../../runtime/runtime.ts';

export type Doubt = 'copied' | 'older-journal' | 'damaged-end';

/** After so long without an answer the operator is told of the way out. */
const TOLD_AGAIN_MS = 10_000;

const FINDINGS: Readonly<Record<Doubt, string>> = {
  copied: 'the directory was copied or restored, or was in doubt before and not confirmed',
  'older-journal': 'the journal is older than the one that was there',
  'damaged-end': 'the end of the journal is damaged, and not as a crash leaves it',
};

/** What is wrong with a directory that may lack votes. A doubt outlasts a restart. */
export async function doubtOf(
  storage: Storage,
  places: FilePlaces,
  tail: JournalTail,
  isCopy: boolean,
): Promise<Doubt | undefined> {
  const isDamaged = tail.state === 'damaged';
  const isShort = !isCopy && (await isOlder(storage, places, tail));
  if (isDamaged || isShort) await removePlace(storage);
  if (isDamaged) return 'damaged-end';
  if (isCopy) return 'copied';
  return isShort ? 'older-journal' : undefined;
}

/** @param awaited the members that have not answered; none when the directory is confirmed */
export function tellOfDoubt(
  doubt: Doubt,
  runtime: Runtime,
  logger: Logger,
  awaited: () => readonly string[],
): Disposable {
  logger.warn(`${FINDINGS[doubt]}: every other member must confirm that it has every vote`);
  return runtime.wakeAt(later(runtime.now(), TOLD_AGAIN_MS), () => {
    const names = awaited().map(nameOf).join(', ');
    if (names === '') return;
    logger.warn(
      `members have not confirmed the directory: ${FINDINGS[doubt]}. Start them. If one of them is lost for good and a majority of the others serves, put a new replica in its place (leasehold quorum add <name>): then this directory is confirmed without it. Otherwise bring back its directory; nobody else knows which votes are missing here`,
      { awaited: names },
    );
  });
}
