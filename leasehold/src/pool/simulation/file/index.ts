/** Managers on the directory of one machine, in hostile worlds: `npm run sim -- file-pool`. */

export { simulation } from './simulation.ts';
