/**
 * Something takes keys out of the hands of a ticket while their source has stopped serving them: a lapse, a merge, a recall, a leave, Managers
 * that disagree. Or nothing does, and writes and frames come as they please. Scenarios 28 and 29.
 */

import { describe, expect, it } from 'vitest';
import type { Role } from '../../core/messages.ts';
import { resolveDurations } from '../../core/options.ts';
import type { MovesWorld } from '../moves/moves-world.ts';
import type { OwnerNode } from '../nodes.ts';
import { type Move, ownersOf, QuietMoves, type Step, STEPS } from './quiet-moves.ts';

const IN_THE_STOP = ['the source stops', 'the source is frozen'] as const;
const BEFORE_THE_WORD = STEPS.slice(0, STEPS.indexOf('the source has handed over'));

/**
 * Keeps a move at a step of its stop for a while: guarded work keeps the source from freezing; without a way back for the acknowledgement the source
 * stays frozen. Acts when the step begins.
 */
function holdAt(stage: QuietMoves, move: Move, step: Step, act: () => void): Move {
  const { source, target, keys } = move;
  move.at('the source streams', () => {
    if (step === 'the source stops') stage.write(keys[0] ?? 0, { ms: 60, isGuarded: true });
  });
  move.at(step, () => {
    if (step === 'the source is frozen') stage.pool.transfers.cut(target.name, source.name);
    act();
  });
  move.until(step);
  return move;
}

/** A move that stays at this step for a while, during which something happens. */
function movingUntil(stage: QuietMoves, step: Step, act: (move: Move) => void): Move {
  const [source, target] = ownersOf(stage);
  const move = stage.send(source, target);
  return holdAt(stage, move, step, () => act(move));
}

describe('write-at-each-step: what is written while keys move', () => {
  it.each(STEPS)('is there afterwards if it was acknowledged, when %s', (step) => {
    const stage = new QuietMoves();
    stage.expectNoLoss();
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    move.at(step, () => {
      for (const key of move.keys) stage.write(key); // Where it is served: at the source, later at the target, in between nowhere.
    });
    move.until('the target has taken the keys');
    stage.settle();
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
    expect(stage.namesServing(move.keys)).toEqual([target.name]);
  });

  it('is refused at its end if it began before the freeze and ends after it', () => {
    const stage = new QuietMoves();
    stage.expectNoLoss();
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    const [key = 0] = move.keys;
    const before = stage.written(key);
    move.at('the source stops', () => stage.pool.carrierOf(source)?.work(key, -1, 15, false));
    move.until('the source is frozen');
    stage.settle();
    expect(stage.namesServing([key])).toEqual([target.name]);
    expect(stage.pool.carrierOf(target)?.store.get(key)).toBe(before);
    expect(stage.pool.carrierOf(source)?.store.get(key)).toBeUndefined();
  });
});

describe('frame-repeated: frames that arrive several times, late and out of order', () => {
  it('are applied once, in order', () => {
    const stage = new QuietMoves({
      transferLinks: { delayMs: [1, 30], duplicateChance: 1, lossChance: 0.3 },
    });
    stage.expectNoLoss();
    const [source, target] = ownersOf(stage);
    const { pool } = stage;
    const frames: { from: string; to: string; message: Parameters<typeof pool.transfers.send>[2] }[] = [];
    const { send } = pool.transfers;
    pool.transfers.send = (from, to, message) => {
      if (message.kind === 'frame') frames.push({ from, to, message });
      send.call(pool.transfers, from, to, message);
    };
    const move = stage.send(source, target);
    // Every frame that was ever sent comes once more: in the middle, and after the target was granted the keys and has written.
    const repeat = (): void => {
      for (const { from, to, message } of [...frames]) send.call(pool.transfers, from, to, message);
    };
    move.at('the source stops', () => {
      for (const key of move.keys) stage.write(key);
      repeat();
    });
    move.at('the source is frozen', repeat);
    move.until('the target has taken the keys');
    stage.settle();
    for (const key of move.keys) expect(stage.write(key)).toBe(true);
    pool.run(5);
    repeat();
    pool.run(100);
    expect(frames.length).toBeGreaterThan(move.keys.length / 3);
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });
});

describe('lapse-in-the-stop: a lease that ends while its keys are stopped', () => {
  it.each([...IN_THE_STOP, 'the source has handed over'] as const)('loses nothing, when %s', (step) => {
    const stage = new QuietMoves();
    stage.expectNoLoss();
    const move = movingUntil(stage, step, ({ source }) => source.process.suspend(2_000));
    stage.pool.run(2_500);
    stage.pool.transfers.heal();
    if (step !== 'the source has handed over')
      expect(stage.journal.turnsOf('lapsed', move.source.name)).not.toEqual([]);
    stage.settle();
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });
});

