/**
 * The durations of a group and how they depend on each other. All servers of a group must use the same `leaseMs`,
 * because one server's lease rests on another server's promise.
 *
 *     lease      a member acts for leaseMs after it sent the stamp that a confirmation echoes
 *     promise    the confirming member keeps its word for a hold (`runtime/lease-time.ts`) after that stamp arrived
 *     registration   with a registry, a server acts for registrationMs after sending a read that found the own entry; others wait for a hold
 */

import { invalidOption } from '../../runtime/errors.ts';
import { holdMsOf } from '../../runtime/lease-time.ts';

export interface Durations {
  readonly heartbeatMs: number;
  /** A link is down when the newest stamp that the peer echoed is older than this. */
  readonly downMs: number;
  /** A link that works again counts as up after this time without a break, doubled with each break up to {@link upMaxMs}. */
  readonly upMs: number;
  readonly upMaxMs: number;
  readonly leaseMs: number;
  /** A suspension of the machine that is shorter than this may go unnoticed. */
  readonly suspensionToleranceMs: number;
  readonly promiseMs: number;
  /** How long a server acts after sending a read that found the own registration. Only in a group with a registry. */
  readonly registrationMs: number;
  readonly registrationHoldMs: number;
  /** A member that has not confirmed the view for so long, or a message not acknowledged for so long, is a conflict. */
  readonly doubtMs: number;
  /** How long a conflict lasts at least; doubled for each repetition up to {@link conflictMaxMs}. */
  readonly conflictMs: number;
  readonly conflictMaxMs: number;
  readonly noViewAfterMs: number;
  /** A record outside the own component is forgotten after this time. */
  readonly forgetMs: number;
  readonly clients: ClientDurations;
}

/** How a server and its clients part; see `clients.ts` and `client.ts`. They follow from the lease. */
export interface ClientDurations {
  /** A client sends a stamp so often. */
  readonly stampMs: number;
  /** Changes of the list of clients are gathered for so long into one view. */
  readonly gatherMs: number;
  /** If a view is not agreed on or acknowledged by then, the next change of the list no longer waits for it. */
  readonly gatherMaxMs: number;
  /** A client that has had no answer for so long tries another server. */
  readonly silentMs: number;
  /** A server drops a client that it has not heard for so long. */
  readonly dropMs: number;
  /** A server drops a client that does not acknowledge a view for so long. */
  readonly acknowledgeMs: number;
  /** A server neither acts in nor confirms a view with a client that has proved nothing for so long. */
  readonly countMs: number;
  /** For so long after a client's last stamp to a server, a view may act that counts the client there. */
  readonly countedMs: number;
}

type Chosen = Omit<Durations, 'promiseMs' | 'registrationHoldMs' | 'clients'>;

export type DurationOptions = Partial<Chosen>;

const DEFAULTS: Chosen = {
  heartbeatMs: 250,
  downMs: 1_000,
  upMs: 500,
  upMaxMs: 4_000,
  leaseMs: 1_500,
  suspensionToleranceMs: 100,
  registrationMs: 3_000,
  doubtMs: 4_000,
  conflictMs: 3_000,
  conflictMaxMs: 60_000,
  noViewAfterMs: 6_000,
  forgetMs: 600_000,
};

export function resolveDurations(options: DurationOptions = {}): Durations {
  const chosen = { ...DEFAULTS, ...options };
  for (const [name, value] of Object.entries(chosen)) {
    if (!(Number.isFinite(value) && value > 0)) {
      throw invalidOption(name, value, 'it must be a positive number of milliseconds');
    }
  }
  const { heartbeatMs, downMs, upMs, upMaxMs, leaseMs, suspensionToleranceMs, doubtMs } = chosen;
  if (downMs < 2 * heartbeatMs)
    throw invalidOption('downMs', downMs, 'it must be at least two heartbeats, or every loss cuts a link');
  if (leaseMs < downMs)
    throw invalidOption('leaseMs', leaseMs, 'it must not be shorter than downMs, or views stop acting first');
  if (upMaxMs < upMs) throw invalidOption('upMaxMs', upMaxMs, 'it must not be less than upMs');
  if (doubtMs < leaseMs) throw invalidOption('doubtMs', doubtMs, 'it must not be shorter than leaseMs');
  const promiseMs = holdMsOf({ leaseMs, suspensionToleranceMs });
  if (chosen.forgetMs < 2 * promiseMs)
    throw invalidOption('forgetMs', chosen.forgetMs, 'it must be at least twice as long as a promise');
  const registrationHoldMs = holdMsOf({ leaseMs: chosen.registrationMs, suspensionToleranceMs });
  return { ...chosen, promiseMs, registrationHoldMs, clients: clientDurationsOf(chosen) };
}

/** With a longer lease nobody wants to wait longer for a client that joins. */
const GATHER_MS = 100;

function clientDurationsOf({ leaseMs, suspensionToleranceMs }: Chosen): ClientDurations {
  const countMs = (leaseMs * 10) / 3;
  return {
    ...{ stampMs: leaseMs / 3, gatherMs: Math.min(GATHER_MS, leaseMs / 15), gatherMaxMs: (leaseMs * 2) / 3 },
    ...{ silentMs: 2 * leaseMs, dropMs: (leaseMs * 8) / 3, acknowledgeMs: 2 * leaseMs, countMs },
    // Counted by three clocks, one after the other: the server's, then that of a member or client that acts on the server's word.
    countedMs: holdMsOf({ leaseMs: countMs + leaseMs + suspensionToleranceMs, suspensionToleranceMs }),
  };
}

/**
 * A message that is not acknowledged leads to the end of the view within this time of sending, on a process that runs:
 * the doubt, the change that follows it, and the heartbeats at which both are noticed.
 */
export const fateSharingMs = ({ doubtMs, noViewAfterMs, heartbeatMs }: Durations): number =>
  doubtMs + noViewAfterMs + 3 * heartbeatMs;
