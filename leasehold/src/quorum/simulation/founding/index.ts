/** What the runner of seeds takes from here. */

export { simulation } from './simulation.ts';
