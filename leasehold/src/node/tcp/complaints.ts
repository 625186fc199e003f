/**
 * One line for each fault of a peer, but not for each time: a peer that sends nonsense in a loop must not fill
 * the disk. A line about the same peer comes at most every ten seconds and says how many were left out. What
 * was said to be wrong is said to be over, once.
 */

import type { LeaseholdError } from '../../runtime/errors.ts';
import { type LogFacts, type Logger, unsaid } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';

const EVERY_MS = 10_000;
/** More peers than this in ten seconds are an attack, of which some lines are enough. */
const PEERS_MAX = 1_000;

interface Complaint {
  readonly saidAt: Instant;
  /** When it was first said, of those lines between which nobody said that it was over. */
  readonly beganAt: Instant;
  leftOut: number;
  isOver: boolean;
}

export class Complaints {
  readonly #logger: Logger;
  readonly #runtime: Runtime;
  readonly #peers = new Map<string, Complaint>();

  constructor(logger: Logger, runtime: Runtime) {
    this.#logger = logger;
    this.#runtime = runtime;
  }

  /** @param peer an address without its port, which changes with every connection */
  about(peer: string, what: string, error: LeaseholdError, facts: LogFacts = {}): void {
    const now = this.#runtime.now();
    const last = this.#peers.get(peer);
    if (last !== undefined && now - last.saidAt < EVERY_MS) {
      last.leftOut += 1;
      return;
    }
    this.#forget(now);
    if (last === undefined && this.#peers.size >= PEERS_MAX) return;
    const beganAt = last?.isOver === false ? last.beganAt : now;
    this.#peers.set(peer, { saidAt: now, beganAt, leftOut: 0, isOver: false });
    const also = unsaid(last?.leftOut ?? 0);
    this.#logger.warn(what, { peer, ...facts, code: error.code, why: error.message, also });
  }

  /** All is well with this peer. Says so, if the last line about it said otherwise. */
  over(peer: string, what: string): void {
    const last = this.#peers.get(peer);
    if (last === undefined || last.isOver) return;
    last.isOver = true;
    this.#logger.warn(what, { peer, afterMs: Math.round(this.#runtime.now() - last.beganAt) });
  }

  #forget(now: Instant): void {
    if (this.#peers.size < PEERS_MAX) return;
    for (const [peer, { saidAt }] of this.#peers) if (now - saidAt >= EVERY_MS) this.#peers.delete(peer);
  }
}
