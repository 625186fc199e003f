/**
 * One line when a trouble begins, one when it is over, and not one for each time that something is tried
 * again: etcd can be away for hours, and everybody asks several times a second. A trouble that comes
 * and goes is said at most every ten seconds, with how often it was met in between. One that nobody has met
 * for a minute is over, also if nobody could say so.
 */

import type { LogFacts, Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';

const EVERY_MS = 10_000;
const FORGOTTEN_MS = 60_000;

interface Trouble {
  saidAt: Instant;
  metAt: Instant;
  /** Undefined: it is over, or never was said. */
  since: Instant | undefined;
  /** Met and not said. */
  leftOut: number;
}

export class Troubles {
  readonly #logger: Logger;
  readonly #runtime: Runtime;
  readonly #troubles = new Map<string, Trouble>();

  constructor(logger: Logger, runtime: Runtime) {
    this.#logger = logger;
    this.#runtime = runtime;
  }

  met(what: string, facts: LogFacts = {}): void {
    const now = this.#runtime.now();
    const known = this.#troubles.get(what);
    const isOn = known?.since !== undefined && now - known.metAt < FORGOTTEN_MS;
    if (known !== undefined && (isOn || now - known.saidAt < EVERY_MS)) {
      known.leftOut += 1;
      known.metAt = now;
      return;
    }
    const leftOut = known === undefined || known.leftOut === 0 ? undefined : known.leftOut;
    this.#troubles.set(what, { saidAt: now, metAt: now, since: now, leftOut: 0 });
    this.#logger.warn(what, { ...facts, leftOut });
  }

  /** Says so, if it was said that there is trouble. */
  over(what: string): void {
    const trouble = this.#troubles.get(what);
    if (trouble?.since === undefined) return;
    const lastedMs = Math.round(this.#runtime.now() - trouble.since);
    this.#logger.info(`over: ${what}`, { lastedMs, tries: trouble.leftOut + 1 });
    trouble.since = undefined;
    trouble.leftOut = 0;
  }
}
