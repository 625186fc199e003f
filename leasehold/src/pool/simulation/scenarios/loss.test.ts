/**
 * Every look-up hears of every loss: scenarios 12 to 18.
 */

import { describe, expect, it } from 'vitest';
import { highOf, lowOf, RING_SIZE } from '../../../runtime/keys/position.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { lossBoundMs, resolveDurations } from '../../core/options.ts';
import type { LookupNode } from '../nodes.ts';
import type { PoolWorld } from '../pool-world.ts';
import { Journal, type Told } from './journal.ts';
import {
  cutOff,
  emptyPool,
  holdingsOf,
  keyOf,
  leaderOf,
  nextActor,
  numberOf,
  quietPool,
  reconnect,
  sampleKeys,
  settle,
  when,
} from './quiet-pool.ts';
import { joins, Scribe } from './scribe.ts';

const all = (told: readonly Told[]): RangeSet =>
  told.reduce((union, { ranges }) => union.union(ranges), RangeSet.empty);

const reasons = (told: readonly Told[]): Set<string> => new Set(told.map(({ why }) => why));

describe('an owner that dies', () => {
  it('12: every look-up is told of all it held and nothing else, a hold after its last report', () => {
    const pool = quietPool({ owners: 3, lookups: 6 });
    const journal = new Journal(pool);
    const dead = pool.owner('owner-1');
    const lost = holdingsOf(dead);
    const deadMs = pool.world.trueMs;
    dead.process.crash();
    settle(pool);
    for (const { name } of pool.lookups) {
      const told = journal.toldTo(name);
      expect(all(told).spans()).toEqual(lost.spans());
      for (const { atMs } of told) expect(atMs).toBeLessThan(deadMs + pool.durations.holdMs + 20);
    }
  });

  it('12: a look-up that misses the push is told within the bound', () => {
    const pool = quietPool({ owners: 3, lookups: 2 });
    const journal = new Journal(pool);
    const dead = pool.owner('owner-1');
    const lost = holdingsOf(dead);
    dead.process.crash();
    const missing = pool.lookup('lookup-1');
    let freedMs = 0;
    when(
      pool,
      () => journal.records('leave').length > 0,
      () => {
        freedMs = pool.world.trueMs;
        cutOff(pool, missing);
      },
    );
    pool.until('it is freed', () => freedMs > 0, pool.durations.holdMs + 100);
    pool.run(100);
    expect(journal.toldTo('lookup-1')).toEqual([]);
    expect(all(journal.toldTo('lookup-2')).spans()).toEqual(lost.spans());

    reconnect(pool, missing);
    pool.until('it is told', () => journal.toldTo('lookup-1').length > 0, lossBoundMs(pool.durations));
    const told = journal.toldTo('lookup-1');
    // Rows that were merged since are lost as a whole if any part of them was.
    expect(lost.subtract(all(told)).isEmpty).toBe(true);
    expect(reasons(told)).toEqual(new Set(['reported']));
    expect(pool.world.trueMs).toBeLessThan(freedMs + lossBoundMs(pool.durations));
  });

  it('13: one that crashes and is back within a second has lost its memory all the same', () => {
    const pool = quietPool({ owners: 3, lookups: 2 });
    const journal = new Journal(pool);
    const owner = pool.owner('owner-1');
    const lost = holdingsOf(owner);
    const key = keyOf(owner);
    const number = numberOf(owner, key);
    owner.process.crash();
    pool.run(800);
    owner.process.start();
    settle(pool);
    expect(holdingsOf(owner).spans()).toEqual(lost.spans()); // Its name brings the same keys back,
    expect(numberOf(owner, key)).toBeGreaterThan(number); // under other numbers.
    for (const { name } of pool.lookups) expect(lost.subtract(all(journal.toldTo(name))).isEmpty).toBe(true);
  });
});

