/** Membership in simulated worlds (`npm run sim -- membership`). */

export { simulation } from './simulation.ts';
