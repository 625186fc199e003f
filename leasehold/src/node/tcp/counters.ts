/** Counts of all connections of one listener or dialler. Plain fields: they are hot. */

import type { InboundLimit } from './inbound.ts';

export interface TcpCounters {
  /** Connections with a handshake that succeeded, and of those, how many have ended. */
  opened: number;
  closed: number;
  /** Connections, or attempts, that never got that far: refused, failed, too slow, too many. */
  refused: number;
  messagesIn: number;
  /** Of those, the ones that could not be decoded; each cost its peer the connection. */
  malformed: number;
  /** And the ones that their peer may not say; each cost it the connection, too. */
  notAllowed: number;
  messagesOut: number;
  bytesIn: number;
  bytesOut: number;
  /** Messages that were not sent: the peer is gone, or its queue is full. */
  dropped: number;
  /** Writes handed to sockets: far fewer than messages when many are sent in one turn. */
  writes: number;
  heartbeatsOut: number;
  /** How often a limit has held a peer back, by the limit's name. */
  limited: Record<TcpLimitName, number>;
}

/** Limits that strangers may reach. */
export type TcpLimitName = 'connections' | 'connectionsPending' | 'frameBytes' | InboundLimit;

export const noCounts = (): TcpCounters => ({
  opened: 0,
  closed: 0,
  refused: 0,
  messagesIn: 0,
  malformed: 0,
  notAllowed: 0,
  messagesOut: 0,
  bytesIn: 0,
  bytesOut: 0,
  dropped: 0,
  writes: 0,
  heartbeatsOut: 0,
  limited: {
    ...{ connections: 0, connectionsPending: 0, frameBytes: 0, unfinishedBytesTotal: 0 },
    unfinishedBytesBeforeAdmission: 0,
    ...{ messagesPerSecondIn: 0, bytesPerSecondIn: 0, inTotal: 0 },
  },
});
