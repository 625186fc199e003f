/**
 * The log of one replica, in memory: entries with the ballots under which they were accepted, how far it is chosen, and which
 * slots are committed.
 *
 *     slot   base │ base+1 …            chosen │ …            last
 *            snap │ chosen: never changes      │ accepted: a later ballot may replace it
 *                   └ committed: a prefix, and single slots beyond it
 *
 * There are no holes. Chosen entries never change, so everything that is derived from them stays; what may be replaced is
 * indexed here, so that two questions have quick and exact answers *whatever* was replaced:
 *
 *  - which slots beyond the committed prefix may write a key? A reader waits for the last of them, of whatever ballot: an
 *    entry of an old ballot may yet turn out to be chosen.
 *  - which configurations count for a slot? The last one before it that is known to be committed, and all between.
 */

import { assert, present } from '../../runtime/assert.ts';
import type { Ballot } from './ballot.ts';
import { type Configuration, type ProposedConfiguration, resolved } from './configuration.ts';
import { keysOf, type Operation } from './operation.ts';

export interface Entry {
  readonly ballot: Ballot;
  readonly operation: Operation;
}

interface PlacedConfiguration {
  readonly slot: number;
  readonly proposed: ProposedConfiguration;
  /** What it comes to; undefined if nobody has asked, or for one that a committed one has followed. */
  configuration: Configuration | undefined;
}

/** What a log starts from: everything up to and including this slot is in a snapshot, or slot 0 of a new cell. */
export interface LogBase {
  readonly slot: number;
  readonly configuration: Configuration;
}

export class ReplicatedLog {
  #base: number;
  #entries: Entry[] = [];
  #chosen: number;
  #committed: number;
  readonly #committedBeyond = new Set<number>();
  /** For each key, the slots above the committed prefix that may write it, rising. */
  readonly #writers = new Map<string, number[]>();
  /** By slot, rising; the first one is committed. */
  #configurations: PlacedConfiguration[];
  #changes = 0;
  /** {@link countingConfigurations}, until a configuration comes, goes or is committed. */
  #counting: readonly Configuration[] | undefined;

  constructor({ slot, configuration }: LogBase) {
    this.#base = slot;
    this.#chosen = slot;
    this.#committed = slot;
    this.#configurations = [{ slot, proposed: configuration, configuration }];
  }

  /** Everything up to this slot is in the snapshot alone. */
  get base(): number {
    return this.#base;
  }

  get last(): number {
    return this.#base + this.#entries.length;
  }

  /** Every slot up to this one is chosen. */
  get chosen(): number {
    return this.#chosen;
  }

  /** Every slot up to this one is committed. */
  get committed(): number {
    return this.#committed;
  }

