/** The log on files, on a disk that fails in every way it can: `npm run sim -- file-log`. */

export { PROMISES, type PromiseName } from './checker.ts';
export { simulation } from './simulation.ts';
