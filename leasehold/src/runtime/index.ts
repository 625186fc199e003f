/** What every module stands on, and what an application may need of it. */

export { AssertionError } from './assert.ts';
export type { Codec } from './codec.ts';
export { digest } from './digest.ts';
export { InvalidOptionError, LeaseholdError, MalformedMessageError } from './errors.ts';
export * from './keys/index.ts';
export { type LogFacts, type Logger, silent } from './logger.ts';
export type { Runtime, Storage, StorageFile, Transport } from './runtime.ts';
export { SuspensionGuard } from './suspension.ts';
export { earliest, type Instant, instant, later, latest, soonest } from './time.ts';
export { type TraceEffect, type TraceEvent, type TraceValue, trace, traceLine } from './trace.ts';
