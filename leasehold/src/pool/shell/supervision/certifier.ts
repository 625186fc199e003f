/**
 * A process is dead, and the Managers must hear of the death: which message to which Manager, and for how long?
 *
 * A certificate is true for ever, so a certificate that is sent twice, late, or to a standby does no harm. A lost
 * certificate would do harm: then the keys of the dead process wait for the end of their lease. So the certificate
 * goes to every Manager at once, again after a short while, and to each that has just become reachable; until one
 * answers that nobody holds anything by this proof any more.
 *
 *     died     ├── retry ──┼── retry ──┤ …                      ├ deadline
 *     m1       ▲           ▲           ▲
 *     m2       ▲           ▲   ▲       ▲ ◄── certified
 *                              └ m2 is reachable again
 *
 * There is a deadline because a caller that waits for us (a terminal, an init system that wants to start the next
 * process and soon gives up) would wait too, and a certificate is worth something only until the hold would have ended
 * anyway. Nothing was reported after the death, so the hold ends one hold after the death, and a little: twelve
 * seconds, where a hold is 10.98. A Manager that comes back later than that has to wait for every silent owner, and a
 * certificate would spare the wait for this one; to wait for a Manager that may never come is not worth that. Where
 * leases are longer, so may this be.
 *
 * A request to end brings the deadline near: once, because a signal that was meant for the dead process may reach us
 * just after the death; the second request means now.
 *
 * A lease is something that a Manager has given. If we tried to reach one for all of that life and never did, then
 * most likely nor did the process, and there is nothing to be freed. That is not certain: a Manager may have come up
 * between two of our tries, and a process that began a moment ago may have been quicker than we. One more round of
 * tries settles both, so the deadline is then a short one; the usual deadline applies from the first Manager that is
 * reached after all. If that is wrong the keys wait for the end of their lease, which is no worse than if nobody had
 * watched.
 *
 *     waiting ──died──► telling ──certified──► over
 *                          └──────deadline────► over
 *
 * This file does no I/O: call an input with the present instant, execute the effects in order, then
 * call {@link Certifier.wake} at {@link Certifier.wakeAt}.
 */

import { digest } from '../../../runtime/digest.ts';
import { earliest, type Instant, instant, later } from '../../../runtime/time.ts';
import type { Certificate, Certified } from '../../core/messages.ts';

export interface CertifierSettings {
  readonly secret: string;
  /** Asked each time, because Managers come and go. */
  readonly managers: () => readonly string[];
  /** How long to wait for an answer, in milliseconds. */
  readonly retryMs: number;
  /** How long to go on, in milliseconds. */
  readonly forMs: number;
  /** The same if no Manager has ever been reached; never longer than the other. */
  readonly unreachedForMs: number;
  readonly random: () => number;
}

/**
 * `wait`: no Manager has answered at once, and the attempts go on for so long. `certified`: a Manager knows.
 * `ran-out`: none has said so in time, and the lease has to run out.
 */
export type CertifierEffect =
  | { readonly do: 'send'; readonly to: string; readonly message: Certificate }
  | { readonly do: 'wait'; readonly forMs: number; readonly hasReached: boolean }
  | { readonly do: 'certified'; readonly afterMs: number }
  | { readonly do: 'ran-out'; readonly afterMs: number; readonly hasReached: boolean };

/** How much longer the attempts go on after a request to end. */
const HURRY_MS = 2_000;

const NEVER: Instant = instant(Number.POSITIVE_INFINITY);

interface Telling {
  readonly diedAt: Instant;
  readonly until: Instant;
  readonly retryAt: Instant;
  readonly inHurry: boolean;
  readonly saidToWait: boolean;
}

export class Certifier {
  readonly #settings: CertifierSettings;
  readonly #proof: string;
  #telling: Telling | undefined;
  /** Some Manager, at some time. */
  #hasReached = false;
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
    const retryAt = this.#nextTry(now);
    this.#telling = { diedAt: now, until: this.#deadline(now), retryAt, inHurry: false, saidToWait: false };
    return this.#tell(this.#settings.managers());
  }

  /** This Manager can be reached, perhaps for the first time. */
  connected(manager: string): CertifierEffect[] {
    const isFirst = !this.#hasReached;
    this.#hasReached = true;
    if (this.#telling === undefined) return [];
    if (isFirst && !this.#telling.inHurry) {
      this.#telling = { ...this.#telling, until: this.#deadline(this.#telling.diedAt), saidToWait: false };
    }
    return this.#tell([manager]);
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
    const { until, saidToWait } = this.#telling;
    this.#telling = { ...this.#telling, retryAt: this.#nextTry(now), saidToWait: true };
    const told = this.#tell(this.#settings.managers());
    return saidToWait ? told : [...told, { do: 'wait', forMs: until - now, hasReached: this.#hasReached }];
  }

  #deadline(diedAt: Instant): Instant {
    const { forMs, unreachedForMs } = this.#settings;
    return later(diedAt, this.#hasReached ? forMs : Math.min(forMs, unreachedForMs));
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
    return [how === 'certified' ? { do: how, afterMs } : { do: how, afterMs, hasReached: this.#hasReached }];
  }

  /** Not all at the same instant when a machine with many of us comes back. */
  #nextTry(now: Instant): Instant {
    return later(now, this.#settings.retryMs * (0.75 + this.#settings.random() / 2));
  }
}
