/** The system's errors that joining a group can fail with, for callers that catch them by name. */

export { AddressUnavailableError, PortInUseError } from '../../node/tcp/errors.ts';
