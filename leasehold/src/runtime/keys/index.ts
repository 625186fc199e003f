/**
 * Keys, where they lie on the ring, and stretches of it.
 */

export { hashBytes, hashKey, type Key, keyHash } from './hash.ts';
export {
  checkHash,
  formatHash,
  highOf,
  lowOf,
  type Hash,
  parseHash,
  hashOf,
  RING_SIZE,
} from './position.ts';
export {
  contains,
  formatRange,
  intersects,
  type Range,
  roll,
  type Span,
  sizeOf,
  unroll,
  wholeRing,
} from './range.ts';
export { RangeSet } from './range-set.ts';
export { RingTable, type ValuedSpan } from './ring-table.ts';
