/**
 * Which file a name in a directory leads to, in a form that outlasts restarts: the number of the inode and the time of its
 * creation. A file that was copied or restored has another one of the two. The device is left out: its number may change
 * when the machine starts. A rename, a change of the owner and a write change nothing.
 */

import { statSync } from 'node:fs';
import { join } from 'node:path';

export interface Fingerprints {
  /** Of a file of the directory, or of the directory itself without a name; undefined if there is none. */
  of(name?: string): string | undefined;
  /** When the content of a file was last written, by the wall clock; undefined if there is no such file. */
  modifiedMs(name: string): number | undefined;
}

export const fingerprintsOf = (directory: string): Fingerprints => ({
  of: (name = '.') => {
    const stats = statSync(join(directory, name), { bigint: true, throwIfNoEntry: false });
    return stats && `${stats.ino}:${stats.birthtimeNs}`;
  },
  modifiedMs: (name) => statSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs,
});
