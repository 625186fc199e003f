/**
 * Which peers are alive? Each peer sends a beat to all others; a peer that was not heard for `silentAfterMs` counts as dead.
 *
 * **Promise: the dead are noticed.** A peer counts as alive for `silentAfterMs` after the arrival of a beat. A dead peer sends
 * nothing, so it is noticed `silentAfterMs` after the last beat in flight arrives. The check reads the clock, because a
 * timer can be late. A suspended machine cannot know how long ago a beat came, and forgets all of them.
 */

import type { Core } from '../../leasehold/src/runtime/driver.ts';
import { type Instant, later } from '../../leasehold/src/runtime/time.ts';

export interface Beat {
  readonly kind: 'beat';
  readonly number: number;
}

export type Effect = { readonly do: 'send'; readonly to: string; readonly message: Beat };

export interface HeartbeatOptions {
  readonly peers: readonly string[];
  readonly everyMs: number;
  readonly silentAfterMs: number;
}

export class Heartbeat implements Core<Effect> {
  /** Beats sent, for metrics. */
  sent = 0;
  wakeAt: Instant;
  readonly #options: HeartbeatOptions;
  readonly #heardAt = new Map<string, Instant>();

  constructor(options: HeartbeatOptions, now: Instant) {
    this.#options = options;
    this.wakeAt = now;
  }

  wake(now: Instant): Effect[] {
    if (now < this.wakeAt) return [];
    this.wakeAt = later(now, this.#options.everyMs);
    this.sent += 1;
    const message: Beat = { kind: 'beat', number: this.sent };
    return this.#options.peers.map((to) => ({ do: 'send', to, message }));
  }

  receive(from: string, now: Instant): Effect[] {
    if (this.#options.peers.includes(from)) this.#heardAt.set(from, now);
    return [];
  }

  suspended(): Effect[] {
    this.#heardAt.clear();
    return [];
  }

  alive(now: Instant): readonly string[] {
    return this.#options.peers.filter((peer) => {
      const heardAt = this.#heardAt.get(peer);
      return heardAt !== undefined && now < later(heardAt, this.#options.silentAfterMs);
    });
  }
}
