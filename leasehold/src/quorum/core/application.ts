/**
 * What becomes of slots once they are chosen: they are applied at once, in order, and shown when they are committed.
 *
 *     chosen ──► applied: versions and results ──► committed: requests are answered
 *                                                  prefix committed: old versions dropped, snapshots taken
 */

import type { Configuration } from './configuration.ts';
import type { Context } from './context.ts';
import { keysOf, type Operation } from './operation.ts';
import type { Result } from './result.ts';
import type { StateMachine } from './state-machine.ts';

/** What writes snapshots, one at a time. */
export interface SnapshotWriter {
  readonly isIdle: boolean;
  begin(slot: number, configuration: Configuration): void;
}

/** Is told what came of the requests of a slot, once it is committed. */
export type Show = (slot: number, operation: Operation, results: readonly Result[]) => void;

/** After a long snapshot many versions can be dropped; not all in one turn. */
const SLOTS_FORGOTTEN_AT_ONCE = 64;

/** A snapshot is due when so large a share of the state was written again. */
const SHARE_OF_STATE = 4;

export class Application {
  readonly #context: Context;
  readonly #saving: SnapshotWriter;
  readonly #show: Show;
  /** What came of slots that are applied and not committed. */
  readonly #results = new Map<number, readonly Result[]>();
  /** Up to here, versions that nobody can ask for are dropped. */
  #forgotten: number;
  /** Since the last snapshot was begun. */
  #bytesApplied = 0;
  /** The slot of the last snapshot that was begun or installed. */
  #snapshotSlot: number;

  constructor(context: Context, saving: SnapshotWriter, show: Show) {
    this.#context = context;
    this.#saving = saving;
    this.#snapshotSlot = context.log.base;
    this.#show = show;
    this.applyChosen();
    this.#forgotten = context.log.base;
  }

  /** Applies every slot that is chosen and not applied; what is committed already is shown. */
  applyChosen(): void {
    const { machine, log } = this.#context;
    while (machine.applied < log.chosen) {
      const slot = machine.applied + 1;
      const { operation } = log.at(slot);
      const results = machine.apply(slot, operation);
      if (operation.kind === 'batch') this.#bytesApplied += operation.bytes;
      if (log.isCommitted(slot)) this.#show(slot, operation, results);
      else this.#results.set(slot, results);
    }
  }

  /** What another replica in the same ballot knows to be chosen and committed, up to what we have accepted of it. */
  takeOver(chosen: number, committed: number): void {
    const { log, acceptor } = this.#context;
    const { upTo } = acceptor;
    log.choose(Math.min(Math.max(chosen, committed), upTo));
    for (let slot = log.committed + 1; slot <= Math.min(committed, upTo); slot += 1) {
      const isNews = !log.isCommitted(slot);
      log.commit(slot);
      if (isNews) this.committed(slot);
    }
  }

  /** The slot is committed. If it is not applied yet, it is shown when it is. */
  committed(slot: number): void {
    const results = this.#results.get(slot);
    if (results === undefined) return;
    this.#results.delete(slot);
    this.#show(slot, this.#context.log.at(slot).operation, results);
  }

  /**
   * Takes a snapshot in the place of everything up to its slot, if that is more than is known to be chosen. The snapshot is durable
   * under its name.
   */
  install(slot: number, configuration: Configuration, machine: StateMachine): void {
    const context = this.#context;
    if (slot <= context.log.chosen) return;
    context.log.install({ slot, configuration });
    context.machine = machine;
    context.journal.rebase(slot);
    context.acceptor.learnt();
    this.#forgotten = slot;
    for (const each of this.#results.keys()) if (each <= slot) this.#results.delete(each);
    this.#bytesApplied = 0;
    this.#snapshotSlot = slot;
    context.installed(slot);
    context.trace('installed', { slot });
  }

  /** The own snapshot as of this slot is durable: the log up to there can go, but for what peers that lag may need. */
  saved(slot: number): void {
    const context = this.#context;
    const { log, limits } = context;
    let keepAfter = Math.min(slot, this.#forgotten, context.keepAfter);
    for (let bytes = 0; keepAfter > log.base && slot - keepAfter < limits.slotsKept; keepAfter -= 1) {
      const { operation } = log.at(keepAfter);
      bytes += operation.kind === 'batch' ? operation.bytes : 0;
      if (bytes > limits.bytesKept) break;
    }
    log.compact(Math.max(log.base, keepAfter));
    context.trace('compacted', { slot, base: log.base });
  }

  /** Drops what no reader can ask for any more, and takes a snapshot when there is enough to put into it. */
  tidy(): void {
    const context = this.#context;
    const { log, machine } = context;
    const forgettable = Math.min(log.committed, machine.pinned);
    const until = Math.min(forgettable, this.#forgotten + SLOTS_FORGOTTEN_AT_ONCE);
    while (this.#forgotten < until) {
      this.#forgotten += 1;
      const entry = log.find(this.#forgotten);
      if (entry !== undefined) machine.forget(keysOf(entry.operation).written, forgettable);
    }
    const slot = log.committed;
    machine.sessions.reached(slot);
    const slots = slot - this.#snapshotSlot;
    if (slots <= 0 || !this.#isDue(slots) || !this.#saving.isIdle) return;
    this.#bytesApplied = 0;
    this.#snapshotSlot = slot;
    this.#saving.begin(slot, log.configurationAt(slot));
    machine.sessions.forget(slot);
  }

  /** A large state is written less often: its snapshots cost a few times what the log costs, however large the state is. */
  #isDue(slots: number): boolean {
    const { limits, machine } = this.#context;
    const bytes = this.#bytesApplied;
    if (slots >= limits.slotsPerSnapshot && bytes >= machine.bytes / SHARE_OF_STATE) return true;
    return bytes >= Math.max(limits.bytesPerSnapshot, machine.bytes / SHARE_OF_STATE);
  }
}
