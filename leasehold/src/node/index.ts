/** The real surroundings of a process: clock, files, locks, TCP. Knows no protocol. */

export { randomId } from './id.ts';
export { acquireLock, type FileLock, LockedError, UnsupportedPlatformError } from './lock.ts';
export { type NodeRuntimeOptions, nodeRuntime } from './runtime.ts';
export { openDirectory, StorageError } from './storage.ts';
export { type Address, parseAddress } from './tcp/address.ts';
export type { PeerInfo } from './tcp/connection.ts';
export type { TcpCounters } from './tcp/counters.ts';
export { type DialOptions, dialTcp, type TcpDialer } from './tcp/dial.ts';
export {
  AddressUnavailableError,
  ConnectionLostError,
  FrameTooLargeError,
  HandshakeError,
  HandshakeRefusedError,
  PeerTimeoutError,
  PortInUseError,
  TooManyConnectionsError,
  TransportClosedError,
  UnreachableError,
  VersionMismatchError,
  WrongProtocolError,
} from './tcp/errors.ts';
export type { ProtocolId, Welcome } from './tcp/handshake.ts';
export { DEFAULT_DIAL_LIMITS, DEFAULT_LIMITS, type TcpLimits } from './tcp/limits.ts';
export { type ListenOptions, listenTcp, type TcpListener } from './tcp/listen.ts';
export type { DialSockets, ListenSockets } from './tcp/sockets.ts';
export { type WatchOptions, watchFile } from './watch-file.ts';
