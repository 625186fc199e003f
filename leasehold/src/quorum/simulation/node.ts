/**
 * A replica as a process of a simulated world: the driver of real processes, a disk of frames, and a network by storage ids.
 */

import { Driver } from '../../runtime/driver.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import type { Transport } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';
import type { SimClock } from '../../sim/clock.ts';
import type { Network } from '../../sim/network.ts';
import { SimProcess, type SimRuntime } from '../../sim/process.ts';
import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import type { Answer } from '../core/answer.ts';
import { type Configuration, isSeated } from '../core/configuration.ts';
import type { Effect } from '../core/context.ts';
import type { Frame } from '../core/journal.ts';
import type { SnapshotPart } from '../core/snapshot.ts';
import { SUSPENSION_NOTICED_MS } from '../core/leases.ts';
import type { Change } from '../core/membership.ts';
import type { Message } from '../core/messages.ts';
import type { TakenOver } from '../core/copy.ts';
import type { Operation } from '../core/operation.ts';
import type { QuorumLimits, ResolvedQuorumDurations } from '../core/options.ts';
import type { ReadMode } from '../core/reads.ts';
import { answerOf, CheckIn } from '../core/check-in.ts';
import { recover, type Recovered } from '../core/recovery.ts';
import { Repair } from '../core/repair.ts';
import { Replica, type Submission } from '../core/replica.ts';
import { FrameDisk } from './frame-disk.ts';

/** What a client says to a replica, and hears of it. */
export type Call = { readonly id: number; readonly client: string } & (
  | { readonly kind: 'submit'; readonly submission: Submission }
  | { readonly kind: 'read'; readonly keys: readonly string[]; readonly mode: ReadMode }
);

/** The client in whose name replicas are probed. It hears no answer. */
export const PROBE = 'probe';

export interface Reply {
  readonly kind: 'reply';
  readonly id: number;
  readonly answer: Answer;
}

/** A word of one life of a replica. In production the hello of the connection names the life. */
export interface Spoken {
  readonly life: number;
  readonly message: Message;
}

export interface NodeOptions {
  readonly storage: string;
  readonly replicas: Network<Spoken>;
  readonly calls: Network<Call | Reply>;
  readonly clock: SimClock;
  readonly initial: Configuration;
  readonly limits: QuorumLimits;
  readonly lateMs: number;
  readonly syncMs: readonly [number, number];
  readonly random: Random;
  /** Anew for each life: an operator may change them. */
  durations(): ResolvedQuorumDurations;
  /** Storage ids of members, as an operator would name them. */
  contacts(): readonly string[];
  readonly observer: Observer;
  /** What lives in the process of the replica and uses it without a network, anew for each life. */
  resident?(node: ReplicaNode, runtime: SimRuntime): Resident;
}

/** A user of the replica in its own process. */
export interface Resident {
  happened(
    effect: Extract<Effect, { readonly do: 'show' | 'installed' | 'claim-extended' | 'claim-ended' }>,
  ): void;
}

/** What the checker hears of, at the instant it happens. */
export interface Observer {
  /** A new life knows what it has on its disk. */
  began(node: ReplicaNode): void;
  /** An input and all that came of it is over. */
  settled(node: ReplicaNode): void;
  /** A slot is committed; it may be compacted away before the input is over. */
  shows(node: ReplicaNode, slot: number, operation: Operation): void;
  reads(node: ReplicaNode, call: Call): void;
  answers(node: ReplicaNode, call: Call, answer: Answer): void;
  traced(node: ReplicaNode, what: string): void;
  changed(node: ReplicaNode, change: Change, answer: Answer): void;
}

interface Awaited {
  readonly answered: (answer: Answer) => void;
}

export class ReplicaNode {
  readonly world: World;
  readonly storage: string;
  readonly process: SimProcess;
  readonly disk: FrameDisk;
  /** Its votes are lost: it must not come back under this storage id. */
  isLost = false;
  readonly #options: NodeOptions;
  #runtime: SimRuntime | undefined;
  #replica: Replica | undefined;
  #driver: Driver<Effect> | undefined;
  #callIds = 0;
  #vouched: readonly string[] = [];
  #takenOver: TakenOver | undefined;
  readonly #calls = new Map<number, Call | Change | Awaited>();
  #resident: Resident | undefined;

