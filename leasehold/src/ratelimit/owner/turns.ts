/**
 * The order in which processes get the next tokens of a key, while they ask for more than there are.
 *
 * The process that owns a key sees every new token first, and under a flood the owner would take them all. So a process that was denied
 * gets a *turn*: all processes behind leave the needed tokens for that process, until there was time to ask again.
 *
 *     ada (the owner)   denied ·    ·    takes 1 ·    ·    ·    takes 1      one token every two asks,
 *     ben               ·    denied ·    ·    ·    takes 1  ·                however often ada asks
 *
 * A turn is a right of precedence and no more. A turn ends after a while, so that a process that died keeps no tokens from the others.
 */

interface Turn {
  readonly process: string;
  need: number;
  until: number;
}

/** After the tokens are there, a process has this long to ask for them. */
const TURN_MS = 150;

export class Turns {
  #turns: Turn[] = [];

  /** Tokens that are to be left for processes with an earlier turn. */
  ahead(process: string, now: number): number {
    this.#turns = this.#turns.filter(({ until }) => now < until);
    let tokens = 0;
    for (const turn of this.#turns) {
      if (turn.process === process) break;
      tokens += turn.need;
    }
    return tokens;
  }

  denied(process: string, need: number, retryAfterMs: number, now: number): void {
    const until = now + retryAfterMs + TURN_MS;
    const turn = this.#turns.find((each) => each.process === process);
    if (turn === undefined) this.#turns.push({ process, need, until });
    else Object.assign(turn, { need, until });
  }

  served(process: string): void {
    this.#turns = this.#turns.filter((turn) => turn.process !== process);
  }

  isOver(now: number): boolean {
    return this.#turns.every(({ until }) => until <= now);
  }
}
