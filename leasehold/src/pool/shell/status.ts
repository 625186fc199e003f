/** What an owner and a look-up say of themselves. */

import type { Status } from '../../runtime/handle.ts';
import type { Intent } from '../core/messages.ts';

/** What an owner says of itself. */
export interface OwnerStatus extends Status {
  readonly module: 'pool';
  readonly role: 'owner';
  readonly name: string;
  /** A Manager counts this owner as a member. */
  readonly isAdmitted: boolean;
  /** How many ranges of keys can be served now. */
  readonly ranges: number;
  /** Which part of all keys that is. */
  readonly sharePercent: number;
  /** What this owner wants with its keys, or is asked to: `draining` hands them over and leaves, `cordoned` takes no more. */
  readonly intent: Intent;
  /** Moves of keys under way, out and in. */
  readonly moving: number;
}

/** The position of a look-up in the log; store the position, and a later look-up can go on from there. */
export interface LogPosition {
  readonly history: string;
  readonly position: number;
}

/** What a look-up says of itself. */
export interface LookupStatus extends Status {
  readonly module: 'pool';
  readonly role: 'lookup';
  /** How old the table may be, in milliseconds; infinite if that is not known. */
  readonly ageMs: number;
  /** No Manager could be heard for so long that everything was reported as lost. */
  readonly isCutOff: boolean;
  /** The look-up's position in the log. The position to store is that of each `Loss`. */
  readonly position: LogPosition | undefined;
}
