/** The supervisor as a function: `leasehold/supervisor`. On the command line it is `leasehold run`. */

export { InvalidArgumentError, LeaseholdError, StorageError } from '../runtime/errors.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export type { ManagerAddresses } from './shell/addresses.ts';
export {
  type SuperviseOptions,
  type SupervisedProcess,
  supervise,
} from './shell/supervise.ts';
export type { SupervisedEnd } from './shell/supervision/supervised-end.ts';
