/** One seed: a world in which everything goes wrong for a while, and then nothing. */

import type { Random } from '../../sim/random.ts';
import { BALLOT_MAX } from '../core/ballot.ts';
import { SUSPENSION_NOTICED_MS } from '../core/leases.ts';
import type { Message } from '../core/messages.ts';
import { seeCalm } from './calm.ts';
import { drawPlacement, drawPlacementChange, drawRate } from './drawn-world.ts';
import type { ReplicaNode } from './node.ts';
import type { QuorumWorld } from './quorum-world.ts';

const TROUBLES = [
  ...([
    'crash',
    'crash',
    'crash all',
    'crash all',
    'crash all',
    'pause',
    'suspension',
    'suspension',
    'partition',
  ] as const),
  ...([
    'one-way cut',
    'one-way cut',
    'bad network',
    'stuck disk',
    'clock rate',
    'release',
    'transfer',
  ] as const),
  ...([
    'new leader',
    'lost disk',
    'double',
    'add',
    'remove',
    'damage',
    'damage',
    'restore',
    'restore',
    'copy',
    'copy',
    'stranger',
    'late change',
  ] as const),
] as const;

type Trouble = (typeof TROUBLES)[number];

/** So many kinds of trouble in one world: with more, nobody ever has a lease to lose. */
const KINDS_EACH = [1, 2, 3, 4, 6];

