/** Shared limits on a group, in simulated worlds (`npm run sim -- ratelimit-group`). */

export { simulation } from './simulation.ts';
