/**
 * Is a file fit to carry a lock that proves something, and a secret?
 *
 * On a network file system a server keeps the locks. A server forgets the locks on losing sight of the machine that
 * has them, and the process there goes on: another process that gets the lock then has learned nothing. And a file
 * that others may read keeps no secret.
 */

import { chmodSync, statfsSync, statSync } from 'node:fs';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import { identityOf, FileSystemError } from '../storage.ts';

/** The file cannot be used as a lock that proves a death; the message says why. Choose another path. */
export class UnfitLockFileError extends InvalidArgumentError {
  readonly path: string;

  constructor(path: string, why: string) {
    super('UNFIT_LOCK_FILE', `"${path}" ${why}`, { details: { path } });
    this.path = path;
  }
}

/** By the number that Linux gives to a kind of file system (`statfs`). */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x47504653, 'GPFS'],
  [0x20030528, 'OrangeFS'],
]);

/**
 * Makes sure that no other user can read the file, and that this kernel keeps the locks, as far as can be seen: only
 * Linux names the kind of file system.
 *
 * @throws {UnfitLockFileError}
 * @throws {FileSystemError}
 */
export function makePrivate(path: string): void {
  const { owner, fileSystem } = inspect(path);
  const network = networkFileSystem(fileSystem);
  if (network !== undefined) {
    throw new UnfitLockFileError(
      path,
      `is on a network file system (${network}), whose locks prove no death; use a path on a local disk`,
    );
  }
  const self = process.geteuid?.();
  if (self !== undefined && owner !== self) {
    const rule = `belongs to user ${owner}, who could read what user ${self} writes there`;
    throw new UnfitLockFileError(path, `${rule}; remove it, or use a path of your own`);
  }
}

/** The name of the network file system of this number; `undefined` for any other. */
export const networkFileSystem = (type: number): string | undefined => NETWORK.get(type >>> 0);

/** This very file, under any name: a copy has another identity. */
export function fileIdentity(path: string): string {
  try {
    return identityOf(statSync(path, { bigint: true }));
  } catch (cause) {
    throw new FileSystemError('look at', path, cause);
  }
}

function inspect(path: string): { readonly owner: number; readonly fileSystem: number } {
  try {
    chmodSync(path, 0o600);
    const fileSystem = process.platform === 'linux' ? statfsSync(path).type : 0;
    return { owner: statSync(path).uid, fileSystem };
  } catch (cause) {
    throw new FileSystemError('make private', path, cause);
  }
}
