/** What the system can refuse those who join a group, for who catches it by name. */

export { AddressUnavailableError, PortInUseError } from '../../node/tcp/errors.ts';
