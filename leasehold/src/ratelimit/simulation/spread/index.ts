/** Spread limits in simulated worlds (`npm run sim -- spread`). */

export { simulation } from './simulation.ts';
