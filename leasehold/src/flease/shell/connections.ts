/**
 * The ways to the other members. Each member listens, and dials every other; it speaks over the connections that
 * it dialled, and hears over those that it accepted:
 *
 *     a ── dialled by a ──► b          two connections a pair, each for one direction:
 *     a ◄── dialled by b ── b          nobody has to agree on which of two to keep
 *
 * **Who speaks** is said in the handshake, and a packet in another name is passed over: otherwise whoever can
 * connect at all could answer for everybody. It is no proof of who it is; that is for the network or for
 * certificates. The one who is dialled says its name too, so that an address that leads to another member, or
 * into another group, is found out and not merely silent.
 *
 * A connection that nothing comes from is given up after seconds and dialled again: after a cut TCP by itself
 * would take minutes to try again. Somebody who was away and dials us is dialled at once, too: it may have been restarted
 * with other peers, and has to hear of it while it still keeps silent (`member.ts`).
 */

import { dialTcp, type TcpDialer } from '../../node/tcp/dial.ts';
import { listenTcp, type TcpListener } from '../../node/tcp/listen.ts';
import type { DialSockets, ListenSockets } from '../../node/tcp/sockets.ts';
import type { Address } from '../../node/tcp/address.ts';
import { Closing } from '../../runtime/closing.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Packet } from '../messages.ts';
import { fleaseCodec, FLEASE_PROTOCOL } from '../wire/codec.ts';
import { encodePacket } from '../wire/encode.ts';

export interface ConnectionsOptions {
  readonly id: string;
  readonly group: string;
  readonly listen: Address;
  /** How sockets are made; undefined for plain ones. */
  readonly secure: (ListenSockets & DialSockets) | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** Something was said by the member that introduced itself so. */
  receive(packet: Packet): void;
}

/** Both sides keep to these. */
const LIMITS = { heartbeatEveryMs: 2_000, silentAfterMs: 10_000, connections: 1_000 };

export class Connections implements AsyncDisposable {
  readonly #options: ConnectionsOptions;
  readonly #closing = new Closing();
  readonly #listener: TcpListener<Uint8Array, Packet>;
  readonly #dialer: TcpDialer<Uint8Array, Packet>;
  #addresses: ReadonlyMap<string, string> = new Map();
  /** Addresses at which somebody else was found than is said to be there. */
  readonly #strangers = new Map<string, string>();
  /** Members that were said to be out of reach. */
  readonly #complainedOf = new Set<string>();
  #hasToldOfImpostor = false;
  #isTelling = false;

  private constructor(options: ConnectionsOptions, listener: TcpListener<Uint8Array, Packet>) {
    this.#options = options;
    const { runtime, logger, id, secure } = options;
    this.#listener = this.#closing.use(listener);
    this.#dialer = this.#closing.use(
      dialTcp({
        ...{ codec: fleaseCodec, protocol: FLEASE_PROTOCOL, role: id, runtime, limits: LIMITS, secure },
        logger: inDetail(logger),
        onState: (address) => this.#changed(address),
      }),
    );
    listener.listen((connection, packet) => this.#heard(connection, packet));
  }

  /**
   * @throws {PortInUseError} if another process listens there
   * @throws {AddressUnavailableError} if this machine has no such address
   */
  static async open(options: ConnectionsOptions): Promise<Connections> {
    const { id, group, listen, runtime, logger, secure } = options;
    let connections: Connections | undefined;
    const listener = await listenTcp({
      ...{ ...listen, codec: fleaseCodec, protocol: FLEASE_PROTOCOL, runtime, logger, limits: LIMITS },
      ...{ greeting: { member: id, group }, secure },
      onPeer: ({ role }, state) => {
        if (state === 'connected' && connections !== undefined) connections.#isThere(role);
      },
    });
    connections = new Connections(options, listener);
    return connections;
  }

  /** Where everybody is, from here on. */
  set addresses(addresses: ReadonlyMap<string, string>) {
    this.#addresses = addresses;
  }

  addressOf(member: string): string | undefined {
    return this.#addresses.get(member);
  }

  send(to: string, packet: Packet): void {
    const address = this.#addresses.get(to);
    if (address === undefined || this.#strangers.has(address)) return;
    for (const frame of encodePacket(packet)) this.#dialer.send(address, frame);
  }

  isConnected(member: string): boolean {
    const address = this.#addresses.get(member);
    return (
      address !== undefined && this.#dialer.welcome(address) !== undefined && !this.#strangers.has(address)
    );
  }

  /** Why a member cannot be reached; undefined if it can, or nobody has tried. */
  problemOf(member: string): string | undefined {
    const address = this.#addresses.get(member);
    if (address === undefined) return 'its address is not known';
    return this.#strangers.get(address) ?? this.#dialer.problems().get(address)?.message;
  }

  /** Says which members cannot be reached, and from here on whenever one no longer can, or can again. */
  tellWhoIsMissing(): void {
    this.#isTelling = true;
    for (const member of this.#addresses.keys()) this.#tell(member);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isTelling = false;
    await this.#closing[Symbol.asyncDispose]();
  }

  #isThere(member: string): void {
    const address = this.#addresses.get(member);
    if (address !== undefined) this.#dialer.hurry(address);
  }

  #heard(connection: string, packet: Packet): void {
    const name = this.#listener.peers.get(connection)?.role;
    if (name === packet.from) {
      this.#options.receive(packet);
      return;
    }
    if (this.#hasToldOfImpostor) return;
    this.#hasToldOfImpostor = true;
    this.#options.logger.warn('a peer speaks in the name of another; what it says so is passed over', {
      peer: name,
      speaksAs: packet.from,
    });
  }

  #changed(address: string): void {
    this.#strangers.delete(address);
    const members = [...this.#addresses].flatMap(([member, its]) => (its === address ? [member] : []));
    const greeting = this.#dialer.welcome(address)?.greeting;
    for (const member of members) {
      if (greeting !== undefined) this.#recognize(address, member, greeting);
      if (this.#isTelling) this.#tell(member);
    }
  }

  #recognize(address: string, wanted: string, greeting: Readonly<Record<string, string>>): void {
    const { member = 'nobody', group = 'no group' } = greeting;
    if (member === wanted && group === this.#options.group) return;
    const found = `at ${address} is ${member} of group ${group}, not ${wanted} of ${this.#options.group}`;
    this.#strangers.set(address, `${found}: mend the addresses in peers`);
  }

  #tell(member: string): void {
    const { id, logger } = this.#options;
    if (member === id) return;
    const why = this.problemOf(member);
    const address = this.#addresses.get(member);
    if (why === undefined && this.#complainedOf.delete(member)) {
      logger.warn(`member ${member} can be reached again`, { member, address });
    } else if (why !== undefined && !this.#complainedOf.has(member)) {
      this.#complainedOf.add(member);
      logger.warn(`member ${member} cannot be reached`, { member, address, why });
    }
  }
}

/** What a dialler says of addresses is said here of members, once each. */
const inDetail = (logger: Logger): Logger => ({
  debug: (message, facts) => logger.debug(message, facts),
  info: (message, facts) => logger.debug(message, facts),
  warn: (message, facts) => logger.debug(message, facts),
  error: (message, facts) => logger.error(message, facts),
});
