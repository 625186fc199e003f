/** The log on etcd, on an etcd that fails in every way it can: `npm run sim -- etcd-log`. */

export { PROMISES, type PromiseName } from './checker.ts';
export { simulation } from './simulation.ts';
