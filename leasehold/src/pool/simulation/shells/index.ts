/** Owners as applications have them, `PoolOwner` with its guard, handles and upcalls, in hostile worlds: `npm run sim -- pool-shells`. */

export { simulation } from './simulation.ts';
