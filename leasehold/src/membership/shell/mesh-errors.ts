/** The errors of links that a group may throw, for those who import `leasehold/membership`. */

export { ClientsNotServedError, ConfigMismatchError, NameTakenError } from '../../node/mesh/errors.ts';
export { AddressUnavailableError, PortInUseError } from '../../node/tcp/errors.ts';
