/** The quorum protocol in hostile simulated worlds: `npm run sim -- quorum`. */

export { simulation } from './simulation.ts';
