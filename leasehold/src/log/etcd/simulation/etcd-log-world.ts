/**
 * One seed: a simulated etcd, three processes that use the log, and every fault of the processes and of etcd. First
 * all that can go wrong does; then all is well, and the log must be as good as new.
 *
 * In some worlds etcd is put back from a backup. Then the operator's procedure follows: the Managers are stopped (but
 * a leader may only seem to be, and comes back later), the counters are raised, the Managers start again. In others
 * the counters are raised although nothing was lost; then the third process, which only follows, lives on through the
 * change.
 *
 * In some the third process finds that the log went back, and notes the fact; the operator comes a little later. In
 * some everything is deleted, and the next process that starts begins a log.
 */

import { silent } from '../../../runtime/logger.ts';
import { SimClock } from '../../../sim/clock.ts';
import { SimProcess, type SimRuntime } from '../../../sim/process.ts';
import type { Random } from '../../../sim/random.ts';
import { World } from '../../../sim/world.ts';
import { decodePointer, Layout } from '../layout.ts';
import { beginRaising } from '../counters.ts';
import { Checker, type PromiseName, RECOVERED } from './checker.ts';
import { Member } from './member.ts';
import {
  type ClientFaults,
  noFaults,
  SimulatedEtcdClient,
} from '../../../etcd/simulation/simulated-client.ts';
import { type Cause, SimulatedEtcd } from '../../../etcd/simulation/simulated-etcd.ts';
import type { Change } from '../../../etcd/simulation/simulated-store.ts';

const CHAOS_MS = 12_000;
/** Until every delayed message has arrived, and every lease of the dead is over. */
const HEAL_MS = 6_000;
const CALM_MS = 3_000;
/** A leader that resigns in the calm is replaced within this: less than a lease. */
const ROOM_MS = 1_500;
const PREFIX = '/sim/';
const NAMES = ['a', 'b', 'c'] as const;

interface Machine {
  readonly process: SimProcess;
  readonly faults: ClientFaults;
  member: Member | undefined;
  /** Thought dead, and comes back, until somebody notices. */
  isZombie: boolean;
}

type Trouble =
  | 'kill'
  | 'pause'
  | 'cut'
  | 'slow-answers'
  | 'etcd-down'
  | 'etcd-leader-change'
  | 'etcd-stale'
  | 'etcd-full'
  | 'etcd-compaction'
  | 'watches-deaf'
  | 'watches-end'
  | 'resign'
  | 'good-order'
  | 'backup'
  | 'restore'
  | 'raise'
  | 'halt'
  | 'wipe';

/** As often as they are listed. */
const TROUBLES: readonly Trouble[] = [
  ...(['kill', 'kill', 'pause', 'pause', 'pause', 'cut', 'cut', 'etcd-down', 'etcd-down'] as const),
  ...([
    'slow-answers',
    'slow-answers',
    'etcd-leader-change',
    'etcd-leader-change',
    'etcd-stale',
    'etcd-stale',
    'etcd-full',
  ] as const),
  ...(['etcd-compaction', 'etcd-compaction', 'watches-deaf', 'watches-deaf', 'watches-end'] as const),
  ...(['watches-end', 'resign', 'good-order', 'backup', 'backup', 'restore', 'restore', 'raise'] as const),
  ...(['halt', 'wipe'] as const),
];

