/**
 * Takes connections, and is a transport to their makers. A peer's address is `p1`, `p2`, …:
 * the connection, not the machine, because a message to a connection that has ended must reach
 * nobody else.
 */

import type { AddressInfo, Server, Socket } from 'node:net';
import { type Codec, wholePayload } from '../../runtime/codec.ts';
import { LeaseholdError, MalformedMessageError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime, Transport } from '../../runtime/runtime.ts';
import { randomId } from '../id.ts';
import { originOf } from './address-groups.ts';
import { ConnectionRoom } from './connection-room.ts';
import { PendingHandshakes, remoteOf } from './pending-handshakes.ts';
import { MessageHandlers } from './message-handlers.ts';
import { Complaints } from './complaints.ts';
import { Connection, type ConnectionKeeper, NO_WORDS, type PeerInfo } from './connection.ts';
import type { TcpCounters } from './counters.ts';
import {
  TransportClosedError,
  type FrameTooLargeError,
  TooManyConnectionsError,
  WrongProtocolError,
} from './errors.ts';
import { answerTo, wrongProtocol } from './wrong-protocol.ts';
import { framed } from './frame-writer.ts';
import {
  agreeOn,
  decodeHello,
  encodeRefusal,
  encodeWelcome,
  type Hello,
  type ProtocolId,
  type Texts,
} from './handshake.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import { ConnectionSet } from './connection-set.ts';
import { resolveLimits, type TcpLimits } from './limits.ts';
import { whyNotListening } from './not-listening.ts';
import { type ListenSockets, plainListenSockets } from './sockets.ts';

export interface ListenOptions<Out, In> {
  host: string;
  /** 0 for any that is free. */
  port: number;
  codec: Codec<Out, In>;
  protocol: ProtocolId;
  runtime: Runtime;
  logger: Logger;
  limits?: Partial<TcpLimits> | undefined;

  /**
   * Told to every client in the welcome, and so small enough for their `helloBytes`. `http`, if it is
   * there, is also told to clients that speak HTTP here by mistake.
   */
  greeting?: Texts | undefined;

  /** Why a client must not be talked to, by the hello. @default every client of the protocol may */
  refuses?: ((hello: Hello) => LeaseholdError | undefined) | undefined;

  /** Told when a peer has introduced itself, and when it is gone. */
  onPeer?: ((peer: PeerInfo, state: 'connected' | 'disconnected', why?: LeaseholdError) => void) | undefined;

  /** Whether a peer of this role may have to send large frames before it can be admitted. @default no */
  sendsMuchAtOnce?: ((role: string) => boolean) | undefined;

  /**
   * The ids of the peers that the protocol above counts as admitted now. If given, a newcomer that finds no room
   * displaces a peer that is not admitted; see `connection-room.ts`. @default the newcomer is refused
   */
  admitted?: (() => ReadonlySet<string>) | undefined;

  /** How sockets are made. @default plain ones */
  secure?: ListenSockets | undefined;
}

export interface TcpListener<Out, In> extends Transport<Out, In>, AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Those that have introduced themselves. */
  readonly peers: ReadonlyMap<string, PeerInfo>;
  /** How many connections there are, with those that have not, or that are about to leave, or to agree on encryption. */
  readonly connections: number;
  readonly counters: Readonly<TcpCounters>;
  /** Ends the connection of a peer that broke the protocol, with these last words. */
  dismiss(peer: string, why: LeaseholdError, lastWords: Out): void;
  /** Ends the connection of a peer without a word. */
  close(peer: string, why: LeaseholdError): void;
  /** The bytes kept of frames that have not ended, of all peers together. */
  readonly unfinishedBytes: number;
  /** How many connections have not introduced themselves yet. */
  readonly pending: number;
  /** This peer is known: it may send larger frames, and does not share the allowance of strangers. */
  admit(id: string): void;
}

/**
 * @throws {PortInUseError} or {@link AddressUnavailableError} if it cannot listen there
 * @throws {InvalidOptionError} if a limit breaks a rule
 */
export async function listenTcp<Out, In>(options: ListenOptions<Out, In>): Promise<TcpListener<Out, In>> {
  const listener = new Listener(options);
  await listener.start();
  return listener;
}

class Listener<Out, In> implements TcpListener<Out, In>, ConnectionKeeper {
  readonly host: string;
  readonly #options: ListenOptions<Out, In>;
  readonly #connectionSet: ConnectionSet;
  readonly #server: Server;
  readonly #complaints: Complaints;
  readonly #messageHandlers = new MessageHandlers<In>();
  /** Those that have introduced themselves. */
  readonly #peers = new Map<string, Connection>();
  readonly #room: ConnectionRoom;
  readonly #pendingHandshakes: PendingHandshakes;
  readonly #episodes: EpisodeLog;
  #accepted = 0;
  #port: number;

