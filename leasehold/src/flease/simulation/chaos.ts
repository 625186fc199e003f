/**
 * One seed: a world in which everything goes wrong for a while, and then nothing.
 */

import type { Random } from '../../sim/random.ts';
import { seeCalm } from './calm.ts';
import { drawWorld } from './drawn-world.ts';
import { FleaseWorld } from './flease-world.ts';
import { majorityOf } from '../core/view.ts';
import type { FleaseNode } from './node.ts';

const TROUBLES = [
  ...(['crash', 'shutdown', 'rolling restart', 'power cut', 'pause', 'suspension', 'partition'] as const),
  ...(['one-way cut', 'bad network', 'clock set wrong', 'group change', 'group change', 'pause'] as const),
  ...(['stall', 'stall'] as const),
] as const;

type Trouble = (typeof TROUBLES)[number];

/** The number of kinds of faults in most worlds: with more, there is seldom a lease to lose. */
const TROUBLES_EACH = [1, 2, 3, 4];

export class Chaos {
  readonly flease: FleaseWorld;
  readonly #random: Random;
  readonly #kinds: readonly Trouble[];
  #isOver = false;
  readonly #troubles: Readonly<Record<Trouble, (node: FleaseNode) => void>> = {
    crash: (node) => this.#crash(node),
    shutdown: (node) => this.#shutDown(node),
    'rolling restart': () => this.#restartAll(),
    'power cut': () => {
      for (const node of this.flease.nodes) this.#crash(node);
    },
    pause: (node) => node.pause(this.#upToLeases(2)),
    stall: (node) => node.stallAtGrant(this.#upToLeases(2)),
    suspension: (node) => this.#suspend(node),
    partition: () => this.#partition(),
    'one-way cut': (node) => this.#cut(node),
    'bad network': () => this.#spoilNetwork(),
    'clock set wrong': (node) => this.#setClockWrong(node),
    'group change': () => this.#changeGroup(),
  };

  constructor(seed: number, trace: boolean) {
    const drawn = drawWorld(seed);
    this.flease = new FleaseWorld({ seed, trace, drawn });
    this.#random = this.flease.world.random.fork('chaos');
    const few = this.#random.pick(TROUBLES_EACH);
    const kinds = drawn.troubleKinds ?? few;
    if (drawn.troubleKinds !== undefined) this.flease.world.count('wide worlds');
    this.#kinds = this.#random.shuffle(TROUBLES).slice(0, kinds);
  }

  run(): void {
    const { world, operator, drawn } = this.flease;
    operator.startAll();
    const { recoveryMs, leaseMs } = drawn.durations;
    world.run({ untilMs: recoveryMs + this.#random.between(0, leaseMs) });
    const troubles = world.every(drawn.troubleMs, () => this.#trouble());
    world.run({ untilMs: world.trueMs + drawn.chaosMs });
    troubles[Symbol.dispose]();
    this.#isOver = true;
    for (const node of this.flease.nodes) node.stallAtGrant(0);
    seeCalm(this.flease);
  }

  #trouble(): void {
    const { world } = this.flease;
    const what = this.#random.pick(this.#kinds);
    const node = this.#pickNode();
    world.count(what);
    node.note('trouble', { what });
    this.#troubles[what](node);
  }

  /** Mostly a node that holds a lease. */
  #pickNode(): FleaseNode {
    const { nodes } = this.flease;
    const holders = nodes.filter(({ member }) => member !== undefined && !isEmpty(member.heldLeases));
    return this.#random.pick(holders.length > 0 && this.#random.chance(0.7) ? holders : nodes);
  }

  #upToLeases(leases: number): number {
    return (
      this.flease.drawn.durations.leaseMs * this.#random.between(0, this.#random.pick([leases / 4, leases]))
    );
  }

  #crash(node: FleaseNode): void {
    node.process.crash();
    this.#startWithin(node, this.#random.pick([0, 0, this.#upToLeases(2)]));
  }

