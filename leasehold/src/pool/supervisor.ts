/** The supervisor as a function: `leasehold/supervisor`. On the command line it is `leasehold run`. */

export { InvalidOptionError, LeaseholdError } from '../runtime/errors.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export type { ManagerAddresses } from './shell/addresses.ts';
export {
  CommandError,
  type SuperviseCommandOptions,
  type SupervisedProcess,
  superviseCommand,
} from './shell/supervise-command.ts';
export type { SupervisedEnd } from './shell/supervision/supervised-end.ts';
