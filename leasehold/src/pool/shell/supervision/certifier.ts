/**
 * A process is dead, and the Managers must hear of it: what is said to whom, and for how long?
 *
 * A certificate is true for ever, so it does no harm to say it twice, late, or to a Manager that does
 * not lead. What would do harm is to say it once too seldom: then the keys of the dead wait for the
 * end of their lease. So it goes to every Manager at once, again after a short while, and to each that
 * has just become reachable; until one answers that nobody holds anything by this proof any more.
 *
 *     died     ├── retry ──┼── retry ──┤ …                      ├ deadline
 *     m1       ▲           ▲           ▲
 *     m2       ▲           ▲   ▲       ▲ ◄── certified
 *                              └ m2 is reachable again
 *
 * There is a deadline because whoever waits for us (a terminal, an init system that wants to start
 * the next one) would wait too, and after a few holds the lease has run out by itself. Being asked to
 * end makes the deadline near: once, because a signal that was meant for the dead may reach us just
 * after its death; the second time it is now.
 *
 *     waiting ──died──► telling ──certified──► over
 *                          └──────deadline────► over
 *
 * This file does no I/O: call an input with the present instant, carry out the effects in order, then
 * call {@link Certifier.wake} at {@link Certifier.wakeAt}.
 */

import { digest } from '../../../runtime/digest.ts';
import { earliest, type Instant, instant, later } from '../../../runtime/time.ts';
import type { Certificate, Certified } from '../../messages.ts';

export interface CertifierSettings {
  readonly secret: string;
  /** Asked each time, because Managers come and go. */
  readonly managers: () => readonly string[];
  /** How long to wait for an answer, in milliseconds. */
  readonly retryMs: number;
  /** How long to go on, in milliseconds. */
  readonly forMs: number;
  readonly random: () => number;
}

/** `certified`: a Manager knows. `ran-out`: none has said so in time, and the lease has to run out. */
export type CertifierEffect =
  | { readonly do: 'send'; readonly to: string; readonly message: Certificate }
  | { readonly do: 'certified'; readonly afterMs: number }
  | { readonly do: 'ran-out'; readonly afterMs: number };

/** How much longer it goes on after it was asked to end. */
const HURRY_MS = 2_000;

const NEVER: Instant = instant(Number.POSITIVE_INFINITY);

interface Telling {
  readonly diedAt: Instant;
  readonly until: Instant;
  readonly retryAt: Instant;
  readonly inHurry: boolean;
}

export class Certifier {
  readonly #settings: CertifierSettings;
  readonly #proof: string;
  #telling: Telling | undefined;
  #isOver = false;

  constructor(settings: CertifierSettings) {
    this.#settings = settings;
    this.#proof = digest(settings.secret);
  }

  get wakeAt(): Instant {
    return this.#telling === undefined ? NEVER : earliest(this.#telling.retryAt, this.#telling.until);
  }

  /** The process that knew the secret has ended, beyond doubt. */
  died(now: Instant): CertifierEffect[] {
    if (this.#isOver || this.#telling !== undefined) return [];
    const until = later(now, this.#settings.forMs);
    this.#telling = { diedAt: now, until, retryAt: this.#nextTry(now), inHurry: false };
    return this.#tell(this.#settings.managers());
  }

  /** This Manager can be reached, perhaps for the first time. */
  connected(manager: string): CertifierEffect[] {
    return this.#telling === undefined ? [] : this.#tell([manager]);
  }

  receive({ proof }: Certified, now: Instant): CertifierEffect[] {
    return proof === this.#proof ? this.#end('certified', now) : [];
  }

  /** Somebody wants us to end. */
  hurry(now: Instant): CertifierEffect[] {
    if (this.#telling === undefined) return [];
    const until = this.#telling.inHurry ? now : earliest(this.#telling.until, later(now, HURRY_MS));
    this.#telling = { ...this.#telling, until, inHurry: true };
    return this.wake(now);
  }

  wake(now: Instant): CertifierEffect[] {
    if (this.#telling === undefined) return [];
    if (now >= this.#telling.until) return this.#end('ran-out', now);
    if (now < this.#telling.retryAt) return [];
    this.#telling = { ...this.#telling, retryAt: this.#nextTry(now) };
    return this.#tell(this.#settings.managers());
  }

  #tell(managers: readonly string[]): CertifierEffect[] {
    const message: Certificate = { kind: 'certificate', secret: this.#settings.secret };
    return managers.map((to) => ({ do: 'send', to, message }));
  }

  #end(how: 'certified' | 'ran-out', now: Instant): CertifierEffect[] {
    if (this.#telling === undefined) return [];
    const afterMs = now - this.#telling.diedAt;
    this.#telling = undefined;
    this.#isOver = true;
    return [{ do: how, afterMs }];
  }

  /** Not all at the same instant when a machine with many of us comes back. */
  #nextTry(now: Instant): Instant {
    return later(now, this.#settings.retryMs * (0.75 + this.#settings.random() / 2));
  }
}
