/**
 * One connection, the same on both sides: frames in, frames out, and an end with a reason.
 *
 *     greeting ──open()──► open ──close(why)──► closed
 *         └────close(why, lastWords)──► leaving ──┘
 *
 * While *greeting*, one small frame is awaited, and there is a deadline. *Leaving* is for last words:
 * to close a socket that still has unread bytes throws away the bytes just written, so it is read and
 * forgotten until the peer has closed as well, or the deadline has passed.
 *
 * Nothing waits here and nothing is thrown at the sender. A message that cannot be sent is dropped and counted,
 * because the protocols above are made for that; the danger is that one peer that does not
 * read takes the memory of all.
 */

import type { Socket } from 'node:net';
import type { Payload } from '../../runtime/codec.ts';
import { type LeaseholdError, MalformedMessageError } from '../../runtime/errors.ts';
import type { Instant } from '../../runtime/time.ts';
import { ConnectionLostError, FrameTooLargeError, PeerTimeoutError } from './errors.ts';
import { FrameReader } from './frame-reader.ts';
import { framedBytes, HEARTBEAT, writeFrames } from './frame-writer.ts';
import type { Texts } from './handshake.ts';
import type { ConnectionSet } from './connection-set.ts';
import { type Identity, UNRESTRICTED } from '../identity/peer-identity.ts';
import type { Allowance, InboundPeer } from './inbound.ts';

/** A peer, as others may see it. */
export interface PeerInfo {
  readonly id: string;
  /** Where it connects from, as `10.0.0.5:41234`. */
  readonly remote: string;
  /** The role that the peer gave in its handshake. */
  readonly role: string;
  /** More about the peer, from the hello. */
  readonly introduction: Texts;
  /** The version of the protocol that is spoken with it. */
  readonly version: number;
  /** Random bytes that were told in the welcome, and name this connection. */
  readonly channel: string;
  /** What the certificate of the peer allows it to be. */
  readonly identity: Identity;
  readonly connectedAt: Instant;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** The bytes that wait to be sent to the peer. */
  readonly queuedBytes: number;
}

/** The maker of a connection decides about its end. */
export interface ConnectionKeeper {
  /** The first frame. Answer by {@link Connection.open} or {@link Connection.close}. */
  introduced(connection: Connection, frame: Uint8Array): void;
  received(connection: Connection, frame: Uint8Array): void;
  /** It announced a frame that is too large: a fault, or a peer with another protocol. */
  overflowed(connection: Connection, error: FrameTooLargeError): void;
  /** Once, when it is of no more use. */
  closed(connection: Connection, why: LeaseholdError): void;
  /** Once, when the socket is gone. */
  gone(connection: Connection): void;
}

type State = 'greeting' | 'open' | 'leaving' | 'closed';

/** For {@link Connection.close}: let sent messages arrive, and send nothing more. */
export const NO_WORDS: Uint8Array = new Uint8Array(0);

/** How long one that leaves may take to read our last words. */
const LEAVING_MS = 1_000;

/**
 * How many heartbeats one chunk may contain. An honest peer sends one when it was quiet for long, so even after a pause few
 * of them come together; a peer above this limit floods us, and is closed.
 */
const HEARTBEATS_IN_CHUNK_MAX = 1_000;

/** Turns by this much of a circle spread any number of things evenly over it. */
const GOLDEN_TURN = 0.618_034;

export class Connection implements PeerInfo, InboundPeer {
  readonly id: string;
  readonly remote: string;
  readonly connectedAt: Instant;
  role = '';
  introduction: Texts = {};
  version = 0;
  channel = '';
  identity: Identity = UNRESTRICTED;
  bytesIn = 0;
  bytesOut = 0;
  /** The protocol above knows this peer, and trusts it with more. */
  isAdmitted = false;
  readonly allowance: Allowance;
  readonly #connectionSet: ConnectionSet;
  readonly #socket: Socket;
  readonly #keeper: ConnectionKeeper;
  readonly #reader: FrameReader;
  readonly #heartbeatMs: number;
  #state: State = 'greeting';
  #pending: Payload[] = [];
  #pendingBytes = 0;
  /** Times of the sweep. */
  #stateSince: number;
  #heardAt: number;
  #sentAt: number;
  #frameSince: number | undefined;
  #isPaused = false;
  #messagesInChunk = 0;
  #heartbeatsInChunk = 0;
  #fullSince: number | undefined;

