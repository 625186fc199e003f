/**
 * A process dies in the middle of a move: the source, the target or the leader, at each step. Scenarios 26 and 27.
 */

import { describe, expect, it } from 'vitest';
import { keysIn } from '../moves/items.ts';
import { holdingsOf, leaderOf } from './quiet-pool.ts';
import { allKeys, isDecided, ownersOf, QuietMoves, STEPS } from './quiet-moves.ts';

const union = (...keys: readonly (readonly number[])[]): number[] =>
  [...new Set(keys.flat())].sort((one, other) => one - other);

describe('a move that nothing disturbs', () => {
  it('brings the target every item, and no look-up is told of a loss', () => {
    const stage = new QuietMoves();
    const [source, target] = ownersOf(stage);
    stage.expectNoLoss();
    const move = stage.send(source, target);
    move.until('the target has taken the keys');
    stage.settle();
    expect(stage.namesServing(move.keys)).toEqual([target.name]);
    expect(stage.missing).toEqual([]);
    expect(stage.lostKeys).toEqual([]);
  });
});

describe('source-dies: the keys of a source that dies', () => {
  it.each(STEPS)('are complete or told as lost, when %s', (step) => {
    const stage = new QuietMoves();
    const { pool } = stage;
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    let held: readonly number[] = [];
    move.at(step, () => {
      held = keysIn(holdingsOf(source).spans());
      pool.crashOwner(source);
    });
    move.until(step);
    stage.settle();
    const moved = isDecided(step) ? move.keys : [];
    const lost = union(held, move.keys).filter((key) => !moved.includes(key));
    expect(stage.lostKeys).toEqual(lost);
    expect(stage.missing).toEqual(lost); // And they begin empty.
    for (const key of lost) expect(stage.has(key)).toBe('nothing');
    expect(stage.namesServing(moved)).toEqual(moved.length > 0 ? [target.name] : []);
  });
});

describe('target-dies: the keys that are on their way to a target that dies', () => {
  it.each(STEPS)('are complete at their source or told as lost, when %s', (step) => {
    const stage = new QuietMoves();
    const { pool } = stage;
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    let held: readonly number[] = [];
    move.at(step, () => {
      held = keysIn(holdingsOf(target).spans());
      pool.crashOwner(target);
    });
    move.until(step);
    stage.settle();
    // Its acknowledgement is out when it reports the digest: the source hands over, and the leader does not know of the death.
    const isGone = isDecided(step) || step === 'the target has everything';
    const lost = union(held, isGone ? move.keys : []);
    expect(stage.lostKeys).toEqual(lost);
    expect(stage.missing).toEqual(lost);
    if (!isGone) expect(stage.namesServing(move.keys)).not.toContain(target.name);
  });
});

describe('failover: the keys that are on their way when the leader dies', () => {
  it.each(STEPS)('arrive or stay, and nothing is lost, when %s', (step) => {
    const stage = new QuietMoves();
    const { pool } = stage;
    const [source, target] = ownersOf(stage);
    stage.expectNoLoss();
    const move = stage.send(source, target);
    move.at(step, () => leaderOf(pool).process.crash());
    move.until(step);
    stage.settle();
    expect(stage.missing).toEqual([]);
    expect(stage.lostKeys).toEqual([]);
    expect(stage.namesServing(move.keys)).toEqual([target.name]);
    expect(stage.namesServing(allKeys)).not.toContain('nobody');
  });
});
