/** What the system can refuse those who join a pool or start a Manager, for who catches it by name. */

export { LockedError, UnsupportedPlatformError } from '../../node/lock.ts';
export { UnfitLockFileError } from '../../node/lock-file.ts';
export { StorageError } from '../../node/storage.ts';
export { AddressUnavailableError, PortInUseError } from '../../node/tcp/errors.ts';
