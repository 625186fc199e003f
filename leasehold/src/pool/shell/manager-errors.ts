/** What can keep a Manager from starting, for those who catch it by name. */

export { LockedError, UnsupportedPlatformError } from '../../node/lock.ts';
export { AddressUnavailableError, PortInUseError } from '../../node/tcp/errors.ts';