  constructor(world: World, options: NodeOptions) {
    this.world = world;
    this.storage = options.storage;
    this.#options = options;
    this.disk = new FrameDisk(options.random.fork('disk'), isSeated(options.initial, options.storage));
    this.process = new SimProcess(world, {
      name: options.storage,
      clock: options.clock,
      lateMs: options.lateMs,
      start: (runtime) => this.#live(runtime),
    });
  }

  /** A call of the resident. */
  perform(act: (replica: Replica, now: Instant) => Effect[]): void {
    this.#input(act);
  }

  /** A number for a call of the resident, which is told the answer. */
  await(answered: (answer: Answer) => void): number {
    return this.#remember({ answered });
  }

  /** The core, while the process lives and has read its disk. */
  get replica(): Replica | undefined {
    return this.process.alive ? this.#replica : undefined;
  }

  get isLeader(): boolean {
    return this.replica?.role === 'leader';
  }

  now(): Instant {
    return this.process.now();
  }

  start(): void {
    if (!this.process.alive && !this.isLost) this.process.start();
  }

  crash(): void {
    this.process.crash();
    this.disk.crash();
    this.#replica = undefined;
  }

  reconfigure(change: Change): void {
    this.#input((replica, now) => replica.reconfigure(this.#remember(change), change, now));
  }

  transfer(to: string): void {
    this.#input((replica, now) => replica.stepDown(to, now));
  }

