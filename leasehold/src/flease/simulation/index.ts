/** Flease in a simulated world: to beat it (`npm run sim -- flease`). */

export { simulation } from './simulation.ts';
