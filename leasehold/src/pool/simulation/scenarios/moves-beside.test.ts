/**
 * Moves beside what does not move: owners that move nothing, and a store beside the memory.
 */

import { describe, expect, it } from 'vitest';
import { keysIn } from '../moves/items.ts';
import type { OwnerNode } from '../nodes.ts';
import { FencedRegister } from './fenced-register.ts';
import { holdingsOf } from './quiet-pool.ts';
import { allKeys, ownersOf, positionOf, QuietMoves } from './quiet-moves.ts';

const keysOf = (node: OwnerNode): number[] => keysIn(holdingsOf(node).spans());

describe('owners-with-and-without-moves: a pool in which one owner moves nothing', () => {
  function mixed() {
    const stage = new QuietMoves({ still: 1 });
    const still = stage.pool.owner('still-1');
    expect(keysOf(still)).not.toEqual([]);
    return { stage, still };
  }

  it('moves keys between the others, and tells the one of no ticket', () => {
    const { stage, still } = mixed();
    stage.expectNoLoss();
    const [first] = ownersOf(stage);
    stage.pool.carrierOf(first)?.drain(60_000);
    stage.pool.until('it has left', () => first.left, 60_000);
    stage.settle();
    expect(stage.isLossTold).toBe(false);
    const told = stage.journal.updates().filter(({ to }) => to === still.name);
    expect(told.length).toBeGreaterThan(0);
    for (const { message } of told) expect([message.moves, message.incoming]).toEqual([undefined, undefined]);
  });

  it('loses the keys of that one when it leaves, says so, and loses nothing else', () => {
    const { stage, still } = mixed();
    const keys = keysOf(still);
    still.leave();
    stage.pool.until('it has left', () => still.left, 60_000);
    stage.settle();
    expect(stage.lostKeys).toEqual(keys);
    expect(stage.untold.filter((key) => !keys.includes(key))).toEqual([]);
  });

  it('does not swing: once all is served, nothing is written any more', () => {
    const { stage } = mixed();
    const { pool } = stage;
    const [first, second] = ownersOf(stage);
    stage.send(first, second).until('the target has taken the keys');
    stage.settle();
    const { head } = pool.log;
    pool.run(10 * pool.durations.leaseMs);
    expect(pool.log.head).toBe(head);
    expect(stage.namesServing(allKeys)).not.toContain('nobody');
  });
});

describe('late-write-to-the-store: a write that the source sent before the freeze reaches the store late', () => {
  /** A key moves, and the last write of its source is still on its way to the store. */
  function moved() {
    const stage = new QuietMoves();
    stage.expectNoLoss();
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    const [key = 0] = move.keys;
    const store = new FencedRegister<string>();
    const before = source.check(positionOf(key)) ?? 0;
    expect(store.write(before, 'of the source')).toBe(true);
    const late = (): boolean => store.write(before, 'late');
    move.until('the target has taken the keys');
    stage.settle();
    const number = target.check(positionOf(key)) ?? 0;
    expect(number).toBeGreaterThan(before);
    return { store, late, number };
  }

  it('is refused once the target has written under its number', () => {
    const { store, late, number } = moved();
    expect(store.write(number, 'of the target')).toBe(true);
    expect(late()).toBe(false);
    expect(store.value).toBe('of the target');
  });

  it('is taken before that, and the moved memory does not have it; so onArrive writes the number first', () => {
    const { store, late, number } = moved();
    // Without that write the store would end with what no owner remembers:
    expect(late()).toBe(true);
    expect(store.value).toBe('late');
    // With it, what the target then reads is what stays.
    expect(store.write(number, store.value ?? '')).toBe(true);
    expect(late()).toBe(false);
  });

  it('is refused after the keys went back to their source, too: they have another number', () => {
    const stage = new QuietMoves();
    stage.expectNoLoss();
    const { pool } = stage;
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    const [key = 0] = move.keys;
    const before = source.check(positionOf(key)) ?? 0;
    move.at('the source is frozen', () => {
      for (const { name } of pool.managers) pool.network.cut(target.name, name);
    });
    move.until('the source has handed over');
    pool.until('it is given back', () => source.check(positionOf(key)) !== undefined, 5_000);
    const after = source.check(positionOf(key)) ?? 0;
    expect(after).toBeGreaterThan(before);
    expect(source.checkContinuous(positionOf(key), before)).toBe(true); // Its memory is whole.
    const store = new FencedRegister<string>();
    expect(store.write(after, 'again')).toBe(true);
    expect(store.write(before, 'late')).toBe(false);
    expect(stage.journal.turnsOf('returned', source.name)).toHaveLength(1);
  });
});
