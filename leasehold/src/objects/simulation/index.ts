/** Calls on objects in simulated worlds (`npm run sim -- objects`). */

export { simulation } from './simulation.ts';
