/**
 * The operator of Managers that elect each other. It replaces, adds and takes away Managers by the steps of the guide
 * (`docs/flease.md`): the new one first, then all others, one after the other, each restarted in the next view; the one that goes
 * is stopped when a member has said that the view is settled.
 *
 * Now and then it starts one Manager with another `takeoverMs` than the rest, by mistake: one at a time, never while the group
 * changes, and never one that is a majority by itself.
 */

import type { Member } from '../../../flease/core/member.ts';
import type { ResolvedFleaseDurations } from '../../../flease/core/options.ts';
import type { View } from '../../../flease/core/view.ts';
import type { Random } from '../../../sim/random.ts';
import type { World } from '../../../sim/world.ts';
import type { PoolSettings } from '../../core/manager/settings.ts';
import type { ResolvedDurations } from '../../core/options.ts';
import type { ManagerNode } from '../nodes.ts';

const MEMBERS_MOST = 5;

/** How one Manager is started, until somebody says otherwise. */
export interface StartedWith {
  readonly durations: ResolvedDurations;
  readonly pools: ReadonlyMap<string, PoolSettings> | undefined;
  readonly takeoverMs: number;
}

/** What the operator does to the world, and sees of it. */
interface OperatedWorld {
  readonly world: World;
  readonly group: ResolvedFleaseDurations;
  readonly takeoverMs: number;
  readonly shortest: ResolvedDurations;
  startWith(node: ManagerNode, changes: Partial<StartedWith>): void;
  memberOf(node: ManagerNode): Member | undefined;
}

export class GroupOperator {
  readonly #soft: OperatedWorld;
  readonly #all: readonly ManagerNode[];
  readonly #random: Random;
  #view: View;
  #leaver: ManagerNode | undefined;
  #mistaken: ManagerNode | undefined;

  constructor(soft: OperatedWorld, all: readonly ManagerNode[], members: number) {
    this.#soft = soft;
    this.#all = all;
    this.#random = soft.world.random.fork('operator');
    const names = all.slice(0, members).map(({ name }) => name);
    this.#view = { number: 1, members: names, before: undefined };
  }

  /** What a Manager that is started is told. */
  get view(): View {
    return this.#view;
  }

  /** Everybody who is to run. */
  get nodes(): readonly ManagerNode[] {
    const { members, before = [] } = this.#view;
    const names = new Set([...members, ...before]);
    return this.#all.filter((node) => names.has(node.name) || node === this.#leaver);
  }

  get isBusy(): boolean {
    return this.#view.before !== undefined || this.#leaver !== undefined || this.#mistaken !== undefined;
  }

  /** Somebody says that a view is settled. */
  heardOfSettling(number: number): void {
    if (number !== this.#view.number || this.#view.before === undefined) return;
    this.#view = { ...this.#view, before: undefined };
    this.#soft.world.count('views settled');
    this.#stopLeaverSoon();
  }

  /** Puts another Manager in the place of one of them, or adds one, or takes one away. */
  changeGroup(): void {
    if (this.isBusy) return;
    const random = this.#random;
    const { number, members } = this.#view;
    const fresh = this.#all.filter(({ name, process }) => !members.includes(name) && !process.alive);
    const kind = random.pick(['replace', 'replace', 'add', 'take away'] as const);
    if (kind === 'add' && members.length >= MEMBERS_MOST) return;
    if (kind === 'take away' && members.length <= 2) return;
    const joiner = kind === 'take away' ? undefined : random.pick(fresh);
    const leaver = kind === 'add' ? undefined : random.pick(this.nodes);
    const staying = members.filter((name) => name !== leaver?.name);
    this.#leaver = leaver;
    this.#view = {
      ...{ number: number + 1, before: members },
      members: [...staying, ...(joiner === undefined ? [] : [joiner.name])],
    };
    this.#soft.world.count('group changes');
    this.#soft.world.note('(operator)', { what: 'view', facts: { number: number + 1, kind } });
    joiner?.process.start();
    this.#moveNext(random.shuffle(members));
  }

  /** Starts one with a number that the others do not have, and after a while with that of the others. */
  makeMistake(node: ManagerNode, takeoverMs: number, forMs: number): void {
    const { members } = this.#view;
    if (this.isBusy || members.length < 2 || !members.includes(node.name)) return;
    const { world, takeoverMs: agreedMs, shortest: durations } = this.#soft;
    this.#mistaken = node;
    world.count('managers with another takeover');
    world.note('(operator)', { what: 'mistake', facts: { node: node.name, takeoverMs } });
    this.#soft.startWith(node, { takeoverMs, durations, pools: undefined });
    node.process.restart();
    world.after(forMs, () => {
      this.#soft.startWith(node, { takeoverMs: agreedMs });
      node.process.restart();
      this.#mistaken = undefined;
    });
  }

  /** Restarts those that are still in an earlier view, one by one, each when the one before takes part. */
  #moveNext(names: readonly string[]): void {
    const [name, ...rest] = names;
    const node = this.#all.find((one) => one.name === name);
    if (node === undefined) return;
    if (!this.#hasMoved(node)) node.process.restart();
    const { world, group } = this.#soft;
    const patienceMs = world.trueMs + 2 * group.recoveryMs;
    const look = (): void => {
      const isReady = this.#hasMoved(node) && this.#soft.memberOf(node)?.recovery === undefined;
      if (isReady || world.trueMs > patienceMs) this.#moveNext(rest);
      else world.after(group.leaseMs / 10, look);
    };
    look();
  }

  #hasMoved(node: ManagerNode): boolean {
    return this.#soft.memberOf(node)?.view.number === this.#view.number;
  }

  /** When all that stay say so. */
  #stopLeaverSoon(): void {
    const isSettledAt = (node: ManagerNode): boolean =>
      this.#hasMoved(node) && this.#soft.memberOf(node)?.view.before === undefined;
    const { world, group } = this.#soft;
    const staying = this.#all.filter(({ name }) => this.#view.members.includes(name));
    if (!staying.every(isSettledAt)) {
      world.after(group.leaseMs / 4, () => this.#stopLeaverSoon());
      return;
    }
    this.#leaver?.process.crash();
    this.#leaver = undefined;
  }
}