export class EtcdLogWorld {
  readonly world: World;
  readonly #random: Random;
  readonly #etcd: SimulatedEtcd;
  readonly #checker: Checker;
  readonly #machines: readonly Machine[];
  readonly #operator: SimProcess;
  readonly #log: {
    readonly prefix: string;
    readonly leaderLeaseMs: number;
    readonly requestTimeoutMs: number;
    readonly retryMs: number;
    readonly pollMs: number;
    readonly chunkBytes: number;
  };
  readonly #pauseMs: number;
  readonly #usual: Pick<ClientFaults, 'lossChance' | 'slowChance' | 'slowMs' | 'delayMs'>;
  readonly #usualRefuseChance: number;
  readonly #troubles: Readonly<Record<Trouble, () => void>> = {
    // One that only seems to be dead must neither come back early nor die.
    kill: () => {
      if (!this.#isRecovering) this.#kill(this.#anyone());
    },
    pause: () => {
      if (!this.#isRecovering) this.#anyone().process.pause(this.#random.between(50, 4_000));
    },
    cut: () => this.#cut(this.#anyone()),
    'slow-answers': () => {
      if (this.#random.chance(0.4)) this.#slowDown(this.#anyone());
      else for (const machine of this.#machines) this.#slowDown(machine);
    },
    'etcd-down': () => this.#forAWhile(3_000, (on) => (this.#etcd.isDown = on)),
    'etcd-leader-change': () => this.#etcd.changeLeader(this.#random.pick([0, 0.5, 1])),
    'etcd-stale': () =>
      this.#forAWhile(6_000, (on) =>
        on ? this.#etcd.goStale(this.#leaderName() ?? '') : this.#etcd.endStaleness(),
      ),
    'etcd-full': () => this.#forAWhile(2_000, (on) => (on ? this.#fill() : this.#makeSpace())),
    'etcd-compaction': () => {
      const { store } = this.#etcd;
      store.compact(store.revision - this.#random.pick([0, 0, 3, 50]));
    },
    'watches-deaf': () => this.#etcd.breakWatches(0.6, 'deafen'),
    'watches-end': () => this.#etcd.breakWatches(0.6, 'end'),
    resign: () => {
      for (const { member, process } of this.#machines) process.perform(() => member?.resign());
    },
    'good-order': () => this.#close(this.#anyone()),
    backup: () => this.#backUp(),
    restore: () => this.#restore(),
    raise: () => this.#raise(),
    halt: () => this.#haltNowOrLater(),
    wipe: () => this.#wipe(),
  };
  #backup: (() => void) | undefined;
  /** The leader's lease is ended after one more write. */
  #endsLeaderAfterNext = false;
  #isRecovering = false;
  /** Once is enough. */
  #isRecovered = false;
  /** Somebody has found that the log went back, and no operator was there yet. */
  #isHalted = false;
  /** Somebody will, as soon as nobody leads. */
  #haltsNext = false;
  #isWiped = false;
  /** The operator does not wait for the Managers to stop. */
  #isImpatient = false;
  #isChaos = true;
  #isCalm = false;
  /** Nothing more is appended. */
  #isAtRest = false;
  /** The counts since all is well. */
  readonly #inCalm = new Map<string, number>();
  #broken: { readonly promise: PromiseName; readonly detail: string } | undefined;

  constructor(seed: number, trace: boolean) {
    this.world = new World({ seed, trace });
    const { world } = this;
    const random = world.random.fork('workload');
    this.#random = random;
    this.#log = {
      prefix: PREFIX,
      leaderLeaseMs: random.pick([1_500, 2_000, 2_000]),
      requestTimeoutMs: random.pick([150, 400, 1_000]),
      retryMs: random.pick([20, 100]),
      pollMs: random.pick([300, 600]),
      chunkBytes: random.pick([40, 150]),
    };
    this.#pauseMs = random.pick([60, 200, 500]);
    this.#usual = {
      lossChance: random.pick([0, 0.02, 0.08]),
      slowChance: random.pick([0, 0.03, 0.1]),
      slowMs: random.pick([300, 1_500, 4_000]),
      delayMs: [0.5, random.pick([2, 10, 40])],
    };
    this.#usualRefuseChance = random.pick([0, 0, 0.03]);
    this.#etcd = new SimulatedEtcd(world);
    this.#checker = new Checker({
      ...{ prefix: PREFIX, store: this.#etcd.store, leaderLeaseMs: this.#log.leaderLeaseMs },
      toleranceMs: this.#log.leaderLeaseMs * 0.005,
      now: () => world.trueMs,
      broken: (promise, detail) => this.#break(promise, detail),
    });
    this.#etcd.onChange = (changes, cause) => this.#changed(changes, cause);
    this.#machines = NAMES.map((name) => this.#machine(name));
    this.#operator = new SimProcess(world, { name: 'operator', start: (runtime) => this.#recover(runtime) });
    world.afterEach(() => {
      if (this.#broken !== undefined) throw world.broken(this.#broken.promise, this.#broken.detail);
    });
  }

  run(): void {
    const { world } = this;
    for (const { process } of this.#machines) process.start();
    world.after(500, () => this.#worsen());
    const troubles = world.every([50, 900], () => this.#trouble());
    this.#pass(CHAOS_MS);
    troubles[Symbol.dispose]();
    this.#isChaos = false;
    while (this.#isRecovering || this.#isHalted) this.#pass(100);
    this.#heal();
    this.#pass(HEAL_MS);
    this.#heal(); // Every fault that was begun before and has ended since.
    this.#isCalm = true;
    this.#pass(500);
    this.#makeRoom();
    this.#pass(CALM_MS);
    this.#isAtRest = true;
    this.#pass(500);
    this.#compactAll();
    this.#pass(1_500);
    this.#mustHaveSettled();
    world.count('batches', this.#checker.line.entries.length);
  }

  #pass(ms: number): void {
    this.world.run({ untilMs: this.world.trueMs + ms });
  }

  #break(promise: PromiseName, detail: string): void {
    this.#broken ??= { promise, detail };
  }

  #changed(changes: readonly Change[], cause: Cause): void {
    const { world } = this;
    if (world.tracing)
      for (const { key, value, revision } of changes)
        world.note('etcd', {
          what: value === undefined ? 'deleted' : 'put',
          facts: { key, revision, by: cause.by, who: 'who' in cause ? cause.who : undefined },
        });
    this.#checker.changed(changes, cause);
    for (const { key, value } of changes) {
      if (!this.#isChaos) continue;
      if (value === undefined) {
        if (key === `${PREFIX}leader` && this.#haltsNext) this.#haltSoon(30);
        continue;
      }
      if (key === `${PREFIX}leader`) this.#afterElection();
      if (key.startsWith(`${PREFIX}log/`)) this.#afterAppend();
    }
  }

  /** Trouble at a bad moment: before the election is told, or before the lease is extended. */
  #afterElection(): void {
    const { world } = this;
    const dice = this.#random.next();
    if (dice < 0.2) world.after(this.#random.between(1, 300), () => this.#etcd.changeLeader(1));
    else if (dice < 0.4) this.#forAWhile(4_000, (on) => (this.#etcd.losesKeepAlives = on));
    if (this.#isRecovered && !this.#isRecovering)
      world.after(this.#random.between(1, 300), () => this.#awakeAll());
  }

  /** After a backup, so that the following writes have the revisions that the next leader will get again. */
  #afterAppend(): void {
    if (!this.#endsLeaderAfterNext) return;
    this.#endsLeaderAfterNext = false;
    this.world.after(0, () => this.#etcd.changeLeader(1));
    if (this.#random.chance(0.5)) this.world.after(this.#random.between(300, 3_000), () => this.#restore());
  }

  #machine(name: string): Machine {
    const clockRandom = this.#random.fork(`clock ${name}`);
    const process: SimProcess = new SimProcess(this.world, {
      name,
      clock: new SimClock({ originMs: clockRandom.between(0, 1e8), rate: clockRandom.between(0.998, 1.002) }),
      start: (runtime, incarnation) => {
        machine.member = new Member({
          ...{ process, runtime, checker: this.#checker, log: this.#log, pauseMs: this.#pauseMs },
          client: new SimulatedEtcdClient(this.#etcd, process, runtime, faults),
          random: this.#random.fork(`${name} ${incarnation}`),
          stands: name !== 'c',
          mayAppend: () => !this.#isAtRest,
          broken: (promise, detail) => this.#break(promise, `${name}: ${detail}`),
          happened: (what, facts = {}) => this.#happened(name, what, facts),
        });
      },
    });
    const faults = noFaults();
    const machine: Machine = { process, faults, member: undefined, isZombie: false };
    return machine;
  }

  #happened(name: string, what: string, facts: Readonly<Record<string, string | number | undefined>>): void {
    this.world.count(what);
    if (this.world.tracing) this.world.note(name, { what, facts });
    if (this.#isCalm) this.#inCalm.set(what, (this.#inCalm.get(what) ?? 0) + 1);
  }

  /** The leading process and incarnation. */
  #leaderName(): string | undefined {
    return this.#checker.present?.who;
  }

  #anyone(): Machine {
    return this.#random.pick(this.#machines);
  }

  #worsen(): void {
    for (const { faults } of this.#machines) Object.assign(faults, this.#usual);
    this.#etcd.refuseChance = this.#usualRefuseChance;
  }

  #heal(): void {
    this.#etcd.isDown = false;
    this.#makeSpace();
    this.#etcd.endStaleness();
    this.#etcd.losesKeepAlives = false;
    this.#etcd.refuseChance = 0;
    for (const machine of this.#machines) {
      Object.assign(machine.faults, noFaults());
      if (machine.isZombie) machine.process.crash();
      machine.isZombie = false;
      machine.process.resume();
      if (!machine.process.alive) machine.process.start();
    }
  }

  #trouble(): void {
    const what = this.#random.pick(TROUBLES);
    this.world.count(what);
    if (this.world.tracing) this.world.note('world', { what, facts: {} });
    this.#troubles[what]();
  }

  #forAWhile(mostMs: number, set: (on: boolean) => void): void {
    set(true);
    this.world.after(this.#random.between(50, mostMs), () => set(false));
  }

  /** Half of the time with a put that is refused after being carried out. */
  #fill(): void {
    const isAtOnce = this.#random.chance(0.5);
    this.#etcd.isFull = isAtOnce;
    this.#etcd.isAboutToBeFull = !isAtOnce;
  }

  #makeSpace(): void {
    this.#etcd.isFull = false;
    this.#etcd.isAboutToBeFull = false;
  }

  #kill(machine: Machine): void {
    machine.process.crash();
    this.#startLater(machine);
  }

  #startLater({ process }: Machine): void {
    this.world.after(this.#random.between(0, 600), () => {
      if (!process.alive && !this.#isRecovering) process.start();
    });
  }

  #cut({ process, faults }: Machine): void {
    this.#forAWhile(4_000, (on) => (faults.isCut = on));
    if (this.world.tracing) this.world.note(process.name, { what: 'cut-off', facts: {} });
    // Connections of the member break, or hang: also those of others, which does not matter here.
    this.#etcd.breakWatches(0.4, this.#random.pick(['end', 'deafen']));
  }

  /** Every request of this process is carried out at once, and answered late; and then, perhaps, none is. */
  #slowDown(machine: Machine): void {
    machine.faults.answerMs = [100, 400];
    this.world.after(this.#random.between(100, 3_000), () => {
      machine.faults.answerMs = [0, 0];
      if (this.#isChaos && this.#random.chance(0.3)) this.#cut(machine);
    });
  }

  #close(machine: Machine): void {
    const { process, member } = machine;
    const { incarnation } = process;
    process.perform(() =>
      member?.close(() => {
        // Not from within a callback.
        this.world.after(0, () => {
          if (process.alive && process.incarnation === incarnation) this.#kill(machine);
        });
      }),
    );
  }

  #backUp(): void {
    if (this.#isRecovered || !this.#hasLog) return;
    const [etcd, checker] = [this.#etcd.backup(), this.#checker.backup()];
    this.#backup = () => {
      etcd(this.#random.chance(0.5));
      checker();
    };
    this.#endsLeaderAfterNext = this.#random.chance(0.6);
  }

  /** etcd is put back, and the counters are raised. */
  #restore(): void {
    const backup = this.#backup;
    if (backup === undefined || this.#isRecovered || !this.#isChaos) return;
    const [a, b, c] = this.#machines;
    for (const machine of [a, b])
      if (machine?.member?.isLeading === true && this.#random.chance(0.9)) {
        // The process only seems to be dead, and comes back when others have taken over.
        machine.process.pause();
        machine.member.zombify();
        machine.isZombie = true;
      } else machine?.process.crash();
    c?.process.crash();
    backup();
    this.#happened('world', 'restored', {});
    this.#beginRecovery();
  }

  /** Not from when everything was deleted until somebody has begun a log. */
  get #hasLog(): boolean {
    return this.#etcd.store.at(new Layout(PREFIX).meta) !== undefined;
  }

  /** At once, or when somebody else is about to be elected. */
  #haltNowOrLater(): void {
    if (this.#isRecovered || this.#isHalted) return;
    if (this.#random.chance(0.3)) this.#haltSoon(1);
    else this.#haltsNext = true;
  }

  #haltSoon(withinMs: number): void {
    this.#haltsNext = false;
    this.world.after(this.#random.between(0, withinMs), () => {
      const third = this.#machines[2];
      if (this.#isRecovered || this.#isHalted || !this.#isChaos || !this.#hasLog) return;
      if (third?.process.running !== true || third.member?.mayHalt !== true) return;
      this.#isHalted = true;
      third.process.perform(() => third.member?.halt());
      this.world.after(this.#random.between(300, 4_000), () => this.#raise());
    });
  }

  /** Somebody deletes everything, and one process or the other is restarted and begins a log. */
  #wipe(): void {
    if (this.#isRecovered || this.#isHalted || this.#isWiped) return;
    this.#isWiped = true;
    this.#backup = undefined;
    const told = this.#etcd.onChange;
    this.#etcd.onChange = () => {};
    const { all } = new Layout(PREFIX);
    this.#etcd.transact({ compare: [], success: [{ do: 'delete', ...all }], failure: [] }, 'somebody');
    this.#etcd.onChange = told;
    this.#checker.wiped();
    this.#happened('world', 'wiped', {});
    for (const machine of this.#random.shuffle(this.#machines).slice(0, this.#random.integer(1, 3)))
      this.#kill(machine);
  }

  /**
   * The counters are raised, although the log is whole. A mere follower need not stop for that; and now and then
   * nobody is stopped, and the counters are raised as soon as nobody leads for a moment, if that comes.
   */
  #raise(): void {
    if (this.#isRecovered || !this.#hasLog) return;
    this.#isImpatient = !this.#isHalted && this.#random.chance(0.5);
    for (const { process, member } of this.#isImpatient ? [] : this.#machines.slice(0, 2))
      if (member?.isLeading === true && this.#random.chance(0.3)) process.pause();
      else process.crash();
    if (this.#isImpatient) this.world.after(3_000, () => (this.#isRecovering = false));
    this.#happened('world', 'raised', {});
    this.#beginRecovery();
  }

  #beginRecovery(): void {
    this.#isRecovering = true;
    this.#isRecovered = true;
    this.#etcd.isDown = false;
    this.#makeSpace();
    this.#operator.start();
  }

  /** The operator's step, repeated until done. */
  #recover(runtime: SimRuntime): void {
    const client = new SimulatedEtcdClient(this.#etcd, this.#operator, runtime, noFaults());
    const raise = (): void =>
      beginRaising(
        {
          ...{
            client,
            runtime,
            prefix: PREFIX,
            cluster: 'sim',
            logger: silent,
            ...this.#checker.recovering(),
          },
          randomId: () => RECOVERED,
        },
        (raised, error) => {
          if (raised !== undefined) return this.#recovered(raised.floor);
          if (error?.retryable !== true) this.#break('readable', error?.message ?? '');
          if (this.#isRecovering) this.world.after(this.#isImpatient ? 25 : 300, raise);
        },
      );
    raise();
  }

  #recovered(floor: number): void {
    this.#happened('operator', 'recovered', { floor });
    this.world.after(0, () => this.#operator.crash());
    this.#isRecovering = false;
    this.#isHalted = false;
    for (const machine of this.#machines) if (!machine.process.alive) this.#startLater(machine);
    this.world.after(3_000, () => this.#awakeAll());
  }

  #awakeAll(): void {
    for (const machine of this.#machines)
      if (machine.process.alive && !machine.process.running) this.#awake(machine);
  }

  /** A process that seemed dead comes back; later somebody notices, and ends the process. */
  #awake(machine: Machine): void {
    const { incarnation } = machine.process;
    machine.process.resume();
    if (this.#random.chance(0.8)) machine.process.perform(() => machine.member?.compact());
    this.world.after(this.#random.between(500, 3_000), () => {
      if (machine.process.incarnation !== incarnation) return;
      machine.isZombie = false;
      this.#kill(machine);
    });
  }

  /** The leader resigns; another must not have to wait for a lease to expire. */
  #makeRoom(): void {
    let leader: Machine | undefined;
    for (let tries = 0; leader === undefined && tries < 10; tries++) {
      leader = this.#machines.find(({ member }) => member?.isLeading === true);
      if (leader === undefined) this.#pass(ROOM_MS / 10); // The leader has just resigned, perhaps.
    }
    if (leader === undefined) throw this.world.broken('settles', 'nobody leads although all is well');
    const before = this.#inCalm.get('elected');
    leader.process.perform(() => leader.member?.resign());
    this.#pass(ROOM_MS);
    if (this.#inCalm.get('elected') === before)
      throw this.world.broken(
        'makes-room',
        `nobody was elected within ${ROOM_MS} ms after the leader resigned`,
      );
  }

  #compactAll(): void {
    for (const { member, process } of this.#machines) process.perform(() => member?.compact(true));
  }

  #mustHaveSettled(): void {
    const { world } = this;
    for (const what of ['appended', 'head'])
      if (!this.#inCalm.has(what)) throw world.broken('settles', `no ${what} although all was well`);
    for (const { process, member } of this.#machines)
      if (member?.isUpToDate !== true)
        throw world.broken('settles', `${process.name} has not followed to the end`);
    const [rubbish] = this.#rubbish();
    if (rubbish !== undefined) throw world.broken('no-rubbish', `${rubbish} is still there`);
  }

  /** The entries that the last snapshot has replaced. */
  #rubbish(): readonly string[] {
    const layout = new Layout(PREFIX);
    const { store } = this.#etcd;
    const pointer = decodePointer(store.at(layout.snapshot));
    if (pointer === undefined) return [];
    const { position, chunks } = pointer;
    const kept = Array.from({ length: chunks }, (_, place) => layout.chunk(position, place));
    return [layout.batchesUpTo(position), layout.allChunks].flatMap(({ key, end }) =>
      store.keysIn(key, end).filter((each) => store.at(each) !== undefined && !kept.includes(each)),
    );
  }
}
