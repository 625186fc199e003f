/** The base of every module, and the parts of the base that an application may need. */

export { AssertionError } from './assert.ts';
export type { Codec } from './codec.ts';
export { digest } from './digest.ts';
export { InvalidArgumentError, LeaseholdError, LONGEST_KEY, MalformedMessageError } from './errors.ts';
export * from './keys/index.ts';
export { type LogFacts, type Logger, silent } from './logger.ts';
export type { Runtime, Storage, StorageFile, Transport } from './runtime.ts';
export { SuspensionGuard } from './suspension.ts';
export { earliest, type Instant, instant, later, latest, soonest } from './time.ts';
export { type TraceEffect, type TraceEvent, type TraceValue, trace, traceLine } from './trace.ts';
