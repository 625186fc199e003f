/**
 * That a leader waits. It has begun to lead with less than its owners may know, and gives out nothing until
 * everything has run out that an earlier one may have given. Until then "nobody owns it" would be wrong: somebody
 * may, and serves it.
 */

import { duration } from './output.ts';

/** For a column that would have an owner. */
export const NOT_KNOWN_YET = 'not known yet';

/** Below what is not known for as long; nothing if it does not wait. */
export const waitingLines = (waitsMs: number | null): readonly string[] =>
  waitsMs === null
    ? []
    : [
        '',
        `This Manager has just begun to lead, and waits ${duration(waitsMs)} more, until everything has run out that an earlier one may have given. Whoever was given a key may go on until then.`,
      ];