  /** Becomes a candidate at once, without asking the other members whether they would agree. */
  stand(): void {
    this.#input((replica, now) =>
      replica.receive(this.storage, { kind: 'lead-now', ballot: replica.view.acceptor.ballot }, now),
    );
  }

  /** A read that the replica answers by itself, if it may; otherwise none. */
  probe(keys: readonly string[]): void {
    if (!this.process.running || this.replica?.isLeased(keys, this.now()) !== true) return;
    this.#call({ kind: 'read', id: 0, client: PROBE, keys, mode: 'best' });
  }

  /** Nothing is synced before this true time. */
  stickDisk(untilMs: number): void {
    this.disk.stuckUntilMs = untilMs;
  }

  release(): void {
    this.#input((replica, now) => replica.release(now));
  }

  note(what: string, facts: Readonly<Record<string, string | number | undefined>> = {}): void {
    if (this.world.tracing) this.world.note(this.storage, { what, facts });
  }

  #live(runtime: SimRuntime): void {
    const { durations } = this.#options;
    this.#runtime = runtime;
    this.#replica = undefined;
    this.#vouched = [];
    this.#takenOver = undefined;
    this.#resident = undefined;
    this.#calls.clear();
    const life = this.disk.open();
    this.disk.repairTail();
    const recovery = recover(this.disk.frames, this.disk.snapshots);
    if (recovery.kind === 'votes-lost') {
      this.isLost = true;
      this.note('votes-lost');
      this.world.count('votes lost');
      this.crash();
      return;
    }
    const { state } = recovery;
    const resolved = durations();
    this.#checkIn(runtime, life, state, resolved);
  }

  /** Waits until the other members confirm that the disk has every vote. */
  #checkIn(runtime: SimRuntime, life: number, state: Recovered, durations: ResolvedQuorumDurations): void {
    const { storage, initial, contacts } = this.#options;
    const transport = this.#transport(runtime, life);
    const { isCopy } = this.disk;
    const isNew = life === 1 || (isSeated(initial, storage) && this.disk.frames.length === 0);
    const nonce = Math.floor(runtime.random() * 2 ** 40);
    const checkIn = new CheckIn(
      {
        ...{ self: storage, recovered: state, initial, isCopy, isNew, nonce },
        ...{ electionMs: durations.electionMs, leaseMs: durations.leaseMs },
        get contacts() {
          return contacts();
        },
      },
      runtime.now(),
    );
    let isOver = false;
    const driver: Driver<Effect> = new Driver<Effect>({
      core: checkIn,
      clock: runtime,
      guard: new SuspensionGuard(runtime, SUSPENSION_NOTICED_MS),
      alarm: (wake) => runtime.alarm(wake),
      execute: (effect) => {
        if (effect.do === 'send') transport.send(effect.to, effect.message);
      },
      afterInput: () => look(),
    });
    const listening = transport.listen((from, message) =>
      driver.input((now) => checkIn.receive(from, message, now)),
    );
    const look = (): void => {
      const { verdict } = checkIn;
      if (verdict.is === 'open' || isOver) return;
      isOver = true;
      driver.stop();
      listening[Symbol.dispose]();
      this.note('checked in', { verdict: verdict.is });
      if (isCopy) this.world.count(`copies ${verdict.is}`);
      if (verdict.is === 'refused') {
        this.isLost = true;
        this.crash();
        return;
      }
      this.#takenOver = verdict.takenOver;
      if (this.#takenOver === undefined) this.disk.isCopy = false;
      this.#vouched = checkIn.members;
      if (state.missing.length === 0) this.#begin(runtime, life, state, durations);
      else {
        this.world.count('repairs');
        const repair = new Repair(state, contacts(), durations.electionMs, runtime.now());
        this.#repair(runtime, life, repair, durations);
      }
    };
    driver.input((now) => checkIn.wake(now));
  }

  /** Fetches what the disk lost; then the life proper begins. */
  #repair(runtime: SimRuntime, life: number, repair: Repair, durations: ResolvedQuorumDurations): void {
    const transport = this.#transport(runtime, life);
    const driver = new Driver<Effect>({
      core: repair,
      clock: runtime,
      guard: new SuspensionGuard(runtime, SUSPENSION_NOTICED_MS),
      alarm: (wake) => runtime.alarm(wake),
      execute: (effect) => {
        if (effect.do === 'send') transport.send(effect.to, effect.message);
      },
    });
    let isOver = false;
    const listening = transport.listen((from, message) => {
      if (isOver) return;
      if (message.kind === 'check-in')
        transport.send(
          from,
          answerOf(repair.recovered, this.#options.initial, durations.leaseMs, from, message.nonce),
        );
      driver.input((now) => repair.receive(from, message, now));
      const { repaired } = repair;
      if (repaired === undefined) return;
      isOver = true;
      driver.stop();
      listening[Symbol.dispose]();
      this.world.count('repaired');
      if (repaired.snapshot !== undefined) this.disk.putSnapshot(repaired.snapshot);
      this.note('repaired', { chosen: repaired.chosen });
      this.#begin(runtime, life, repaired, durations);
    });
    driver.input((now) => repair.wake(now));
  }

  #begin(runtime: SimRuntime, life: number, recovered: Recovered, durations: ResolvedQuorumDurations): void {
    const { storage, initial, limits, calls, contacts, observer } = this.#options;
    const transport = this.#transport(runtime, life);
    const callers = runtime.transport(calls);
    const options = { self: storage, life, recovered, initial, contacts: contacts(), durations, limits };
    const [vouched, takenOver] = [this.#vouched, this.#takenOver];
    const random = (): number => runtime.random();
    const replica = new Replica({ ...options, vouched, takenOver, random }, runtime.now());
    this.#replica = replica;
    const driver = new Driver<Effect>({
      core: replica,
      clock: runtime,
      guard: new SuspensionGuard(runtime, SUSPENSION_NOTICED_MS),
      alarm: (wake) => runtime.alarm(wake),
      execute: (effect) => this.#execute(effect, transport, callers),
      suspended: () => this.world.count('suspensions noticed'),
      afterInput: () => observer.settled(this),
    });
    this.#driver = driver;
    observer.began(this);
    transport.listen((from, message) => driver.input((now) => replica.receive(from, message, now)));
    callers.listen((_, call) => {
      if (call.kind !== 'reply') this.#call(call);
    });
    this.#resident = this.#options.resident?.(this, runtime);
    driver.input((now) => replica.wake(now));
  }

  /** To the other replicas. A life that was heard is written down, and no earlier one is heard after that (`shell/peer-links.ts`). */
  #transport(runtime: SimRuntime, life: number): Transport<Message, Message> {
    const transport = runtime.transport(this.#options.replicas);
    return {
      send: (to, message) => transport.send(to, { life, message }),
      listen: (receive) =>
        transport.listen((from, spoken) => {
          if (this.disk.hears(from, spoken.life)) receive(from, spoken.message);
        }),
    };
  }

  #call(received: Call): void {
    const call = { ...received }; // A message that arrives twice is two calls.
    if (call.kind === 'read') this.#options.observer.reads(this, call);
    const id = this.#remember(call);
    this.#input((replica, now) =>
      call.kind === 'read'
        ? replica.read(id, call.keys, call.mode, now)
        : replica.submit(id, call.submission, now),
    );
  }

  #remember(call: Call | Change | Awaited): number {
    this.#callIds += 1;
    this.#calls.set(this.#callIds, call);
    return this.#callIds;
  }

  #input(act: (replica: Replica, now: Instant) => Effect[]): void {
    const replica = this.#replica;
    if (replica !== undefined) this.#driver?.input((now) => act(replica, now));
  }

  #execute(
    effect: Effect,
    transport: { send(to: string, message: Message): void },
    callers: { send(to: string, message: Reply): void },
  ): void {
    const { observer } = this.#options;
    switch (effect.do) {
      case 'send':
        transport.send(effect.to, effect.message);
        return;
      case 'show':
        observer.shows(this, effect.slot, effect.operation);
        this.#resident?.happened(effect);
        return;
      case 'installed':
      case 'claim-extended':
      case 'claim-ended':
        this.#resident?.happened(effect);
        return;
      case 'differs':
        throw this.world.broken(
          'agreement',
          `slot ${effect.slot} of ${this.#options.storage} differs from that of ${effect.from}`,
        );
      case 'complete':
        this.disk.isCopy = false;
        this.world.count('copies complete');
        return;
      case 'persist':
        this.#persist(effect.frame);
        return;
      case 'save':
        this.#save(effect.part);
        return;
      case 'trace':
        observer.traced(this, effect.event.what);
        if (this.world.tracing) this.world.note(this.storage, effect.event);
        return;
      case 'answer': {
        const call = this.#calls.get(effect.id);
        this.#calls.delete(effect.id);
        if (call === undefined)
          throw this.world.broken('answers-once', `${this.storage} answers ${effect.id}, which nobody asked`);
        if ('answered' in call) call.answered(effect.answer);
        else if ('client' in call) {
          observer.answers(this, call, effect.answer);
          if (call.client === PROBE) return;
          callers.send(call.client, { kind: 'reply', id: call.id, answer: effect.answer });
        } else observer.changed(this, call, effect.answer);
        return;
      }
    }
  }

  #save(part: SnapshotPart): void {
    const { disk, process, world } = this;
    const runtime = this.#runtime;
    const { syncMs, random } = this.#options;
    disk.beginPart(part);
    world.at(world.trueMs + random.between(syncMs[0], syncMs[1]), () => {
      if (runtime?.alive !== true) return;
      disk.endPart();
      world.count('snapshot parts');
      process.perform(() => this.#input((replica, now) => replica.saved(now)));
    });
  }

  #persist(frame: Frame): void {
    const { disk, process, world } = this;
    const runtime = this.#runtime;
    const { syncMs, random } = this.#options;
    disk.begin(frame);
    const endMs = Math.max(world.trueMs + random.between(syncMs[0], syncMs[1]), disk.stuckUntilMs);
    world.at(endMs, () => {
      if (runtime?.alive !== true) return;
      disk.end();
      process.perform(() => this.#input((replica, now) => replica.synced(now)));
    });
  }
}