describe('a look-up that hears nothing for a while', () => {
  // Patient, so that it never reports everything only because it was away.
  const patient = resolveDurations({ staleAfterMs: 3_600_000 });

  /** Owners come, go and die, the leader changes twice, and the log is cut again and again. */
  function churn(pool: PoolWorld): void {
    for (let round = 0; round < 6; round += 1) {
      const guest = pool.addOwner(`guest-${round}`, { supervised: true });
      settle(pool);
      if (round % 2 === 0) pool.crashOwner(guest);
      else guest.leave();
      if (round % 3 === 1) leaderOf(pool).process.restart();
      settle(pool);
    }
  }

  /** Everybody else's look-up is content while this one is away. */
  function away(pool: PoolWorld, node: LookupNode, act: () => void): void {
    pool.lookups.splice(pool.lookups.indexOf(node), 1);
    act();
    pool.lookups.push(node);
  }

  it('14: is told of all that was lost while the log was cut, by the rows as they are now', () => {
    const pool = quietPool({ durations: patient, owners: 3, lookups: 2, compactEveryBatches: 2 });
    const journal = new Journal(pool);
    const node = pool.lookup('lookup-1');
    const position = node.core?.seen?.position ?? 0;
    cutOff(pool, node);
    away(pool, node, () => churn(pool));
    expect(Math.max(...journal.compactions)).toBeGreaterThan(position + 10); // What it missed is in the log no more.
    expect(journal.toldTo('lookup-1')).toEqual([]);

    reconnect(pool, node);
    settle(pool);
    const told = journal.toldTo('lookup-1');
    const lost = all(journal.toldTo('lookup-2'));
    expect(reasons(told)).toEqual(new Set(['reported']));
    expect(lost.isEmpty).toBe(false);
    expect(lost.subtract(all(told)).isEmpty).toBe(true);
  });

  it('14: also in its next incarnation, if it resumes where the last one stopped', () => {
    const pool = quietPool({ durations: patient, owners: 3, lookups: 1, compactEveryBatches: 2 });
    const journal = new Journal(pool);
    const node = pool.addLookup('resuming', { resumes: true });
    settle(pool);
    node.process.crash();
    churn(pool);
    node.process.start();
    settle(pool);
    const lost = all(journal.toldTo('lookup-1'));
    expect(lost.isEmpty).toBe(false);
    expect(lost.subtract(all(journal.toldTo('resuming'))).isEmpty).toBe(true);
  });

  it('15: cut off from every Manager, it reports everything as lost, and again while it lasts', () => {
    const pool = quietPool({ owners: 3, lookups: 2 });
    const journal = new Journal(pool);
    const { staleAfterMs, syncEveryMs } = pool.durations;
    cutOff(pool, pool.lookup('lookup-1'));
    const cutMs = pool.world.trueMs;
    pool.owner('owner-1').process.crash();
    pool.run(3 * staleAfterMs);
    const told = journal.toldTo('lookup-1');
    expect(told).toHaveLength(3);
    for (const [index, { atMs, why, ranges }] of told.entries()) {
      expect(why).toBe('cut-off');
      expect(ranges.spans()).toEqual(RangeSet.everything.spans());
      expect(atMs).toBeLessThanOrEqual(cutMs + (index + 1) * staleAfterMs);
      expect(atMs).toBeGreaterThan(cutMs + (index + 1) * staleAfterMs - syncEveryMs - 100);
    }
    expect(reasons(journal.toldTo('lookup-2'))).toEqual(new Set(['reported']));

    reconnect(pool, pool.lookup('lookup-1'));
    settle(pool);
    expect(pool.lookup('lookup-1').core?.isCutOff).toBe(false);
  });

  it('16: of two losses of the same keys between two syncs it is told at least once', () => {
    const pool = quietPool({ lookups: 1 });
    for (const name of ['owner-1', 'owner-2', 'owner-3']) pool.addOwner(name, { supervised: true });
    settle(pool);
    const journal = new Journal(pool);
    const node = pool.lookup('lookup-1');
    const first = pool.owner('owner-1');
    const key = keyOf(first);
    const number = numberOf(first, key);
    cutOff(pool, node);
    pool.crashOwner(first);
    const second = nextActor(pool, key, first, 2_000);
    pool.crashOwner(second);
    const third = nextActor(pool, key, second, 2_000);
    expect(journal.toldTo('lookup-1')).toEqual([]);

    reconnect(pool, node);
    settle(pool);
    const told = journal.toldTo('lookup-1');
    expect(reasons(told)).toEqual(new Set(['reported']));
    expect(told.some(({ ranges }) => ranges.has(key))).toBe(true);
    expect(node.core?.find(highOf(key), lowOf(key))?.number).toBe(numberOf(third, key));
    expect(numberOf(third, key)).toBeGreaterThan(number + 1);
  });
});

