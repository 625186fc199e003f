/**
 * A transport to addresses: connects when something is first sent to one, and again when the
 * connection is lost, for as long as the address is used.
 *
 *     idle ──send──► connecting ──welcome──► open
 *      ▲                │  ▲                  │
 *      │             failed │ pause over     lost
 *      │                ▼  │                  │
 *      └─unused 60 s── pausing ◄──────────────┘
 *
 * To be used is to be sent to. But a server that has answered may go on talking without being asked again, and there
 * are clients that ask seldom because they rely on that: they must not find the line cut between two
 * questions. So a connection over which anything was said to us stays for an hour after the last word of
 * either side. If it is lost, that counts as use, and the address is tried again for as long as any other. And
 * a caller that will go on talking to an address, however seldom, can say so: {@link DialOptions.stays}.
 *
 * A message sent while connecting waits, within bounds, and is dropped if there is no connection; a message
 * sent during a pause is dropped at once: the protocols say it again, and an old word is worth less
 * than a new one. The pauses double from 50 ms to 2 s, each by a random part shorter, so that ten
 * thousand clients do not come back to a restarted server all at the same moment; a good handshake
 * starts them over. A caller that knows of a server's return need not wait for the end of a pause: {@link TcpDialer.hurry}.
 */

import type { Socket } from 'node:net';
import type { Codec, Payload } from '../../runtime/codec.ts';
import { LeaseholdError, MalformedMessageError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime, Transport } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import { parseAddress } from './address.ts';
import { MessageHandlers } from './message-handlers.ts';
import { Complaints } from './complaints.ts';
import { Connection, type ConnectionKeeper, NO_WORDS } from './connection.ts';
import type { TcpCounters } from './counters.ts';
import {
  TransportClosedError,
  ConnectionLostError,
  type FrameTooLargeError,
  UnreachableError,
  WrongProtocolError,
} from './errors.ts';
import { wrongProtocol } from './wrong-protocol.ts';
import { framedBytes } from './frame-writer.ts';
import { decodeWelcome, encodeHello, type ProtocolId, type Texts, type Welcome } from './handshake.ts';
import { ConnectionSet } from './connection-set.ts';
import { DEFAULT_DIAL_LIMITS, resolveLimits, type TcpLimits } from './limits.ts';
import { type DialSockets, plainDialSockets } from './sockets.ts';
import { type Identity, UNRESTRICTED } from '../identity/peer-identity.ts';

export interface DialOptions<Out, In> {
  codec: Codec<Out, In>;
  protocol: ProtocolId;
  /** Our role towards the servers. */
  role: string;
  /** More about us, told to every server in the hello. @default nothing */
  introduction?: Texts | undefined;
  runtime: Runtime;
  logger: Logger;
  limits?: Partial<TcpLimits> | undefined;

  /**
   * Why the server at an address is not the one that is dialled for, by its certificate alone. Asked before the hello is sent; what such a server
   * says, a refusal too, is never heard. @default every server that has a certificate will do
   */
  expects?: ((address: string, identity: Identity) => LeaseholdError | undefined) | undefined;

  /** Why a server must not be talked to, by the welcome. @default every server may */
  refuses?: ((welcome: Welcome) => LeaseholdError | undefined) | undefined;

  /** The first messages on every connection, ahead of those that wait for it. @default none */
  preface?: ((welcome: Welcome) => readonly Out[]) | undefined;

  /** Told after every handshake, and after every connection or attempt that came to an end. */
  onState?:
    | ((address: string, state: 'connected' | 'disconnected', why?: LeaseholdError) => void)
    | undefined;

  /** Whether an address that was sent to once stays in use, although nothing is said. @default none does */
  stays?: ((address: string) => boolean) | undefined;

  /** How sockets are made. @default plain ones */
  secure?: DialSockets | undefined;
}

export interface TcpDialer<Out, In> extends Transport<Out, In>, AsyncDisposable {
  readonly counters: Readonly<TcpCounters>;
  /** Why each address that is in use is not connected. Empty when all is well. */
  problems(): ReadonlyMap<string, LeaseholdError>;
  /** The welcome of the server at this address; undefined while it is not connected. */
  welcome(address: string): Welcome | undefined;
  /** What the certificate of the connected server at this address allows it to be. */
  identity(address: string): Identity | undefined;
  /** Connects to this address, as if something were sent to it. */
  connect(address: string): void;
  /** If a connection to this address was lost, or could not be made: tries again at once, and not after a pause. */
  hurry(address: string): void;
  /** Messages to this address leave now, and not at the end of the turn: there is nothing to wait for. */
  flush(address: string): void;
}

/** @throws {InvalidArgumentError} if a limit breaks a rule */
export function dialTcp<Out, In>(options: DialOptions<Out, In>): TcpDialer<Out, In> {
  return new Dialer(options);
}

const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 2_000;
const UNUSED_MS = 60_000;
/** The same for a connection that has answered. Longer than anybody's pause between two questions. */
const ANSWERED_UNUSED_MS = 3_600_000;
/** The most messages that may wait for a connection; bytes are bounded by the queue's limit. */
const WAITING_MAX = 1_000;

