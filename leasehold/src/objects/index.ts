/**
 * Keyed objects: state in memory, one call at a time on each. Experimental; for one process as yet.
 */

export {
  ClosedError,
  InvalidArgumentError,
  LeaseholdError,
  OutcomeUnknownError,
  UnavailableError,
} from '../runtime/errors.ts';
export {
  type AnyKind,
  defineObject,
  type Handlers,
  type HeldObject,
  type Loaded,
  type ObjectCallOptions,
  type ObjectContext,
  type ObjectDefinition,
  type ObjectKind,
  type Objects,
  type ReadContext,
  type Remote,
} from './core/define-object.ts';
export { type LocalObjects, type LocalObjectsOptions, localObjects } from './shell/local-objects.ts';
