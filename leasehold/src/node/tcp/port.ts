/**
 * A port that listens, and whose connections go to one listener or, by the group in their first words, to one of several.
 *
 *     127.0.0.1:7500 ── hello: group red ───► listener of red
 *                    ── hello: group blue ──► listener of blue
 *                    ── hello: group green ─► refused: green is not here; red and blue are
 *
 * A process may be in many small groups, and its peers know it at one address. So listeners of this process that name a group share a port, if they speak the
 * same protocol and have the same certificates and limits: what is agreed on before the group is known is the same for all of them. Two listeners with one
 * group are two members in one place, which is refused as if another process had the port. The port is free again when the last listener has left.
 *
 * A listener that is alone judges every client itself, so that the client hears which group is here. Clients of a group that comes later are sent away
 * then, or they would stay with the wrong listener, and their messages would be lost.
 */

import type { AddressInfo, Server, Socket } from 'node:net';
import { present } from '../../runtime/assert.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import { LeaseholdError, MalformedMessageError } from '../../runtime/errors.ts';
import { randomId } from '../id.ts';
import type { Identity } from '../identity/peer-identity.ts';
import { originOf } from './address-groups.ts';
import { Complaints } from './complaints.ts';
import { Connection, type ConnectionKeeper, NO_WORDS } from './connection.ts';
import { ConnectionRoom } from './connection-room.ts';
import { ConnectionSet } from './connection-set.ts';
import type { TcpCounters } from './counters.ts';
import {
  type FrameTooLargeError,
  GroupNotHereError,
  PortInUseError,
  SharedAddressError,
  TooManyConnectionsError,
  TransportClosedError,
  WrongProtocolError,
} from './errors.ts';
import { framed } from './frame-writer.ts';
import { agreeOn, decodeHello, encodeRefusal, encodeWelcome, type Hello } from './handshake.ts';
import { resolveLimits } from './limits.ts';
import type { ListenOptions } from './listen-options.ts';
import { whyNotListening } from './not-listening.ts';
import { PendingHandshakes, remoteOf } from './pending-handshakes.ts';
import { plainListenSockets } from './sockets.ts';
import { answerTo, wrongProtocol } from './wrong-protocol.ts';

/** A listener at a port. */
export interface Tenant {
  readonly options: ListenOptions<never, unknown>;
  /** The clients that introduced themselves to it. */
  readonly connected: Map<string, Connection>;
  received(connection: Connection, frame: Uint8Array): void;
}

/** The ports of this process that may be shared, by address, from before they listen until they are closed. */
const shared = new Map<string, Promise<Port>>();

/**
 * The port of the address of this listener, which listens.
 *
 * @throws {PortInUseError} or {@link AddressUnavailableError} {@link SharedAddressError}
 */
export async function openPort(tenant: Tenant): Promise<Port> {
  const { host, port: number, group } = tenant.options;
  if (group === undefined || number === 0) return Port.open(tenant);
  const key = `${host} ${number}`;
  for (let known = shared.get(key); known !== undefined; known = shared.get(key)) {
    const port = await known.catch(() => undefined); // The listener that opened the port was told why that failed.
    if (port !== undefined && !port.isClosing) {
      port.add(tenant);
      return port;
    }
    await port?.free;
  }
  const opening = Port.open(tenant);
  shared.set(key, opening);
  const forget = (): void => void shared.delete(key);
  opening.then((port) => port.free.then(forget), forget);
  return opening;
}

export class Port implements ConnectionKeeper {
  readonly #first: ListenOptions<never, unknown>;
  readonly #tenants = new Set<Tenant>();
  /** Whose client it is, from the introduction on. */
  readonly #tenantOf = new Map<Connection, Tenant>();
  readonly #connectionSet: ConnectionSet;
  readonly #server: Server;
  readonly #complaints: Complaints;
  readonly #room: ConnectionRoom;
  readonly #pendingHandshakes: PendingHandshakes;
  readonly #episodes: EpisodeLog;
  #accepted = 0;
  #number: number;
  #isClosing = false;
  #freed: () => void = () => {};
  /** Resolves when the last listener has left, and the port is free. */
  readonly free: Promise<void> = new Promise((resolve) => {
    this.#freed = resolve;
  });

