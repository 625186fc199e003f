/**
 * Everything a peer can make us keep or wait for, with its bound. A peer that is wrong, slow or
 * hostile then costs a known amount, and only its own connection.
 */

import { invalidOption } from '../../runtime/errors.ts';

/**
 * For links between members, on both sides: how often a side says something, and after which silence the connection is closed and
 * dialled again. After a cut, TCP alone would take minutes.
 */
export const MEMBER_LINK = { heartbeatEveryMs: 2_000, silentAfterMs: 10_000 } as const;

export interface TcpLimits {
  /** The largest first frame, in which a peer introduces itself. @default 4_096 */
  readonly helloBytes: number;

  /**
   * The largest frame that is taken. A frame above it closes the connection, so it must have room
   * for honest messages. @default 1 MiB when listening, 64 MiB when dialling
   */
  readonly frameBytesIn: number;

  /**
   * The same before the peer was admitted ({@link TcpListener.admit}), unless {@link ListenOptions.sendsMuchAtOnce} says
   * that its role needs more. @default as after
   */
  readonly frameBytesBeforeAdmission: number;

  /** The bytes kept of frames that have not ended, of all peers together; see `inbound.ts`. @default 256 MiB */
  readonly unfinishedBytesTotal: number;

  /** The same of all peers together that are not admitted. @default 32 MiB */
  readonly unfinishedBytesBeforeAdmission: number;

  /** How many messages a second are read from one peer; then it is paused. @default no limit */
  readonly messagesPerSecondIn: number;

  /** How many may come at once. @default no limit */
  readonly messagesBurstIn: number;

  /** How many bytes a second are read from one peer. @default no limit */
  readonly bytesPerSecondIn: number;

  /** How many messages a second are read from all peers together that are not admitted. @default no limit */
  readonly messagesPerSecondInTotal: number;

  /** The same in bytes. @default no limit */
  readonly bytesPerSecondInTotal: number;

  /**
   * How much may wait to be sent to one peer. A message on top is dropped, except that an empty
   * queue takes any one message. @default 16 MiB
   */
  readonly queueBytesOut: number;

  /**
   * How much may wait to be sent to all peers together; then only those get more that have nothing
   * waiting. A frame that waits for many peers is counted for each, though it is kept once.
   * @default 1 GiB
   */
  readonly queueBytesOutTotal: number;

  /** How many connections a listener takes. @default 20_000 */
  readonly connections: number;

  /** How many of them from one address. High, because a whole data centre may share one. @default 20_000 */
  readonly connectionsPerAddress: number;

  /** How many of them may not have introduced themselves yet; see `connection-room.ts`. @default 1_024 */
  readonly connectionsPending: number;

  /** From accepting a connection to its first byte. @default 2_000 */
  readonly firstByteMs: number;

  /** From accepting a connection to the end of the handshake. @default 5_000 */
  readonly handshakeMs: number;

  /** From the first byte of a frame to its last; also how long a queue may stay full. @default 30_000 */
  readonly frameMs: number;

  /**
   * When nothing else was sent for this long, a heartbeat is. Peers that talk more often than every 30 s
   * need none; it only keeps routers from forgetting a quiet connection. @default 60_000
   */
  readonly heartbeatEveryMs: number;

  /**
   * A peer that sent nothing for this long is given up. At least twice the heartbeat of the *other*
   * side, so that one may be late. @default 180_000
   */
  readonly silentAfterMs: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: TcpLimits = {
  helloBytes: 4_096,
  frameBytesIn: MIB,
  frameBytesBeforeAdmission: Number.POSITIVE_INFINITY,
  unfinishedBytesTotal: 256 * MIB,
  unfinishedBytesBeforeAdmission: 32 * MIB,
  messagesPerSecondIn: Number.POSITIVE_INFINITY,
  messagesBurstIn: Number.POSITIVE_INFINITY,
  bytesPerSecondIn: Number.POSITIVE_INFINITY,
  messagesPerSecondInTotal: Number.POSITIVE_INFINITY,
  bytesPerSecondInTotal: Number.POSITIVE_INFINITY,
  queueBytesOut: 16 * MIB,
  queueBytesOutTotal: 1024 * MIB,
  connections: 20_000,
  connectionsPerAddress: 20_000,
  connectionsPending: 1_024,
  firstByteMs: 2_000,
  handshakeMs: 5_000,
  frameMs: 30_000,
  heartbeatEveryMs: 60_000,
  silentAfterMs: 180_000,
};

/** A dialler chose its servers, takes whole tables from them, and speaks first. */
export const DEFAULT_DIAL_LIMITS: TcpLimits = {
  ...DEFAULT_LIMITS,
  frameBytesIn: 64 * MIB,
  firstByteMs: Number.POSITIVE_INFINITY,
};

/** The length of a frame is four bytes; and the first four bytes of other protocols must not be a length. */
const FRAME_BYTES_MAX = 0xffff_ffff;
const HELLO_BYTES_MAX = MIB;

/** Fills in the defaults and checks the rules. An `undefined` limit counts as left out. */
export function resolveLimits(
  limits: { readonly [Name in keyof TcpLimits]?: TcpLimits[Name] | undefined } = {},
  defaults: TcpLimits = DEFAULT_LIMITS,
): TcpLimits {
  const resolved: Record<keyof TcpLimits, number> = { ...defaults };
  for (const name of Object.keys(defaults) as (keyof TcpLimits)[]) {
    const value = limits[name] ?? defaults[name];
    if (!(value > 0)) throw invalidOption(`limits.${name}`, value, 'it must be positive');
    resolved[name] = value;
  }
  const { helloBytes, frameBytesIn, heartbeatEveryMs, silentAfterMs } = resolved;
  if (helloBytes > HELLO_BYTES_MAX) {
    throw invalidOption('limits.helloBytes', helloBytes, `it must be at most ${HELLO_BYTES_MAX}`);
  }
  if (frameBytesIn > FRAME_BYTES_MAX) {
    throw invalidOption('limits.frameBytesIn', frameBytesIn, 'a length has four bytes');
  }
  if (silentAfterMs < 2 * heartbeatEveryMs) {
    const rule = `it must be at least twice heartbeatEveryMs = ${heartbeatEveryMs}`;
    throw invalidOption('limits.silentAfterMs', silentAfterMs, rule);
  }
  return resolved;
}
