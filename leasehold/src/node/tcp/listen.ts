/**
 * Takes connections, and is a transport to their makers. A peer's address is `p1`, `p2`, …:
 * the connection, not the machine, because a message to a connection that has ended must reach
 * nobody else.
 *
 * A listener hears the clients of one group or service. The address is that of a port (`port.ts`), which several groups of a process may share.
 */

import { present } from '../../runtime/assert.ts';
import { wholePayload } from '../../runtime/codec.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Transport } from '../../runtime/runtime.ts';
import type { Connection, PeerInfo } from './connection.ts';
import type { TcpCounters } from './counters.ts';
import { framed } from './frame-writer.ts';
import type { ListenOptions } from './listen-options.ts';
import { MessageHandlers } from './message-handlers.ts';
import { openPort, type Port, type Tenant } from './port.ts';

export interface TcpListener<Out, In> extends Transport<Out, In>, AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Those that have introduced themselves. */
  readonly peers: ReadonlyMap<string, PeerInfo>;
  /** How many connections the address has, with those that have not, or that are about to leave, or to agree on encryption. */
  readonly connections: number;
  /** Of all that listen at the address. */
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
 * @throws {SharedAddressError} if other groups of this process listen there with other settings
 * @throws {InvalidArgumentError} if a limit breaks a rule
 */
export async function listenTcp<Out, In>(options: ListenOptions<Out, In>): Promise<TcpListener<Out, In>> {
  const listener = new Listener(options);
  await listener.start();
  return listener;
}

class Listener<Out, In> implements TcpListener<Out, In>, Tenant {
  readonly host: string;
  /** Those that have introduced themselves. */
  readonly connected: Map<string, Connection> = new Map<string, Connection>();
  readonly options: ListenOptions<Out, In>;
  readonly #messageHandlers = new MessageHandlers<In>();
  #open: Port | undefined;

  constructor(options: ListenOptions<Out, In>) {
    this.host = options.host;
    this.options = options;
  }

  async start(): Promise<void> {
    this.#open = await openPort(this);
  }

  get #port(): Port {
    return present(this.#open, 'the port of a listener that has started');
  }

  get port(): number {
    return this.#port.number;
  }

  get peers(): ReadonlyMap<string, PeerInfo> {
    return this.connected;
  }

  get connections(): number {
    return this.#port.connections;
  }

  get counters(): Readonly<TcpCounters> {
    return this.#port.counters;
  }

  get unfinishedBytes(): number {
    return this.#port.unfinishedBytes;
  }

  get pending(): number {
    return this.#port.pending;
  }

  admit(id: string): void {
    const peer = this.connected.get(id);
    if (peer !== undefined && !peer.isAdmitted) this.#port.admit(peer);
  }

  send(to: string, message: Out): void {
    const peer = this.connected.get(to);
    if (peer === undefined) this.#port.counters.dropped += 1;
    else peer.send(this.options.codec.encode(message));
  }

  dismiss(peer: string, why: LeaseholdError, lastWords: Out): void {
    this.#port.counters.notAllowed += 1;
    this.connected.get(peer)?.close(why, framed(wholePayload(this.options.codec.encode(lastWords))));
  }

  close(peer: string, why: LeaseholdError): void {
    this.connected.get(peer)?.close(why);
  }

  listen(callback: (from: string, message: In) => void): Disposable {
    return this.#messageHandlers.add(callback);
  }

  /** @internal */
  received(connection: Connection, frame: Uint8Array): void {
    this.#messageHandlers.decode(this.options.codec, frame, connection, connection.id);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#port.leave(this);
  }
}
