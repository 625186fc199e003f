/**
 * The script of the processes that are killed, cut off and failed in the tests on real disks: they commit, one batch
 * after the other, and print each commit. Positions have no gaps and content follows from the position, so that a
 * reader of the log can tell whether anything is missing or wrong.
 */

import { assert } from '../../runtime/assert.ts';
import type { LogStart } from '../log.ts';
import { openFileLog } from './file-log.ts';
import type { FileLogOptions } from './file-log-options.ts';

const BATCHES_PER_SNAPSHOT = 25;

export const contentAt = (position: number): Uint8Array =>
  new TextEncoder().encode(`batch ${position} `.repeat(1 + ((position * 7) % 40)));

const snapshotAt = (position: number): Uint8Array => new TextEncoder().encode(`everything up to ${position}`);

/** The position of the last batch; throws if anything before differs from the written content. */
export function verified({ snapshot, batches }: LogStart): number {
  let at = snapshot?.position ?? 0;
  if (snapshot !== undefined)
    assert(isEqual(snapshot.bytes, snapshotAt(at)), `the snapshot at ${at} is wrong`);
  for (const { position, bytes } of batches) {
    at += 1;
    assert(position === at, `batch ${position} where ${at} should be`);
    assert(isEqual(bytes, contentAt(at)), `batch ${at} is not what was written`);
  }
  return at;
}

/** Prints `start 17`, then `appended 18`, `appended 19`, … until ended. */
export async function commitForEver(options: FileLogOptions, say: (line: string) => void): Promise<void> {
  const log = await openFileLog(options);
  log.campaign('committing', {
    elected: (leadership) => {
      let position = verified(leadership.start);
      say(`start ${position}`);
      const next = (): void => {
        position += 1;
        leadership.append({ position, bytes: contentAt(position) }, (outcome) => {
          say(`${outcome} ${position}`);
          if (position % BATCHES_PER_SNAPSHOT === 0) leadership.compact(snapshotAt(position), position);
          next();
        });
      };
      next();
    },
    extended: () => {},
    deposed: () => {},
  });
}

const isEqual = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, at) => byte === b[at]);