export class Chaos {
  readonly quorum: QuorumWorld;
  readonly #random: Random;
  readonly #kinds: readonly Trouble[];
  #isOver = false;
  readonly #troubles: Readonly<Record<Trouble, (node: ReplicaNode) => void>> = {
    crash: (node) => this.#crash(node),
    'crash all': () => {
      for (const node of this.quorum.nodes) this.#crash(node);
    },
    pause: (node) => node.process.pause(this.#upToLeases(2)),
    suspension: (node) =>
      node.process.suspend(this.#random.pick([SUSPENSION_NOTICED_MS * 0.95, this.#upToLeases(3)])),
    partition: () => this.#partition(),
    'one-way cut': (node) => this.#cut(node),
    'bad network': () => this.#spoilNetwork(),
    'stuck disk': (node) => {
      node.disk.stuckUntilMs = this.quorum.world.trueMs + this.#upToLeases(3);
    },
    'clock rate': (node) => node.process.setRate(drawRate(this.#random)),
    release: (node) => node.release(),
    transfer: () => {
      const { leader, members } = this.quorum.operator;
      leader?.transfer(this.#random.pick(members).storage);
    },
    'new leader': () => {
      const { leader } = this.quorum.operator;
      if (leader !== undefined)
        leader.process.pause(this.quorum.drawn.durations.electionMs * this.#random.between(1, 5));
    },
    'lost disk': (node) => this.quorum.operator.replace(node, false),
    double: (node) => this.quorum.operator.replace(node, true),
    add: () => this.quorum.operator.add(),
    remove: (node) => this.quorum.operator.remove(node),
    damage: (node) => this.#damage(node),
    restore: (node) => this.#restore(node),
    copy: (node) => this.#copy(node),
    'late change': () => this.#repeatChange(),
    stranger: (node) => this.#speakAsStranger(node),
  };

  constructor(quorum: QuorumWorld) {
    this.quorum = quorum;
    this.#random = this.quorum.world.random.fork('chaos');
    this.#kinds = this.#random.shuffle(TROUBLES).slice(0, this.#random.pick(KINDS_EACH));
  }

  run(): void {
    this.worsen();
    this.calm();
  }

  /** Everything goes wrong for a while. */
  worsen(): void {
    const { world, drawn } = this.quorum;
    this.quorum.start();
    world.run({ untilMs: drawn.durations.electionMs * this.#random.between(1, 6) });
    const troubles = world.every(drawn.troubleMs, () => this.#trouble());
    const { placementMs } = drawn;
    if (placementMs !== undefined) world.count('worlds whose holders change all the time');
    const placements =
      placementMs === undefined
        ? undefined
        : world.every([1, 2 * placementMs], () => this.#changePlacement());
    world.run({ untilMs: world.trueMs + drawn.chaosMs });
    troubles[Symbol.dispose]();
    placements?.[Symbol.dispose]();
    this.#isOver = true;
  }

  /** Nothing goes wrong any more. */
  calm(): void {
    seeCalm(this.quorum, this.#random.fork('calm'));
  }

  #trouble(): void {
    const { world, operator } = this.quorum;
    const what = this.#random.pick(this.#kinds);
    const members = operator.members;
    const { leader } = operator;
    const node = leader !== undefined && this.#random.chance(0.3) ? leader : this.#random.pick(members);
    world.count(`trouble: ${what}`);
    node.note('trouble', { what });
    this.#troubles[what](node);
  }

  #upToLeases(leases: number): number {
    const { leaseMs } = this.quorum.drawn.durations;
    return leaseMs * this.#random.between(0, this.#random.pick([leases / 4, leases]));
  }

  #changePlacement(): void {
    const { leader, nodes } = this.quorum.operator;
    const placement = this.#random.chance(0.5)
      ? drawPlacement(this.#random, nodes.length)
      : drawPlacementChange(this.#random, nodes.length);
    leader?.reconfigure({ kind: 'placement', placement });
  }

  #crash(node: ReplicaNode): void {
    node.crash();
    const { incarnation } = node.process;
    this.quorum.world.after(this.#random.pick([0, 1, this.#upToLeases(1)]), () => {
      if (node.process.incarnation === incarnation) node.start();
    });
  }

  /** Flips bits in a frame that has a valid one behind it; found at the next start. */
  #damage(node: ReplicaNode): void {
    const { operator } = this.quorum;
    if (!operator.isWhole || !operator.members.includes(node)) return;
    if (operator.members.some(({ replica }) => replica === undefined)) return;
    node.crash();
    node.disk.repairTail();
    if (node.disk.damage()) this.quorum.world.count('frames damaged');
    node.start();
  }

  /** Puts an earlier backup in the place of a disk, and starts the replica on that; or makes a backup, for a later time. */
  #restore(node: ReplicaNode): void {
    const { operator, world } = this.quorum;
    const { disk } = node;
    const { votesInBackup } = disk;
    for (const each of operator.members) if (each !== node && this.#random.chance(0.5)) each.disk.backUp();
    if (votesInBackup === undefined || this.#random.chance(0.2)) {
      disk.backUp();
      return;
    }
    if (!operator.isWhole || !operator.members.includes(node)) return;
    const others = operator.members.filter((each) => each !== node);
    node.crash();
    disk.restore();
    world.count('backups restored');
    if (this.#random.chance(0.5)) for (const each of others) this.#crash(each);
    node.start();
  }

  /**
   * Copies the directory of a running replica; power fails everywhere, so soon after that the others have not written down which votes they heard;
   * the copy takes the place of the directory. When the copy is confirmed another member fails for a while, perhaps the only one that has
   * what the copy forgot.
   */
  #copy(node: ReplicaNode): void {
    const { operator, world, drawn } = this.quorum;
    if (!operator.isWhole || !operator.members.includes(node) || node.replica === undefined) return;
    const others = operator.members.filter((each) => each !== node);
    node.disk.backUp();
    world.after(this.#random.between(1, this.#random.pick([10, 60])), () => {
      if (this.#isOver || !operator.isWhole || !operator.members.includes(node)) return;
      const { votes, votesInBackup = 0 } = node.disk;
      const isKnown = others.some(({ disk }) => disk.heardOf(node.storage) > votesInBackup);
      if (votes > votesInBackup && !isKnown) world.count('copies whose votes nobody wrote down');
      for (const each of [node, ...others]) each.crash();
      node.disk.restore();
      for (const each of [node, ...others]) each.start();
      const victim = this.#random.pick(others);
      const watching = world.every([1, 3], () => {
        if (node.replica === undefined && !node.isLost) return;
        watching[Symbol.dispose]();
        if (this.#isOver || node.isLost) return;
        victim.crash();
        world.after(drawn.durations.electionMs * this.#random.between(1, 8), () => victim.start());
      });
    });
  }

  /** A copy of a change arrives that was made long ago; the old process of a replaced member may still run. */
  #repeatChange(): void {
    const { operator, world } = this.quorum;
    const { removed = [] } = operator.leader?.replica?.view.log.newestConfiguration ?? {};
    if (removed.length === 0) {
      operator.replace(this.#random.pick(operator.members), true);
      return;
    }
    world.count('changes repeated');
    operator.leader?.reconfigure({ kind: 'add', storage: this.#random.pick(removed) });
  }

  /** A process that no configuration seats speaks as only members may. */
  #speakAsStranger(node: ReplicaNode): void {
    const { replicas, operator } = this.quorum;
    const view = operator.leader?.replica?.view;
    if (view === undefined) return;
    const { chosen, last: slot } = view.log;
    const ballot = this.#random.pick([view.ballot + 32 * this.#random.integer(1, 9), BALLOT_MAX]);
    const number = 2 ** 40;
    const words: readonly Message[] = [
      { kind: 'prepare', ballot, chosen },
      { kind: 'accept', ballot, merged: 0, first: slot + 1, operations: [], chosen: 0, committed: 0 },
      { kind: 'refused', ballot: view.ballot, promised: ballot },
      {
        ...{ kind: 'accepted', ballot: view.ballot, upTo: slot, committed: slot, settled: slot },
        ...{ life: number, number, mask: 0, votes: number },
      },
    ];
    for (const to of [node, ...operator.members])
      replicas.send('stranger', to.storage, { life: 1, message: this.#random.pick(words) });
  }

  #partition(): void {
    const { replicas, nodes } = this.quorum;
    const names = this.#random.shuffle(nodes.map(({ storage }) => storage));
    const at = this.#random.integer(1, Math.max(1, names.length - 1));
    replicas.partition([names.slice(0, at), names.slice(at)], { dropInFlight: this.#random.chance(0.5) });
    this.#healWithin(this.#upToLeases(3));
  }

  #cut(node: ReplicaNode): void {
    const { replicas, nodes } = this.quorum;
    const toIt = this.#random.chance(0.5);
    for (const { storage } of nodes) {
      if (storage === node.storage || this.#random.chance(0.3)) continue;
      if (toIt) replicas.cut(storage, node.storage);
      else replicas.cut(node.storage, storage);
    }
    this.#healWithin(this.#upToLeases(3));
  }

  #healWithin(ms: number): void {
    this.quorum.world.after(ms, () => this.quorum.replicas.heal());
  }

  #spoilNetwork(): void {
    const { replicas, drawn, world } = this.quorum;
    const { leaseMs } = drawn.durations;
    replicas.setFaults({
      lossChance: this.#random.between(0, 0.5),
      duplicateChance: this.#random.between(0, 0.3),
      slowChance: this.#random.between(0, 0.5),
      slowMs: [0, leaseMs * this.#random.pick([0.5, 2, 4])],
    });
    world.after(this.#upToLeases(2), () => {
      if (!this.#isOver) replicas.setFaults(drawn.links);
    });
  }
}
