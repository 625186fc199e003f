import { describe, expect, it } from 'vitest';
import type { MovesObservation } from '../../../../leasehold/src/pool/core/manager/pool-moves.ts';
import {
  type ManagerToLookAt,
  threeOwners,
} from '../../../../leasehold/src/pool/shell/service/source-script.ts';
import { RefusedError } from '../../../../leasehold/src/runtime/errors.ts';
import { served } from '../testing/served-manager.ts';

const OWNER = 'presence-1';
const INCARNATION = 'presence-1.1';

interface Ordered {
  readonly manager: ManagerToLookAt;
  readonly orders: unknown[];
  /** How often the command has looked. */
  looks(): number;
}

/**
 * A Manager under which the owner hands over so many of its ranges at each look, once that is ordered. The order `lose` takes the rest away.
 *
 * @param perLook 0: nothing can be moved
 */
function drainable(perLook: number): Ordered {
  const manager = threeOwners();
  const orders: unknown[] = [];
  let isOrdered = false;
  let looks = 0;
  const rows = () => manager.state.pool('presence').rowsOf(INCARNATION);
  manager.order = async (_, order) => {
    orders.push(order);
    isOrdered = order.kind === 'drain';
    if (order.kind === 'drain' && order.otherwise === 'lose') {
      const spans = rows();
      manager.commit('presence', [{ kind: 'free', spans }]);
      manager.commit('presence', [{ kind: 'grant', incarnation: 'presence-2.1', spans }]);
    }
    return INCARNATION;
  };
  const moves = (): MovesObservation => {
    looks += 1;
    const spans = isOrdered ? rows().slice(0, perLook) : [];
    if (spans.length > 0)
      manager.commit('presence', [{ kind: 'move', incarnation: 'presence-2.1', spans, ticket: 't' }]);
    const member = { movesKeys: true, intent: 'emptying', order: 'emptying', sentBytes: 0 } as const;
    const targets = perLook === 0 ? 0 : 2;
    return {
      canMove: true,
      underway: [],
      members: [{ ...member, incarnation: INCARNATION, name: OWNER, targets }],
    };
  };
  Object.defineProperty(manager, 'moves', { get: moves });
  return { manager, orders, looks: () => looks };
}

const rangesOf = ({ manager }: Ordered): number => manager.state.pool('presence').rowsOf(INCARNATION).length;

describe('pool drain', () => {
  it('waits until the owner has nothing left, and says what came of it', async () => {
    const ordered = drainable(20);
    const ranges = rangesOf(ordered);
    await using server = await served(ordered.manager);
    const { code, printed } = await server.run('pool', 'drain', 'presence', OWNER);
    expect(code).toBe(0);
    expect(printed).toMatch(
      new RegExp(
        `^presence-1 holds nothing any more: ${ranges} ranges moved, 0 lost, in [\\d.]+ m?s\\. It takes keys again after: leasehold pool uncordon presence presence-1\\n$`,
      ),
    );
    expect(ordered.orders).toEqual([{ kind: 'drain', owner: OWNER, otherwise: 'stay' }]);
  });

  it('says the same to a program', async () => {
    const ordered = drainable(1_000);
    const ranges = rangesOf(ordered);
    await using server = await served(ordered.manager);
    const { printed, complained } = await server.run('pool', 'drain', 'presence', OWNER, '--json');
    expect(JSON.parse(printed)).toMatchObject({
      ...{ pool: 'presence', owner: OWNER, incarnation: INCARNATION, outcome: 'drained' },
      ...{ ranges, moved: ranges, lost: 0, left: 0 },
    });
    expect(complained).toBe('');
  });

  it('gives the order and does not wait, if that is wanted', async () => {
    const ordered = drainable(0);
    await using server = await served(ordered.manager);
    const { code, printed } = await server.run('pool', 'drain', 'presence', OWNER, '--no-wait');
    expect([code, printed]).toEqual([0, expect.stringContaining('presence-1 hands ')]);
    expect(ordered.orders).toHaveLength(1);
  });

  it('ends with 1 when the time is over, and the keys stay; it says what the owner waits for', async () => {
    const ordered = drainable(0);
    const ranges = rangesOf(ordered);
    await using server = await served(ordered.manager);
    const { code, printed, complained } = await server.run(
      'pool',
      'drain',
      'presence',
      OWNER,
      '--timeout',
      '1ms',
    );
    expect(code).toBe(1);
    expect(printed).toContain(
      `${ranges} of ${ranges} ranges are left, 0 ranges moved, 0 lost. The drain goes on.`,
    );
    expect(complained).toContain('waits: no other owner can take its keys');
  });

  it('has what is left given back when the time is over, if that is wanted, and counts it as lost', async () => {
    const ordered = drainable(0);
    const ranges = rangesOf(ordered);
    await using server = await served(ordered.manager);
    const argv = ['pool', 'drain', 'presence', OWNER, '--timeout', '1ms', '--otherwise', 'lose'];
    const { code, printed } = await server.run(...argv);
    expect([code, printed]).toEqual([0, expect.stringContaining(`0 ranges moved, ${ranges} lost`)]);
    expect(ordered.orders).toEqual([
      { kind: 'drain', owner: OWNER, otherwise: 'stay' },
      { kind: 'drain', owner: OWNER, otherwise: 'lose' },
    ]);
  });

  it('ends when it is interrupted, and says that the drain goes on', async () => {
    const ordered = drainable(0);
    await using server = await served(ordered.manager);
    const running = server.run('pool', 'drain', 'presence', OWNER);
    await expect.poll(() => ordered.orders.length, { timeout: 10_000 }).toBe(1);
    process.emit('SIGINT');
    const { code, printed } = await running;
    expect(code).toBe(130);
    expect(printed).toMatch(/^Interrupted: the drain of presence-1 goes on, \d+ of \d+ ranges are left\./);
  });

  it('says so, too, when no Manager answers any more', async () => {
    const ordered = drainable(0);
    const ranges = rangesOf(ordered);
    await using server = await served(ordered.manager);
    const running = server.run('pool', 'drain', 'presence', OWNER, '--json');
    // The third look is after the first was answered.
    await expect.poll(() => ordered.looks(), { timeout: 10_000 }).toBeGreaterThan(2);
    await server[Symbol.asyncDispose]();
    process.emit('SIGINT');
    const { code, printed } = await running;
    expect(code).toBe(130);
    expect(JSON.parse(printed)).toMatchObject({
      outcome: 'interrupted',
      ranges,
      left: ranges,
      moved: 0,
      lost: null,
    });
  });

  it('ends with 4 if there is no such owner', async () => {
    const { manager } = drainable(1);
    manager.order = () => Promise.reject(new RefusedError('UNKNOWN_OWNER', 'none', { module: 'manager' }));
    await using server = await served(manager);
    expect((await server.run('pool', 'drain', 'presence', 'presence-9')).code).toBe(4);
  });
});

describe('pool cordon and uncordon', () => {
  it('give their orders, and say so', async () => {
    const { manager, orders } = drainable(0);
    await using server = await served(manager);
    expect((await server.run('pool', 'cordon', 'presence', OWNER)).printed).toBe(
      'presence-1 takes no more keys of presence, and keeps those it has.\n',
    );
    expect((await server.run('pool', 'uncordon', 'presence', OWNER)).printed).toBe(
      'presence-1 takes keys of presence again.\n',
    );
    expect(orders).toEqual([
      { kind: 'cordon', owner: OWNER },
      { kind: 'uncordon', owner: OWNER },
    ]);
  });
});
