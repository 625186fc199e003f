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

/** Seats are bits of a mask that must stay a small integer in JavaScript. */
export const SEATS_MAX = 30;

const SEATS_PER_ROUND = 32;

export const ballotOf = (round: number, seat: number): Ballot => round * SEATS_PER_ROUND + seat;

export const roundOf = (ballot: Ballot): number => Math.floor(ballot / SEATS_PER_ROUND);

/** The lowest ballot of this seat that is above all ballots of the given one's round. */
export const ballotAfter = (ballot: Ballot, seat: number): Ballot => ballotOf(roundOf(ballot) + 1, seat);
