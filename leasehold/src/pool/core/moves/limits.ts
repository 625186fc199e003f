/** Bounds of moves that both sides know. */

/** Tickets in one list of a message, and names of state of one owner. */
export const MOST_TICKETS = 64;