describe('keys that move', () => {
  const half: Span = { start: 0n, end: RING_SIZE / 2n };

  it('17: a clean migration is not a loss, whether its push was heard or missed', () => {
    const pool = emptyPool();
    const scribe = new Scribe(pool);
    pool.start();
    const journal = new Journal(pool);
    const [near, far] = [pool.addLookup('near'), pool.addLookup('far')];
    scribe.write(joins('a'), joins('b'), {
      kind: 'grant',
      incarnation: 'a',
      spans: [{ ...half, end: RING_SIZE }],
    });
    pool.until('both know', () => near.core?.seen?.position === 1 && far.core?.seen?.position === 1, 2_000);

    cutOff(pool, far);
    const position = scribe.write({ kind: 'move', incarnation: 'b', spans: [half], ticket: 't' });
    scribe.compact();
    reconnect(pool, far);
    pool.until('both know', () => far.core?.seen?.position === position, 2 * pool.durations.syncEveryMs);
    for (const node of [near, far]) {
      expect(node.core?.find(0, 0)).toMatchObject({ number: position, owner: { name: 'b' } });
      expect(node.core?.find(0xffff_ffff, 0)).toMatchObject({ number: 1, owner: { name: 'a' } });
    }
    expect(journal.told).toEqual([]);
  });

  /** The keys of these 10,000 that were lost, and what each look-up says was. */
  function everyLostKeyIsCovered(pool: PoolWorld, journal: Journal, lost: RangeSet): void {
    const keys = sampleKeys(10_000).filter((key) => lost.has(key));
    expect(keys.length).toBeGreaterThan(500);
    for (const { name } of pool.lookups) {
      const told = all(journal.toldTo(name));
      expect(keys.filter((key) => !told.has(key))).toEqual([]);
    }
  }

  it('18: a split during a loss hides none of the lost keys', () => {
    for (let ms = 0; ms <= 600; ms += 100) {
      const pool = quietPool({ owners: 3, lookups: 2, trace: false, maxSpansPerBatch: 3 });
      const dead = pool.addOwner('dead', { supervised: true });
      settle(pool);
      const journal = new Journal(pool);
      const lost = holdingsOf(dead);
      cutOff(pool, pool.lookup('lookup-2'));
      pool.crashOwner(dead);
      pool.run(ms);
      // Their points cut what was lost, before, with and after the batch that frees it.
      for (let index = 0; index < 4; index += 1) pool.addOwner(`newcomer-${index}`);
      pool.run(1_500);
      reconnect(pool, pool.lookup('lookup-2'));
      settle(pool);
      const { rows } = pool.checker.replayed.pool('pool');
      const cuts = rows.filter(({ start }) => lost.has(start) && start > 0n && lost.has(start - 1n));
      expect(cuts.length).toBeGreaterThan(0);
      everyLostKeyIsCovered(pool, journal, lost);
    }
  });

  it('18: a merge during a loss hides none of the lost keys', () => {
    for (let ms = 0; ms <= 600; ms += 100) {
      const pool = quietPool({ owners: 3, lookups: 2, trace: false });
      const dead = pool.addOwner('dead', { supervised: true });
      const guests = Array.from({ length: 4 }, (_, index) => pool.addOwner(`guest-${index}`));
      settle(pool);
      const journal = new Journal(pool);
      const lost = holdingsOf(dead);
      cutOff(pool, pool.lookup('lookup-2'));
      for (const guest of guests) guest.leave();
      pool.run(ms);
      pool.crashOwner(dead);
      pool.run(3_000);
      reconnect(pool, pool.lookup('lookup-2'));
      settle(pool);
      const merged = journal.records('merge').flatMap(({ spans }) => spans);
      expect(RangeSet.of(merged).intersect(lost).isEmpty).toBe(false);
      everyLostKeyIsCovered(pool, journal, lost);
    }
  });
});