describe('merge-in-the-stop: rows that are joined while one of them is stopped', () => {
  it.each(IN_THE_STOP)('serve on at their source, when %s', (step) => {
    const stage = new QuietMoves();
    const { pool, directions } = stage;
    stage.expectNoLoss();
    const [source, target] = ownersOf(stage);
    // Half of a row comes and goes, so that two rows of one owner lie side by side.
    const there = stage.sendHalf(source, target);
    there.until('the target has taken the keys');
    stage.settle();
    stage.sendRow(target, source, there.span).until('the target has taken the keys');
    stage.settle();
    const move = stage.sendRow(source, target, there.span);
    const before = stage.journal.records('merge').length;
    holdAt(stage, move, step, () => {
      directions.send(move.span, source.ownerName); // It is to stay, after all.
      directions.joins = true;
      stage.decide(); // It withdraws the ticket,
      pool.world.after(1, () => stage.decide()); // and joins the rows.
    });
    pool.run(1_000);
    pool.transfers.heal();
    stage.settle();
    expect(stage.journal.records('merge').length).toBeGreaterThan(before);
    expect(stage.namesServing(move.keys)).toEqual([source.name]);
    expect(stage.missing).toEqual([]);
    expect(stage.isLossTold).toBe(false);
  });
});

describe('recall-in-the-stop: keys that are asked back, or given back, while they are on their way', () => {
  it.each(IN_THE_STOP)('are lost and told, when %s and state can be taken away no longer', (step) => {
    const stage = new QuietMoves();
    const move = movingUntil(stage, step, ({ source }) => {
      stage.pool.carrierOf(source)?.mayMove(false);
      source.tell((core, now) => core.reachable(now));
      stage.pool.world.after(3, () => stage.decide());
    });
    stage.pool.run(2_000);
    stage.pool.transfers.heal();
    stage.settle();
    expect(stage.lostKeys).toEqual(move.keys);
    expect(stage.untold).toEqual([]);
  });

  it.each(BEFORE_THE_WORD)('are lost and told, when %s and the source leaves', (step) => {
    const stage = new QuietMoves();
    const { pool } = stage;
    const [source, target] = ownersOf(stage);
    const move = stage.send(source, target);
    move.at(step, () => source.leave());
    move.until(step);
    pool.until('it has left', () => source.left, 10_000);
    stage.settle();
    expect(stage.lostKeys).toEqual(expect.arrayContaining([...move.keys]));
    expect(stage.untold).toEqual([]);
    for (const key of move.keys) expect(stage.has(key)).toBe('nothing');
  });
});

/** For one owner, the last Manager of its list leads another log. Its true answers do not arrive. */
function disagreeFor(pool: MovesWorld, owner: OwnerNode): { end(): void } {
  const { network, durations } = pool;
  const other = 'manager-3';
  const { send } = network;
  let isOver = false;
  network.send = (from, to, message) => {
    if (isOver || message.kind !== 'probe' || from !== owner.name || to !== other) {
      if (isOver || from !== other || to !== owner.name) send.call(network, from, to, message);
      return;
    }
    const role: Role = {
      ...{ kind: 'role', asker: message.asker, round: message.round },
      leads: { history: 'another', term: 1, leader: 'another', holdMs: durations.holdMs, isLogShared: false },
    };
    send.call(network, other, owner.name, role);
  };
  owner.tell((core, now) => core.reachable(now)); // It asks everybody again at once.
  return { end: () => (isOver = true) };
}

describe('managers-disagree-in-the-stop: an owner that finds two logs led', () => {
  // It asks again so soon that a second round fits into a stop.
  const durations = resolveDurations({ retryMs: 8 });

  it.each([...IN_THE_STOP, 'the source has handed over'] as const)(
    'lets go of everything and says so, when it is the source and %s',
    (step) => {
      const stage = new QuietMoves({ durations });
      const { pool } = stage;
      let division: { end(): void } | undefined;
      const move = movingUntil(stage, step, ({ source }) => {
        division = disagreeFor(pool, source);
        // The leader cannot write the move before the source knows.
        if (step === 'the source has handed over') pool.log.down = true;
      });
      pool.run(80);
      pool.log.down = false;
      expect(stage.journal.turnsOf('disagree', move.source.name)).toHaveLength(1);
      expect(move.source.core?.held).toEqual([]);
      expect(stage.namesServing(move.keys)).not.toContain(move.source.name);
      pool.run(2_000);
      pool.transfers.heal();
      division?.end();
      stage.settle();
      expect(stage.untold).toEqual([]);
      // A move with both words stands.
      const isMoved = step === 'the source has handed over';
      for (const key of move.keys) expect(stage.has(key)).toBe(isMoved ? 'the last write' : 'nothing');
    },
  );

  it('drops what it was brought, when it is the target', () => {
    const stage = new QuietMoves({ durations });
    const { pool } = stage;
    let division: { end(): void } | undefined;
    const move = movingUntil(stage, 'the source is frozen', ({ target }) => {
      division = disagreeFor(pool, target);
    });
    pool.run(80);
    expect(stage.journal.turnsOf('discard', move.target.name)).toHaveLength(1);
    pool.run(2_000);
    pool.transfers.heal();
    division?.end();
    stage.settle();
    expect(stage.untold).toEqual([]);
    expect(stage.missing.filter((key) => move.keys.includes(key))).toEqual([]);
  });
});
