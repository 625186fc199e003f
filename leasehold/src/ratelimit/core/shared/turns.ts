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
 *
 * A process that needs several tokens gets a turn only if these will be there soon ({@link SOON_MS}). Otherwise one request for half a day's tokens would keep
 * the tokens that are there from all small requests for half a day. One token is worth waiting for however slowly tokens come: under a flood a process without
 * that turn would never get any.
 */

interface Turn {
  readonly process: string;
  need: number;
  until: number;
}

const SOON_MS = 2_000;
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
    if (need > 1 && retryAfterMs > SOON_MS) {
      this.served(process);
      return;
    }
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
