/**
 * Which process mints the tokens of a key. A pool answers this (`shell/pool-directory.ts`); a group of servers may later.
 *
 * The limit rests on one rule: **at no instant do two processes hold the same key.** `find` is only a hint.
 */

import type { Instant } from '../../runtime/time.ts';

export interface Directory {
  /**
   * Since when this process has held the key, by its own clock and with no other holder in between; undefined: it does not hold
   * the key now. Not earlier than the instant at which the last holder stopped.
   */
  heldSince(limiter: string, key: string, now: Instant): Instant | undefined;

  /** The address of the process to ask for tokens, or undefined. Never the address of this process. */
  find(limiter: string, key: string): string | undefined;
}
