/**
 * Owners that drain and leave: alone, together, for a successor under their name, and with a death or a deadline in the middle.
 */

import { describe, expect, it } from 'vitest';
import { keysIn } from '../moves/items.ts';
import type { OwnerNode } from '../nodes.ts';
import { cutOff, holdingsOf, leaderOf, reconnect } from './quiet-pool.ts';
import { allKeys, type Move, ownersOf, QuietMoves, type Step, STEPS } from './quiet-moves.ts';

const LONG_MS = 60_000;

const keysOf = (node: OwnerNode): number[] => keysIn(holdingsOf(node).spans());

const drain = ({ pool }: QuietMoves, node: OwnerNode, ms: number = LONG_MS): void =>
  pool.carrierOf(node)?.drain(ms);

const hasLeft = ({ pool }: QuietMoves, node: OwnerNode): void =>
  pool.until(`${node.name} has left`, () => node.left, 2 * LONG_MS);

/** How often each key has changed its owner by a move. */
function movesOf({ journal }: QuietMoves): number[] {
  const spans = journal.records('move').flatMap((record) => record.spans);
  return allKeys.map((key) => spans.filter((span) => keysIn([span]).includes(key)).length);
}

/** The words of this owner to Managers do not arrive for now. */
const silence = ({ pool }: QuietMoves, node: OwnerNode): void => {
  for (const { name } of pool.managers) pool.network.cut(node.name, name);
};

/** From the stop of a move on a batch is on its way to the log, which is down: so all that is heard until both have said their words goes into the next one. */
function inOneBatch(stage: QuietMoves, move: Move, act: () => void): void {
  const { pool } = stage;
  const { head } = pool.log;
  move.at('the source streams', () => stage.write(move.keys[0] ?? 0, { ms: 60, isGuarded: true }));
  move.at('the source stops', () => {
    pool.log.down = true;
    pool.addOwner('newcomer');
  });
  move.until('the source is frozen');
  expect(leaderOf(pool).isWriting).toBe(true);
  move.until('the source has handed over');
  act();
  expect(pool.log.head).toBe(head);
  pool.log.down = false;
}

describe('an owner that drains', () => {
  it('hands everything over, and leaves with nothing lost', () => {
    const stage = new QuietMoves();
    const [owner] = ownersOf(stage);
    stage.expectNoLoss();
    drain(stage, owner);
    hasLeft(stage, owner);
    stage.settle();
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
    expect(Math.max(...movesOf(stage))).toBe(1);
  });
});

describe('target-drains-meanwhile: a target that begins to drain', () => {
  it.each(STEPS)('leaves with nothing lost, when %s', (step) => {
    const stage = new QuietMoves();
    const [source, target] = ownersOf(stage);
    stage.expectNoLoss();
    const move = stage.send(source, target);
    move.at(step, () => drain(stage, target));
    move.until(step);
    hasLeft(stage, target);
    stage.settle();
    expect(stage.namesServing(allKeys)).not.toContain(target.name);
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });
});

describe('deadline-after-handed: the deadline of a drain comes when keys are handed over', () => {
  /** A source whose drain is over while the word of the target is on its way. */
  function overdue(then: (stage: QuietMoves, target: OwnerNode) => void) {
    const stage = new QuietMoves();
    const { pool } = stage;
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    let rest: number[] = [];
    move.at('the source is frozen', () => silence(stage, target));
    move.at('the source has handed over', () => {
      rest = keysOf(source);
      source.leave();
    });
    move.until('the source has handed over');
    pool.run(400);
    expect(stage.journal.records('move')).toEqual([]);
    expect(source.left).toBe(false);
    then(stage, target);
    hasLeft(stage, source);
    stage.settle();
    return { stage, move, rest };
  }

  it('loses none of them: the leader waits for the word of the target', () => {
    const { stage, move, rest } = overdue(({ pool }, target) => reconnect(pool, target));
    expect(stage.lostKeys).toEqual(rest);
    expect(stage.untold).toEqual([]);
    for (const key of move.keys) expect(stage.has(key)).toBe('the last write');
  });

  it('loses them, and says so, if the target dies without another word', () => {
    const { stage, move } = overdue(({ pool }, target) => pool.crashOwner(target));
    expect(stage.lostKeys).toEqual(expect.arrayContaining([...move.keys]));
    expect(stage.untold).toEqual([]);
  });
});

describe('certificate-after-both-words: a source whose death is proved when both words are said', () => {
  it('has lost nothing of what it handed over', () => {
    const stage = new QuietMoves({ supervised: true });
    const { pool } = stage;
    const [source, target] = ownersOf(stage);
    let rest: number[] = [];
    inOneBatch(stage, stage.send(source, target), () => {
      rest = keysOf(source);
      pool.crashOwner(source);
      pool.run(10);
    });
    stage.settle();
    const [moved] = stage.journal.records('move');
    const [left] = stage.journal.records('leave');
    expect(moved?.position).toBe(left?.position);
    expect(left).toMatchObject({ incarnation: source.incarnation, why: 'certified' });
    expect(stage.lostKeys).toEqual(rest);
    expect(stage.untold).toEqual([]);
  });
});

