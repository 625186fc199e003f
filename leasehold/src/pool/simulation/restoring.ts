/**
 * The store is put back from an older backup while everything runs, and an operator sees to it.
 *
 *     backup ···· commits that will be forgotten ···· put back ···· noticed ···· Managers stopped,
 *                                                                               counters raised,
 *                                                                               Managers started
 *
 * It is noticed when a Manager halts, or ends because the log is not where it left it. What can still be
 * promised: whatever owners hold from the time that is gone is over when a successor would take it for
 * over, and before anything is given away after the counters were raised; look-ups are told that everything may
 * be lost; numbers grow. And that it *is* noticed, when a leader hears of more than its log holds.
 *
 * Managers with different settings make one thing more of the operator: a log that was put back has forgotten how long the
 * leases were that were given since, so a leader with shorter ones would not wait for them (decision 0018). So the operator
 * stops all Managers, and raises the counters once the longest leases that any of them gives have run out.
 *
 * Not promised is that it is noticed once the log has grown past all that anybody has seen: that then passes for
 * what there is, and a look-up is blind to what was lost there. Whoever puts a store back must therefore raise
 * the counters also if no Manager halts; here he does so as soon as nobody is left who could tell. Nor can
 * anybody tell that a look-up resumes from what is forgotten (`loss-check.ts`).
 */

import type { Fate } from './fate.ts';
import type { LookupNode, OwnerNode } from './nodes.ts';

interface Witness {
  readonly node: OwnerNode | LookupNode;
  readonly incarnation: number;
  readonly position: number;
}

export class Restoring {
  readonly #fate: Fate;
  #phase: 'before' | 'put back' | 'noticed' | 'recovered' = 'before';
  #restoredTo = 0;
  #witnesses: readonly Witness[] = [];
  #highestTerm = 0;
  /** When whatever was leased in the time that is gone is over; undefined while its leader goes on. */
  #overAtMs: number | undefined;
  #goneLeader: string | undefined;
  /** When the operator last had to stop a Manager. */
  #stoppedAtMs = Number.NEGATIVE_INFINITY;

  constructor(fate: Fate) {
    this.#fate = fate;
  }

  /** Whether an operator has still to act. */
  get isPending(): boolean {
    return this.#phase === 'noticed';
  }

  begin(): void {
    const { pool, dice } = this.#fate;
    this.#fate.after(1, 4, () => {
      const [restoreStore, restoreTruth] = [pool.log.backup(), pool.checker.backup()];
      this.#fate.did('backups');
      const isSilent = dice.chance(0.5); // etcd is away while it is done.
      this.#fate.after(0.3, 3, () => {
        if (isSilent) pool.log.down = true;
        this.#fate.after(0, isSilent ? 0.5 : 0, () => {
          const keepsLeader = dice.chance(0.4);
          this.#goneLeader = keepsLeader ? pool.log.leader : undefined;
          this.#highestTerm = pool.log.term;
          restoreStore(keepsLeader);
          restoreTruth();
          pool.log.down = false;
          this.#putBack();
        });
      });
    });
  }

  #putBack(): void {
    const { pool, dice } = this.#fate;
    this.#phase = 'put back';
    this.#restoredTo = pool.log.head;
    this.#fate.did('stores put back');
    pool.checker.lenient = true;
    this.#witnesses = [...pool.owners, ...pool.lookups].flatMap((node) => {
      const position = node.core?.seen?.position ?? 0;
      if (!node.lives || position <= this.#restoredTo) return [];
      return [{ node, incarnation: node.process.incarnation, position }];
    });
    // Somebody tidies up, and those who would remember are gone.
    if (dice.chance(0.5)) for (const { process } of pool.managers) process.restart();
    pool.world.afterEach(() => this.#look());
  }

  /** After every event. */
  #look(): void {
    const { pool } = this.#fate;
    const { trueMs } = pool.world;
    if (this.#overAtMs === undefined && pool.log.leader !== this.#goneLeader) {
      this.#overAtMs = trueMs + pool.bounds.takeoverMs;
    }
    if (this.#phase === 'put back' && trueMs >= (this.#overAtMs ?? Number.POSITIVE_INFINITY))
      pool.checker.lenient = false;
    if (this.#phase === 'put back' && this.#witnesses.length > 0 && this.#witness === undefined) {
      this.#phase = 'noticed';
      this.#fate.did('stores put back and not found out in time');
      this.#recover();
    }
    if (this.#phase === 'put back' && this.#isNoticed) {
      this.#phase = 'noticed';
      this.#fate.did('stores found to be put back');
      pool.world.after(this.#fate.leases(0, 1.5), () => this.#recover());
    }
    if (this.#phase === 'recovered') this.#startAgainWhoHeardLate();
  }

  /** What somebody had read of the old history may come to it only when there is another. */
  #startAgainWhoHeardLate(): void {
    const { managers, log } = this.#fate.pool;
    for (const { process, halted, core } of managers)
      if (halted !== undefined && process.running && core?.observe().history !== log.history)
        process.restart();
  }

  get #isNoticed(): boolean {
    const { managers, log } = this.#fate.pool;
    return log.isHalted || managers.some(({ halted, strayed }) => halted !== undefined || strayed > 0);
  }

  /** The operator: stops those who halted or lead, and raises the counters as soon as nobody leads, or later (see above). */
  #recover(): void {
    const { pool, dice } = this.#fate;
    const { log, managers, checker, world } = pool;
    const waitsForLeases = pool.haveDifferentLeases;
    for (const { process, halted, core } of managers) {
      if (!process.alive) continue;
      const isToStop = halted !== undefined || (core?.role === 'leading' && process.running);
      if (!isToStop && !waitsForLeases) continue;
      process.crash();
      this.#stoppedAtMs = world.trueMs;
    }
    const areLeasesOver = !waitsForLeases || world.trueMs >= this.#stoppedAtMs + pool.bounds.takeoverMs;
    if (log.leader !== undefined || log.down || !areLeasesOver) {
      world.after(20, () => this.#recover());
      return;
    }
    const term = Math.max(this.#highestTerm, log.term) + dice.integer(1, 50);
    log.jump(term, checker.highest + dice.integer(1, 1_000));
    checker.lenient = true;
    checker.countersRaised();
    this.#phase = 'recovered';
    this.#fate.did('counters raised');
    for (const { process } of managers)
      world.after(this.#fate.leases(0, 0.3), () => process.alive || process.start());
  }

  /** Somebody who has seen more than there is. */
  get #witness(): Witness | undefined {
    const { head } = this.#fate.pool.log;
    return this.#witnesses.find(
      ({ node, incarnation, position }) =>
        node.lives &&
        node.process.incarnation === incarnation &&
        !('left' in node && node.left) &&
        position > head,
    );
  }

  /** Faults have stopped long ago: whoever has seen more than there is has been heard. */
  mustBeNoticed(): void {
    if (this.#phase !== 'put back') return;
    const { world } = this.#fate.pool;
    const witness = this.#witness;
    if (witness === undefined) return;
    throw world.broken(
      'restore-noticed',
      `the log was put back to ${this.#restoredTo}, ${witness.node.name} has seen ${witness.position}, and nobody halted`,
    );
  }
}
