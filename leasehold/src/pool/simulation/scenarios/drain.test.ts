/** Owners of a quiet pool go and come: how long their keys take by the clock of the world, and that nothing is lost. */

import { describe, expect, it } from 'vitest';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { Random } from '../../../sim/random.ts';
import type { Policy } from '../../core/policy/policy.ts';
import { MovesWorld } from '../moves/moves-world.ts';
import { Wishes } from '../moves/wishes.ts';
import type { OwnerNode } from '../nodes.ts';
import type { PoolWorld } from '../pool-world.ts';
import { emptyPool, leaderOf, settle } from './quiet-pool.ts';

const DEADLINE_MS = 60_000;

/** In turn, by name: so each owner has so many rows, none beside another of its own. */
const inTurn = (rowsEach: number): Policy => ({
  name: 'in-turn',
  adaptive: false,
  place: ({ members }) => {
    const owners = [...members].sort((one, other) => (one.name < other.name ? -1 : 1));
    const rows = owners.length * rowsEach;
    const edge = (row: number): bigint => (RING_SIZE * BigInt(row)) / BigInt(rows);
    return Array.from({ length: rows }, (_, row) => ({
      start: edge(row),
      end: edge(row + 1),
      incarnation: owners[row % owners.length]?.incarnation ?? '',
    }));
  },
});

function quietMoves(
  owners: number,
  rowsEach: number,
  { logDelayMs = 2, quietAfterMs = 60_000 } = {},
): MovesWorld {
  const more = {
    ...{ movesPolicy: new Wishes(1_000), transferLinks: { delayMs: [2, 2] as const } },
    ...{ withoutMovesChance: 0, otherFormChance: 0, policy: inTurn(rowsEach) },
  };
  class World extends MovesWorld {
    constructor(options: ConstructorParameters<typeof PoolWorld>[0]) {
      super({ ...options, ...more }, new Random(1));
    }
  }
  const pool = emptyPool(
    { trace: false, quietAfterMs, logLinks: { delayMs: [logDelayMs, logDelayMs] } },
    World,
  ) as MovesWorld;
  pool.start();
  for (let index = 1; index <= owners; index += 1) pool.addOwner(`owner-${index}`);
  settle(pool);
  return pool;
}

/** How long it takes until all these owners have left, from their first instant of draining. */
function drained(pool: MovesWorld, nodes: readonly OwnerNode[], withinMs: number): number {
  const startMs = pool.world.trueMs;
  for (const node of nodes) pool.carrierOf(node)?.drain(DEADLINE_MS);
  while (!nodes.every(({ left }) => left) && pool.world.trueMs < startMs + withinMs) pool.run(10);
  return pool.world.trueMs - startMs;
}

const lost = ({ world }: MovesWorld): number => world.counts.get('keys lost') ?? 0;

describe('an owner that drains in a quiet pool', () => {
  it('hands 64 ranges to two owners within 2.5 s, the first ranges of this pool that ever moved', () => {
    const pool = quietMoves(3, 64);
    const rows = pool.checker.replayed.pool('pool').rowsOf(pool.owner('owner-1').incarnation).length;
    const before = lost(pool);
    const tookMs = drained(pool, [pool.owner('owner-1')], DEADLINE_MS);
    expect({ rows, lost: lost(pool) - before }).toEqual({ rows: 64, lost: 0 });
    expect(tookMs).toBeLessThan(2_500);
  });

  it('hands 64 ranges to one owner within 2.5 s', () => {
    const pool = quietMoves(2, 64);
    expect(drained(pool, [pool.owner('owner-1')], DEADLINE_MS)).toBeLessThan(2_500);
  });

  it('does so within 3 s on a log that takes 20 ms for a batch: no range waits until a turn comes round', () => {
    const pool = quietMoves(3, 64, { logDelayMs: 10 });
    expect(drained(pool, [pool.owner('owner-1')], DEADLINE_MS)).toBeLessThan(3_000);
  });

  it('hands 64 ranges over within 2.5 s beside another one that drains, to the two that stay', () => {
    const pool = quietMoves(4, 64);
    const nodes = [pool.owner('owner-1'), pool.owner('owner-3')];
    expect(drained(pool, nodes, DEADLINE_MS)).toBeLessThan(2_500);
  });
});

describe('an owner that comes to a pool whose keys move', () => {
  /** How much of the ring each has, in percent. */
  const percents = (pool: MovesWorld): number[] =>
    pool.owners.map(({ incarnation }) => {
      const rows = pool.checker.replayed.pool('pool').rowsOf(incarnation);
      const width = rows.reduce((sum, { start, end }) => sum + (end - start), 0n);
      return Number((width * 1_000n) / RING_SIZE) / 10;
    });

  it('gets its part when the pool is quiet, a tenth of the ring in each round, and nothing is lost', () => {
    const pool = quietMoves(2, 32, { quietAfterMs: 5_000 });
    pool.until('keys can move', () => pool.checker.replayed.pool('pool').hasMoves, 20_000);
    const before = lost(pool);
    pool.addOwner('owner-3');
    const parts: number[] = [];
    for (let round = 0; round < 8; round += 1) {
      pool.run(10_000);
      parts.push(percents(pool)[2] ?? 0);
    }
    let last = 0;
    for (const part of parts) {
      expect(part - last).toBeLessThanOrEqual(18.1); // The parts of two rounds may fall into ten seconds.
      last = part;
    }
    for (const part of percents(pool)) expect(Math.abs(part - 33.3)).toBeLessThanOrEqual(3.4);
    const moves = pool.world.counts.get('moves');
    pool.run(60_000);
    expect([lost(pool) - before, pool.world.counts.get('moves')]).toEqual([0, moves]);
  });
});

describe('an owner that an operator has emptied', () => {
  const rowsOf = (pool: MovesWorld, node: OwnerNode): number =>
    pool.checker.replayed.pool('pool').rowsOf(node.incarnation).length;
  const order = (pool: MovesWorld, node: OwnerNode, what: 'emptying' | undefined): void =>
    leaderOf(pool).order('pool', node.incarnation, what);

  it('loses nothing and stays a member, also if the leader fails in the middle, and takes keys when the order is taken back', () => {
    const pool = quietMoves(3, 32, { quietAfterMs: 5_000 });
    const node = pool.owner('owner-1');
    const before = lost(pool);
    order(pool, node, 'emptying');
    pool.until('a part has moved', () => rowsOf(pool, node) <= 16, 20_000);
    const leader = leaderOf(pool);
    leader.process.crash();
    pool.until('another one leads', () => pool.leader !== undefined && pool.leader !== leader, 30_000);
    pool.until('nothing is left', () => rowsOf(pool, node) === 0, 30_000);
    pool.run(20_000);
    const isMember = pool.checker.replayed.pool('pool').members.has(node.incarnation);
    expect({ isMember, rows: rowsOf(pool, node), left: node.left, drained: node.core?.isDrained }).toEqual({
      ...{ isMember: true, rows: 0, left: false, drained: true },
    });
    order(pool, node, undefined);
    pool.until('it has keys again', () => rowsOf(pool, node) > 0, 20_000);
    pool.run(60_000);
    expect(lost(pool) - before).toBe(0);
  });
});