class Dialer<Out, In> implements TcpDialer<Out, In> {
  readonly connectionSet: ConnectionSet;
  readonly options: DialOptions<Out, In>;
  readonly messageHandlers: MessageHandlers<In> = new MessageHandlers<In>();
  readonly complaints: Complaints;
  readonly #links = new Map<string, Link<Out, In>>();
  #isOver = false;

  constructor(options: DialOptions<Out, In>) {
    this.options = options;
    this.connectionSet = new ConnectionSet(
      options.runtime,
      resolveLimits(options.limits, DEFAULT_DIAL_LIMITS),
    );
    this.complaints = new Complaints(options.logger, options.runtime);
  }

  get counters(): Readonly<TcpCounters> {
    return this.connectionSet.counters;
  }

  send(to: string, message: Out): void {
    if (this.#isOver) {
      this.connectionSet.counters.dropped += 1;
      return;
    }
    this.#linkTo(to).send(message);
  }

  connect(address: string): void {
    if (!this.#isOver) this.#linkTo(address).use();
  }

  #linkTo(address: string): Link<Out, In> {
    let link = this.#links.get(address);
    if (link === undefined) {
      link = new Link(this, address);
      this.#links.set(address, link);
      link.dial();
    }
    return link;
  }

  flush(address: string): void {
    this.#links.get(address)?.flush();
  }

  listen(callback: (from: string, message: In) => void): Disposable {
    return this.messageHandlers.add(callback);
  }

  problems(): ReadonlyMap<string, LeaseholdError> {
    const problems = new Map<string, LeaseholdError>();
    for (const [address, { problem }] of this.#links)
      if (problem !== undefined) problems.set(address, problem);
    return problems;
  }

  welcome(address: string): Welcome | undefined {
    return this.#links.get(address)?.welcome;
  }

  identity(address: string): Identity | undefined {
    const link = this.#links.get(address);
    return link?.welcome === undefined ? undefined : link.identity;
  }

  hurry(address: string): void {
    this.#links.get(address)?.hurry();
  }

  forget(address: string): void {
    this.#links.delete(address);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await Promise.all(
      [...this.#links.values()].map((link) => link.end(new TransportClosedError('the dialler ends'))),
    );
  }
}

class Link<Out, In> implements ConnectionKeeper {
  readonly #dialer: Dialer<Out, In>;
  readonly #address: string;
  /** Why there is no connection, until there is one. */
  problem: LeaseholdError | undefined;
  welcome: Welcome | undefined;
  /** Of the present connection. */
  identity: Identity = UNRESTRICTED;
  #connection: Connection | undefined;
  #waiting: Payload[] = [];
  #waitingBytes = 0;
  #pause: Disposable | undefined;
  #failures = 0;
  /** There has been a connection before. */
  #hasConnected = false;
  #usedAt: number;
  /** Something was said to us over the present connection. */
  #hasAnswered = false;
  #isOver = false;
  /** Called when the last socket is gone. */
  #ended: () => void = () => {};
  #sockets = 0;

  constructor(dialer: Dialer<Out, In>, address: string) {
    this.#dialer = dialer;
    this.#address = address;
    this.#usedAt = dialer.connectionSet.sweep.time;
    dialer.connectionSet.sweep.add(this);
  }

