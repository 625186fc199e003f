/**
 * Ballots: which of two leaders is the later one?
 *
 * A ballot is a round and the seat of the member that began it, in one number, so that two ballots compare as numbers and
 * two members can never begin the same one. A member raises the round of the highest ballot that it has promised, and
 * the promised ballot is durable, so no member begins a ballot twice.
 *
 *     ballot = round × 32 + seat          0: no ballot
 */

export type Ballot = number;

/** No ballot is higher: the next round must still be a whole number. */
export const BALLOT_MAX: Ballot = 2 ** 52;

/** Rounds are raised one by one: so many at once were never elections. */
const ROUNDS_AT_ONCE = 2 ** 32;

/** Seats are bits of a mask that must stay a small integer in JavaScript. */
export const SEATS_MAX = 30;

const SEATS_PER_ROUND = 32;

export const ballotOf = (round: number, seat: number): Ballot => round * SEATS_PER_ROUND + seat;

export const roundOf = (ballot: Ballot): number => Math.floor(ballot / SEATS_PER_ROUND);

/** Whether a ballot is so far above another that no elections can lie between them. */
export const isAbsurdlyAbove = (ballot: Ballot, other: Ballot): boolean =>
  roundOf(ballot) - roundOf(other) > ROUNDS_AT_ONCE;

/** The lowest ballot of this seat that is above all ballots of the given one's round. */
export const ballotAfter = (ballot: Ballot, seat: number): Ballot => ballotOf(roundOf(ballot) + 1, seat);
