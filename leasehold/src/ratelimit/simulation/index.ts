/** Shared limits in simulated worlds (`npm run sim -- ratelimit`). */

export { simulation } from './simulation.ts';
