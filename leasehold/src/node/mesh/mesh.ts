/**
 * Links among the named members of a group. Each member listens and dials every other. A member sends over the connections that it
 * dialled, and receives over the connections that it accepted:
 *
 *     a ── dialled by a ──► b          two connections a pair, each for one direction:
 *     a ◄── dialled by b ── b          the two need not agree on which of two to keep
 *
 * **Identity.** The handshake carries the sender's name, so a message counts as said by that name. The name is no proof; the network or
 * certificates have to keep others away. The dialled member says its name too, so an address that leads to another
 * member, or into another group, is found out. `introduction.ts` has the settings that two members must have in common.
 *
 * **Names, not addresses.** A message goes to a name; {@link Mesh.setPeers} says where the names are, and may change that at any time.
 *
 * **A connection without traffic stays**, and one from which nothing came for {@link MEMBER_LINK}`.silentAfterMs` is closed and dialled again: after
 * a cut, TCP alone would take minutes. A member that was away and dials us is dialled at once, because it may have been restarted and
 * has to hear from us soon.
 *
 * **Health in one place.** With two connections a pair, one of them may be missing for good: a member whose address is not the same in
 * all lists of peers dials the others, and is dialled by none. Each side knows half of that, and {@link Mesh.problemOf} says which.
 *
 * Nothing waits for a peer and nothing is thrown at the sender: queues are bounded, and what does not fit is dropped and counted, as a
 * network would. All messages to a peer of one turn leave in one write.
 */

import { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import type { Codec } from '../../runtime/codec.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';
import type { Address } from '../tcp/address.ts';
import type { PeerInfo } from '../tcp/connection.ts';
import type { TcpCounters } from '../tcp/counters.ts';
import { dialTcp, type TcpDialer } from '../tcp/dial.ts';
import { HandshakeRefusedError, TransportClosedError, UnreachableError } from '../tcp/errors.ts';
import type { Hello, ProtocolId, Texts } from '../tcp/handshake.ts';
import { MEMBER_LINK, type TcpLimits } from '../tcp/limits.ts';
import { listenTcp, type TcpListener } from '../tcp/listen.ts';
import type { SecureSockets } from '../tcp/secure-sockets.ts';
import type { GrantModule } from '../identity/grants.ts';
import { type Identity, UNRESTRICTED } from '../identity/peer-identity.ts';
import { DuplicateNames } from './duplicate-names.ts';
import { clientsNotServed, nameInUse } from './errors.ts';
import { checkOwnRole, type Gate, refusalOfPeer, refusalOfServer } from '../identity/gate.ts';
import { type Introduction, isClient, mismatch, textsOf } from './introduction.ts';

export interface MeshOptions<Out, In> {
  readonly codec: Codec<Out, In>;
  readonly protocol: ProtocolId;
  /** The name of this member, and one run of this process under it. */
  readonly name: string;
  readonly incarnation: string;
  readonly group: string;
  /** Which module's grants are asked for. @default none: a peer may be everything */
  readonly module?: GrantModule | undefined;
  /**
   * Settings by name that must be equal at all members, as must the group; a process with others is refused, and both sides say which
   * setting differs. The later one of two processes under one name is refused as well. Undefined: nothing is refused, and the protocol
   * compares what it needs in its own messages.
   */
  readonly agreed?: Texts | undefined;
  readonly listen: Address;
  /** Told to members that do not have this one in their peers; see {@link Mesh.addressSaidBy}. */
  readonly address?: string | undefined;
  /** How sockets are made; undefined for plain ones. */
  readonly secure: SecureSockets | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** Bounds that differ from those of every mesh. */
  readonly limits?: Partial<TcpLimits> | undefined;
  /** A message of the process that introduced itself with this name. The name need not be one of {@link Mesh.peers}. */
  receive(from: string, message: In): void;
  onPeer?(name: string, state: PeerState): void;
  /** Processes that are no members and connect to the same port; see `clientTexts`. @default refused */
  readonly clients?: MeshClients<In> | undefined;
}

/**
 * `connected`: messages to the peer arrive from now on. `disconnected`: a connection to or from the peer ended. `duplicated`: two live
 * processes use this name, which may be the own name; told once for as long as they do.
 */
export type PeerState = 'connected' | 'disconnected' | 'duplicated';

export interface MeshClients<In> {
  /**
   * @param client names the connection, for {@link Mesh.sendToClient}
   * @param name as the client introduced itself on that connection
   */
  receive(client: string, message: In, name: string): void;
  onClient?(client: PeerInfo, state: 'connected' | 'disconnected'): void;
}

/** Whether the set of peers is about to change: then a peer may not know yet that this member is one of its peers. */
export type PeersState = 'settled' | 'changing';

/** For how long the later one of two processes under one name is refused. */
const REFUSED_FOR_MS = 60_000;

const LIMITS = { ...MEMBER_LINK, connections: 1_000 };

/**
 * Resolves when it listens. A peer is dialled when the first message is sent to it.
 *
 * Meshes of this process in different groups may listen at one address (`tcp/port.ts`).
 *
 * @throws {PortInUseError} if another process listens there, or this process in the same group
 * @throws {SharedAddressError} if other groups of this process listen there with other certificates or limits
 * @throws {AddressUnavailableError} if this machine has no such address
 * @throws {RefusedError} NOT_ALLOWED if the own token does not allow the own name
 */
export async function openMesh<Out, In>(options: MeshOptions<Out, In>): Promise<Mesh<Out, In>> {
  const { listen, codec, protocol, runtime, logger, secure } = options;
  const gate = gateOf(options);
  if (gate !== undefined && secure !== undefined) checkOwnRole(gate, 'server', options.name, secure.own);
  let mesh: Mesh<Out, In> | undefined;
  const introduction = introductionOf(options);
  const listener = await listenTcp({
    ...{ ...listen, codec, protocol, runtime, logger, limits: { ...LIMITS, ...options.limits }, secure },
    group: options.group,
    greeting: textsOf(introduction),
    refuses: (hello, identity) =>
      refusalByGate(gate, hello, identity) ??
      refusalOf(hello, introduction, options.clients !== undefined) ??
      mesh?.refusalOfName(hello),
    onPeer: (peer, state) => mesh?.inboundChanged(peer, state),
  });
  mesh = new Mesh(options, listener);
  return mesh;
}

export class Mesh<Out, In> implements AsyncDisposable {
  readonly #options: MeshOptions<Out, In>;
  readonly #closing = new AsyncDisposableStack();
  readonly #listener: TcpListener<Out, In>;
  readonly #dialer: TcpDialer<Out, In>;
  readonly #addresses = new Map<string, string>();
  /**
   * The peers that have connected to us since they are peers. Any process can connect under any name, so no other name is kept.
   */
  readonly #heard = new Set<string>();
  readonly #duplicates: DuplicateNames;
  /** The names under which two processes run, with the incarnation that is refused, and since when. */
  readonly #refusedNames = new Map<string, { readonly incarnation: string; readonly since: Instant }>();
  #isNameTaken = false;
  /** The peers of which a problem was logged, and which problem. */
  readonly #logged = new Map<string, Problem>();
  #peersState: PeersState = 'settled';
  #isLogging = false;
  #isClosed = false;

  /** @internal */
  constructor(options: MeshOptions<Out, In>, listener: TcpListener<Out, In>) {
    this.#options = options;
    const { codec, protocol, runtime, logger, name, secure } = options;
    const introduction = introductionOf(options);
    this.#duplicates = new DuplicateNames(options.limits?.silentAfterMs ?? MEMBER_LINK.silentAfterMs);
    this.#listener = this.#closing.use(listener);
    this.#dialer = this.#closing.use(
      dialTcp({
        ...{ codec, protocol, role: name, runtime, secure, limits: { ...LIMITS, ...options.limits } },
        introduction: textsOf(introduction),
        logger: asDetail(logger),
        expects: (address, identity) => this.#refusalOfServer(address, identity),
        refuses: ({ greeting }) => mismatch(introduction, greeting, greeting['member'] ?? 'the other side'),
        onState: (address, state, why) => this.#outboundChanged(address, state, why),
        stays: (address) => [...this.#addresses.values()].includes(address),
      }),
    );
    listener.listen((connection, message) => this.#received(connection, message));
  }

  get port(): number {
    return this.#listener.port;
  }

  /** The peers and their addresses; the own name is among them if {@link setPeers} was given it. */
  get peers(): ReadonlyMap<string, string> {
    return this.#addresses;
  }

  /** Of the connections that this member accepted, and of those that it dialled. */
  get counters(): { readonly inbound: Readonly<TcpCounters>; readonly outbound: Readonly<TcpCounters> } {
    return { inbound: this.#listener.counters, outbound: this.#dialer.counters };
  }

  /** From now on these are the peers, and this is where they are. */
  setPeers(peers: ReadonlyMap<string, string>, state: PeersState = 'settled'): void {
    this.#peersState = state;
    for (const name of [...this.#addresses.keys()]) {
      if (peers.has(name)) continue;
      for (const known of [this.#addresses, this.#heard, this.#logged]) known.delete(name);
    }
    for (const [name, address] of peers) {
      this.#addresses.set(name, address);
      if (this.#isConnectedToUs(name)) this.#heard.add(name);
    }
    if (state === 'changing') return;
    for (const [name, problem] of this.#logged)
      if (problem === 'not-moved') this.#log(name, this.problemOf(name));
  }

  /** Leaves at the end of this turn, with everything else for this peer; see {@link flush}. Dropped if the peer is not known. */
  send(to: string, message: Out): void {
    const address = this.#addresses.get(to);
    if (address === undefined || this.#occupantOf(address, to) !== undefined) return;
    this.#dialer.send(address, message);
  }

  /** All messages to this peer leave now: nothing more is to go with them. */
  flush(to: string): void {
    const address = this.#addresses.get(to);
    if (address !== undefined) this.#dialer.flush(address);
  }

  /** Where a process that is connected to us says that it can be dialled. Not a proof. */
  addressSaidBy(name: string): string | undefined {
    const peers = [...this.#listener.peers.values()];
    return peers.findLast(({ role, introduction }) => role === name && !isClient(introduction))?.introduction[
      'address'
    ];
  }

  sendToClient(client: string, message: Out): void {
    this.#listener.send(client, message);
  }

  isConnected(name: string): boolean {
    const address = this.#addresses.get(name);
    if (address === undefined || this.#dialer.welcome(address) === undefined) return false;
    return this.#occupantOf(address, name) === undefined;
  }

  /** Why a peer cannot be reached, or is not heard from; undefined if all is well, or nothing was sent to it yet. */
  problemOf(name: string): string | undefined {
    const address = this.#addresses.get(name);
    if (address === undefined) return 'its address is not known';
    const occupant = this.#occupantOf(address, name);
    if (occupant !== undefined) return this.#occupantWords(address, name, occupant);
    const problem = this.#dialer.problems().get(address)?.message;
    if (problem !== undefined) return this.#isElsewhere(name) ? `${ELSEWHERE}: ${problem}` : problem;
    if (this.#refusedNames.has(name)) return DUPLICATED;
    if (!this.isConnected(name) || this.#heard.has(name)) return undefined;
    if (this.#peersState === 'changing')
      return `${NEVER_CONNECTED}; it may not have moved to this view of the group yet`;
    const own = this.#options.name;
    return `${NEVER_CONNECTED}: is ${own} in its peers, and at ${this.#addresses.get(own)}? Or another process is ${own}, and is there`;
  }

  /** Logs which peers cannot be reached; from then on also whenever that changes. */
  logProblems(): void {
    this.#isLogging = true;
    for (const name of this.#addresses.keys()) this.#log(name, this.problemOf(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isLogging = false;
    this.#isClosed = true;
    await this.#closing[Symbol.asyncDispose]();
  }

  /** @internal A connection that another process made. */
  inboundChanged(peer: PeerInfo, state: 'connected' | 'disconnected'): void {
    const { id, role: name, introduction } = peer;
    if (isClient(introduction)) {
      this.#options.clients?.onClient?.(peer, state);
      return;
    }
    if (state === 'disconnected') {
      this.#duplicates.disconnected(id);
      this.#tell(name, 'disconnected');
      return;
    }
    this.#duplicates.connected(id, name, introduction['incarnation'] ?? '', this.#options.runtime.now());
    const address = this.#addresses.get(name);
    if (address === undefined) return;
    this.#heard.add(name);
    this.#dialer.hurry(address);
    if (this.isConnected(name)) this.#log(name, undefined);
  }

  /** @internal */
  refusalOfName({ role: name, introduction }: Hello): LeaseholdError | undefined {
    const refused = this.#refusedNames.get(name);
    if (refused === undefined || this.#options.agreed === undefined) return undefined;
    return refused.incarnation === introduction['incarnation'] ? nameInUse(name) : undefined;
  }

  #outboundChanged(address: string, state: 'connected' | 'disconnected', reason?: LeaseholdError): void {
    if (reason instanceof HandshakeRefusedError && reason.reason === 'NAME_IN_USE' && !this.#isNameTaken) {
      this.#isNameTaken = true;
      this.#tell(this.#options.name, 'duplicated');
    }
    for (const [name, its] of this.#addresses) {
      if (its !== address) continue;
      const why = this.problemOf(name);
      // A peer to which we have only just connected may be about to connect to us.
      if (why === undefined || !this.isConnected(name)) this.#log(name, why);
      if (state === 'disconnected' || this.isConnected(name)) this.#tell(name, state);
    }
  }

  /**
   * Why the process at an address is none of the members that are dialled there: with one address a member, not the one member. Any member may say that it is at the
   * address of another, so one of them suffices, and what is sent to a name is compared with the name ({@link #occupantOf}). A refusal from an address that is no member's any
   * more would count like a member's, so nothing is heard from there either.
   */
  #refusalOfServer(address: string, identity: Identity): LeaseholdError | undefined {
    const gate = gateOf(this.#options);
    if (gate === undefined || identity === UNRESTRICTED) return undefined;
    const names = [...this.#addresses].flatMap(([name, its]) => (its === address ? [name] : []));
    if (names.length === 0) return new TransportClosedError(`${address} is no member's address any more`);
    const refusals = names.map((name) => refusalOfServer(gate, name, address, identity));
    return refusals.includes(undefined) ? undefined : refusals[0];
  }

  #received(connection: string, message: In): void {
    const peer = this.#listener.peers.get(connection);
    if (peer === undefined) return;
    if (isClient(peer.introduction)) {
      this.#options.clients?.receive(connection, message, peer.role);
      return;
    }
    this.#checkDuplicate(peer.role);
    this.#options.receive(peer.role, message);
  }

  #checkDuplicate(name: string): void {
    const { runtime, logger, agreed } = this.#options;
    const now = runtime.now();
    const refused = this.#refusedNames.get(name);
    if (refused !== undefined && now - refused.since >= REFUSED_FOR_MS) this.#refusedNames.delete(name);
    const incarnation = this.#duplicates.laterOf(name, now);
    if (incarnation === undefined || refused !== undefined || !this.#addresses.has(name)) return;
    this.#refusedNames.set(name, { incarnation, since: now });
    const peers = [...this.#listener.peers.values()].filter(({ role }) => role === name);
    const from = peers.map(({ remote }) => remote).join(', ');
    logger.error(`two processes run as member ${name}: stop one of them`, { member: name, from });
    this.#tell(name, 'duplicated');
    if (agreed === undefined) return;
    for (const { id, introduction } of peers)
      if (introduction['incarnation'] === incarnation) this.#listener.close(id, nameInUse(name));
  }

  #tell(name: string, state: PeerState): void {
    if (!this.#isClosed && (this.#addresses.has(name) || name === this.#options.name))
      this.#options.onPeer?.(name, state);
  }

  /** The peer is connected to us, but nobody listens at its address. Right after a loss both connections may be gone. */
  #isElsewhere(name: string): boolean {
    const problem = this.#dialer.problems().get(this.#addresses.get(name) ?? '');
    return problem instanceof UnreachableError && this.#isConnectedToUs(name);
  }

  #isConnectedToUs(name: string): boolean {
    return [...this.#listener.peers.values()].some(({ role }) => role === name);
  }

  /** The introduction of the process at an address, if that process is not the wanted peer. */
  #occupantOf(address: string, wanted: string): Texts | undefined {
    const greeting = this.#dialer.welcome(address)?.greeting;
    if (greeting === undefined) return undefined;
    // The address may have become this member's while the connection stood.
    const identity = this.#dialer.identity(address);
    const gate = gateOf(this.#options);
    if (gate !== undefined && identity !== undefined && refusalOfServer(gate, wanted, address, identity)) {
      return greeting;
    }
    return greeting['member'] === wanted && greeting['group'] === this.#options.group ? undefined : greeting;
  }

  #occupantWords(address: string, wanted: string, occupant: Texts): string {
    const { member = 'nobody', group = 'no group' } = occupant;
    const found = `at ${address} is ${member} of group ${group}`;
    return member === wanted
      ? `${found}, and we are of group ${this.#options.group}: start both with the same group`
      : `${found}, not ${wanted} of ${this.#options.group}: mend the addresses in peers`;
  }

  /** @param why undefined if all is well with the peer, or if nothing is known because a connection is being tried */
  #log(name: string, why: string | undefined): void {
    const { name: own, logger } = this.#options;
    if (name === own || !this.#isLogging) return;
    const address = this.#addresses.get(name);
    const logged = this.#logged.get(name);
    if (why === undefined) {
      if (!this.isConnected(name) || logged === undefined) return;
      this.#logged.delete(name);
      const isFirstTime = logged === 'unheard' || logged === 'not-moved';
      const what = isFirstTime ? 'has connected to us' : 'can be reached again';
      logger.info(`member ${name} ${what}`, { member: name, address });
      return;
    }
    const problem = this.#kindOfProblem(name);
    if (logged === 'elsewhere' || logged === problem) return;
    this.#logged.set(name, problem);
    const facts = { member: name, address, why };
    if (problem === 'unheard') logger.warn(`member ${name} has never connected to us`, facts);
    else if (problem === 'not-moved') logger.info(`member ${name} has not connected to us yet`, facts);
    else logger.warn(`member ${name} cannot be reached`, facts);
  }

  #kindOfProblem(name: string): Problem {
    if (this.isConnected(name)) return this.#peersState === 'changing' ? 'not-moved' : 'unheard';
    return this.#isElsewhere(name) ? 'elsewhere' : 'unreachable';
  }
}

/** `unheard` and `not-moved`: we are connected to the peer, and the peer has never connected to us. */
type Problem = 'unreachable' | 'elsewhere' | 'unheard' | 'not-moved';

const NEVER_CONNECTED = 'it has never connected to us';

const ELSEWHERE = 'it runs, for it is connected to us, but its address in our peers may be wrong';

const DUPLICATED = 'two processes run under this name: stop one of them';

const introductionOf = <Out, In>(options: MeshOptions<Out, In>): Introduction => {
  const { name, group, incarnation, agreed, address } = options;
  return { name, group, incarnation, agreed, address };
};

const gateOf = ({ module, group }: { module?: GrantModule | undefined; group: string }): Gate | undefined =>
  module === undefined ? undefined : { module, group };

/** Asked before anything else: a process that may not be here learns neither names nor settings. */
function refusalByGate(gate: Gate | undefined, { role, introduction }: Hello, identity: Identity) {
  if (gate === undefined) return undefined;
  return refusalOfPeer(gate, isClient(introduction) ? 'client' : 'server', role, identity);
}

function refusalOf({ role, introduction: theirs }: Hello, ours: Introduction, servesClients: boolean) {
  if (isClient(theirs) && !servesClients) return clientsNotServed(ours.name, ours.group);
  return mismatch(ours, theirs, role);
}

/** The dialler logs about addresses; the mesh logs about members, once each. */
const asDetail = (logger: Logger): Logger => ({
  debug: (message, facts) => logger.debug(message, facts),
  info: (message, facts) => logger.debug(message, facts),
  warn: (message, facts) => logger.debug(message, facts),
  error: (message, facts) => logger.error(message, facts),
});
