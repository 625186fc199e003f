/**
 * The pool, beaten: `npm run sim -- pool`.
 */

export { simulation } from './simulation.ts';
