/**
 * One line for each fault of a peer, but not for each time: who sends nonsense in a loop must not fill
 * the disk. A line about the same peer comes at most every ten seconds and says how many were left out.
 */

import type { LeaseholdError } from '../../runtime/errors.ts';
import type { LogFacts, Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';

const EVERY_MS = 10_000;
/** More peers than this in ten seconds are an attack, of which some lines are enough. */
const PEERS_MAX = 1_000;

export class Complaints {
  readonly #logger: Logger;
  readonly #runtime: Runtime;
  readonly #peers = new Map<string, { readonly since: Instant; leftOut: number }>();

  constructor(logger: Logger, runtime: Runtime) {
    this.#logger = logger;
    this.#runtime = runtime;
  }

  /** @param peer an address without its port, which changes with every connection */
  about(peer: string, what: string, error: LeaseholdError, facts: LogFacts = {}): void {
    const now = this.#runtime.now();
    const last = this.#peers.get(peer);
    if (last !== undefined && now - last.since < EVERY_MS) {
      last.leftOut += 1;
      return;
    }
    this.#forget(now);
    if (last === undefined && this.#peers.size >= PEERS_MAX) return;
    this.#peers.set(peer, { since: now, leftOut: 0 });
    const leftOut = last === undefined || last.leftOut === 0 ? undefined : last.leftOut;
    this.#logger.warn(what, { peer, ...facts, code: error.code, why: error.message, leftOut });
  }

  #forget(now: Instant): void {
    if (this.#peers.size < PEERS_MAX) return;
    for (const [peer, { since }] of this.#peers) if (now - since >= EVERY_MS) this.#peers.delete(peer);
  }
}
