/**
 * Troubles about the ends of leases: a member that may read hears nothing any more, while writes go on elsewhere.
 *
 * A stale read needs several things at once: a lease that still runs, a write that its grantors let pass, and a reader that does not have
 * that write. So one trouble plays all of it, with the clocks at their bound: the reader's is the slowest and those of its grantors the fastest.
 *
 *     reader     ├──── may read ────────────┤ by the slowest clock
 *     grantors   ├── a restart, or the end of the hold: what may a write pass over? ──►
 *     cut off        ├──────────────────────────────────┤ then a link that loses most of what it carries
 */

import type { Storm, Trouble } from '../../sim/storm.ts';
import { holdFor } from '../core/leases.ts';
import { drawPlacement } from './drawn-world.ts';
import type { ReplicaNode } from './node.ts';
import type { QuorumWorld } from './quorum-world.ts';

/** What else befalls the reader or its grantors. */
type Turn =
  | 'clocks'
  | 'one grantor'
  | 'grantors restart'
  | 'slow before'
  | 'release'
  | 'restart'
  | 'suspension'
  | 'placement'
  | 'lossy after';

/** Turns that need each other; sometimes another turn is added. */
const COURSES: readonly (readonly Turn[])[] = [
  [],
  ['clocks'],
  ['one grantor'],
  ['clocks', 'one grantor'],
  ['grantors restart'],
  ['slow before'],
  ['slow before', 'clocks'],
  ['slow before', 'restart'],
  ['slow before', 'release'],
  ['release'],
  ['suspension'],
  ['placement'],
  ['placement', 'lossy after'],
  ['lossy after'],
];
const MORE_CHANCE = 0.3;

export function leaseTroubles(quorum: QuorumWorld): Readonly<Record<string, Trouble<ReplicaNode>>> {
  return {
    release: (reader) => reader.release(),
    'reader cut off': (victim, storm) => new CutOffReader(quorum, storm, victim).play(),
  };
}

class CutOffReader {
  readonly #quorum: QuorumWorld;
  readonly #storm: Storm<ReplicaNode>;
  readonly #reader: ReplicaNode;
  readonly #others: readonly ReplicaNode[];
  readonly #turns: ReadonlySet<Turn>;
  readonly #leaseMs: number;
  readonly #beforeMs: number;
  readonly #cutMs: number;

  constructor(quorum: QuorumWorld, storm: Storm<ReplicaNode>, victim: ReplicaNode) {
    const { random, ground } = storm;
    const { leaseMs } = quorum.drawn.durations;
    const members = ground.victims();
    // A leader that is cut off writes nothing, and another one must be elected first.
    const followers = members.filter((each) => each !== quorum.operator.leader);
    this.#quorum = quorum;
    this.#storm = storm;
    this.#reader = random.chance(0.8) && followers.length > 0 ? random.pick(followers) : victim;
    this.#others = members.filter((each) => each !== this.#reader);
    const more = random.chance(MORE_CHANCE) ? random.pick(COURSES) : [];
    this.#turns = new Set([...random.pick(COURSES), ...more]);
    this.#leaseMs = leaseMs;
    const hasBefore = this.#turns.has('slow before') || this.#turns.has('one grantor');
    this.#beforeMs = hasBefore ? leaseMs * random.between(0.2, 2) : 0;
    this.#cutMs = holdFor(leaseMs) * random.between(this.#turns.has('suspension') ? 1 : 0.3, 1.5);
  }

