/**
 * The pool in a simulated world: to beat it (`npm run sim -- pool`), or to try an application
 * against it.
 */

export { Chaos } from './chaos.ts';
export { Checker, PROMISES, type PromiseName } from './checker.ts';
export {
  LookupNode,
  ManagerNode,
  type Observer,
  OwnerNode,
  type PoolMessage,
  SupervisorNode,
} from './nodes.ts';
export { PoolWorld, type PoolWorldOptions } from './pool-world.ts';
export { simulation } from './simulation.ts';