  constructor(options: ListenOptions<Out, In>) {
    this.host = options.host;
    this.#port = options.port;
    this.#options = options;
    this.#episodes = new EpisodeLog(options.logger, options.runtime);
    this.#connectionSet = new ConnectionSet(options.runtime, resolveLimits(options.limits), (limit, remote) =>
      this.#episodes.happened(limit, 'peers send too much, and are held back', { limit, remote }),
    );
    const { runtime, logger, admitted } = options;
    this.#room = new ConnectionRoom(this.#connectionSet, {
      ...{ runtime, logger, admitted, handshakes: () => this.#pendingHandshakes.size },
    });
    this.#complaints = new Complaints(options.logger, options.runtime);
    this.#pendingHandshakes = new PendingHandshakes(
      this.#connectionSet,
      (address, remote, why) => {
        this.#connectionSet.counters.refused += 1;
        this.#complaints.about(address, 'connection refused', why, { remote });
      },
      (address) => this.#room.count(originOf(address), -1),
    );
    this.#server = (options.secure ?? plainListenSockets).createServer(
      (socket) => this.#accept(socket),
      (socket) => this.#arrive(socket),
    );
  }

  get port(): number {
    return this.#port;
  }

  get peers(): ReadonlyMap<string, PeerInfo> {
    return this.#peers;
  }

  get connections(): number {
    return this.#room.size;
  }

  get counters(): Readonly<TcpCounters> {
    return this.#connectionSet.counters;
  }

  get unfinishedBytes(): number {
    return this.#connectionSet.inbound.unfinishedBytes;
  }

  get pending(): number {
    return this.#room.pending;
  }

  admit(id: string): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined && !peer.isAdmitted) this.#room.admit(peer);
  }

  async start(): Promise<void> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const failed = (cause: Error): void => reject(whyNotListening(host, port, cause));
      this.#server.once('error', failed);
      this.#server.listen({ host, port, backlog: 4_096 }, () => {
        this.#server.off('error', failed);
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
    this.#server.on('error', (cause) => {
      this.#complaints.about('', 'cannot accept', new TransportClosedError(cause.message));
    });
  }

  send(to: string, message: Out): void {
    const peer = this.#peers.get(to);
    if (peer === undefined) this.#connectionSet.counters.dropped += 1;
    else peer.send(this.#options.codec.encode(message));
  }

  dismiss(peer: string, why: LeaseholdError, lastWords: Out): void {
    this.#connectionSet.counters.notAllowed += 1;
    this.#peers.get(peer)?.close(why, framed(wholePayload(this.#options.codec.encode(lastWords))));
  }

  close(peer: string, why: LeaseholdError): void {
    this.#peers.get(peer)?.close(why);
  }

  listen(callback: (from: string, message: In) => void): Disposable {
    return this.#messageHandlers.add(callback);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const why = new TransportClosedError('the listener ends');
    for (const connection of this.#room.all) connection.close(why, NO_WORDS);
    this.#pendingHandshakes.end();
    this.#episodes[Symbol.dispose]();
    this.#room[Symbol.dispose]();
    await closed;
  }

  #arrive(socket: Socket): boolean {
    const { remoteAddress } = socket;
    const origin = originOf(remoteAddress ?? '');
    const refusal = remoteAddress === undefined ? undefined : this.#makeRoom(origin);
    if (remoteAddress === undefined || refusal !== undefined) {
      socket.destroy(); // It left again before we came to it; or it could not be told before both have agreed.
      if (refusal !== undefined) this.#refused(origin, refusal);
      return false;
    }
    this.#room.count(origin, 1);
    this.#pendingHandshakes.add(socket, remoteAddress);
    return true;
  }

  #accept(socket: Socket): void {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) {
      socket.destroy(); // It left again before we came to it.
      return;
    }
    const origin = originOf(remoteAddress);
    const since = this.#pendingHandshakes.agreed(socket, remoteAddress);
    const refusal = this.#makeRoom(origin);
    if (refusal !== undefined) {
      this.#refused(origin, refusal);
      socket.on('error', () => socket.destroy());
      socket.end(framed(encodeRefusal(this.#options.protocol, refusal)), () => socket.destroy());
      return;
    }
    this.#accepted += 1;
    const id = `p${this.#accepted}`;
    const remote = remoteOf(socket, remoteAddress);
    const connection = new Connection(this.#connectionSet, socket, id, remote, this, since);
    const displaced = this.#room.add(connection, origin);
    displaced?.connection.close(displaced.why, framed(encodeRefusal(this.#options.protocol, displaced.why)));
  }

  /**
   * Why there is no room for one more from there. The socket of a peer that is displaced is destroyed without a word,
   * because one that waits for last words to be read would still take the room.
   */
  #makeRoom(origin: string): LeaseholdError | undefined {
    const room = this.#room.make(origin);
    if (room === undefined || room instanceof LeaseholdError) return room;
    room.connection.close(room.why);
    return undefined;
  }

  #refused(address: string, why: LeaseholdError): void {
    this.#connectionSet.counters.refused += 1;
    this.#connectionSet.counters.limited.connections += 1;
    this.#complaints.about(address, 'connection refused', why);
  }

  /** @internal */
  introduced(connection: Connection, frame: Uint8Array): void {
    const { protocol, greeting = {}, onPeer, logger, refuses } = this.#options;
    const refuse = (error: LeaseholdError): void =>
      connection.close(error, framed(encodeRefusal(protocol, error)));
    let hello: Hello;
    let version: number;
    try {
      hello = decodeHello(frame);
      version = agreeOn(protocol, hello);
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      refuse(error);
      return;
    }
    const refusal = refuses?.(hello);
    if (refusal !== undefined) {
      refuse(refusal);
      return;
    }
    const { role } = hello;
    connection.introduction = hello.introduction;
    connection.channel = randomId();
    connection.introduce(encodeWelcome(protocol, { version, greeting, channel: connection.channel }));
    const { frameBytesIn, frameBytesBeforeAdmission } = this.#connectionSet.limits;
    const sendsMuch = this.#options.sendsMuchAtOnce?.(role) === true;
    connection.open(role, version, sendsMuch ? frameBytesIn : frameBytesBeforeAdmission);
    this.#room.introduced(connection);
    this.#peers.set(connection.id, connection);
    this.#connectionSet.counters.opened += 1;
    logger.debug('peer connected', { peer: connection.id, remote: connection.remote, role, version });
    onPeer?.(connection, 'connected');
  }

  /** @internal */
  received(connection: Connection, frame: Uint8Array): void {
    this.#messageHandlers.decode(this.#options.codec, frame, connection, connection.id);
  }

  /** @internal */
  overflowed(connection: Connection, error: FrameTooLargeError): void {
    const { protocol, greeting } = this.#options;
    const who = connection.isOpen ? undefined : wrongProtocol(error.bytes);
    if (connection.isOpen) this.#connectionSet.counters.limited.frameBytes += 1;
    if (who === undefined) {
      connection.close(error, connection.isOpen ? undefined : framed(encodeRefusal(protocol, error)));
      return;
    }
    const advice = `this is port ${this.port} of a ${protocol.name} server`;
    const answer = answerTo(who, this.port, protocol.name, greeting?.['http']);
    connection.close(new WrongProtocolError(who, protocol.name, advice), answer);
  }

  /** @internal */
  closed(connection: Connection, why: LeaseholdError): void {
    const { counters } = this.#connectionSet;
    this.#room.closed(connection);
    const wasOpen = this.#peers.delete(connection.id);
    if (wasOpen) counters.closed += 1;
    else counters.refused += 1;
    if (why instanceof MalformedMessageError) counters.malformed += 1;
    const facts = { remote: connection.remote, role: connection.role };
    const isSaid = why instanceof TransportClosedError || why instanceof TooManyConnectionsError;
    const isOrdinary = isSaid || (wasOpen && why.code === 'CONNECTION_LOST');
    if (isOrdinary) {
      const { id } = connection;
      this.#options.logger.debug('peer disconnected', {
        peer: id,
        ...facts,
        code: why.code,
        why: why.message,
      });
    } else {
      const address = this.#room.originOf(connection) ?? connection.remote;
      this.#complaints.about(address, wasOpen ? 'peer dropped' : whatOfStranger(why), why, facts);
    }
    if (wasOpen) this.#options.onPeer?.(connection, 'disconnected', why);
  }

  /** @internal */
  gone(connection: Connection): void {
    this.#room.gone(connection);
  }
}

/** A client that goes away before its handshake was not refused by us: often a check whether the port is open. */
const whatOfStranger = ({ code }: LeaseholdError): string =>
  code === 'CONNECTION_LOST' ? 'peer went away without introducing itself' : 'connection refused';