  /**
   * From where a watch misses nothing, for a read as of `position`. A key may be shown as of a slot behind one that is chosen and not
   * committed, because a holder of other keys has not acknowledged it. The change of that slot is still to come, and would lie before the watch.
   */
  watchFrom(position: number): number {
    return Math.min(position, this.#committed);
  }

  /** How often something has changed here that the judgement of a slot rests on. */
  get changes(): number {
    return this.#changes;
  }

  at(slot: number): Entry {
    return present(this.#entries[slot - this.#base - 1], `slot ${slot} of ${this.#base + 1} to ${this.last}`);
  }

  /** The entry, unless the slot is beyond the end or in the snapshot. */
  find(slot: number): Entry | undefined {
    return slot <= this.#base ? undefined : this.#entries[slot - this.#base - 1];
  }

  slice(first: number, last: number): readonly Entry[] {
    assert(first > this.#base, `slot ${first} is compacted away up to ${this.#base}`);
    return this.#entries.slice(first - this.#base - 1, Math.max(0, last - this.#base));
  }

  isCommitted(slot: number): boolean {
    return slot <= this.#committed || this.#committedBeyond.has(slot);
  }

  /** Writes a slot: the next one, or one that is not chosen, in place of what was there. */
  set(slot: number, entry: Entry): void {
    assert(
      slot > this.#chosen && slot <= this.last + 1,
      `slot ${slot} set, chosen ${this.#chosen}, last ${this.last}`,
    );
    const old = this.find(slot);
    this.#changes += 1;
    this.#entries[slot - this.#base - 1] = entry;
    if (old?.operation === entry.operation) return;
    if (old !== undefined) this.#unindex(slot, old.operation);
    this.#index(slot, entry.operation);
  }

  /** Drops everything beyond a slot, none of which is chosen. */
  truncate(last: number): void {
    assert(last >= this.#chosen, `truncated to ${last}, but chosen up to ${this.#chosen}`);
    this.#changes += 1;
    for (let slot = this.last; slot > last; slot -= 1) this.#unindex(slot, this.at(slot).operation);
    this.#entries.length = Math.min(this.#entries.length, last - this.#base);
  }

  choose(slot: number): void {
    assert(slot <= this.last, `slot ${slot} chosen, last ${this.last}`);
    this.#chosen = Math.max(this.#chosen, slot);
  }

  commit(slot: number): void {
    assert(slot <= this.#chosen, `slot ${slot} committed, chosen ${this.#chosen}`);
    this.#changes += 1;
    if (slot > this.#committed) this.#committedBeyond.add(slot);
    if (this.#configurations.length > 1) this.#counting = undefined; // One of them may be committed now.
    while (this.#committedBeyond.delete(this.#committed + 1)) {
      this.#committed += 1;
      const { operation } = this.at(this.#committed);
      for (const key of keysOf(operation).written) this.#removeWriter(key, this.#committed);
      if (operation.kind === 'configuration') this.#forgetResolved(this.#committed);
    }
  }

  /** The last slot that may write the key, if it lies beyond the committed prefix. */
  lastWriter(key: string): number | undefined {
    return this.#writers.get(key)?.at(-1);
  }

  /** The slots above this one that may write the key; not for slots below the committed prefix. */
  writersAfter(key: string, slot: number): readonly number[] {
    return this.#writers.get(key)?.filter((each) => each > slot) ?? [];
  }

  /** The newest configuration, whether committed or not. */
  get newestConfiguration(): Configuration {
    return this.#resolved(this.#configurations.length - 1);
  }

  get newestConfigurationSlot(): number {
    return (this.#configurations.at(-1) as PlacedConfiguration).slot;
  }

  /** The configurations that count for a slot, the newest first. */
  configurationsFor(slot: number): Configuration[] {
    const counting: Configuration[] = [];
    for (let at = this.#configurations.length - 1; at >= 0; at -= 1) {
      const placed = this.#configurations[at] as PlacedConfiguration;
      if (placed.slot >= slot) continue;
      counting.push(this.#resolved(at));
      if (this.isCommitted(placed.slot)) break;
    }
    return counting;
  }

  /**
   * The configurations that count for what is done now: the last committed one, and every later one. The same array as long as
   * they are the same.
   */
  get countingConfigurations(): readonly Configuration[] {
    this.#counting ??= this.configurationsFor(this.last + 1);
    return this.#counting;
  }

  /** The configurations that decide who leads: the last one that is known to be chosen, and every later one. */
  get electingConfigurations(): Configuration[] {
    const last = this.#configurations.findLastIndex(({ slot }) => slot <= this.#chosen);
    const electing: Configuration[] = [];
    for (let at = Math.max(0, last); at < this.#configurations.length; at += 1)
      electing.push(this.#resolved(at));
    return electing;
  }

  /** The configuration that was in force at a committed slot. */
  configurationAt(slot: number): Configuration {
    const at = this.#configurations.findLastIndex((each) => each.slot <= slot);
    assert(at >= 0, `a configuration at or before slot ${slot}`);
    return this.#resolved(at);
  }

  /** Forgets the entries up to a committed slot, which a snapshot now stands for. */
  compact(slot: number): void {
    assert(slot <= this.#committed, `compacted up to ${slot}, committed ${this.#committed}`);
    if (slot <= this.#base) return;
    const configuration = this.configurationAt(slot);
    this.#entries.splice(0, slot - this.#base);
    this.#counting = undefined;
    this.#configurations = [
      { slot, proposed: configuration, configuration },
      ...this.#configurations.filter((each) => each.slot > slot),
    ];
    this.#base = slot;
  }

  /**
   * Puts a snapshot in the place of everything up to its slot, and keeps all later entries: they are votes. Only for a
   * snapshot beyond the chosen prefix.
   */
  install({ slot, configuration }: LogBase): void {
    assert(slot > this.#chosen, `a snapshot of slot ${slot} over the chosen prefix ${this.#chosen}`);
    this.#changes += 1;
    const kept = slot < this.last ? this.slice(slot + 1, this.last) : [];
    this.#entries = [];
    this.#writers.clear();
    this.#committedBeyond.clear();
    this.#base = slot;
    this.#chosen = slot;
    this.#committed = slot;
    this.#counting = undefined;
    this.#configurations = [{ slot, proposed: configuration, configuration }];
    kept.forEach((entry, place) => this.set(slot + 1 + place, entry));
  }

  /** What a configuration comes to, after all before it. */
  #resolved(at: number): Configuration {
    const placed = this.#configurations[at] as PlacedConfiguration;
    if (placed.configuration !== undefined) return placed.configuration;
    const known = this.#configurations.findLastIndex(
      (each, place) => place < at && each.configuration !== undefined,
    );
    const before = (this.#configurations[known] as PlacedConfiguration).configuration as Configuration;
    const proposed = this.#configurations.slice(known + 1, at + 1).map((each) => each.proposed);
    placed.configuration = resolved(before, proposed);
    return placed.configuration;
  }

  /** Something has changed before these, or among them. */
  #unresolve(slot: number): void {
    for (const placed of this.#configurations.slice(1))
      if (placed.slot >= slot) placed.configuration = undefined;
  }

  /** Tables are large: of configurations that count no more only the first is kept resolved, and the others follow from it. */
  #forgetResolved(committed: number): void {
    for (const placed of this.#configurations.slice(1))
      if (placed.slot < committed) placed.configuration = undefined;
  }

  #index(slot: number, operation: Operation): void {
    if (operation.kind === 'configuration') {
      const { configuration: proposed } = operation;
      this.#counting = undefined;
      const at = this.#configurations.findLastIndex((each) => each.slot < slot);
      this.#configurations.splice(at + 1, 0, { slot, proposed, configuration: undefined });
      this.#unresolve(slot);
      return;
    }
    for (const key of operation.keys.written) {
      const slots = this.#writers.get(key);
      if (slots === undefined) this.#writers.set(key, [slot]);
      else slots.splice(slots.findLastIndex((each) => each < slot) + 1, 0, slot);
    }
  }

  #unindex(slot: number, operation: Operation): void {
    if (operation.kind === 'configuration') {
      this.#counting = undefined;
      this.#configurations = this.#configurations.filter((each) => each.slot !== slot);
      this.#unresolve(slot);
      return;
    }
    for (const key of operation.keys.written) this.#removeWriter(key, slot);
  }

  #removeWriter(key: string, slot: number): void {
    const slots = this.#writers.get(key);
    const at = slots?.indexOf(slot) ?? -1;
    if (slots === undefined || at < 0) return;
    if (slots.length === 1) this.#writers.delete(key);
    else slots.splice(at, 1);
  }
}