  /** @param since since when it is greeting, by the sweep */
  constructor(
    connectionSet: ConnectionSet,
    socket: Socket,
    id: string,
    remote: string,
    keeper: ConnectionKeeper,
    since: number = connectionSet.sweep.time,
  ) {
    const serial = connectionSet.nextSerial();
    this.id = id;
    this.remote = remote;
    this.connectedAt = connectionSet.runtime.now();
    this.allowance = connectionSet.inbound.newAllowance();
    this.#connectionSet = connectionSet;
    this.#socket = socket;
    this.#keeper = keeper;
    this.#reader = new FrameReader(connectionSet.limits.helloBytes);
    // Not all in one sweep, even after a push that went to everybody at once.
    this.#heartbeatMs = connectionSet.limits.heartbeatEveryMs * (0.5 + 0.5 * ((serial * GOLDEN_TURN) % 1));
    this.#stateSince = since;
    this.#heardAt = this.#sentAt = connectionSet.sweep.time;
    connectionSet.add(this);
    connectionSet.sweep.add(this);
    socket.on('data', (chunk: Uint8Array) => this.#read(chunk));
    socket.on('end', () =>
      this.#lost(this.#reader.isMidFrame ? 'it ended within a frame' : 'the peer closed it'),
    );
    socket.on('error', (cause) => this.#lost(wordsOf(cause), cause));
    socket.on('close', () => this.#gone());
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get queuedBytes(): number {
    return this.#pendingBytes + this.#socket.writableLength;
  }

  /** The handshake is over; from now on frames are messages. */
  open(role: string, version: number, frameBytes: number = this.#connectionSet.limits.frameBytesIn): void {
    this.role = role;
    this.version = version;
    this.#reader.limitBytes = Math.min(frameBytes, this.#connectionSet.limits.frameBytesIn);
    this.#enter('open');
  }

  /** From the next frame on it may send more. */
  admit(): void {
    this.isAdmitted = true;
    if (this.#state === 'open') this.#reader.limitBytes = this.#connectionSet.limits.frameBytesIn;
  }

  get unfinishedBytes(): number {
    return this.#reader.bufferedBytes;
  }

  /** Is not read any more, until a sweep finds that it may be. */
  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  /** The frame that the handshake consists of, ahead of everything else. */
  introduce(payload: Payload): void {
    this.#queue(payload, framedBytes(payload));
    this.flush();
  }

  /** False if it was dropped. */
  send(payload: Payload): boolean {
    const { counters, limits, sweep } = this.#connectionSet;
    if (this.#state !== 'open') {
      counters.dropped += 1;
      return false;
    }
    const bytes = framedBytes(payload);
    const queuedBytes = this.queuedBytes;
    const isFull = queuedBytes > 0 && queuedBytes + bytes > limits.queueBytesOut;
    if (isFull) this.#fullSince ??= sweep.time;
    if (isFull || (!this.#connectionSet.reserve(bytes) && queuedBytes > 0)) {
      counters.dropped += 1;
      return false;
    }
    counters.messagesOut += 1;
    this.#queue(payload, bytes);
    return true;
  }

  flush(): void {
    if (this.#pending.length === 0) return;
    const pending = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    if (this.#state === 'leaving' || this.#state === 'closed') return;
    this.#sentAt = this.#connectionSet.sweep.time;
    this.#socket.cork();
    writeFrames(pending, (bytes) => this.#write(bytes));
    this.#socket.uncork();
  }

  close(why: LeaseholdError, lastWords?: Uint8Array): void {
    if (this.#state === 'leaving' || this.#state === 'closed') return;
    this.#connectionSet.inbound.forget(this);
    this.#reader.drop();
    if (this.#isPaused) this.#socket.resume(); // Or the end of the peer would never be seen.
    this.#isPaused = false;
    if (lastWords === undefined) {
      this.#enter('closed');
      this.#socket.destroy();
    } else {
      this.flush();
      this.#enter('leaving');
      this.#socket.end(lastWords);
    }
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#keeper.closed(this, why);
  }

  sweep(): void {
    const { limits, sweep, inbound } = this.#connectionSet;
    if (this.#isPaused && inbound.mayRead(this, sweep.time)) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    switch (this.#state) {
      case 'greeting':
        if (this.bytesIn === 0 && sweep.isPast(this.#stateSince, limits.firstByteMs))
          this.#giveUp('handshake', limits.firstByteMs);
        else if (sweep.isPast(this.#stateSince, limits.handshakeMs))
          this.#giveUp('handshake', limits.handshakeMs);
        return;
      case 'open':
        if (sweep.isPast(this.#heardAt, limits.silentAfterMs)) this.#giveUp('silence', limits.silentAfterMs);
        else if (isSince(this.#frameSince, limits.frameMs, sweep)) this.#giveUp('frame', limits.frameMs);
        else if (this.#isStuck()) this.#giveUp('queue', limits.frameMs);
        else if (sweep.isDue(this.#sentAt, this.#heartbeatMs)) this.#beat();
        return;
      case 'leaving':
        if (sweep.isPast(this.#stateSince, LEAVING_MS)) this.#socket.destroy();
        return;
      case 'closed':
        return;
    }
  }

  /** The queue was full, and has been since. */
  #isStuck(): boolean {
    const { limits, sweep } = this.#connectionSet;
    if (this.#fullSince === undefined) return false;
    if (this.queuedBytes <= limits.queueBytesOut / 2) this.#fullSince = undefined;
    return isSince(this.#fullSince, limits.frameMs, sweep);
  }

  #giveUp(deadline: 'handshake' | 'silence' | 'frame' | 'queue', ms: number): void {
    this.close(new PeerTimeoutError(deadline, ms));
  }

  /** If anything is still on its way out, that will be sign of life enough. */
  #beat(): void {
    this.#sentAt = this.#connectionSet.sweep.time;
    if (this.queuedBytes > 0) return;
    this.#connectionSet.counters.heartbeatsOut += 1;
    this.#write(HEARTBEAT);
  }

  #queue(payload: Payload, bytes: number): void {
    this.#pendingBytes += bytes;
    if (this.#pending.push(payload) === 1) this.#connectionSet.flushSoon(this);
  }

  #write(bytes: Uint8Array): void {
    const { counters } = this.#connectionSet;
    counters.writes += 1;
    counters.bytesOut += bytes.length;
    this.bytesOut += bytes.length;
    this.#socket.write(bytes);
  }

  #read(chunk: Uint8Array): void {
    if (this.#reader.stopped) return;
    this.#connectionSet.counters.bytesIn += chunk.length;
    this.bytesIn += chunk.length;
    this.#heardAt = this.#connectionSet.sweep.time;
    try {
      this.#reader.push(chunk, this.#use);
    } catch (error) {
      if (!(error instanceof FrameTooLargeError)) throw error;
      this.#keeper.overflowed(this, error);
      return;
    }
    if (!this.#reader.isMidFrame) this.#frameSince = undefined;
    else this.#frameSince ??= this.#connectionSet.sweep.time;
    const [messages, heartbeats] = [this.#messagesInChunk, this.#heartbeatsInChunk];
    this.#messagesInChunk = this.#heartbeatsInChunk = 0;
    if (this.#reader.stopped) return;
    this.#connectionSet.inbound.read(
      this,
      messages,
      heartbeats,
      chunk.length,
      this.#connectionSet.sweep.time,
    );
  }

  readonly #use = (frame: Uint8Array): void => {
    this.#frameSince = undefined;
    if (this.#state === 'open' && frame.length === 0) {
      this.#heardHeartbeat();
      return;
    }
    this.#messagesInChunk += 1;
    if (this.#state === 'greeting') this.#keeper.introduced(this, frame);
    else if (this.#state === 'open') {
      this.#connectionSet.counters.messagesIn += 1;
      this.#keeper.received(this, frame);
    }
  };

  /** The peer has sent a heartbeat. */
  #heardHeartbeat(): void {
    this.#heartbeatsInChunk += 1;
    if (this.#heartbeatsInChunk <= HEARTBEATS_IN_CHUNK_MAX) return;
    this.close(new MalformedMessageError('heartbeats', `must be at most ${HEARTBEATS_IN_CHUNK_MAX} at once`));
  }

  #lost(why: string, cause?: Error): void {
    this.close(new ConnectionLostError(why, { cause }));
  }

  #gone(): void {
    this.#lost('the socket was closed');
    this.#enter('closed');
    this.#connectionSet.delete(this);
    this.#connectionSet.sweep.delete(this);
    this.#keeper.gone(this);
  }

  #enter(state: State): void {
    this.#state = state;
    this.#stateSince = this.#connectionSet.sweep.time;
  }
}

const isSince = (
  time: number | undefined,
  ms: number,
  sweep: { isPast(time: number, ms: number): boolean },
): boolean => time !== undefined && sweep.isPast(time, ms);

/** The words of OpenSSL are for experts; a user with TLS on one side only has to read that it is about TLS. */
const wordsOf = (cause: Error): string =>
  'code' in cause && /^(?:ERR_SSL_|EPROTO$)/.test(String(cause.code))
    ? 'the other side does not speak TLS as we do, or not at all'
    : cause.message;
