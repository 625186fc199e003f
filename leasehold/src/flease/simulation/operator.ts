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
import { GroupChangeError } from '../errors.ts';
import { majorityOf, type View } from '../view.ts';
import type { FleaseNode } from './node.ts';

export interface OperatorOptions {
  readonly world: World;
  readonly random: Random;
  /** Makes a member that was never there before; it is not started. */
  build(name: string): FleaseNode;
  /** How long it may take to tell one member; most are told sooner. */
  readonly slownessMs: number;
  /** How long one may wait for a successor to be ready. */
  readonly preparationMs: number;
  /** How much later than the others one of them may be told, who has been overlooked. */
  readonly overlookedMs: readonly [number, number];
}

export class Operator {
  readonly #options: OperatorOptions;
  readonly #nodes = new Map<string, FleaseNode>();
  #view: View;
  #built = 0;
  /** Those who leave the group, and are stopped when that is settled. */
  #leaving: FleaseNode[] = [];

  constructor(options: OperatorOptions, members: number) {
    this.#options = options;
    const names = Array.from({ length: members }, () => this.#build().name);
    this.#view = { number: 1, members: names, before: undefined };
  }

  /** What a process that is started is told. */
  get view(): View {
    return this.#view;
  }

  /** Whether everybody says so. */
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

  /** Everybody who is to run. */
  get nodes(): readonly FleaseNode[] {
    const { members, before = [] } = this.#view;
    const names = new Set([...members, ...before, ...this.#leaving.map(({ name }) => name)]);
    return [...this.#nodes.values()].filter((node) => names.has(node.name) && !this.#isGone.has(node));
  }

  readonly #isGone = new Set<FleaseNode>();

  startAll(): void {
    for (const node of this.nodes) if (!node.process.alive) node.process.start();
  }

  /** Somebody says that a view is settled. */
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

  /** Puts another member in the place of one of them, or adds one, or takes one away. */
  change(): void {
    if (this.isChanging) return;
    const { world, random, preparationMs } = this.#options;
    const { number, members } = this.#view;
    const leaver = this.#nodes.get(random.pick(members)) as FleaseNode;
    const rest = members.filter((name) => name !== leaver.name);
    const kind = random.pick(['replace', 'replace', 'add', 'take away']);
    const leaves = kind === 'replace' || (kind === 'take away' && rest.length > 0);
    const joiner = leaves && kind === 'take away' ? undefined : this.#build();
    const next = [...(leaves ? rest : members), ...(joiner === undefined ? [] : [joiner.name])];
    this.#view = { number: number + 1, members: next, before: members };
    world.count('views');
    leaver.note('view', { number: number + 1, members: next.join(' '), before: members.join(' ') });
    if (leaves) this.#leave(leaver, rest.length >= majorityOf(members.length));
    joiner?.process.start();
    // Some wait until it has stopped to be silent.
    world.after(random.pick([0, preparationMs]), () => this.#moveAll(number + 1));
  }

  /** A member that is not needed for the majority of those before may be stopped at once. */
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

  /** Tells it, until it has moved. */
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
      if (!(error instanceof GroupChangeError)) throw error;
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

/** Part of the time that it may take. */
const QUICK = 0.05;
/** How often one of them is told when the others have long settled. */
const OVERLOOKED = 0.4;

const NAMES = [...'abcdefghijklmnopqrstuvwxyz'];