  #startWithin(node: FleaseNode, ms: number): void {
    const { incarnation } = node.process;
    this.flease.world.after(ms, () => {
      const isStill = !node.process.alive && node.process.incarnation === incarnation;
      if (isStill && this.flease.nodes.includes(node)) node.process.start();
    });
  }

  /** Releases everything, and restarts at once. */
  #shutDown(node: FleaseNode): void {
    const { incarnation } = node.process;
    node.process.perform(() => node.releaseAll());
    const { answerTimeoutMs } = this.flease.drawn.durations;
    this.flease.world.after(this.#random.between(0, answerTimeoutMs), () => {
      if (this.#isOver || !node.process.alive || node.process.incarnation !== incarnation) return;
      node.process.crash();
      this.#startWithin(node, 0);
    });
  }

  /** One after the other: at any time most members are up, and soon none remembers anything. */
  #restartAll(): void {
    const { recoveryMs } = this.flease.drawn.durations;
    const pauseMs = recoveryMs * this.#random.pick([0.1, 0.5, 1.1]);
    this.flease.nodes.forEach((node, place) => {
      this.flease.world.after(place * pauseMs, () => {
        if (!this.#isOver && this.flease.nodes.includes(node)) this.#shutDown(node);
      });
    });
  }

  #suspend(node: FleaseNode): void {
    if (this.flease.timekeeping.isWrong(node)) return;
    node.suspend(this.#random.pick([this.flease.drawn.durations.clockSkewMs / 3, this.#upToLeases(3)]));
  }

  /** Half of the time, changing sets of members cannot be reached: so members of one view meet without the other. */
  #changeGroup(): void {
    const { operator, drawn, world, timekeeping } = this.flease;
    // Members with wrong clocks must not become a majority: a wrong clock is found only by comparison.
    const { wrongClocks } = timekeeping;
    if (wrongClocks > 0 && wrongClocks >= majorityOf(operator.view.members.length - 1)) return;
    operator.change();
    if (this.#random.chance(0.5)) return;
    const { leaseMs, recoveryMs } = drawn.durations;
    const splits = world.every([leaseMs * 0.1, leaseMs], () => {
      if (!this.#isOver) this.#split();
    });
    world.after(this.#random.between(0, 5 * recoveryMs), () => {
      splits[Symbol.dispose]();
      this.flease.network.heal();
    });
  }

  #split(): void {
    const { network, nodes } = this.flease;
    const names = this.#random.shuffle(nodes.map(({ name }) => name));
    const half = Math.floor(names.length / 2);
    network.heal();
    network.partition([names.slice(0, half), names.slice(half)]);
  }

  #partition(): void {
    const { network, nodes } = this.flease;
    const names = this.#random.shuffle(nodes.map(({ name }) => name));
    const at = this.#random.integer(1, Math.max(1, names.length - 1));
    network.partition([names.slice(0, at), names.slice(at)]);
    this.#healWithin(this.#upToLeases(3));
  }

  #cut(node: FleaseNode): void {
    const { network, nodes } = this.flease;
    const toIt = this.#random.chance(0.5);
    for (const { name } of nodes) {
      if (name === node.name || this.#random.chance(0.3)) continue;
      if (toIt) network.cut(name, node.name);
      else network.cut(node.name, name);
    }
    this.#healWithin(this.#upToLeases(3));
  }

  #healWithin(ms: number): void {
    this.flease.world.after(ms, () => this.flease.network.heal());
  }

  #spoilNetwork(): void {
    const { network, drawn, world } = this.flease;
    const { leaseMs } = drawn.durations;
    network.setFaults({
      lossChance: this.#random.between(0, 0.6),
      slowChance: this.#random.between(0, 0.5),
      slowMs: [0, leaseMs * this.#random.pick([0.5, 2, 4])],
    });
    world.after(this.#upToLeases(2), () => {
      if (!this.#isOver) network.setFaults(drawn.links);
    });
  }

  #setClockWrong(node: FleaseNode): void {
    const { timekeeping, drawn, operator } = this.flease;
    const { leaseMs, clockSkewMs, recoveryMs } = drawn.durations;
    const { members, before = members } = operator.view;
    const { wrongClocks } = timekeeping;
    const isMajority = wrongClocks + 1 >= majorityOf(Math.min(members.length, before.length));
    if (wrongClocks >= drawn.wrongClocksMost || isMajority) return;
    if (timekeeping.isWrong(node) || node.process.clock.suspended) return;
    if (wrongClocks > 0) this.flease.world.count('clocks wrong beside others');
    const isFar = this.#random.chance(0.5);
    const byMs = isFar
      ? leaseMs * this.#random.pick([3, 10, 1_000])
      : this.#random.between(clockSkewMs / 2 + 5, 2 * leaseMs);
    const forMs = isFar ? this.#upToLeases(4) : recoveryMs * this.#random.between(0, 0.9);
    timekeeping.setWrong(node, this.#random.pick([-byMs, byMs]), forMs);
    if (this.#random.chance(0.3)) node.pause(this.#upToLeases(3));
    // In a wide world several at once, as with a wrong time server.
    if (timekeeping.wrongClocks < drawn.wrongClocksMost) this.#setClockWrong(this.#pickNode());
  }
}

function isEmpty(things: Iterable<unknown>): boolean {
  for (const _ of things) return false;
  return true;
}
