/**
 * The ways to the other replicas. Each replica dials every other, sends over the connections that were dialled, and receives over the
 * connections that were accepted, as members of flease do. This is not `node/mesh`, which knows peers by name: here two directories of
 * one name may be alive, and both must be reached (decision 0165).
 *
 * A connection begins with a hello that names the sender's directory. These are refused:
 *
 *  - **another cell**, or **another cluster**: a cell of the same name that was founded elsewhere (`core/founding.ts`).
 *  - **an emptied directory**: a name that the cell knows with another storage id, unless the replica joins anew. The
 *    votes would not count anyway, but the operator must know.
 *  - **an old copy**: a directory of which a later life was heard. Votes since the copy was made are not in it.
 *  - **a directory that runs twice**: the same life, but another process.
 *  - **a later life while an earlier process is connected**: only one process of a directory is heard at a time. Usually the
 *    earlier process has just ended, and its connection ends within `silentAfterMs`; so the later process is asked to wait
 *    (`still-connected`) and dials again. An earlier connection that is open after twice that time was heard since the later
 *    process began: the later process has a copy, and lacks the votes of the earlier one (`running-twice`).
 *
 * **A life is durable here before a word of it is heard.** From then on no earlier life of that directory is heard, not even after
 * a restart of this replica. So a copy and its original never both speak to one member, whatever links break meanwhile;
 * whether the copy has every vote is asked next (`core/check-in.ts`). The hello proves nothing: that is for certificates or for
 * the network.
 */

import { type DialOptions, dialTcp, type TcpDialer } from '../../node/tcp/dial.ts';
import { MEMBER_LINK, type TcpLimits } from '../../node/tcp/limits.ts';
import type { TcpListener } from '../../node/tcp/listen.ts';
import type { DialSockets } from '../../node/tcp/sockets.ts';
import { refusalOfServer } from '../../node/identity/gate.ts';
import { type Identity as NodeIdentity, UNRESTRICTED } from '../../node/identity/peer-identity.ts';
import { TransportClosedError } from '../../node/tcp/errors.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import { type LeaseholdError, MalformedMessageError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';
import { type Hello, nameOf } from '../core/founding.ts';
import { isRefusalReason, type Refusal, refusalBy, type RefusalReason } from '../core/errors.ts';
import type { Message } from '../core/messages.ts';
import { PEER_FRAME_BYTES_MAX } from '../wire/bounds.ts';
import type { Reply } from '../wire/calls.ts';
import { type Inbound, QUORUM_PROTOCOL, replicaCodec } from '../wire/codec.ts';
import type { PeerMessage } from '../wire/messages.ts';

/** Both sides keep to these. */
export const PEER_LIMITS: typeof MEMBER_LINK & Pick<TcpLimits, 'frameBytesIn' | 'queueBytesOut'> = {
  ...MEMBER_LINK,
  frameBytesIn: PEER_FRAME_BYTES_MAX,
  queueBytesOut: PEER_FRAME_BYTES_MAX,
};

/** Refusals that end by themselves. */
const ASKED_AGAIN: ReadonlySet<RefusalReason> = new Set<RefusalReason>([
  ...(['still-connected', 'not-noted', 'not-joined'] as const),
]);

/** Refusals by a replica that may stand at this address by mistake: they must not end this one. */
const ENDS_NOTHING: ReadonlySet<RefusalReason> = new Set<RefusalReason>([
  ...(['another-cell', 'another-cluster', 'unknown-name', 'own-address'] as const),
]);

/** What a replica needs of its listener. */
export type PeerListener = Pick<
  TcpListener<readonly Reply[], Inbound>,
  'listen' | 'send' | 'admit' | 'dismiss' | 'close'
> & { readonly peers: ReadonlyMap<string, { readonly identity: NodeIdentity }> };

/** What a replica needs to dial others. */
export type PeerDialer = Pick<
  TcpDialer<PeerMessage, readonly Reply[]>,
  'listen' | 'send' | 'welcome' | 'identity' | 'hurry' | 'problems' | typeof Symbol.asyncDispose
>;

export type PeerDialOptions = DialOptions<PeerMessage, readonly Reply[]>;

export interface PeerLinksOptions {
  readonly cell: string;
  readonly listener: PeerListener;
  /** How others are dialled. @default TCP */
  readonly dial?: ((options: PeerDialOptions) => PeerDialer) | undefined;
  readonly secure: DialSockets | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** Addresses of replicas by name, this one not among them. */
  readonly peers: ReadonlyMap<string, string>;
  /** The present hello of this replica. */
  hello(): Hello;
  /** Why a replica that introduces itself so is not heard; undefined if it is. */
  judge(hello: Hello): RefusalReason | undefined;
  /** Writes down that this life of the directory was heard. Durable when the promise resolves; undefined if it is already. */
  note(hello: Hello): Promise<void> | undefined;
  /** A replica has introduced itself. */
  greeted(hello: Hello): void;
  receive(storage: string, message: Message): void;
  /** Another replica refuses this one, for good. */
  refused(refusal: Refusal): void;
}

