/**
 * Sees all machines at once, and which founders each directory names.
 *
 * A founder that has written the members down has not founded a cell yet: nothing is decided before all of them have confirmed each
 * other. A directory that is emptied in the middle of a founding leaves two versions, of which neither can run. So a cluster
 * counts as founded once one of its replicas runs; and two versions are wrong at once if no directory was emptied between them.
 *
 * A founder whose list lacked a name may write members down that nobody else agrees to, and forgets them when the list is corrected. So where a list
 * lacked a name, only clusters that ran count.
 *
 * Founders of two lists, by a wrong address, are a cell like any other. But such a cell is nobody's second one.
 */

import type { World } from '../../../sim/world.ts';
import { nameOf } from '../../core/founding.ts';
import { LeaseholdError } from '../../../runtime/errors.ts';
import type { QuorumReplica } from '../../shell/quorum-replica.ts';
import type { Directory, Machine } from './machine.ts';
import { areApart, foundersIn, type WireEnd } from './wires.ts';

export const PROMISES = ['one-cluster', 'never-mixed', 'emptied-never-founds', 'founded-at-last'] as const;

export class FoundingChecker {
  readonly #world: World;
  readonly #machines: readonly Machine[];
  readonly #careless: () => string | undefined;
  /** Where the directory of a storage id was drawn, and when. */
  readonly #drawn = new Map<string, { readonly label: string; readonly bornMs: number }>();
  /** When a replica of these founders first ran. */
  readonly #ranAtMs = new Map<string, number>();
  /** Founders that have chosen their first slot, and founders of whom one waits for other founders. */
  readonly #decided = new Set<string>();
  readonly #forgotten = new Set<string>();
  /** The last refusal that a process was told. */
  readonly #refusals = new Map<WireEnd, string | undefined>();

  /** @param careless the cell in which a list lacks a name at times */
  constructor(world: World, machines: readonly Machine[], careless: () => string | undefined) {
    this.#careless = careless;
    this.#world = world;
    this.#machines = machines;
    world.afterEach(() => {
      for (const machine of machines) if (machine.end !== undefined) this.#look(machine, machine.end);
    });
  }

  /** No word of another cluster counts for a replica that has one. */
  hears(to: WireEnd, from: WireEnd): void {
    this.#world.count('words heard');
    if (areApart(to.founders(), from.founders()))
      throw this.#world.broken('never-mixed', `${to.address} hears ${from.address}, of another cluster`);
  }

  dismissed(from: WireEnd, by: WireEnd, wereApart: boolean): void {
    this.#refusals.set(from, wereApart ? by.address : undefined);
    if (wereApart) this.#world.count('refused by another cluster');
  }

  /** A replica has ended by itself. */
  ended({ address, end }: Machine, error: unknown): void {
    if (this.#world.tracing) this.#world.note(address, { what: 'ended', facts: { why: String(error) } });
    const reason = error instanceof LeaseholdError ? error.details['reason'] : undefined;
    if (reason === undefined) throw error;
    this.#world.count(`ended: ${reason}`);
    const by = end && this.#refusals.get(end);
    if (by !== undefined)
      throw this.#world.broken('never-mixed', `${address} is ended by ${by}, of another cluster`);
  }

  #look({ replica, directory, label, address }: Machine, { greeting }: WireEnd): void {
    const storage = greeting['storage'] ?? '';
    if (!this.#drawn.has(storage)) this.#drawn.set(storage, { label, bornMs: directory.bornMs });
    if (greeting['cluster'] === undefined || replica === undefined) {
      this.#forgets(directory, replica);
      return;
    }
    if (directory.founders === undefined) {
      const founders = foundersIn(replica.facts().members);
      this.#world.count('founders');
      if (this.#world.tracing) this.#world.note(address, { what: 'founds', facts: { founders } });
      this.#founds(founders, directory.bornMs);
      directory.founders = founders;
      this.#forgotten.delete(founders); // The list was corrected to the one before.
    }
    const { founders } = directory;
    const core = replica.host?.replica;
    if (core !== undefined && core.view.log.chosen >= 1) this.#decides(founders);
    if (core === undefined || this.#ranAtMs.has(founders) || this.#forgotten.has(founders)) return;
    this.#world.count(this.#labelOf(founders) === undefined ? 'founded across lists' : 'founded');
    for (const other of this.#others(founders))
      if (this.#ranAtMs.has(other)) throw this.#second('one-cluster', founders, other);
    this.#ranAtMs.set(founders, this.#world.trueMs);
  }

  /** Founders that a founder has forgotten never decide: the first slot needs the vote of each. */
  #decides(founders: string): void {
    if (this.#forgotten.has(founders))
      throw this.#world.broken('one-cluster', `${founders} decide, and a founder has forgotten them`);
    this.#decided.add(founders);
  }

  /** A replica that waits again has forgotten the members that it wrote down: they have decided nothing. */
  #forgets(directory: Directory, replica: QuorumReplica | undefined): void {
    const { founders } = directory;
    if (founders === undefined || replica?.isGathering !== true) return;
    this.#world.count('lists corrected');
    if (this.#decided.has(founders))
      throw this.#world.broken('one-cluster', `${founders} have decided, and a founder begins again`);
    this.#forgotten.add(founders);
    this.#ranAtMs.delete(founders);
    directory.founders = undefined;
  }

  /** A directory that began then names these founders. */
  #founds(founders: string, bornMs: number): void {
    for (const other of this.#others(founders)) {
      if (bornMs > (this.#ranAtMs.get(other) ?? Number.POSITIVE_INFINITY))
        throw this.#second('emptied-never-founds', founders, other);
      const storages = new Set([...founders.split(' '), ...other.split(' ')]);
      const isCareless = this.#careless() === this.#labelOf(founders);
      if (!isCareless && new Set([...storages].map(nameOf)).size === storages.size)
        throw this.#second('one-cluster', founders, other);
    }
  }

  /** Other founders of the same list that a directory names. */
  #others(founders: string): string[] {
    const label = this.#labelOf(founders);
    const named = new Set(this.#machines.flatMap(({ directory }) => directory.founders ?? []));
    return [...named].filter(
      (each) => each !== founders && label !== undefined && this.#labelOf(each) === label,
    );
  }

  /** The list that all founders belong to; undefined if they are of two. */
  #labelOf(founders: string): string | undefined {
    const labels = new Set(founders.split(' ').map((storage) => this.#drawn.get(storage)?.label));
    return labels.size === 1 ? [...labels][0] : undefined;
  }

  #second(promise: (typeof PROMISES)[number], founders: string, other: string): Error {
    return this.#world.broken(promise, `${founders} found a cell beside ${other}`);
  }
}
