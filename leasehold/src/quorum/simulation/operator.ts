/**
 * The operator of a cell: replaces members whose disk is lost, adds members and removes them, one change at a time, and asks again
 * until the cell has done it. It starts a replacement while the old process may still be running.
 */

import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import type { Answer } from '../core/answer.ts';
import type { Change } from '../core/membership.ts';
import type { ReplicaNode } from './node.ts';

export interface OperatorOptions {
  readonly world: World;
  readonly random: Random;
  /** Builds a replica with an empty directory and a new storage id. */
  build(): ReplicaNode;
}

export class Operator {
  readonly nodes: ReplicaNode[] = [];
  readonly #options: OperatorOptions;
  #change: Change | undefined;
  #members: ReplicaNode[] | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
    options.world.every([20, 60], () => this.#push());
  }

  get isChanging(): boolean {
    return this.#change !== undefined;
  }

  /**
   * Whether the cell can lose a member: it has been founded, nothing is being changed, and no member is lost or has forgotten anything. A member that
   * repairs its journal does not vote, so it counts as lost until it is repaired.
   */
  get isWhole(): boolean {
    const isFounded = this.nodes.some(({ replica }) => (replica?.view.log.chosen ?? 0) > 1);
    const hasAll = ({ isLost, disk }: ReplicaNode): boolean => !isLost && !disk.isCopy && disk.isWhole;
    return isFounded && !this.isChanging && this.members.every(hasAll);
  }

  get leader(): ReplicaNode | undefined {
    const leaders = this.nodes.filter((node) => node.process.running && node.isLeader);
    return leaders.reduce<ReplicaNode | undefined>(
      (best, node) =>
        (node.replica?.view.acceptor.ballot ?? 0) > (best?.replica?.view.acceptor.ballot ?? 0) ? node : best,
      undefined,
    );
  }

  /** The nodes that the newest chosen configuration of any replica seats. */
  get members(): ReplicaNode[] {
    let best: ReplicaNode | undefined;
    for (const node of this.nodes) {
      if (node.replica === undefined) continue;
      if ((node.replica.view.log.chosen ?? 0) > (best?.replica?.view.log.chosen ?? -1)) best = node;
    }
    const log = best?.replica?.view.log;
    const seated = new Set(log?.configurationAt(log.chosen).members.map(({ storage }) => storage));
    // While only a newcomer runs, which knows no members yet, the operator goes by what it knew before.
    if (seated.size > 0) this.#members = this.nodes.filter(({ storage }) => seated.has(storage));
    return this.#members ?? this.nodes.filter(({ isLost }) => !isLost);
  }

  startAll(): void {
    for (const node of this.nodes) node.start();
  }

  /** The directory of a member is gone, or its replacement is started by mistake while it lives. */
  replace(node: ReplicaNode, isAlive: boolean): void {
    if (!this.isWhole || !this.members.includes(node)) return;
    if (!isAlive) {
      node.isLost = true;
      node.crash();
    }
    this.#replaceBy(node);
  }

  add(): void {
    if (this.isChanging || this.members.length >= 7) return;
    const newcomer = this.#options.build();
    this.nodes.push(newcomer);
    newcomer.start();
    this.#change = { kind: 'add', storage: newcomer.storage };
  }

  remove(node: ReplicaNode): void {
    if (this.isChanging || this.members.length <= 3 || node.isLeader) return;
    this.#change = { kind: 'remove', storage: node.storage };
  }

  /** The cell has answered. */
  heard(change: Change, answer: Answer): void {
    // A member that is to go may be gone already, by an earlier change of which the operator heard nothing.
    const isOver =
      answer.kind === 'changed' || (answer.kind === 'not-changed' && answer.why === 'not-a-member');
    if (change === this.#change && isOver) this.#change = undefined;
  }

  #push(): void {
    const lost = this.members.find(({ isLost }) => isLost);
    if (!this.isChanging && lost !== undefined) this.#replaceBy(lost);
    const { leader } = this;
    const change = this.#change;
    if (change === undefined || leader === undefined) return;
    if (this.#isInForce(change)) this.#change = undefined;
    else if (change.kind !== 'placement' && change.kind !== 'add' && change.storage === leader.storage) {
      leader.transfer(this.#options.random.pick(this.members).storage);
    } else leader.reconfigure(change);
  }

  #replaceBy(node: ReplicaNode): void {
    const newcomer = this.#options.build();
    this.nodes.push(newcomer);
    newcomer.start();
    this.#change = { kind: 'replace', storage: node.storage, by: newcomer.storage };
  }

  #isInForce(change: Change): boolean {
    const { log } = this.leader?.replica?.view ?? {};
    if (log === undefined) return false;
    const slot = log.newestConfigurationSlot;
    const seated = new Set(log.newestConfiguration.members.map(({ storage }) => storage));
    const settled = this.nodes.filter(
      ({ storage, replica }) => seated.has(storage) && (replica?.view.journal.durableCommitted ?? 0) >= slot,
    );
    if (settled.length * 2 <= seated.size) return false;
    switch (change.kind) {
      case 'placement':
        return false;
      case 'add':
        return seated.has(change.storage);
      case 'remove':
        return !seated.has(change.storage);
      case 'replace':
        return seated.has(change.by) && !seated.has(change.storage);
    }
  }
}
