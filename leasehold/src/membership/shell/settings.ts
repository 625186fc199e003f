/** The settings that all processes of a group have in common, servers and clients. */

import type { Texts } from '../../node/tcp/handshake.ts';
import type { TcpLimits } from '../../node/tcp/limits.ts';
import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import { from } from '../../runtime/option-kinds.ts';
import type { Kind } from '../../runtime/option-table.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type Durations, resolveDurations } from '../core/durations.ts';
import type { Incarnation } from '../core/incarnation.ts';

/** How long after its end etcd may keep a lease. */
const EXPIRY_MS = 1_000;

export const LEASE_MS = { default: 1_500, least: 100, most: 60_000 };
export const LEASE_MS_ROW: Kind<number> = from(LEASE_MS.least, LEASE_MS.most);

const NONCE_LIMIT = 2 ** 32;

/** Of a process that starts now. */
export const incarnationOf = (runtime: Pick<Runtime, 'wallMs' | 'random'>): Incarnation => ({
  startedMs: Math.floor(runtime.wallMs()),
  nonce: Math.floor(runtime.random() * NONCE_LIMIT),
});

/** A process that sends more than this is not read for a while. */
const RATES = { messagesPerSecondIn: 20_000, messagesBurstIn: 20_000, bytesPerSecondIn: 64 * 1024 * 1024 };

/** The core notices a silent link much earlier; this is when the connection is dialled anew. */
export function limitsOf({ leaseMs }: Durations): Partial<TcpLimits> {
  const silentAfterMs = Math.max(2_000, 4 * leaseMs);
  return { ...RATES, silentAfterMs, heartbeatEveryMs: silentAfterMs / 4 };
}

/** The settings on which one process relies at the other, compared in the handshake. */
export const agreedOf = ({ leaseMs, suspensionToleranceMs }: Durations): Texts => ({
  leaseMs: String(leaseMs),
  suspensionToleranceMs: String(suspensionToleranceMs),
  clockRateBound: String(CLOCK_RATE_BOUND),
});

/**
 * What servers say in the handshake, beside that. Servers of which one is registered in etcd at these keys and one is not would link and never agree, and each might act.
 *
 * @param registry the beginning of the keys of the group in etcd; undefined if views come from the servers in `peers`
 */
export const agreedByServers = (durations: Durations, registry: string | undefined): Texts => ({
  ...agreedOf(durations),
  ...(registry === undefined
    ? { viewsFrom: 'peers' }
    : { viewsFrom: `etcd, ${registry}`, ttlMs: String(durations.registrationMs) }),
});

/** The proportions of the design, which the simulation has tried: one decision, not seven. */
export function durationsOf(leaseMs: number = LEASE_MS.default, ttlMs?: number): Durations {
  const doubtMs = (leaseMs * 8) / 3;
  return resolveDurations({
    ...{ leaseMs, heartbeatMs: leaseMs / 6, downMs: (leaseMs * 2) / 3, upMs: leaseMs / 3 },
    ...{ upMaxMs: (leaseMs * 8) / 3, suspensionToleranceMs: leaseMs / 15, doubtMs },
    ...{ conflictMs: 2 * leaseMs, conflictMaxMs: 40 * leaseMs, noViewAfterMs: 4 * leaseMs },
    // A server that has crashed must be gone from the registry before anybody else goes for it.
    ...(ttlMs === undefined
      ? {}
      : { registrationMs: ttlMs, doubtMs: Math.max(doubtMs, 1.2 * ttlMs + EXPIRY_MS) }),
  });
}
