/**
 * The simulator: a world to run a distributed program in, thousands of times, each time from a
 * seed. Start with {@link World}, {@link Network} and {@link SimProcess}.
 */

export { SimClock, type ClockOptions, type SuspendOptions } from './clock.ts';
export { DiskError, SimDisk, type DiskCounts, type DiskErrorCode, type DiskOptions } from './disk.ts';
export {
  checkLinearizable,
  History,
  LinearizabilityUndecidedError,
  registerModel,
  UNKNOWN,
  type LinearizabilityOptions,
  type LinearizabilityResult,
  type Model,
  type Operation,
  type RegisterInput,
  type RegisterOutput,
} from './linearizability.ts';
export {
  Network,
  type AttachOptions,
  type CutOptions,
  type LinkFaults,
  type NetworkCounts,
  type NetworkOptions,
  type Receive,
  type Span,
} from './network.ts';
export { SimProcess, type ProcessOptions, type SimRuntime, type Start, type WakeAlarm } from './process.ts';
export type { Happening } from './queue.ts';
export { Random } from './random.ts';
export type * from './simulation.ts';
export {
  BrokenPromise,
  COMES_TO_AN_END,
  World,
  type RunAsyncOptions,
  type RunOptions,
  type WorldOptions,
} from './world.ts';
