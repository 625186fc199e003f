/**
 * What becomes of slots once they are chosen: they are applied at once, in order, and shown when they are committed.
 *
 *     chosen ──► applied: versions and results ──► committed: requests are answered
 *                                                  prefix committed: old versions dropped, snapshots taken
 */

import type { Context } from './context.ts';
import { keysOf, type Operation } from './operation.ts';
import type { Result } from './result.ts';
import type { Snapshot } from './snapshot.ts';
import { StateMachine } from './state-machine.ts';

/** Is told what came of the requests of a slot, once it is committed. */
export type Show = (slot: number, operation: Operation, results: readonly Result[]) => void;

export class Application {
  readonly #context: Context;
  readonly #show: Show;
  /** What came of slots that are applied and not committed. */
  readonly #results = new Map<number, readonly Result[]>();
  /** Up to here, versions that nobody can ask for are dropped. */
  #forgotten: number;
  /** Since the last snapshot. */
  #bytesApplied = 0;

  constructor(context: Context, show: Show) {
    this.#context = context;
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

  /** The slot is committed. If it is not applied yet, it is shown when it is. */
  committed(slot: number): void {
    const results = this.#results.get(slot);
    if (results === undefined) return;
    this.#results.delete(slot);
    this.#show(slot, this.#context.log.at(slot).operation, results);
  }

  /** Takes a snapshot in the place of everything up to its slot, if that is more than is known to be chosen. */
  install(snapshot: Snapshot): void {
    const context = this.#context;
    if (snapshot.slot <= context.log.chosen) return;
    context.log.install(snapshot);
    context.machine = new StateMachine(snapshot.slot, snapshot.state);
    context.snapshot = snapshot;
    context.journal.rewrite(snapshot);
    context.upTo = Math.max(context.upTo, snapshot.slot);
    this.#forgotten = snapshot.slot;
    for (const slot of this.#results.keys()) if (slot <= snapshot.slot) this.#results.delete(slot);
    this.#bytesApplied = 0;
    context.installed(snapshot.slot);
    context.trace('installed', { slot: snapshot.slot });
  }

  /** Drops what no reader can ask for any more, and takes a snapshot when there is enough to put into it. */
  tidy(): void {
    const context = this.#context;
    const { log, machine, limits } = context;
    while (this.#forgotten < log.committed) {
      this.#forgotten += 1;
      const entry = log.find(this.#forgotten);
      if (entry !== undefined) machine.forget(keysOf(entry.operation).written, log.committed);
    }
    const slot = log.committed;
    const slots = slot - (context.snapshot?.slot ?? 0);
    const isDue = slots >= limits.slotsPerSnapshot || this.#bytesApplied >= limits.bytesPerSnapshot;
    if (!isDue || slots === 0) return;
    this.#bytesApplied = 0;
    const snapshot = { slot, configuration: log.configurationAt(slot), state: machine.snapshotAt(slot) };
    context.snapshot = snapshot;
    context.journal.rewrite(snapshot);
    machine.sessions.forget(slot);
    log.compact(Math.max(log.base, Math.min(slot - limits.slotsKept, context.keepAfter)));
    context.trace('compacted', { slot, base: log.base });
  }
}
