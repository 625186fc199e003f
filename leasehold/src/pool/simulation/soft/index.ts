/** Managers that keep nothing, in hostile worlds: `npm run sim -- soft-pool`. */

export { simulation } from './simulation.ts';
