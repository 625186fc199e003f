/** Moves of keys with their state: `npm run sim -- moves`. */

export { simulation } from './simulation.ts';
