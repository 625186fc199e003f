/**
 * That a leader waits. The leader has begun with less knowledge than the owners may have, and grants nothing until
 * every possible grant of an earlier leader has expired. Until then "nobody owns it" would be wrong: an owner may hold
 * and serve the key.
 */

import { duration } from './output.ts';

/** For a column that would have an owner. */
export const NOT_KNOWN_YET = 'not known yet';

/** The lines below values that are unknown for so long; none if the leader does not wait. */
export const waitingLines = (waitsMs: number | null): readonly string[] =>
  waitsMs === null
    ? []
    : [
        '',
        `This Manager has just begun to lead, and waits ${duration(waitsMs)} more for leases of an earlier Manager to expire. Owners with such leases may serve their keys until then.`,
      ];
