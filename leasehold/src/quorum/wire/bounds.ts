/** How large things may be, on the wire, on the disk and for callers alike. */

import { LONGEST_KEY } from '../../runtime/errors.ts';

/** A character takes at most three bytes for each of its UTF-16 units. */
export const KEY_BYTES_MAX: number = 3 * LONGEST_KEY;

/** A value is at most 1 MiB. Larger ones belong into a store of their own, under a key that is kept here. */
export const VALUE_BYTES_MAX: number = 1024 * 1024;

/** Conditions and actions of one transaction. */
export const PARTS_MAX = 1_024;

/** Names of replicas and cells, in characters. */
export const NAME_CHARACTERS_MAX = 64;

/** `name~` and 32 hexadecimal digits; a name of 64 characters has at most 192 bytes. */
export const STORAGE_BYTES_MAX = 256;

/** An address of a replica as `host:port`. */
export const ADDRESS_BYTES_MAX = 512;

/** A revision is a slot times 4,096 and must stay a whole number below 2^53. */
export const SLOT_MAX: number = 2 ** 40;

/** Openings of one directory, and frames with votes in it. */
export const LIFE_MAX: number = 2 ** 40;

/** No lease is longer than a day; a hold is a fifth longer. */
export const LEASE_MS_MAX: number = 24 * 3_600_000;
export const HOLD_MS_MAX: number = 2 * LEASE_MS_MAX;

/** A monotonic clock of a century. */
export const CLOCK_MS_MAX: number = 100 * 366 * 24 * 3_600_000;

/** Slices of the hash space in a placement: a power of two. */
export const SLICES_MAX = 256;

/** The largest frame between replicas. Entries and snapshots are sent in parts long before (`bytesPerMessage`, `bytesPerPart`). */
export const PEER_FRAME_BYTES_MAX: number = 512 * 1024 * 1024;

/** The largest frame of a client: a transaction with several large values fits. */
export const CALL_FRAME_BYTES_MAX: number = 16 * 1024 * 1024;

/** The largest answer to one call of a client, and the largest beginning of a watch. */
export const ANSWER_BYTES_MAX: number = 16 * 1024 * 1024;

/** The weight of writes in an automatic placement. */
export const WEIGHT_MAX = 1_000;

/** A count of reads or writes that has faded. */
export const COUNT_MAX: number = 2 ** 40;

/** Objects that a replica reports, and a round trip in milliseconds. */
export const REPORTED_MAX = 65_536;
export const ROUND_TRIP_MS_MAX: number = 24 * 3_600_000;
