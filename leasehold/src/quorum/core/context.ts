/**
 * What the parts of one replica share: the log and what is derived from it, the acceptor, which alone says where the replica stands
 * in Paxos, and the effects of the present input.
 */

import type { Instant } from '../../runtime/time.ts';
import { trace, type TraceEffect } from '../../runtime/trace.ts';
import { Acceptor } from './acceptor.ts';
import { Acknowledgements } from './acknowledgements.ts';
import type { Answer } from './answer.ts';
import { type Configuration, isSeated } from './configuration.ts';
import { isComplete, type TakenOver } from './copy.ts';
import { type Frame, Journal, type Marks } from './journal.ts';
import { LeaseMachine } from './leases.ts';
import { ReplicatedLog } from './log.ts';
import type { Message } from './messages.ts';
import type { Operation, Revision } from './operation.ts';
import type { QuorumLimits, ResolvedQuorumDurations } from './options.ts';
import type { Recovered } from './recovery.ts';
import { PeerClocks } from './peer-clocks.ts';
import type { Result } from './result.ts';
import { Room } from './room.ts';
import type { SnapshotPart } from './snapshot.ts';
import { StateMachine } from './state-machine.ts';

/**
 * Why a claim has ended:
 *
 * - `overwritten`: another write of the key is in the log, or was chosen;
 * - `shortened`: a configuration or a suspension ends the right to read the key earlier than was told;
 * - `dropped`: the replica gives up its read leases.
 */
export type ClaimEnd = 'overwritten' | 'shortened' | 'dropped';

export type Effect =
  /** Write the frame and sync it, then call {@link Replica.synced}. There is one at a time. */
  | { readonly do: 'persist'; readonly frame: Frame }
  /**
   * Write a part of a snapshot beside the frames, then call {@link Replica.saved}; after the last part when the whole is durable. There
   * is one at a time; one with `first: 0` begins a snapshot, in the place of one that was not finished.
   */
  | { readonly do: 'save'; readonly part: SnapshotPart }
  | { readonly do: 'send'; readonly to: string; readonly message: Message }
  | { readonly do: 'answer'; readonly id: number; readonly answer: Answer }
  /** The slot is committed. Slots come in the order of their commits, each once. */
  | {
      readonly do: 'show';
      readonly slot: number;
      readonly operation: Operation;
      readonly results: readonly Result[];
    }
  /** The claimed key keeps this revision until then; or does no longer: see `key-claim.ts`. */
  | { readonly do: 'claim-extended'; readonly revision: Revision; readonly until: Instant }
  | { readonly do: 'claim-ended'; readonly revision: Revision; readonly why: ClaimEnd }
  /** Everything up to this slot came as a snapshot; its slots are not shown. */
  | { readonly do: 'installed'; readonly slot: number }
  /** A copy has everything that can have been forgotten (`copy.ts`). */
  | { readonly do: 'complete' }
  /** A leader has another value in a slot that is chosen: votes were lost, and nothing here may be shown any more. */
  | { readonly do: 'differs'; readonly slot: number; readonly from: string }
  | TraceEffect;

export interface ReplicaOptions {
  /** The storage id of the directory. */
  readonly self: string;
  /** How often the directory was opened, this time included; raised and synced before anything else. */
  readonly life: number;
  readonly recovered: Recovered;
  /** The configuration of slot 0; `UNKNOWN_CELL` for a replica that is to join an existing cell. */
  readonly initial: Configuration;
  /** Storage ids of members to ask for admission. */
  readonly contacts: readonly string[];
  readonly durations: ResolvedQuorumDurations;
  readonly limits: QuorumLimits;
  /** Members of a newer configuration than that of the log, as other members named them when this replica started. */
  readonly vouched?: readonly string[] | undefined;
  /** For a copy: the marks that the other members named. */
  readonly takenOver?: TakenOver | undefined;
  random(): number;
}

export class Context {
  readonly self: string;
  readonly life: number;
  readonly contacts: readonly string[];
  readonly durations: ResolvedQuorumDurations;
  readonly limits: QuorumLimits;
  readonly random: () => number;
  readonly log: ReplicatedLog;
  readonly acceptor: Acceptor;
  readonly leases: LeaseMachine;
  readonly journal: Journal;
  readonly acknowledged: Acknowledgements = new Acknowledgements();
  readonly room: Room;
  readonly clocks: PeerClocks;
  machine: StateMachine;
  /** Slots after this one are kept: a snapshot as of this slot is on the way. */
  keepAfter: number = Number.POSITIVE_INFINITY;
  /** The longest hold that was ever promised. */
  holdMs: number;
  /** How many frames with votes were heard of each other member; replaced as a whole. */
  heard: ReadonlyMap<string, number>;
  /** The bounds of forgotten votes; undefined if this replica is complete. */
  #copy: TakenOver | undefined;
  #effects: Effect[] = [];
  #peers: { readonly of: readonly Configuration[]; readonly all: ReadonlySet<string> } | undefined;

