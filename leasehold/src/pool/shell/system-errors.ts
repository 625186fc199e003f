/**
 * The system's errors that joining a pool or starting a Manager can fail with, for callers that catch them by name.
 */

export { LockedError, UnsupportedPlatformError } from '../../node/lock.ts';
export { UnfitLockFileError } from '../../node/lock-file.ts';
export { StorageError } from '../../node/storage.ts';
export { AddressUnavailableError, PortInUseError } from '../../node/tcp/errors.ts';
export { NetworkDirectoryError } from '../../node/locked-directory.ts';
