/** Flease in a simulated world: to beat it (`npm run sim -- flease`). */

export { Chaos } from './chaos.ts';
export { Checker, PROMISES, type PromiseName } from './checker.ts';
export { FleaseWorld, type FleaseWorldOptions } from './flease-world.ts';
export { simulation } from './simulation.ts';
