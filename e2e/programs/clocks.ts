/**
 * Takes the guard against suspended machines apart from the clock that leases are counted on, so that
 * a test can say which of them it is about. Nothing of the library is changed: it reads `os.uptime` and
 * `Date.now`, and these are replaced before it does.
 *
 *  - `uptime: 'follows-clock'`: the time since boot agrees with the monotonic clock, whatever that does.
 *    The guard sees nothing, and a lease stands on clock rates alone. libfaketime by itself changes the
 *    monotonic clock and leaves the time since boot as it is.
 *  - `wall: 'real'`: the wall clock goes with the time since boot, which libfaketime does not reach, so
 *    that the monotonic clock alone is false: what a suspended machine looks like from inside.
 */

import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

export interface ClockChoice {
  readonly uptime?: 'follows-clock' | undefined;
  readonly wall?: 'real' | undefined;
}

export function chooseClocks({ uptime, wall }: ClockChoice = {}): void {
  const realUptime = os.uptime;
  if (wall === 'real') {
    const offsetMs = Date.now() - realUptime() * 1_000;
    Date.now = () => offsetMs + realUptime() * 1_000;
  }
  if (uptime === 'follows-clock') {
    os.uptime = () => performance.now() / 1_000;
    syncBuiltinESMExports();
  }
}
