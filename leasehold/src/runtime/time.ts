/**
 * Time, as the protocols see it.
 *
 * An {@link Instant} is one reading of one process's monotonic clock. Two readings of the same
 * clock can be subtracted; readings of two processes cannot, because their clocks share no origin
 * and run at slightly different rates. Nothing here reads a clock: a protocol is always told what
 * time it is.
 */

declare const brand: unique symbol;

/** A reading of the local monotonic clock, in milliseconds. */
export type Instant = number & { readonly [brand]: 'Instant' };

export const instant = (ms: number): Instant => ms as Instant;

export const later = (from: Instant, ms: number): Instant => (from + ms) as Instant;

export const earliest = (a: Instant, b: Instant): Instant => (a < b ? a : b);

export const latest = (a: Instant, b: Instant): Instant => (a > b ? a : b);

/** The earlier of two instants of which either may be missing: how `wakeAt`s are combined. */
export const soonest = (a: Instant | undefined, b: Instant | undefined): Instant | undefined =>
  a === undefined ? b : b === undefined ? a : earliest(a, b);
