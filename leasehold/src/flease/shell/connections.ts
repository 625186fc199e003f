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
 * A connection that nothing comes from is given up after seconds and dialled again: after a cut TCP by itself would
 * take minutes to try again. For the same reason it stays between two words, however seldom they are with a long
 * lease: whoever is cut off in between is to be missed, and found again, before there is something to say. Somebody
 * who was away and dials us is dialled at once, too: it may have been restarted with other peers, and has to hear of
 * it while it still keeps silent (`member.ts`).
 *
 * With two connections a pair, one of them may be missing for good: a member whose address is not the same in all
 * lists of peers dials the others, and is dialled by nobody. Each side knows half of that, and says it: {@link
 * Connections.problemOf}.
 */

import { dialTcp, type TcpDialer } from '../../node/tcp/dial.ts';
import { UnreachableError } from '../../node/tcp/errors.ts';
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
  readonly #addresses = new Map<string, string>();
  /**
   * Members that have connected to us since they are known. Anybody can connect under any name, so nobody else is
   * kept.
   */
  readonly #seen = new Set<string>();
  /** Members of which something was said, and what. */
  readonly #complainedOf = new Map<string, Complaint>();
  /** Members of the view before may not know of those of this one yet. */
  #isChanging = false;
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
        stays: (address) => [...this.#addresses.values()].includes(address),
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

  /** Where these members are, from here on. Until {@link keep} the group may be changing. */
  know(addresses: ReadonlyMap<string, string>, isChanging = false): void {
    this.#isChanging = isChanging;
    for (const [member, address] of addresses) {
      this.#addresses.set(member, address);
      if (this.#isConnectedToUs(member)) this.#seen.add(member);
    }
  }

  /** Nobody but these is a member any more. */
  keep(members: readonly string[]): void {
    this.#isChanging = false;
    for (const member of [...this.#addresses.keys()]) {
      if (members.includes(member)) continue;
      for (const known of [this.#addresses, this.#seen, this.#complainedOf]) known.delete(member);
    }
    for (const [member, complaint] of this.#complainedOf) {
      if (complaint === 'not-moved') this.#tell(member, this.problemOf(member));
    }
  }

  addressOf(member: string): string | undefined {
    return this.#addresses.get(member);
  }

  /** Leaves at once: what could travel together is together already, in the packet. */
  send(to: string, packet: Packet): void {
    const address = this.#addresses.get(to);
    if (address === undefined || this.#strangerFor(to, address) !== undefined) return;
    for (const frame of encodePacket(packet)) this.#dialer.send(address, frame);
    this.#dialer.flush(address);
  }

  isConnected(member: string): boolean {
    const address = this.#addresses.get(member);
    if (address === undefined || this.#dialer.welcome(address) === undefined) return false;
    return this.#strangerFor(member, address) === undefined;
  }

  /** Why a member cannot be reached, or never was heard; undefined if it can, or nobody has tried. */
  problemOf(member: string): string | undefined {
    const address = this.#addresses.get(member);
    if (address === undefined) return 'its address is not known';
    const stranger = this.#strangerFor(member, address);
    if (stranger !== undefined) return this.#strangerWords(address, member, stranger);
    const problem = this.#dialer.problems().get(address)?.message;
    if (problem !== undefined) return this.#isElsewhere(member) ? `${ELSEWHERE}: ${problem}` : problem;
    if (!this.isConnected(member) || this.#seen.has(member)) return undefined;
    if (this.#isChanging) return `${NEVER_CONNECTED}; it may not have moved to this view of the group yet`;
    const { id } = this.#options;
    return `${NEVER_CONNECTED}: is ${id} in its peers, and at ${this.#addresses.get(id)}? Or another process is ${id}, and is there`;
  }

  /** Says which members cannot be reached, and from here on whenever one no longer can, or can again. */
  tellWhoIsMissing(): void {
    this.#isTelling = true;
    for (const member of this.#addresses.keys()) this.#tell(member, this.problemOf(member));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isTelling = false;
    await this.#closing[Symbol.asyncDispose]();
  }

  #isThere(member: string): void {
    const address = this.#addresses.get(member);
    if (address === undefined) return;
    this.#seen.add(member);
    this.#dialer.hurry(address);
    if (this.isConnected(member)) this.#tell(member, undefined);
  }

  /**
   * It is connected to us, but nobody is where we look for it. Right after a loss we may not have noticed that both
   * are.
   */
  #isElsewhere(member: string): boolean {
    const problem = this.#dialer.problems().get(this.#addresses.get(member) ?? '');
    return problem instanceof UnreachableError && this.#isConnectedToUs(member);
  }

  #isConnectedToUs(member: string): boolean {
    return [...this.#listener.peers.values()].some(({ role }) => role === member);
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
    for (const [member, its] of this.#addresses) {
      if (its !== address) continue;
      const why = this.problemOf(member);
      // One that we have only just connected to may be about to connect to us.
      if (why === undefined || !this.isConnected(member)) this.#tell(member, why);
    }
  }

  /**
   * Who is there, if it is somebody else. While a group changes an address may be that of one, and then of the next.
   */
  #strangerFor(wanted: string, address: string): Readonly<Record<string, string>> | undefined {
    const greeting = this.#dialer.welcome(address)?.greeting;
    if (greeting === undefined) return undefined;
    return greeting['member'] === wanted && greeting['group'] === this.#options.group ? undefined : greeting;
  }

  #strangerWords(address: string, wanted: string, stranger: Readonly<Record<string, string>>): string {
    const { member = 'nobody', group = 'no group' } = stranger;
    const found = `at ${address} is ${member} of group ${group}`;
    return member === wanted
      ? `${found}, and we are of group ${this.#options.group}: start both with the same group`
      : `${found}, not ${wanted} of ${this.#options.group}: mend the addresses in peers`;
  }

  #tell(member: string, why: string | undefined): void {
    const { id, logger } = this.#options;
    if (member === id || !this.#isTelling) return;
    const address = this.#addresses.get(member);
    if (why === undefined) {
      // Nothing may be wrong, either, because it is tried again and nobody knows yet.
      if (!this.isConnected(member)) return;
      const told = this.#complainedOf.get(member);
      if (told === undefined) return;
      this.#complainedOf.delete(member);
      if (told === 'unheard' || told === 'not-moved')
        logger.info(`member ${member} has connected to us`, { member, address });
      else logger.info(`member ${member} can be reached again`, { member, address });
      return;
    }
    const complaint = this.#complaintOf(member);
    const told = this.#complainedOf.get(member);
    if (told === 'elsewhere' || told === complaint) return;
    this.#complainedOf.set(member, complaint);
    const facts = { member, address, why };
    if (complaint === 'unheard') logger.warn(`member ${member} has never connected to us`, facts);
    else if (complaint === 'not-moved') logger.info(`member ${member} has not connected to us yet`, facts);
    else logger.warn(`member ${member} cannot be reached`, facts);
  }

  /** What is the matter with one that something is the matter with. */
  #complaintOf(member: string): Complaint {
    if (this.isConnected(member)) return this.#isChanging ? 'not-moved' : 'unheard';
    return this.#isElsewhere(member) ? 'elsewhere' : 'unreachable';
  }
}

/** `unheard` and `not-moved`: we are connected to it, and it has never been to us. */
type Complaint = 'unreachable' | 'elsewhere' | 'unheard' | 'not-moved';

const NEVER_CONNECTED = 'it has never connected to us';

const ELSEWHERE = 'it runs, for it is connected to us, but its address in our peers may be wrong';

/** What a dialler says of addresses is said here of members, once each. */
const inDetail = (logger: Logger): Logger => ({
  debug: (message, facts) => logger.debug(message, facts),
  info: (message, facts) => logger.debug(message, facts),
  warn: (message, facts) => logger.debug(message, facts),
  error: (message, facts) => logger.error(message, facts),
});
