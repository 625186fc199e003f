/**
 * What the log knows of moves, and what it does not: a leader that begins with a snapshot, one that hears an old word, and one of an older version.
 */

import { describe, expect, it } from 'vitest';
import type { Report } from '../../core/messages.ts';
import { decodeBatch, encodeBatch, encodeSnapshot, isUnreadableLog, ManagerState } from '../../core/state.ts';
import { leaderOf } from './quiet-pool.ts';
import { ownersOf, QuietMoves } from './quiet-moves.ts';

describe('snapshot-between-commit-and-grant: a leader that begins with a snapshot in which keys have moved', () => {
  it('grants them by their ticket, so that the target serves what it was brought', () => {
    const stage = new QuietMoves({ compactEveryBatches: 1 });
    stage.expectNoLoss();
    const { pool } = stage;
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    const first = leaderOf(pool);
    // No update reaches the target between the commit and the death of the leader.
    move.at('the source has handed over', () => {
      for (const { name } of pool.managers) pool.network.cut(name, target.name);
    });
    const position = (): number | undefined => stage.journal.records('move').at(-1)?.position;
    pool.until('the snapshot has the move', () => stage.journal.compactions.at(-1) === position(), 5_000);
    first.process.crash();
    expect(move.has('the target has taken the keys')).toBe(false);
    pool.until('another Manager leads', () => pool.leader !== undefined && pool.leader !== first, 30_000);
    for (const { name } of pool.managers) pool.network.heal(name, target.name);
    stage.settle();
    expect(move.has('the target has taken the keys')).toBe(true);
    expect(stage.namesServing(move.keys)).toEqual([target.name]);
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });
});

describe('late-report-after-failover: what the target said before the term, and heard by the next leader', () => {
  it('moves nothing, because the target may have dropped the import since', () => {
    const stage = new QuietMoves();
    stage.expectNoLoss();
    const { pool } = stage;
    const { network } = pool;
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    const first = leaderOf(pool);
    const others = pool.managers.filter((node) => node !== first);
    move.at('the source is frozen', () => {
      for (const { name } of pool.managers) network.cut(target.name, name);
    });
    let late: Report | undefined;
    move.at('the source has handed over', () => {
      late = stage.journal
        .reports()
        .findLast(
          ({ from, message }) => from === target.name && message.receiving?.[0]?.digest !== undefined,
        )?.message;
      pool.carrierOf(target)?.dropImports();
      first.process.crash();
    });
    move.until('the source has handed over');
    const knows = (): boolean =>
      others.some(({ core }) => core?.role === 'leading') &&
      stage.journal
        .reports()
        .some(
          ({ from, to, message }) =>
            from === source.name &&
            to === pool.leader?.name &&
            message.heard?.term === pool.leader?.core?.term,
        );
    pool.until('the next leader has heard the source', knows, 30_000);
    for (const { name } of others) network.heal(target.name, name);
    if (late !== undefined) network.send(target.name, leaderOf(pool).name, late);
    for (const { name } of others) network.cut(target.name, name);
    const { head } = pool.log;
    pool.run(30);
    expect(late?.receiving?.[0]?.digest).toBeDefined();
    expect(pool.log.head).toBe(head);
    for (const { name } of others) network.heal(target.name, name);
    stage.settle();
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });
});

describe('old-manager-refuses-the-log: the log of a pool that moves keys', () => {
  it('has a record that says so from before the first ticket, and another format of snapshots from then on', () => {
    const stage = new QuietMoves();
    const { journal, pool } = stage;
    const [source, target] = ownersOf(stage);
    const format = (): unknown =>
      JSON.parse(new TextDecoder().decode(encodeSnapshot(pool.checker.replayed))).format;
    stage.send(source, target).until('the target has taken the keys');
    const [moves] = journal.records('moves');
    const [moved] = journal.records('move');
    expect(moves?.position).toBeLessThan(moved?.position ?? 0);
    const told = journal.updates().findIndex(({ message }) => (message.incoming?.length ?? 0) > 0);
    expect(journal.updates()[told]?.atMs).toBeGreaterThan(moves?.atMs ?? Number.POSITIVE_INFINITY);
    expect(format()).toBe(3);
  });

  it('stops a Manager that does not know the kind of record', () => {
    // What this version does with a kind of a later one is what an earlier one does with `moves`.
    const bytes = encodeBatch({
      term: 1,
      leader: 'a',
      takeoverMs: 0,
      pools: [{ pool: 'pool', records: [{ kind: 'moves' }] }],
    });
    const text = new TextDecoder().decode(bytes);
    const later = new TextEncoder().encode(text.replace('"moves"', '"a later kind"'));
    const replay = (log: Uint8Array) => () => ManagerState.empty.apply(1, decodeBatch(log));
    expect(replay(bytes)).not.toThrow();
    let thrown: unknown;
    try {
      replay(later)();
    } catch (error) {
      thrown = error;
    }
    expect(isUnreadableLog(thrown)).toBe(true);
  });
});
