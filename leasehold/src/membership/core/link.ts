/**
 * The link to one peer, as seen from this side.
 *
 * A heartbeat carries a stamp; the peer's next heartbeat echoes the newest stamp heard over this link. An echo proves
 * that both directions worked since that stamp *was sent*: the age of the proof counts from there, so a slow
 * link cannot pass for a good one. A heartbeat alone would prove one direction only.
 *
 *             echo                      upMs without a break
 *     down ───────────► rising ─────────────────────────────► up
 *      ▲                  │                                    │
 *      └──────────────────┴──── proof older than downMs*, ◄────┘
 *                               connection broken, peer restarted
 *
 * (*) Longer at a server that was itself late (`links.ts`).
 *
 * A link that breaks often would change the view each time. So each break doubles the time until the link counts as up
 * again, and each quiet minute halves that time.
 */

import type { Instant } from '../../runtime/time.ts';
import { instant } from '../../runtime/time.ts';
import { ClockWatch } from '../../runtime/clock-watch.ts';
import type { Durations } from './durations.ts';
import { compareIncarnations, type Incarnation, isSameIncarnation } from './incarnation.ts';
import type { Echo } from './messages.ts';

type LinkState =
  | { readonly kind: 'down' }
  | { readonly kind: 'rising'; readonly since: Instant }
  | { readonly kind: 'up' };

const DOWN: LinkState = { kind: 'down' };
const UP: LinkState = { kind: 'up' };
const QUIET_MS = 60_000;
const CLOCK_WINDOW_LEASES = 10;
const NEVER: Instant = instant(Number.NEGATIVE_INFINITY);

export class Link {
  readonly name: string;
  readonly #durations: Durations;
  #state: LinkState = DOWN;
  #provenAt: Instant = NEVER;
  #heard: Echo | undefined;
  #clock: ClockWatch;
  #breaks = 0;
  #brokeAt: Instant = NEVER;
  /** Of the records that the peer has, as said in its newest heartbeat. */
  digest: string | undefined;

  constructor(name: string, durations: Durations) {
    this.name = name;
    this.#durations = durations;
    this.#clock = this.#newClock();
  }

  /** How fast the peer's clock runs, if that is outside the bound on which all leases rest. */
  get clockRate(): number | undefined {
    return this.#clock.rate;
  }

  get isUp(): boolean {
    return this.#state.kind === 'up';
  }

  /** The newest stamp that came over this link, for the peer to have echoed. */
  get heard(): Echo | undefined {
    return this.#heard;
  }

  /** The incarnation of the peer to which the link leads. */
  get incarnation(): Incarnation | undefined {
    return this.#heard?.incarnation;
  }

  /** A heartbeat came over the link. False for a heartbeat of an earlier incarnation, which counts for nothing. */
  hear(incarnation: Incarnation, stamp: Instant): boolean {
    const heard = this.#heard;
    if (heard === undefined) this.#heard = { incarnation, stamp };
    else if (isSameIncarnation(incarnation, heard.incarnation)) {
      if (stamp > heard.stamp) this.#heard = { incarnation, stamp };
    } else if (compareIncarnations(incarnation, heard.incarnation) > 0) {
      this.#heard = { incarnation, stamp };
      this.#state = DOWN; // A new process has echoed nothing yet.
      this.#provenAt = NEVER;
      this.#clock = this.#newClock();
    } else return false;
    return true;
  }

  /** The heartbeat that was heard now echoed a stamp of this process. */
  prove(stamp: Instant, now: Instant): void {
    if (stamp > this.#provenAt) this.#provenAt = stamp;
    if (this.#heard !== undefined)
      this.#clock.read({ stamp: this.#heard.stamp, at: now, delayMs: now - stamp });
  }

  /** The connection broke, or nothing said before this instant may count. */
  break(now: Instant): void {
    if (this.isUp) {
      this.#breaks = Math.min(8, this.#breaksAt(now) + 1);
      this.#brokeAt = now;
    }
    this.#state = DOWN;
    this.#provenAt = NEVER;
    this.#clock = this.#newClock(); // This machine may have been suspended, and its clock stood still.
  }

  /** Reads the clock. @param provenForMs how long a proof lasts: longer than `downMs` for a server that has itself been late (`links.ts`) */
  update(now: Instant, mayGoDown = true, provenForMs: number = this.#durations.downMs): void {
    const { upMs, upMaxMs } = this.#durations;
    if (now - this.#provenAt >= provenForMs) {
      if (mayGoDown && this.#state.kind !== 'down') this.break(now);
      return;
    }
    if (this.#state.kind === 'down') this.#state = { kind: 'rising', since: now };
    if (this.#state.kind !== 'rising') return;
    const waitMs = Math.min(upMs * 2 ** this.#breaksAt(now), upMaxMs);
    if (now - this.#state.since >= waitMs) this.#state = UP;
  }

  #newClock(): ClockWatch {
    const { leaseMs, suspensionToleranceMs } = this.#durations;
    return new ClockWatch(CLOCK_WINDOW_LEASES * leaseMs, suspensionToleranceMs);
  }

  #breaksAt(now: Instant): number {
    const quietMinutes = Math.floor((now - this.#brokeAt) / QUIET_MS);
    return Math.max(0, this.#breaks - quietMinutes);
  }
}
