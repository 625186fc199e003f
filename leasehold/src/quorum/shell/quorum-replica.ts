/**
 * A running replica begins in one of three ways, and the directory remembers which:
 *
 *     founding    the directories of all replicas in the list have introduced themselves: they are the first members
 *     joining     another replica of the cell adds this one, which learns everything until then
 *     again       the journal says everything
 *
 * **Why founding waits for all.** The members at the beginning are named by their directories, and each replica writes down all
 * of them before it votes (`core/founding.ts`). A directory that is emptied later is then another one under any name, and is refused.
 * Until the first slot is chosen nothing is decided without all of them, so two different lists cannot both decide.
 *
 * **A founder checks in with everybody.** The directory that waited for the others may be a backup from that time, while the original
 * founded the cell and voted. The others then name it as a founder, and only they know that it has voted. As founding needs all of them
 * anyway, all of them are asked (`core/check-in.ts`). Only a directory whose id this very process drew has nothing to ask.
 */

import type { Service } from '../../node/service/service.ts';
import { ProgressMonitor } from '../../node/service/progress.ts';
import type { EventLog } from '../../node/service/event-log.ts';
import type { Told } from '../../node/service/handle-events.ts';
import { problemsOf, replicaChecks, whyNotReady } from './service/health.ts';
import { replicaService } from './service/service.ts';
import type { LockedDirectory } from '../../node/process/locked-directory.ts';
import { TransportClosedError } from '../../node/tcp/errors.ts';
import type { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import {
  type CallOptions,
  Closing,
  type Event,
  type EventsOptions,
  type Handle,
} from '../../runtime/handle.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { Condition } from '../../runtime/condition.ts';
import { waitWithin } from '../../runtime/wait-within.ts';
import {
  type Configuration,
  initialConfiguration,
  type Member,
  type ReaderMap,
  UNKNOWN_CELL,
} from '../core/configuration.ts';
import { awaitedOf, foundersOf, type Hello, isCorrected, nameOf, refusalOf } from '../core/founding.ts';
import { DEFAULT_LIMITS, type ResolvedQuorumDurations } from '../core/options.ts';
import { recover } from '../core/recovery.ts';
import { clusterOfOrigin, type Identity, writeIdentity } from './disk/identity.ts';
import { JournalDisk } from './disk/journal-disk.ts';
import type { FilePlaces } from './disk/place.ts';
import {
  directoryMismatch,
  closed,
  type RefusalReason,
  type Refusal,
  refusalBy,
  votesLost,
} from '../core/errors.ts';
import type { Call } from '../wire/calls.ts';
import type { Inbound } from '../wire/codec.ts';
import { CallDesk, Caller } from './call-desk.ts';
import type { HistoryEvents } from './change-history.ts';
import { checkKey } from './client-checks.ts';
import { copyOf } from './copies.ts';
import type { ReadEntry } from './client-types.ts';
import { type Doubt, doubtOf, tellOfDoubt } from './doubt.ts';
import { refusalOfFrame } from './gate.ts';
import { NotedFiles } from './noted-files.ts';
import { PeerLinks, type PeerLinksOptions } from './peer-links.ts';
import { CLIENT_TIMEOUT_MS, QuorumClient } from './quorum-client.ts';
import { ReplicaHost } from './replica-host.ts';
import { ReplicaLife } from './replica-life.ts';
import { ReplicaEvents } from './replica-events.ts';
import { factsOf, type ReplicaFacts, type ReplicaStatus } from './replica-status.ts';

/** @internal */
export interface QuorumReplicaOptions {
  readonly identity: Identity;
  /** The storage id was drawn by this process, for a replica that joins: nobody can have heard a vote of it. */
  readonly isNew: boolean;
  /** The directory was copied or restored. */
  readonly isCopy: boolean;
  readonly places: FilePlaces;
  readonly directory: LockedDirectory;
  readonly listener: PeerLinksOptions['listener'];
  readonly dial?: PeerLinksOptions['dial'];
  /** Told to everybody who connects; the replica adds the id of its cluster. */
  readonly greeting: Record<string, string>;
  /** Where other replicas and clients reach this one. */
  readonly address: string;
  readonly secure: PeerLinksOptions['secure'];
  /** All replicas of the list by name, with their addresses. */
  readonly peers: ReadonlyMap<string, string>;
  readonly placement: ReaderMap;
  readonly durations: ResolvedQuorumDurations;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** Drawn by this process. */
  readonly process: string;
  /** Closes the directory and the listener; the replica owns it. */
  readonly closing: AsyncDisposableStack;
}

/** A replica in this process. `client` asks it without a socket, `getLocal` reads its memory. */
export class QuorumReplica implements Handle<ReplicaStatus> {
  readonly name: string;
  readonly cell: string;
  readonly address: string;
  readonly #options: QuorumReplicaOptions;
  readonly #closing: AsyncDisposableStack;
  readonly #waiters = new Condition();
  readonly #end = new Closing();
  readonly #events: ReplicaEvents;
  /** How long the work of this replica has stood still. @internal */
  readonly progress: ProgressMonitor;
  readonly #links: PeerLinks;
  readonly #callers = new Map<string, Caller>();
  /** What else in this process wants to hear of changes. @internal */
  readonly residents: Set<HistoryEvents> = new Set<HistoryEvents>();
  /** The last hello of each other directory. */
  readonly #hellos = new Map<string, Hello>();
  readonly #contacts: string[] = [];
  /** The directories whose present life is written down. */
  readonly #noted = new Set<string>();
  #identity: Identity;
  #disk: JournalDisk | undefined;
  #serving: { readonly host: ReplicaHost; readonly desk: CallDesk } | undefined;
  #client: QuorumClient | undefined;
  #saving: Promise<void> = Promise.resolve();
  #opening: Promise<void> = Promise.resolve();
  readonly #life: ReplicaLife = new ReplicaLife();
  readonly #files: NotedFiles;

  /** @internal */
  toService(): Service {
    return replicaService(this);
  }

  /** @internal */
  constructor(options: QuorumReplicaOptions) {
    const { identity, listener, dial, secure, runtime, logger } = options;
    this.#options = options;
    this.#identity = identity;
    this.name = identity.name;
    this.cell = identity.cell;
    this.address = options.address;
    this.#closing = options.closing;
    this.#events = new ReplicaEvents(options.process, identity.cell, runtime);
    this.progress = this.#closing.use(new ProgressMonitor({ runtime, logger, checks: replicaChecks(this) }));
    this.#closing.defer(() => this.#saving);
    const { directory, places } = options;
    this.#files = new NotedFiles({
      ...{ directory, places, runtime, logger },
      frames: () => this.#disk?.frames,
      isOver: () => this.#life.isOver,
      noted: () => this.#waiters.look(),
      failed: (error) => this.#fail(error as LeaseholdError),
    });
    this.#closing.defer(() => this.#files.written);
    this.#closing.defer(() => this.#opening.catch(() => {})); // Otherwise the journal would be read from a closed directory.
    const others = [...options.peers].filter(([name]) => name !== identity.name);
    this.#links = this.#closing.use(
      new PeerLinks({
        ...{ listener, dial, secure, runtime, logger, peers: new Map(others), cell: identity.cell },
        hello: () => this.#hello(),
        judge: (hello) => this.#judge(hello),
        note: (hello) => this.#note(hello),
        greeted: (hello) => this.#greeted(hello),
        receive: (storage, message) => this.#serving?.host.receive(storage, message),
        refused: (error) => this.#refused(error),
      }),
    );
    // Addresses in the options are newer than those remembered: copies that are started elsewhere must not find the originals.
    for (const [storage, address] of Object.entries(identity.addresses))
      if (!options.peers.has(nameOf(storage))) this.#links.know(storage, address);
    listener.listen((connection, inbound) => {
      if (this.#isRefused(connection, inbound)) return;
      if (inbound.from === 'replica') this.#links.heard(connection, inbound.message);
      else this.#called(connection, inbound.calls);
    });
  }

  /** @internal */
  async begin(): Promise<void> {
    await this.#correct();
    const cluster = clusterOfOrigin(this.#identity.origin);
    if (cluster !== undefined) this.#options.greeting['cluster'] = cluster;
    this.#links.introduce();
    if (this.#identity.origin.kind === 'gathering') this.#found();
    else {
      this.#life.enter({ kind: 'opening', isFounder: false });
      await this.#open(false);
    }
    if (this.#life.error !== undefined) throw this.#life.error;
  }

  /** A client in this process: reads that this replica may answer by itself cost no message. */
  get client(): QuorumClient {
    const { cell } = this;
    const settings = { cell, timeoutMs: CLIENT_TIMEOUT_MS, id: `${this.#options.process}.client` };
    this.#client ??= this.#closing.use(
      QuorumClient.within(this.#options.runtime, settings, this.#options.durations.sessionMs, (send) => {
        const caller = new Caller(send);
        return {
          take: (calls) => this.#take(caller, calls),
          gone: () => this.#serving?.desk.gone(caller),
        };
      }),
    );
    return this.#client;
  }

  /**
   * The value of a key from this replica's memory, without a promise: as current as any read. Undefined if this replica may not
   * answer at once, because of a missing lease or a pending write; then ask {@link client}.
   */
  getLocal(key: string): ReadEntry | undefined {
    const peeked = typeof key === 'string' ? this.#serving?.host.peek(key) : undefined;
    const value = peeked?.found.value;
    if (value === undefined) checkKey(key); // A key with a value was checked when it was written.
    if (peeked === undefined) return undefined;
    const { found, position } = peeked;
    return { key, value: value && copyOf(value), revision: found.revision, served: 'local', position };
  }

  /**
   * Resolves when this replica serves: it is a member that knows a leader, its files are noted as its own, and its disk has room.
   *
   * @throws {UnavailableError} when the time is over
   * @throws the error that ended the replica
   */
  async ready(options: CallOptions = {}): Promise<void> {
    const { runtime } = this.#options;
    await waitWithin(runtime, ['quorum', 'the readiness of this replica'], options, (signal) =>
      this.#until(() => whyNotReady(this) === undefined, signal),
    );
  }

  /** The same, whatever the disk and the clocks do: a log in this process waits for both by itself. @internal */
  async entered(signal?: AbortSignal): Promise<void> {
    await this.#until(() => {
      const replica = this.#serving?.host.replica;
      return replica?.view.isMember === true && replica.leader !== undefined && this.areFilesNoted;
    }, signal);
  }

  #until(isSo: () => boolean, signal: AbortSignal | undefined): Promise<true> {
    return this.#waiters.until(() => {
      this.#checkOpen();
      return isSo() || undefined;
    }, signal);
  }

  /** What happens to this replica: `quorum.role`, `quorum.leader`, `quorum.members`, `quorum.disk-full`, `quorum.failed`. */
  events(options: EventsOptions = {}): AsyncIterable<Event> {
    return this.#events.follow(options);
  }

  /** @internal */
  get eventLog(): EventLog<Told<'quorum'>> {
    return this.#events.log;
  }

  /** @internal */
  get areFilesNoted(): boolean {
    return this.#files.areNoted;
  }

  /** Resolves when this replica is closed, or has ended by itself: then with the reason and advice. */
  get closed(): Promise<LeaseholdError | undefined> {
    return this.#end.closed;
  }

  /** The members are not known yet: the replica waits for all of its list. @internal */
  get isGathering(): boolean {
    return this.#identity.origin.kind === 'gathering';
  }

  /** The core with its disk, once there is one. @internal */
  get host(): ReplicaHost | undefined {
    return this.#serving?.host;
  }

  /** How this replica sees its cell: itself, the other replicas, the leader, leases and the disk. */
  status(): ReplicaStatus {
    const isOpen = !this.#life.isOver;
    const stalls = this.progress.stalls();
    const why = stalls.map((stall) => stall.why).join('; ');
    const isReady = isOpen && stalls.length === 0;
    return {
      ...{ ...this.facts(), isReady, problems: problemsOf(stalls) },
      waitsFor: isReady ? undefined : isOpen ? why : 'nothing: it has ended',
    };
  }

  /** @internal */
  facts(): ReplicaFacts {
    const { durations, runtime, placement } = this.#options;
    const host = this.#serving?.host;
    return factsOf({
      ...{ identity: this.#identity, address: this.address, host, links: this.#links, durations, placement },
      now: runtime.now(),
      awaited: this.#awaited(),
      known: [...this.#hellos.keys()],
      clients: this.#callers.size,
      watches: this.#serving?.desk.watches ?? 0,
    });
  }

  /** Lets other replicas go on without waiting for this one, and closes everything. */
  close(): Promise<void> {
    return this.#end.close(() => this.#close());
  }

  async #close(): Promise<void> {
    const closing = this.#serving?.host.close(); // Which says so to the others before the life is over.
    this.#life.closed();
    this.#waiters.look();
    await closing;
    await this.#files.close(this.#life.error !== undefined);
    await this.#closing[Symbol.asyncDispose]();
    this.#events.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** After every input. */
  #look(): void {
    this.#events.look(this.#serving?.host);
    this.#waiters.look();
  }

  #checkOpen(): void {
    if (this.#life.error !== undefined) throw this.#life.error;
    if (this.#life.isEnded || this.#end.isClosing) throw closed('replica');
  }

  // ── other replicas ──

  #hello(): Hello {
    const { cell, storage, life, origin } = this.#identity;
    const { process, address } = this.#options;
    const initial = origin.kind === 'founding' ? origin.members : undefined;
    return {
      ...{ kind: 'hello', cell, storage, life, process, address, initial },
      isJoining: origin.kind === 'joining',
      cluster: clusterOfOrigin(origin),
    };
  }

  #judge(hello: Hello): RefusalReason | undefined {
    const { cell, storage, origin, lives } = this.#identity;
    const members = this.#members().map((member) => member.storage);
    const cluster = clusterOfOrigin(origin);
    const joinable = origin.kind === 'joining' && cluster === undefined ? this.#links.clusters : undefined;
    const awaited = origin.kind === 'gathering' ? new Set(this.#options.peers.keys()) : undefined;
    const { process } = this.#options;
    return refusalOf(
      { cell, storage, process, cluster, joinable, lives, members, removed: this.#removed(), awaited },
      hello,
    );
  }

  #isMember(storage: string): boolean {
    const members = this.#members();
    return members.some((member) => member.storage === storage);
  }

  #members(): readonly Member[] {
    const { origin } = this.#identity;
    const members = this.#serving?.host.members ?? [];
    return members.length === 0 && origin.kind === 'founding' ? origin.members : members;
  }

  /** Directories that were removed from the cell. */
  #removed(): readonly string[] {
    const log = this.#serving?.host.replica?.view.log;
    return log?.configurationAt(log.committed).removed ?? []; // A removal that is not committed may yet be undone.
  }

  #greeted(hello: Hello): void {
    const { storage, address } = hello;
    this.#hellos.set(storage, hello);
    if (!this.#contacts.includes(storage)) this.#contacts.push(storage);
    const { addresses } = this.#identity;
    if (addresses[storage] !== address)
      this.#save({ addresses: this.#bounded({ ...addresses, [storage]: address }) });
    if (this.#identity.origin.kind === 'gathering') {
      this.#found();
      this.#compareList(hello);
    }
    this.#waiters.look();
  }

  /** A founder with another list waits for this replica, and this replica for that founder. */
  #compareList({ storage, initial }: Hello): void {
    const list = [...this.#options.peers.keys()];
    if (initial === undefined || !isCorrected(initial, list)) return;
    this.#options.logger.warn(
      'the cell is not founded: another replica was started with another list of replicas. Give all replicas the same list, and start them again',
      {
        ...{ replica: nameOf(storage), list: list.join(', ') },
        other: initial.map((member) => nameOf(member.storage)).join(', '),
      },
    );
  }

  /** Before a word of a life is heard, the life is written down, which says that no earlier life is heard again. */
  #note({ storage, life, process, cluster }: Hello): Promise<void> | undefined {
    const { lives, origin } = this.#identity;
    const known = lives[storage];
    const isJoining = origin.kind === 'joining' && origin.cluster === undefined && cluster !== undefined;
    const isKnown = known?.life === life && known.process === process && this.#noted.has(storage);
    if (isKnown && !isJoining) return undefined;
    this.#noted.delete(storage);
    this.#identity = {
      ...this.#identity,
      origin: isJoining ? { ...origin, cluster } : origin,
      lives: this.#bounded({ ...lives, [storage]: { life, process } }),
    };
    return this.#writeIdentity().then(() => {
      const { life: newest, process: newestProcess } = this.#identity.lives[storage] ?? {};
      if (newest === life && newestProcess === process) this.#noted.add(storage);
      if (isJoining) this.#belong();
    });
  }

  /**
   * This replica belongs to a cluster now. The welcome of earlier connections did not say so, and clients and replicas that join take the
   * id from there. So all connect once more.
   */
  #belong(): void {
    const cluster = clusterOfOrigin(this.#identity.origin);
    const { listener, greeting } = this.#options;
    if (cluster === undefined) return;
    greeting['cluster'] = cluster;
    const why = new TransportClosedError('this replica has found its cluster');
    for (const connection of [...listener.peers.keys()]) listener.close(connection, why);
    this.#links.introduce();
  }

  /** Members, and a few others: a stranger may come with a new directory each time. */
  #bounded<T>(all: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
    const strangers = Object.keys(all).filter((storage) => !this.#isMember(storage));
    const dropped = new Set(strangers.slice(0, Math.max(0, strangers.length - STRANGERS_MAX)));
    return Object.fromEntries(Object.entries(all).filter(([storage]) => !dropped.has(storage)));
  }

  /**
   * An old copy and a second process of the same life prove that votes are missing in this directory: the life was durable before
   * this process said a word, and the lock keeps every other process out. So the mark is durable before anybody hears of the
   * failure. An emptied directory is not marked: its storage id has no vote in that cell, however often it starts, and
   * the peer may be of another cell whose address was given by mistake.
   */
  #refused({ peer, reason, error }: Refusal): void {
    const isProofOfCopy = ['old-copy', 'votes-missing', 'running-twice'].includes(reason);
    this.#life.stopped();
    this.#serving?.host.over();
    if (isProofOfCopy) this.#save({ refused: { peer, reason } });
    void this.#saving.then(() => this.#fail(error));
  }

  #fail(error: LeaseholdError): void {
    if (!this.#life.failed(error)) return;
    this.#options.logger.error(error.message);
    this.#events.failed(error);
    this.#end.fail(error);
    this.#waiters.look();
    void this.close();
  }

  /**
   * Writes the identity down: one write at a time, and each writes the newest version. A write of an older version could undo
   * the founding after this replica has voted.
   */
  #writeIdentity(): Promise<void> {
    const { storage } = this.#options.directory;
    const writing = this.#saving.then(() => writeIdentity(storage, this.#identity));
    this.#saving = writing.catch(() => {});
    return writing;
  }

  #save(change: Partial<Identity>): void {
    this.#identity = { ...this.#identity, ...change };
    this.#writeIdentity().catch((error: unknown) => {
      this.#options.logger.warn('could not write down what was heard of other replicas', {
        why: error instanceof Error ? error.message : String(error),
      });
    });
  }

  // ── the beginning ──

  /** Waits for the founding again if this replica began one by another list, in which nothing was decided (`core/founding.ts`). */
  async #correct(): Promise<void> {
    const { directory, peers, logger } = this.#options;
    const { origin, storage: id } = this.#identity;
    const list = [...peers.keys()];
    if (origin.kind !== 'founding' || !isCorrected(origin.members, list)) return;
    if (!(await JournalDisk.isUnwritten(directory.storage, id))) return;
    logger.warn(
      'the list of replicas was corrected: nothing was decided by the former list, and the founding begins again',
      {
        ...{ former: origin.members.map(({ storage }) => nameOf(storage)).join(', '), list: list.join(', ') },
      },
    );
    this.#identity = { ...this.#identity, origin: { kind: 'gathering' } };
    await this.#writeIdentity();
  }

  /** Names in the list with which the cell cannot be founded yet. */
  #awaited(): string[] {
    const { origin, storage } = this.#identity;
    if (origin.kind !== 'gathering') return [];
    return awaitedOf(storage, [...this.#options.peers.keys()], this.#links.speakers);
  }

  /** Founds the cell once every replica of the list is known. */
  #found(): void {
    if (this.#life.stage.kind !== 'gathering') return;
    const list = [...this.#options.peers.keys()];
    const members = foundersOf(this.#identity.storage, list, this.#links.speakers);
    if (members !== undefined) void this.#beginWith(members);
  }

  async #beginWith(members: readonly Member[]): Promise<void> {
    this.#life.enter({ kind: 'opening', isFounder: true });
    const { directory } = this.#options;
    try {
      // The journal first: an identity of a founded cell without a journal means that votes are lost.
      await JournalDisk.create(
        ...([directory.storage, this.#identity.storage, directory.path] as const),
        this.#options.runtime.wallMs(),
      );
      this.#identity = { ...this.#identity, origin: { kind: 'founding', members } };
      await this.#writeIdentity();
      this.#belong();
      if (!this.#life.isOver) await this.#open(true);
    } catch (error) {
      this.#fail(error as LeaseholdError);
    }
  }

  #open(isFounder: boolean): Promise<void> {
    this.#opening = this.#read(isFounder);
    return this.#opening;
  }

  /** @throws {StorageError} */
  async #read(isFounder: boolean): Promise<void> {
    const { directory, durations, runtime, logger, placement } = this.#options;
    const { storage: id, life, origin } = this.#identity;
    const { storage, path } = directory;
    if (!(await JournalDisk.isThere(storage))) throw votesLost(path, 'its files are missing');
    const isInPlace = (): Promise<boolean> => directory.isInPlace();
    const rotated = (): Promise<void> => this.#files.note();
    const wallMs = (): number => runtime.wallMs();
    const { disk, frames, snapshots, tail } = await JournalDisk.open({
      ...{ storage, id, path, isInPlace, rotated, wallMs },
    });
    this.#disk = disk;
    this.#closing.defer(() => disk.close());
    if (this.#life.isOver) return;
    if (tail.state === 'torn')
      logger.info('a torn end of the journal was cut off', { bytes: tail.tornBytes });
    const recovery = recover(frames, snapshots);
    if (recovery.kind === 'votes-lost')
      throw votesLost(path, 'a damaged frame held votes for slots that are not known to be chosen');
    const isEmpty = recovery.state.snapshot === undefined && recovery.state.entries.length === 0;
    if (clusterOfOrigin(origin) === undefined && !isEmpty) {
      const finding =
        'its file "identity" is older than its journal, as in a backup of which a part was restored';
      throw directoryMismatch(path, finding, 'Put back the newer "identity"');
    }
    const initial: Configuration =
      origin.kind === 'founding' ? initialConfiguration(origin.members, placement) : UNKNOWN_CELL;
    const { members } = initial;
    for (const member of members)
      if (member.storage !== id && !this.#contacts.includes(member.storage))
        this.#contacts.push(member.storage);
    if (this.#options.isNew) await this.#files.confirmed();
    const isMade = isFounder || this.#options.isNew;
    const doubt = isMade
      ? undefined
      : await doubtOf(storage, this.#options.places, tail, this.#options.isCopy);
    if (this.#life.isOver) return;
    if (doubt !== undefined) this.#tellOf(doubt);
    let desk: CallDesk | undefined;
    const host = new ReplicaHost(
      {
        ...{ life: this.#life, storage: id, incarnation: life, path, initial, contacts: this.#contacts },
        ...{ durations, limits: DEFAULT_LIMITS, disk, runtime, logger },
        ...{ isNew: isMade, isCopy: isFounder || doubt !== undefined },
        send: (to, message) => this.#links.send(to, message),
        watched: {
          changed: (changes) => {
            desk?.changed(changes);
            for (const resident of this.residents) resident.changed(changes);
          },
          skipped: (position) => {
            desk?.skipped(position);
            for (const resident of this.residents) resident.skipped(position);
          },
        },
        failed: (error) => this.#fail(error),
        confirmed: () =>
          void this.#files.confirmed().catch((error: unknown) => this.#fail(error as LeaseholdError)),
        refused: (by) => {
          const isCopy = isFounder || (doubt !== undefined && doubt !== 'damaged-end');
          this.#refused(refusalBy(nameOf(by), isCopy ? 'old-copy' : 'votes-missing'));
        },
        settled: () => this.#look(),
      },
      recovery.state,
    );
    desk = new CallDesk({
      host,
      status: () => this.#statusJson(),
      storagesOf: (name) => this.#storagesOf(name),
      isConnected: (each) => each === id || this.#links.isConnected(each),
      addressOf: (each) => (each === id ? this.address : this.#links.addressOf(each)),
    });
    this.#serving = { host, desk };
    this.#links.judgeAgain();
    this.#look();
  }

  #tellOf(doubt: Doubt): void {
    const { logger, runtime } = this.#options;
    const awaited = (): readonly string[] => (this.#life.isOver ? [] : (this.#serving?.host.awaited ?? []));
    const telling = tellOfDoubt(doubt, runtime, logger, awaited);
    this.#closing.defer(() => telling[Symbol.dispose]());
  }

  #storagesOf(name: string): readonly string[] {
    const members = this.#members().map(({ storage }) => storage);
    const heard = [...this.#hellos.keys()].reverse();
    return [...new Set([...heard, ...members, this.#identity.storage])].filter(
      (each) => nameOf(each) === name || each === name,
    );
  }

  // ── clients ──

  /** Ends the connection of a process that says what its certificate does not allow. */
  #isRefused(connection: string, inbound: Inbound): boolean {
    const { listener } = this.#options;
    const peer = listener.peers.get(connection);
    const refusal = peer === undefined ? undefined : refusalOfFrame(this.cell, inbound, peer.identity);
    if (refusal === undefined) return false;
    const { code, message } = refusal;
    const ids = inbound.from === 'replica' ? [0] : inbound.calls.map(({ id }) => id);
    listener.dismiss(
      connection,
      refusal,
      ids.map((id) => ({ kind: 'failed', id, code, message })),
    );
    return true;
  }

  #called(connection: string, calls: readonly Call[]): void {
    const { listener } = this.#options;
    let caller = this.#callers.get(connection);
    if (caller === undefined) {
      caller = new Caller((replies) => listener.send(connection, replies));
      this.#callers.set(connection, caller);
    }
    this.#take(caller, calls);
  }

  /** Every field is there: an unknown value is null. */
  #statusJson(): string {
    return JSON.stringify(this.status(), (_, value: unknown) => (value === undefined ? null : value));
  }

  #take(caller: Caller, calls: readonly Call[]): void {
    if (this.#serving !== undefined) {
      this.#serving.desk.take(caller, calls);
      return;
    }
    for (const call of calls) {
      if (call.kind === 'status') caller.reply({ kind: 'status', id: call.id, json: this.#statusJson() });
      else if (call.kind !== 'unwatch') caller.answered(call.id, { kind: 'refused', why: 'not-ready' });
    }
    caller.flush();
  }

  /** A connection has ended. @internal */
  gone(connection: string): void {
    this.#links.gone(connection);
    const caller = this.#callers.get(connection);
    this.#callers.delete(connection);
    if (caller !== undefined) this.#serving?.desk.gone(caller);
    this.#found();
  }
}

/** So many directories without a seat are remembered, the newest ones. */
const STRANGERS_MAX = 64;