  constructor(options: ReplicaOptions, now: Instant) {
    const { self, life, recovered, initial } = options;
    this.self = self;
    this.life = life;
    this.contacts = options.contacts;
    this.durations = options.durations;
    this.limits = options.limits;
    this.random = () => options.random();
    this.room = new Room(self, options.durations.renewEveryMs);
    this.clocks = new PeerClocks(options.durations.leaseMs);
    const { snapshot } = recovered;
    this.log = new ReplicatedLog(snapshot ?? { slot: 0, configuration: initial });
    this.machine = new StateMachine(this.log.base, options.limits, snapshot?.state);
    this.#copy = options.takenOver;
    this.acceptor = new Acceptor(this, Math.max(recovered.promised, options.takenOver?.promised ?? 0));
    this.holdMs = Math.max(recovered.holdMs, options.takenOver?.holdMs ?? 0);
    this.heard = recovered.heard;
    this.leases = new LeaseMachine(life, now, this.holdMs);
    const { promised, holdMs } = recovered; // The marks that were taken over are yet to be written.
    const marks = { ...this.marks, promised, holdMs };
    this.journal = new Journal(this.log.base + recovered.entries.length, marks, recovered.votes);
  }

  get marks(): Marks {
    const { acceptor, holdMs, log, heard } = this;
    const { promised } = acceptor;
    return { promised, holdMs, chosen: log.chosen, committed: log.committed, heard };
  }

  /** Whether the log has every vote of this directory. */
  get isComplete(): boolean {
    return this.#copy === undefined;
  }

  /** Another member has something else in a slot that is chosen here. */
  differs(slot: number, from: string): void {
    this.#effects.push({ do: 'differs', slot, from });
  }

  /** More is durable than before. */
  complete(): void {
    const { ballot, synced } = this.acceptor;
    if (this.#copy === undefined || !isComplete(this.#copy, this.acceptor)) return;
    this.#copy = undefined;
    this.#effects.push({ do: 'complete' });
    this.trace('complete', { ballot, upTo: synced });
  }

  /** A member says that so many of its frames with votes are durable. */
  hear(member: string, votes: number): void {
    if (votes > (this.heard.get(member) ?? 0)) this.heard = new Map(this.heard).set(member, votes);
  }

  /** Whether a configuration that counts seats the replica. */
  isSeated(storage: string): boolean {
    return this.log.countingConfigurations.some((configuration) => isSeated(configuration, storage));
  }

  /** Everybody who may have a vote, without this replica. */
  get peers(): ReadonlySet<string> {
    const { countingConfigurations } = this.log;
    if (this.#peers?.of !== countingConfigurations) {
      const all = new Set<string>();
      for (const { members } of countingConfigurations) for (const { storage } of members) all.add(storage);
      all.delete(this.self);
      this.#peers = { of: countingConfigurations, all };
    }
    return this.#peers.all;
  }

  /** Whether the newest configuration seats this replica. */
  get isMember(): boolean {
    return isSeated(this.log.newestConfiguration, this.self);
  }

  send(to: string, message: Message): void {
    this.#effects.push({ do: 'send', to, message });
  }

  broadcast(message: Message): void {
    for (const peer of this.peers) this.send(peer, message);
  }

  answer(id: number, answer: Answer): void {
    this.#effects.push({ do: 'answer', id, answer });
  }

  show(slot: number, operation: Operation, results: readonly Result[]): void {
    this.#effects.push({ do: 'show', slot, operation, results });
  }

  installed(slot: number): void {
    this.#effects.push({ do: 'installed', slot });
  }

  claimExtended(revision: Revision, until: Instant): void {
    this.#effects.push({ do: 'claim-extended', revision, until });
  }

  claimEnded(revision: Revision, why: ClaimEnd): void {
    this.#effects.push({ do: 'claim-ended', revision, why });
  }

  persist(frame: Frame): void {
    this.#effects.push({ do: 'persist', frame });
  }

  save(part: SnapshotPart): void {
    this.#effects.push({ do: 'save', part });
  }

  trace(what: string, facts: Parameters<typeof trace>[1] = {}): void {
    this.#effects.push(trace(what, facts));
  }

  takeEffects(): Effect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }
}

/** What checks and status may look at. */
export type ReplicaView = Pick<
  Context,
  'log' | 'machine' | 'acceptor' | 'leases' | 'journal' | 'room' | 'clocks' | 'heard' | 'self' | 'isMember'
>;