  flush(): void {
    if (this.#connection?.isOpen === true) this.#connection.flush();
  }

  /** It stays for a while longer. */
  use(): void {
    this.#usedAt = this.#dialer.connectionSet.sweep.time;
  }

  send(message: Out): void {
    const { connectionSet, options } = this.#dialer;
    this.use();
    const connection = this.#connection;
    if (connection?.isOpen === true) {
      connection.send(options.codec.encode(message));
      return;
    }
    if (connection === undefined) {
      connectionSet.counters.dropped += 1;
      return;
    }
    const payload = options.codec.encode(message);
    const bytes = this.#waitingBytes + framedBytes(payload);
    if (this.#waiting.length >= WAITING_MAX || bytes > connectionSet.limits.queueBytesOut) {
      connectionSet.counters.dropped += 1;
      return;
    }
    this.#waiting.push(payload);
    this.#waitingBytes = bytes;
  }

  sweep(): void {
    const { connectionSet, options } = this.#dialer;
    const unusedMs = this.#hasAnswered ? ANSWERED_UNUSED_MS : UNUSED_MS;
    if (!connectionSet.sweep.isPast(this.#usedAt, unusedMs) || options.stays?.(this.#address) === true)
      return;
    void this.end(new TransportClosedError(`it was not used for ${unusedMs} ms`));
  }

  /** Resolves when nothing of it is left. */
  end(why: LeaseholdError): Promise<void> {
    this.#isOver = true;
    this.#pause?.[Symbol.dispose]();
    this.#dialer.connectionSet.sweep.delete(this);
    this.#dialer.forget(this.#address);
    const connection = this.#connection;
    connection?.close(why, connection.isOpen ? NO_WORDS : undefined);
    this.#dropWaiting();
    if (this.#sockets === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#ended = resolve;
    });
  }

  hurry(): void {
    if (this.#pause === undefined) return;
    this.#pause[Symbol.dispose]();
    this.dial();
  }

  dial(): void {
    const { connectionSet, options } = this.#dialer;
    this.#pause = undefined;
    let socket: Socket;
    try {
      const { host, port } = parseAddress(this.#address);
      socket = (options.secure ?? plainDialSockets).connect(host, port, (identity) => this.#greet(identity));
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      this.#failed(error);
      return;
    }
    this.#sockets += 1;
    this.#connection = new Connection(connectionSet, socket, this.#address, this.#address, this);
    options.logger.debug('connecting', { address: this.#address, attempt: this.#failures + 1 });
  }

  #greet(identity: Identity): void {
    const { protocol, role, introduction, expects } = this.#dialer.options;
    const refusal = expects?.(this.#address, identity);
    if (refusal !== undefined) {
      this.#connection?.close(refusal);
      return;
    }
    this.identity = identity;
    this.#connection?.introduce(encodeHello(protocol, role, introduction));
  }

  /** @internal */
  introduced(connection: Connection, frame: Uint8Array): void {
    const { connectionSet, options } = this.#dialer;
    let welcome: Welcome;
    try {
      welcome = decodeWelcome(options.protocol, frame);
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      connection.close(error);
      return;
    }
    const refusal = options.refuses?.(welcome);
    if (refusal !== undefined) {
      connection.close(refusal);
      return;
    }
    this.welcome = welcome;
    connection.open('', this.welcome.version);
    this.problem = undefined;
    this.#failures = 0;
    connectionSet.counters.opened += 1;
    options.logger.debug('connected', { address: this.#address, version: this.welcome.version });
    const words = this.#hasConnected ? 'connected again' : 'connected at last';
    this.#dialer.complaints.over(this.#address, words);
    this.#hasConnected = true;
    for (const message of options.preface?.(this.welcome) ?? [])
      connection.send(options.codec.encode(message));
    for (const payload of this.#waiting) connection.send(payload);
    this.#waiting = [];
    this.#waitingBytes = 0;
    options.onState?.(this.#address, 'connected');
  }

  /** @internal */
  received(connection: Connection, frame: Uint8Array): void {
    this.#hasAnswered = true;
    this.#usedAt = this.#dialer.connectionSet.sweep.time;
    this.#dialer.messageHandlers.decode(this.#dialer.options.codec, frame, connection, this.#address);
  }

  /** @internal */
  overflowed(connection: Connection, error: FrameTooLargeError): void {
    const who = connection.isOpen ? undefined : wrongProtocol(error.bytes);
    const wanted = this.#dialer.options.protocol.name;
    connection.close(who === undefined ? error : new WrongProtocolError(who, wanted));
  }

  /** @internal */
  closed(connection: Connection, why: LeaseholdError): void {
    const { counters, sweep } = this.#dialer.connectionSet;
    const wasOpen = this.welcome !== undefined;
    if (this.#hasAnswered) this.#usedAt = sweep.time;
    this.#hasAnswered = false;
    if (wasOpen) counters.closed += 1;
    else counters.refused += 1;
    if (why instanceof MalformedMessageError) counters.malformed += 1;
    this.#connection = undefined;
    this.welcome = undefined;
    const { secure } = this.#dialer.options;
    const refusal =
      why instanceof ConnectionLostError ? secure?.whyNotDialled(why.cause, this.#address) : undefined;
    const isUnreachable =
      !wasOpen && refusal === undefined && why instanceof ConnectionLostError && connection.bytesIn === 0;
    this.#failed(
      refusal ??
        (isUnreachable ? new UnreachableError(this.#address, whyUnreachable(why), { cause: why }) : why),
    );
  }

  /** @internal */
  gone(): void {
    this.#sockets -= 1;
    if (this.#sockets === 0) this.#ended();
  }

  #failed(why: LeaseholdError): void {
    const { options, complaints } = this.#dialer;
    this.problem = why;
    this.#dropWaiting();
    if (!this.#isOver) {
      complaints.about(this.#address, 'not connected', why);
      this.#pauseThenDial(why);
    }
    options.onState?.(this.#address, 'disconnected', why);
  }

  /** A server that does not understand us will not learn it soon, but it may be replaced. */
  #pauseThenDial(why: LeaseholdError): void {
    const { runtime } = this.#dialer.options;
    const longestMs = why.retryable
      ? Math.min(PAUSE_MS_MIN * 2 ** this.#failures, PAUSE_MS_MAX)
      : PAUSE_MS_MAX;
    this.#failures += 1;
    const pauseMs = longestMs * (0.5 + 0.5 * runtime.random());
    this.#pause = runtime.wakeAt(later(runtime.now(), pauseMs), () => this.dial());
  }

  #dropWaiting(): void {
    this.#dialer.connectionSet.counters.dropped += this.#waiting.length;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}

const WHY: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no process listens there; is it running, and is the port right?',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name cannot be looked up at the moment',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that network',
  ETIMEDOUT: 'it does not answer',
};

function whyUnreachable(why: LeaseholdError): string {
  const { cause } = why;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return WHY[code] ?? why.message;
}
