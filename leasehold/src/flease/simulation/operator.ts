/**
 * Whoever starts the members of a group and replaces them, and obeys the rules of `view.ts`: one change at a time,
 * the next only when all members that run say that the last one is settled; and whoever is started is told of the
 * present view, without the members before it once some member has said that it is settled.
 *
 *     settled ── replace ──► the successor is started, all members are moved one after the other,
 *        ▲                   one that leaves is stopped at once, or when all say that it is settled
 *        └── all say so ◄── some member says that it is settled
 */

import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import { UnavailableError } from '../../runtime/errors.ts';
import { majorityOf, MEMBERS_MAX, type View } from '../core/view.ts';
import type { FleaseNode } from './node.ts';

export interface OperatorOptions {
  readonly world: World;
  readonly random: Random;
  /** Makes a new member; it is not started. */
  build(name: string): FleaseNode;
  /** How long it may take to tell one member; most are told sooner. */
  readonly slownessMs: number;
  /** How long the operator may wait until a joining member is ready. */
  readonly preparationMs: number;
  /** How much later than the others an overlooked member may be told. */
  readonly overlookedMs: readonly [number, number];
}

export class Operator {
  readonly #options: OperatorOptions;
  readonly #nodes = new Map<string, FleaseNode>();
  #view: View;
  #built = 0;
  /** Members that leave the group, and are stopped when the change is settled. */
  #leaving: FleaseNode[] = [];

  constructor(options: OperatorOptions, members: number) {
    this.#options = options;
    const names = Array.from({ length: members }, () => this.#build().name);
    this.#view = { number: 1, members: names, before: undefined };
  }

  /** The view that a starting process is given. */
  get view(): View {
    return this.#view;
  }

  /** Whether all members say so. */
  get isSettled(): boolean {
    if (this.#view.before !== undefined) return false;
    const { number } = this.#view;
    return this.nodes.every(({ member, name }) => {
      const isGoing = this.#leaving.some((node) => node.name === name);
      return isGoing || (member?.view.number === number && member.view.before === undefined);
    });
  }

  get isChanging(): boolean {
    return !this.isSettled || this.#leaving.length > 0;
  }

  /** All members that are to run. */
  get nodes(): readonly FleaseNode[] {
    const { members, before = [] } = this.#view;
    const names = new Set([...members, ...before, ...this.#leaving.map(({ name }) => name)]);
    return [...this.#nodes.values()].filter((node) => names.has(node.name) && !this.#isGone.has(node));
  }

  readonly #isGone = new Set<FleaseNode>();

  startAll(): void {
    for (const node of this.nodes) if (!node.process.alive) node.process.start();
  }

  /** A member says that a view is settled. */
  heardOfSettling(view: number): void {
    if (view !== this.#view.number || this.#view.before === undefined) return;
    this.#view = { ...this.#view, before: undefined };
    this.#stopLeaversSoon();
  }

  #stopLeaversSoon(): void {
    const { world, slownessMs } = this.#options;
    if (this.isSettled) {
      for (const node of this.#leaving) this.#stop(node);
      this.#leaving = [];
    } else world.after(slownessMs, () => this.#stopLeaversSoon());
  }

  /** Replaces, adds or removes a member. */
  change(): void {
    if (this.isChanging) return;
    const { world, random, preparationMs } = this.#options;
    const { number, members } = this.#view;
    const leaver = this.#nodes.get(random.pick(members)) as FleaseNode;
    const rest = members.filter((name) => name !== leaver.name);
    const drawn = random.pick(['replace', 'replace', 'add', 'take away']);
    const kind = drawn === 'add' && members.length >= MEMBERS_MAX ? 'replace' : drawn;
    const leaves = kind === 'replace' || (kind === 'take away' && rest.length > 0);
    const joiner = leaves && kind === 'take away' ? undefined : this.#build();
    const next = [...(leaves ? rest : members), ...(joiner === undefined ? [] : [joiner.name])];
    this.#view = { number: number + 1, members: next, before: members };
    world.count('views');
    leaver.note('view', { number: number + 1, members: next.join(' '), before: members.join(' ') });
    if (leaves) this.#leave(leaver, rest.length >= majorityOf(members.length));
    joiner?.process.start();
    // Some operators wait until the joining member has recovered.
    world.after(random.pick([0, preparationMs]), () => this.#moveAll(number + 1));
  }

  /** A member that is not needed for the majority of the old members may be stopped at once. */
  #leave(leaver: FleaseNode, mayStop: boolean): void {
    if (mayStop && this.#options.random.chance(0.5)) this.#stop(leaver);
    else this.#leaving.push(leaver);
  }

  #stop(node: FleaseNode): void {
    this.#isGone.add(node);
    node.process.crash();
  }

  #moveAll(number: number): void {
    const { world, random, slownessMs, overlookedMs } = this.#options;
    const overlooked = random.chance(OVERLOOKED) ? random.pick(this.nodes) : undefined;
    for (const node of this.nodes) {
      const withinMs = slownessMs * (random.chance(0.3) ? 1 : QUICK);
      const lateMs = node === overlooked ? random.between(...overlookedMs) : 0;
      world.after(lateMs, () => this.#moveSoon(node, number, withinMs));
    }
  }

  /** Tells the member, until it has moved. */
  #moveSoon(node: FleaseNode, number: number, withinMs: number): void {
    const { world, random } = this.#options;
    world.after(random.between(0, withinMs), () => {
      const { member } = node;
      if (this.#isGone.has(node) || this.#view.number !== number) return;
      if (node.process.running && member !== undefined) {
        if (member.view.number >= number) return;
        this.#move(node);
      }
      this.#moveSoon(node, number, withinMs);
    });
  }

  #move(node: FleaseNode): void {
    try {
      node.move(this.#view.members);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.#options.world.count('moves refused');
    }
  }

  #build(): FleaseNode {
    this.#built += 1;
    const node = this.#options.build(NAMES[this.#built - 1] ?? `m${this.#built}`);
    this.#nodes.set(node.name, node);
    return node;
  }
}

/** Part of the longest time. */
const QUICK = 0.05;
/** How often one member is told when the others have long settled. */
const OVERLOOKED = 0.4;

const NAMES = [...'abcdefghijklmnopqrstuvwxyz'];