interface Waiting {
  readonly process: string;
  /** When its last hello came. */
  readonly at: Instant;
  readonly waitedMs: number;
}

export class PeerLinks implements AsyncDisposable {
  readonly #options: PeerLinksOptions;
  readonly #dialer: PeerDialer;
  /** Addresses by name, from the options. */
  readonly #addresses: Map<string, string>;
  /** Addresses by storage id, as the replicas say: two directories may have one name, an old one and its replacement. */
  readonly #heardAt = new Map<string, string>();
  /** Which process of which directory speaks over a connection that was accepted. */
  readonly #speakers = new Map<string, Hello>();
  /** Connections whose hello is being written down. */
  readonly #noting = new Set<string>();
  /** The process that waits for the end of an earlier one, by storage id. */
  readonly #waiting = new Map<string, Waiting>();
  /** The refusals that are only logged, by the address that was dialled: once, until a replica from there is heard. */
  readonly #refusals = new Map<string, string>();
  readonly #episodes: EpisodeLog;

  constructor(options: PeerLinksOptions) {
    this.#options = options;
    this.#addresses = new Map(options.peers);
    const { runtime, logger, secure, dial = dialTcp } = options;
    this.#episodes = new EpisodeLog(logger, runtime);
    this.#dialer = dial({
      ...{ codec: replicaCodec, protocol: QUORUM_PROTOCOL, role: 'replica', runtime, logger, secure },
      limits: PEER_LIMITS,
      expects: (address, identity) => this.#refusalOfServer(address, identity),
      preface: () => [options.hello()],
      stays: (address) =>
        [...this.#addresses.values(), ...this.#heardAt.values()].some((each) => each === address),
    });
    this.#dialer.listen((address, replies) => this.answered(address, replies));
  }

  /** Connects to every replica that is known, and says the present hello where there is a connection. */
  introduce(): void {
    const addresses = new Set([...this.#addresses.values(), ...this.#heardAt.values()]);
    for (const address of addresses) this.#dialer.send(address, this.#options.hello());
  }

  /** The clusters of the replicas at the addresses that the operator gave. */
  get clusters(): readonly string[] {
    return [...this.#addresses].flatMap(([name, address]) =>
      this.#isOther(address, name) ? [] : (this.#dialer.welcome(address)?.greeting['cluster'] ?? []),
    );
  }

  /** The hellos of all connections that speak. */
  get speakers(): readonly Hello[] {
    return [...this.#speakers.values()];
  }

  /** This replica knows more than before: a replica that speaks may have to be refused. */
  judgeAgain(): void {
    for (const [connection, hello] of this.#speakers) {
      const reason = this.#options.judge(hello);
      if (reason !== undefined) this.#refuse(connection, hello, reason);
    }
  }

  /** A replica was heard of at this address. */
  know(storage: string, address: string): void {
    if (this.#heardAt.get(storage) === address || storage === this.#options.hello().storage) return;
    const isDialled = this.addressOf(storage) === address;
    this.#heardAt.set(storage, address);
    if (!isDialled) this.#dialer.send(address, this.#options.hello());
  }

  addressOf(storage: string): string | undefined {
    return this.#heardAt.get(storage) ?? this.#addresses.get(nameOf(storage));
  }

  /** Lost if the replica is not connected, or another one is at its address: the protocol says everything again. */
  send(to: string, message: Message): void {
    const address = this.addressOf(to);
    if (address === undefined) return;
    const welcome = this.#dialer.welcome(address);
    if (welcome !== undefined && welcome.greeting['storage'] !== to) return;
    if (this.#isOther(address, nameOf(to))) return;
    this.#dialer.send(address, message);
  }

  isConnected(storage: string): boolean {
    const address = this.addressOf(storage);
    if (address === undefined || this.#isOther(address, nameOf(storage))) return false;
    return this.#dialer.welcome(address)?.greeting['storage'] === storage;
  }

  /** Why a replica cannot be spoken to. */
  problemOf(storage: string): string | undefined {
    const address = this.addressOf(storage);
    if (address === undefined) return 'its address is not known';
    const there = this.#dialer.welcome(address)?.greeting['storage'];
    if (this.isConnected(storage)) return undefined;
    if (there !== undefined) return `at ${address} is another directory, ${there}`;
    return this.#dialer.problems().get(address)?.message ?? 'not connected yet';
  }

  /** A frame of a replica arrived over a connection that was accepted. */
  heard(connection: string, message: PeerMessage): void {
    const { listener } = this.#options;
    if (message.kind === 'hello') {
      this.#greeted(connection, message);
      return;
    }
    const speaker = this.#speakers.get(connection);
    if (speaker !== undefined) this.#options.receive(speaker.storage, message);
    else if (!this.#noting.has(connection)) {
      const error = new MalformedMessageError('the message', 'must come after a hello');
      listener.dismiss(connection, error, []);
    }
  }

  /** The replica at an address that was dialled has answered: with a refusal, if at all. */
  answered(address: string, replies: readonly Reply[]): void {
    for (const reply of replies) {
      if (reply.kind !== 'failed' || !isRefusalReason(reply.code)) continue;
      const greeting = this.#dialer.welcome(address)?.greeting;
      const refusal = refusalBy(greeting?.['name'] ?? address, reply.code);
      const { reason, error } = refusal;
      if (ASKED_AGAIN.has(reason)) this.#episodes.happened(`wait at ${address}`, error.message);
      else if (ENDS_NOTHING.has(reason)) {
        this.#refusals.set(address, error.message);
        this.#episodes.met(error.message, { address });
      } else this.#options.refused(refusal);
    }
  }

  gone(connection: string): void {
    this.#speakers.delete(connection);
    this.#noting.delete(connection);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#episodes[Symbol.dispose]();
    await this.#dialer[Symbol.asyncDispose]();
  }

  /**
   * Why the process at an address is none of the replicas that are dialled there. A refusal ends a replica for good, so nothing is heard of any other process, whatever its
   * welcome says. One of them suffices: a replica may have come to the address of one that was removed, and any replica may say that it is at the address of another.
   */
  #refusalOfServer(address: string, identity: NodeIdentity): LeaseholdError | undefined {
    if (identity === UNRESTRICTED) return undefined;
    const names = new Set([
      ...[...this.#addresses].flatMap(([name, each]) => (each === address ? [name] : [])),
      ...[...this.#heardAt].flatMap(([storage, each]) => (each === address ? [nameOf(storage)] : [])),
    ]);
    if (names.size === 0) return new TransportClosedError(`${address} is no replica's address any more`);
    const refusals = [...names].map((name) => this.#refusalAt(address, name, identity));
    return refusals.includes(undefined) ? undefined : refusals[0];
  }

  /** Whether the process that is connected at this address may not be the replica of this name. */
  #isOther(address: string, name: string): boolean {
    const identity = this.#dialer.identity(address);
    return identity !== undefined && this.#refusalAt(address, name, identity) !== undefined;
  }

  #refusalAt(address: string, name: string, identity: NodeIdentity): LeaseholdError | undefined {
    return refusalOfServer({ module: 'quorum', group: this.#options.cell }, name, address, identity);
  }

  #greeted(connection: string, hello: Hello): void {
    const reason = this.#options.judge(hello) ?? this.#judgeProcess(hello);
    if (reason !== undefined) {
      this.#refuse(connection, hello, reason);
      return;
    }
    if (this.#noting.has(connection)) return;
    const noting = this.#options.note(hello);
    if (noting === undefined) this.#admit(connection, hello);
    else {
      this.#noting.add(connection);
      void noting.then(
        () => {
          if (this.#noting.delete(connection)) this.#greeted(connection, hello);
        },
        (error: unknown) => {
          if (!this.#noting.delete(connection)) return;
          const why = error instanceof Error ? error.message : String(error);
          this.#episodes.happened('note', 'could not write down what was heard of other replicas', { why });
          this.#refuse(connection, hello, 'not-noted');
        },
      );
    }
  }

  #admit(connection: string, hello: Hello): void {
    this.#options.listener.admit(connection);
    this.#speakers.set(connection, hello);
    this.know(hello.storage, hello.address);
    this.#options.greeted(hello);
    const refusal = this.#refusals.get(hello.address);
    if (refusal !== undefined) this.#episodes.over(refusal);
    this.#refusals.delete(hello.address);
    const address = this.addressOf(hello.storage);
    if (address !== undefined) this.#dialer.hurry(address);
  }

  #refuse(connection: string, hello: Hello, reason: RefusalReason): void {
    const { listener } = this.#options;
    const { error } = refusalBy(this.#options.hello().storage, reason);
    const facts = { replica: hello.storage, address: hello.address, reason };
    this.#episodes.happened(`${reason} ${hello.storage}`, 'a replica was refused', facts);
    listener.dismiss(connection, error, [{ kind: 'failed', id: 0, code: reason, message: error.message }]);
  }

  #judgeProcess({ storage, process }: Hello): RefusalReason | undefined {
    const isEarlierConnected = [...this.#speakers.values()].some(
      (speaker) => speaker.storage === storage && speaker.process !== process,
    );
    if (!isEarlierConnected) {
      this.#waiting.delete(storage);
      return undefined;
    }
    const at = this.#options.runtime.now();
    const before = this.#waiting.get(storage);
    // A long pause between two hellos counts little: this process may have stood still, and noticed no end of a connection.
    const waitedMs =
      before?.process === process
        ? before.waitedMs + Math.min(at - before.at, PEER_LIMITS.heartbeatEveryMs)
        : 0;
    this.#waiting.set(storage, { process, at, waitedMs });
    return waitedMs > 2 * PEER_LIMITS.silentAfterMs ? 'running-twice' : 'still-connected';
  }
}