describe('restart-in-one-batch: a source that dies when both words are said, and is back at once', () => {
  it('joins again in the batch that moves its keys, and loses none of them', () => {
    const stage = new QuietMoves({ owners: 2 });
    const { pool } = stage;
    const source = pool.addOwner('restarted', { locked: true });
    const target = pool.owner('owner-1');
    stage.settle();
    stage.send(target, source).until('the target has taken the keys');
    stage.settle();
    const to = pool.owner('owner-2');
    let rest: number[] = [];
    inOneBatch(stage, stage.send(source, to), () => {
      rest = keysOf(source);
      source.process.restart();
      pool.run(300);
    });
    stage.settle();
    const moved = stage.journal.records('move').at(-1);
    expect(stage.journal.records('leave')).toMatchObject([
      { incarnation: 'restarted.1', position: moved?.position },
    ]);
    expect(stage.journal.records('join').at(-1)).toMatchObject({
      member: { incarnation: 'restarted.2' },
      position: moved?.position,
    });
    expect(rest).toEqual([]);
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });
});

describe('three-leave-at-once: owners that drain together', () => {
  it('hand over to those that stay, each key once', () => {
    const stage = new QuietMoves({ owners: 5 });
    stage.expectNoLoss();
    const leavers = ownersOf(stage);
    const theirs = new Set(leavers.flatMap(keysOf));
    for (const node of leavers) drain(stage, node);
    for (const node of leavers) hasLeft(stage, node);
    stage.settle();
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
    expect(movesOf(stage)).toEqual(allKeys.map((key) => (theirs.has(key) ? 1 : 0)));
  });
});

describe('last-owner-drains: owners that drain when nobody stays', () => {
  it('keep their keys to the deadline, and then lose them and say so', () => {
    const stage = new QuietMoves({ owners: 2 });
    const { pool } = stage;
    for (const node of pool.owners) drain(stage, node, 3_000);
    pool.run(2_500);
    expect(stage.missing).toEqual([]);
    const targets = stage.journal.updates().at(-1)?.message.targets;
    expect(targets).toBe(0);
    for (const node of pool.owners) hasLeft(stage, node);
    pool.run(pool.durations.syncEveryMs);
    expect(stage.lostKeys).toEqual(allKeys);
  });

  it('hand over to an owner that comes before the deadline', () => {
    const stage = new QuietMoves({ owners: 2 });
    stage.expectNoLoss();
    const { pool } = stage;
    const leavers = [...pool.owners];
    for (const node of leavers) drain(stage, node);
    pool.run(2_500);
    pool.addOwner('late');
    for (const node of leavers) hasLeft(stage, node);
    stage.settle();
    expect(stage.namesServing(allKeys)).toEqual(['late']);
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });
});

describe('overlap: the next process under the name of an owner that drains', () => {
  it('joins beside it, and takes over all that it has, each key once', () => {
    const stage = new QuietMoves();
    stage.expectNoLoss();
    const { pool } = stage;
    const [first] = ownersOf(stage);
    const keys = keysOf(first);
    const next = pool.addOwner('next', { ownerName: first.ownerName });
    pool.run(1_000);
    expect(next.core?.isAdmitted).toBe(false); // It waits for the name.
    drain(stage, first);
    hasLeft(stage, first);
    stage.settle();
    expect(keys).not.toEqual([]);
    expect(stage.namesServing(keys)).toEqual([next.name]);
    expect(movesOf(stage)).toEqual(allKeys.map((key) => (keys.includes(key) ? 1 : 0)));
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });

  it('is not undone when the drain is taken back: the earlier one is asked to drain', () => {
    const stage = new QuietMoves();
    stage.expectNoLoss();
    const { pool } = stage;
    const [first] = ownersOf(stage);
    drain(stage, first);
    pool.addOwner('next', { ownerName: first.ownerName });
    pool.until('both are members', () => pool.checker.replayed.pool('pool').members.size === 4, 5_000);
    pool.carrierOf(first)?.drain(undefined);
    hasLeft(stage, first);
    stage.settle();
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });
});

describe('drainer-that-is-no-member: an owner that drains, was removed, and finds its name taken', () => {
  it('leaves, and does not wait for the name', () => {
    const stage = new QuietMoves();
    const { pool } = stage;
    const [first] = ownersOf(stage);
    const keys = keysOf(first);
    cutOff(pool, first);
    drain(stage, first, 30 * LONG_MS);
    const next = pool.addOwner('next', { ownerName: first.ownerName });
    pool.until('the name is taken', () => next.core?.isAdmitted === true, 3 * pool.durations.holdMs);
    reconnect(pool, first);
    hasLeft(stage, first);
    stage.settle();
    expect(stage.lostKeys).toEqual(keys);
    expect(stage.untold).toEqual([]);
  });
});

describe('an owner whose target is silent at every step', () => {
  const steps: readonly Step[] = STEPS.slice(0, 6);
  it.each(steps)('serves on, and hands over to another one in the end, when %s', (step) => {
    const stage = new QuietMoves();
    stage.expectNoLoss();
    const { pool } = stage;
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    move.at(step, () => {
      silence(stage, target);
      pool.transfers.cutBoth(source.name, target.name);
    });
    move.until(step);
    pool.run(3_000);
    reconnect(pool, target);
    pool.transfers.heal();
    stage.settle();
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });
});
