/** What has happened on all connections of one listener or dialler. Plain fields: they are hot. */

export interface TcpCounters {
  /** Connections whose handshake succeeded, and of those, how many have ended. */
  opened: number;
  closed: number;
  /** Connections, or attempts, that never got that far: refused, failed, too slow, too many. */
  refused: number;
  messagesIn: number;
  /** Of those, the ones that could not be decoded; each cost its peer the connection. */
  malformed: number;
  messagesOut: number;
  bytesIn: number;
  bytesOut: number;
  /** Messages that were not sent: the peer is gone, or its queue is full. */
  dropped: number;
  /** Writes handed to sockets: far fewer than messages when many are sent in one turn. */
  writes: number;
  heartbeatsOut: number;
}

export const noCounts = (): TcpCounters => ({
  opened: 0,
  closed: 0,
  refused: 0,
  messagesIn: 0,
  malformed: 0,
  messagesOut: 0,
  bytesIn: 0,
  bytesOut: 0,
  dropped: 0,
  writes: 0,
  heartbeatsOut: 0,
});