  play(): void {
    const { random, ground } = this.#storm;
    const reader = this.#reader;
    this.#storm.stage(this.#beforeMs + this.#cutMs);
    if (this.#turns.has('clocks')) {
      const [slowest, fastest] = ground.clockRates;
      for (const each of ground.victims()) this.#storm.setRate(each, each === reader ? slowest : fastest);
    }
    if (this.#turns.has('slow before')) this.#slow();
    const kept = this.#turns.has('one grantor') ? this.#pickGrantor() : undefined;
    if (kept !== undefined)
      for (const each of this.#others) if (each !== kept) this.#cutFrom(each, this.#beforeMs, true);
    const sometimeBefore = (): number => this.#beforeMs * random.pick([random.between(0, 1), 1]);
    if (this.#turns.has('release')) this.#storm.after(sometimeBefore(), () => reader.release());
    // The questions of a life are numbered from 1: lives that are short have numbers in common.
    const lives = this.#turns.has('restart') ? random.pick([1, 3]) : 0;
    for (let life = 0; life < lives; life += 1)
      this.#storm.after(sometimeBefore(), () => this.#storm.crash(reader, 0));
    this.#storm.after(this.#beforeMs, () => this.#cutOff(kept === undefined ? this.#others : [kept]));
  }

  /** Mostly not the leader: then no election is needed when the grantor restarts. */
  #pickGrantor(): ReplicaNode {
    const followers = this.#others.filter((each) => each !== this.#quorum.operator.leader);
    return this.#storm.random.pick(followers.length > 0 ? followers : this.#others);
  }

  /** What is under way when the reader is cut off arrives late. */
  #slow(): void {
    const { random } = this.#storm;
    const slowMs = [0, this.#leaseMs * random.pick([0.5, 1, 2])] as const;
    const faults = { slowChance: random.pick([0.3, 0.95]), slowMs };
    const [hears, isHeard] = random.pick([
      [true, true],
      [true, false],
      [false, true],
    ]);
    for (const { storage } of this.#others) {
      const [from, to] = [storage, this.#reader.storage];
      if (hears === true) this.#storm.spoilLink(this.#quorum.replicas, [from, to], faults, this.#beforeMs);
      if (isHeard === true) this.#storm.spoilLink(this.#quorum.replicas, [to, from], faults, this.#beforeMs);
    }
  }

  #cutFrom({ storage }: ReplicaNode, forMs: number, isBoth: boolean, dropInFlight = false): void {
    const { replicas } = this.#quorum;
    this.#storm.cut(replicas, storage, this.#reader.storage, forMs, { dropInFlight });
    if (isBoth) this.#storm.cut(replicas, this.#reader.storage, storage, forMs, { dropInFlight });
  }

  /** @param grantors those that may restart and forget whom they promised */
  #cutOff(grantors: readonly ReplicaNode[]): void {
    const { random } = this.#storm;
    const cutMs = this.#cutMs;
    const isBoth = random.chance(0.7);
    const dropInFlight = this.#beforeMs === 0 && random.chance(0.5);
    for (const each of this.#others) this.#cutFrom(each, cutMs, isBoth, dropInFlight);
    if (this.#turns.has('suspension')) this.#storm.suspend(this.#reader, cutMs * random.between(0.6, 0.98));
    if (this.#turns.has('grantors restart') || this.#turns.has('one grantor')) {
      const withinMs = random.pick([0, 0, 0.5]) * cutMs;
      for (const each of grantors)
        this.#storm.after(random.between(0, withinMs), () => this.#storm.crash(each, random.pick([0, 0, 1])));
    }
    if (this.#turns.has('placement'))
      this.#storm.after(random.pick([0, random.between(0, cutMs)]), () => this.#changePlacement());
    if (this.#turns.has('lossy after'))
      this.#storm.after(cutMs, () => {
        const lossChance = random.pick([0.3, 0.6, 0.85]);
        for (const { storage } of this.#others) {
          const link = [storage, this.#reader.storage] as const;
          this.#storm.spoilLink(this.#quorum.replicas, link, { lossChance }, this.#storm.lasting(2));
        }
      });
  }

  #changePlacement(): void {
    const { random } = this.#storm;
    const { operator } = this.#quorum;
    const placement = random.chance(0.5) ? ({ mode: 'leader' } as const) : drawPlacement(random, 3);
    operator.leader?.reconfigure({ kind: 'placement', placement });
  }
}