  private constructor(tenant: Tenant) {
    const { options } = tenant;
    const { runtime, logger, admitted } = options;
    this.#first = options;
    this.#tenants.add(tenant);
    this.#number = options.port;
    this.#episodes = new EpisodeLog(logger, runtime);
    this.#connectionSet = new ConnectionSet(runtime, resolveLimits(options.limits), (limit, remote) =>
      this.#episodes.happened(limit, 'peers send too much, and are held back', { limit, remote }),
    );
    this.#room = new ConnectionRoom(this.#connectionSet, {
      ...{ runtime, logger, admitted, handshakes: () => this.#pendingHandshakes.size },
    });
    this.#complaints = new Complaints(logger, runtime);
    this.#pendingHandshakes = new PendingHandshakes(
      this.#connectionSet,
      (address, remote, why) => {
        this.#connectionSet.counters.refused += 1;
        this.#complaints.about(address, 'connection refused', why, { remote });
      },
      (address) => this.#room.count(originOf(address), -1),
    );
    this.#server = (options.secure ?? plainListenSockets).createServer(
      (socket, peer) => this.#accept(socket, peer),
      (socket) => this.#arrive(socket),
      (why) => framed(encodeRefusal(options.protocol, why)),
    );
  }

  /** @throws {PortInUseError} {@link AddressUnavailableError} {@link InvalidArgumentError} */
  static async open(tenant: Tenant): Promise<Port> {
    const port = new Port(tenant);
    await port.#listen();
    return port;
  }

  get number(): number {
    return this.#number;
  }

  /** The last listener has left. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  get connections(): number {
    return this.#room.size;
  }

  get counters(): TcpCounters {
    return this.#connectionSet.counters;
  }

  get unfinishedBytes(): number {
    return this.#connectionSet.inbound.unfinishedBytes;
  }

  get pending(): number {
    return this.#room.pending;
  }

  admit(connection: Connection): void {
    this.#room.admit(connection);
  }

  /** One more listener, for another group. @throws {PortInUseError} {@link SharedAddressError} */
  add(tenant: Tenant): void {
    const { host, port, group, protocol, secure = plainListenSockets, limits } = tenant.options;
    const first = this.#first;
    const isTaken = [...this.#tenants].some(({ options }) => options.group === group);
    if (isTaken || protocol.name !== first.protocol.name) throw new PortInUseError(host, port);
    const different =
      secure.settings === (first.secure ?? plainListenSockets).settings
        ? JSON.stringify(resolveLimits(limits)) === JSON.stringify(resolveLimits(first.limits))
          ? undefined
          : 'timeouts and limits'
        : 'certificates (tls)';
    if (different !== undefined)
      throw new SharedAddressError(host, port, { group: group ?? '', others: this.#groups, different });
    const why = new TransportClosedError(`a member of group ${group} listens here from now on`);
    for (const connection of [...this.#tenantOf.keys()])
      if (connection.introduction['group'] === group) connection.close(why, NO_WORDS);
    this.#tenants.add(tenant);
  }

  /** Resolves when the connections of this listener are closed, and the port is free if there is no other listener. */
  async leave(tenant: Tenant): Promise<void> {
    const isLast = this.#tenants.delete(tenant) && this.#tenants.size === 0;
    const why = new TransportClosedError('the listener ends');
    if (isLast) await this.#close(why);
    else for (const connection of tenant.connected.values()) connection.close(why, NO_WORDS);
    if (this.#isClosing) await this.free;
  }

  get #groups(): readonly string[] {
    return [...this.#tenants].flatMap(({ options }) => options.group ?? []);
  }

  async #listen(): Promise<void> {
    const { host, port } = this.#first;
    await new Promise<void>((resolve, reject) => {
      const failed = (cause: Error): void => reject(whyNotListening(host, port, cause));
      this.#server.once('error', failed);
      this.#server.listen({ host, port, backlog: 4_096 }, () => {
        this.#server.off('error', failed);
        this.#number = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
    this.#server.on('error', (cause) => {
      this.#complaints.about('', 'cannot accept', new TransportClosedError(cause.message));
    });
  }

  async #close(why: LeaseholdError): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#room.all) connection.close(why, NO_WORDS);
    this.#pendingHandshakes.end();
    this.#episodes[Symbol.dispose]();
    this.#room[Symbol.dispose]();
    await closed;
    this.#freed();
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

  #accept(socket: Socket, peer: Identity | LeaseholdError): void {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) {
      socket.destroy(); // It left again before we came to it.
      return;
    }
    const origin = originOf(remoteAddress);
    const since = this.#pendingHandshakes.agreed(socket);
    if (peer instanceof LeaseholdError) {
      this.#connectionSet.counters.refused += 1;
      this.#complaints.about(origin, 'connection refused', peer, { remote: remoteOf(socket, remoteAddress) });
      this.#tell(socket, peer);
      return;
    }
    const refusal = this.#makeRoom(origin);
    if (refusal !== undefined) {
      this.#refused(origin, refusal);
      this.#tell(socket, refusal);
      return;
    }
    this.#accepted += 1;
    const id = `p${this.#accepted}`;
    const remote = remoteOf(socket, remoteAddress);
    const connection = new Connection(this.#connectionSet, socket, id, remote, this, since);
    connection.identity = peer;
    const displaced = this.#room.add(connection, origin);
    displaced?.connection.close(displaced.why, framed(encodeRefusal(this.#first.protocol, displaced.why)));
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

  /** Last words to a socket that becomes no connection. */
  #tell(socket: Socket, why: LeaseholdError): void {
    socket.on('error', () => socket.destroy());
    socket.end(framed(encodeRefusal(this.#first.protocol, why)), () => socket.destroy());
  }

  #refused(address: string, why: LeaseholdError): void {
    this.#connectionSet.counters.refused += 1;
    this.#connectionSet.counters.limited.connections += 1;
    this.#complaints.about(address, 'connection refused', why);
  }

  /** @internal */
  introduced(connection: Connection, frame: Uint8Array): void {
    const { protocol } = this.#first;
    const refuse = (error: LeaseholdError): void =>
      connection.close(error, framed(encodeRefusal(protocol, error)));
    try {
      const hello = decodeHello(frame);
      const version = agreeOn(protocol, hello);
      const tenant = this.#tenantFor(hello);
      const refusal = tenant.options.refuses?.(hello, connection.identity);
      if (refusal === undefined) this.#welcome(tenant, connection, hello, version);
      else refuse(refusal);
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      refuse(error);
    }
  }

  /** @throws {GroupNotHereError} */
  #tenantFor({ introduction }: Hello): Tenant {
    const [only, ...others] = this.#tenants;
    if (others.length === 0) return present(only, 'a port that is open has a listener');
    const group = introduction['group'];
    const tenant = [...this.#tenants].find(({ options }) => options.group === group);
    if (tenant === undefined) throw new GroupNotHereError(group, this.#groups);
    return tenant;
  }

  #welcome(tenant: Tenant, connection: Connection, { role, introduction }: Hello, version: number): void {
    const { protocol, greeting = {}, onPeer, logger, sendsMuchAtOnce } = tenant.options;
    connection.introduction = introduction;
    connection.channel = randomId();
    connection.introduce(encodeWelcome(protocol, { version, greeting, channel: connection.channel }));
    const { frameBytesIn, frameBytesBeforeAdmission } = this.#connectionSet.limits;
    const sendsMuch = sendsMuchAtOnce?.(role) === true;
    connection.open(role, version, sendsMuch ? frameBytesIn : frameBytesBeforeAdmission);
    this.#room.introduced(connection);
    this.#tenantOf.set(connection, tenant);
    tenant.connected.set(connection.id, connection);
    this.#connectionSet.counters.opened += 1;
    logger.debug('peer connected', { peer: connection.id, remote: connection.remote, role, version });
    onPeer?.(connection, 'connected');
  }

  /** @internal */
  received(connection: Connection, frame: Uint8Array): void {
    this.#tenantOf.get(connection)?.received(connection, frame);
  }

  /** @internal */
  overflowed(connection: Connection, error: FrameTooLargeError): void {
    const { protocol, greeting } = this.#first;
    const who = connection.isOpen ? undefined : wrongProtocol(error.bytes);
    if (connection.isOpen) this.#connectionSet.counters.limited.frameBytes += 1;
    if (who === undefined) {
      connection.close(error, connection.isOpen ? undefined : framed(encodeRefusal(protocol, error)));
      return;
    }
    const advice = `this is port ${this.number} of a ${protocol.name} server`;
    const answer = answerTo(who, this.number, protocol.name, greeting?.['http']);
    connection.close(new WrongProtocolError(who, protocol.name, advice), answer);
  }

  /** @internal */
  closed(connection: Connection, why: LeaseholdError): void {
    const { counters } = this.#connectionSet;
    this.#room.closed(connection);
    const tenant = this.#tenantOf.get(connection);
    this.#tenantOf.delete(connection);
    const wasOpen = tenant?.connected.delete(connection.id) === true;
    if (wasOpen) counters.closed += 1;
    else counters.refused += 1;
    if (why instanceof MalformedMessageError) counters.malformed += 1;
    const facts = { remote: connection.remote, role: connection.role };
    const isSaid = why instanceof TransportClosedError || why instanceof TooManyConnectionsError;
    const isOrdinary = isSaid || (wasOpen && why.code === 'CONNECTION_LOST');
    if (isOrdinary) {
      const { id } = connection;
      (tenant?.options ?? this.#first).logger.debug('peer disconnected', {
        peer: id,
        ...facts,
        code: why.code,
        why: why.message,
      });
    } else {
      const address = this.#room.originOf(connection) ?? connection.remote;
      this.#complaints.about(address, wasOpen ? 'peer dropped' : whatOfStranger(why), why, facts);
    }
    if (wasOpen) tenant?.options.onPeer?.(connection, 'disconnected', why);
  }

  /** @internal */
  gone(connection: Connection): void {
    this.#room.gone(connection);
  }
}

/** A client that goes away before its handshake was not refused by us: often a check whether the port is open. */
const whatOfStranger = ({ code }: LeaseholdError): string =>
  code === 'CONNECTION_LOST' ? 'peer went away without introducing itself' : 'connection refused';
