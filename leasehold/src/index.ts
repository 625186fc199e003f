/**
 * The doors that are used most, in one import. What only some programs need, the Manager and flease, is loaded when it is
 * first called: a server that joins a pool should not pay for a Manager. `leasehold/manager`, `leasehold/flease` and the others
 * have everything.
 */

import type { joinFlease as JoinFlease } from './flease/index.ts';
import type { startManager as StartManager } from './pool/server.ts';

export {
  GroupChangeError,
  GroupClosedError,
  GroupLeftError,
  LeaseEndedError,
  LeaseHeldError,
  LeaseNotHeldError,
  NoMajorityError,
} from './flease/errors.ts';
export type { Flease, FleaseDurations, FleaseLease, JoinFleaseOptions, Peers } from './flease/index.ts';
export * from './pool/index.ts';
export type {
  ManagerConfiguration,
  PoolConfiguration,
  PoolManager,
  StartManagerOptions,
} from './pool/server.ts';
export { AloneError } from './pool/shell/errors.ts';
export { AddressUnavailableError, PortInUseError } from './pool/shell/system-errors.ts';

export const startManager: typeof StartManager = async (...given) =>
  (await import('./pool/server.ts')).startManager(...given);

export const joinFlease: typeof JoinFlease = async (...given) =>
  (await import('./flease/index.ts')).joinFlease(...given);
