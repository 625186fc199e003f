/**
 * Work that waits for the end of the turn of the event loop, to be done once for all that the turn has brought.
 *
 *     soon ─┐
 *     soon ─┼──► end of the turn ──► act, once
 *     soon ─┘
 *
 * Only the surroundings know where a turn ends: the event loop in a process (`node/turn.ts`), the world in a simulation.
 */

/** Calls back at the end of this turn; or at once, where every input is a turn. */
export type AtEndOfTurn = (callback: () => void) => void;

export class OncePerTurn {
  readonly #atEndOfTurn: AtEndOfTurn;
  readonly #run: () => void;
  #isDue = false;

  constructor(atEndOfTurn: AtEndOfTurn, act: () => void) {
    this.#atEndOfTurn = atEndOfTurn;
    this.#run = () => {
      this.#isDue = false;
      act();
    };
  }

  /** Acts at the end of this turn, however often it is called before. Called by the act itself: at the end of another turn. */
  soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#atEndOfTurn(this.#run);
  }
}
