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
 *      └──────────────────┴──── proof older than downMs, ◄─────┘
 *                               connection broken, peer restarted
 *
 * A link that breaks often would change the view each time. So each break doubles the time until the link counts as up
 * again, and each quiet minute halves that time.
 */

import type { Instant } from '../../runtime/time.ts';
import { instant } from '../../runtime/time.ts';
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
const NEVER: Instant = instant(Number.NEGATIVE_INFINITY);

export class Link {
  readonly name: string;
  readonly #durations: Durations;
  #state: LinkState = DOWN;
  #provenAt: Instant = NEVER;
  #heard: Echo | undefined;
  #breaks = 0;
  #brokeAt: Instant = NEVER;
  /** Of the records that the peer has, as said in its newest heartbeat. */
  digest: string | undefined;

  constructor(name: string, durations: Durations) {
    this.name = name;
    this.#durations = durations;
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
    } else return false;
    return true;
  }

  /** The peer echoed a stamp of this process. */
  prove(stamp: Instant): void {
    if (stamp > this.#provenAt) this.#provenAt = stamp;
  }

  /** The connection broke, or nothing said before this instant may count. */
  break(now: Instant): void {
    if (this.isUp) {
      this.#breaks = Math.min(8, this.#breaksAt(now) + 1);
      this.#brokeAt = now;
    }
    this.#state = DOWN;
    this.#provenAt = NEVER;
  }

  /** Reads the clock. */
  update(now: Instant): void {
    const { downMs, upMs, upMaxMs } = this.#durations;
    if (now - this.#provenAt >= downMs) {
      if (this.#state.kind !== 'down') this.break(now);
      return;
    }
    if (this.#state.kind === 'down') this.#state = { kind: 'rising', since: now };
    if (this.#state.kind !== 'rising') return;
    const waitMs = Math.min(upMs * 2 ** this.#breaksAt(now), upMaxMs);
    if (now - this.#state.since >= waitMs) this.#state = UP;
  }

  #breaksAt(now: Instant): number {
    const quietMinutes = Math.floor((now - this.#brokeAt) / QUIET_MS);
    return Math.max(0, this.#breaks - quietMinutes);
  }
}
