/** Moves of keys in the shell of an owner: guarded work, handles, the application and the carrier. */

import { describe, expect, it } from 'vitest';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import { instant } from '../../../runtime/time.ts';
import { LEFT, type MovingBench, movingOwner, RIGHT } from './moving-script.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const NOT_OWNER = { code: 'NOT_OWNER' };

/** Work that ends on command. */
function work() {
  let finish = (): void => {};
  const end = new Promise<void>((resolve) => (finish = resolve));
  return { run: () => end.then(() => 'done'), finish };
}

const kindsOf = ({ owner }: MovingBench): readonly unknown[] =>
  owner
    .toService()
    .events?.log.recent(100)
    .map(({ kind }) => kind) ?? [];

describe('an owner that hands keys over', () => {
  it('lets work under way finish before the freeze, and lets callers wait from the stop on', async () => {
    const bench = movingOwner();
    const { owner, carrier } = bench;
    bench.order();
    const first = work();
    const working = owner.guard(LEFT, first.run);
    bench.caughtUp();
    await turn();
    const waiting = owner.guard(LEFT, () => 'served');
    await turn();
    expect(carrier.story).toEqual(['stream']);
    expect(owner.check(RIGHT)).toBe(5);
    first.finish();
    expect(await working).toBe('done');
    await turn();
    expect(carrier.story).toEqual(['stream', 'freeze']);
    expect(owner.check(RIGHT)).toBeUndefined();
    const refused = expect(waiting).rejects.toMatchObject(NOT_OWNER);
    bench.acknowledged();
    bench.moved();
    await refused;
    expect(carrier.story).toEqual(['stream', 'freeze', 'handed', 'departed']);
  });

  it('tells the application of no loss, and the event is a departure', async () => {
    const lost: RangeSet[] = [];
    const bench = movingOwner({ onLost: (ranges) => lost.push(ranges) });
    bench.order();
    bench.caughtUp();
    await turn();
    bench.acknowledged();
    bench.moved();
    await turn();
    expect(lost).toEqual([]);
    expect(kindsOf(bench)).toEqual(['pool.admitted', 'pool.granted', 'pool.departed']);
    expect(
      bench.owner
        .toService()
        .metrics()
        .find(({ name }) => name.endsWith('losses_total'))?.samples,
    ).toEqual([{ value: 0 }]);
  });

  it('goes on with the callers that wait when the keys are given back, and with the handles', async () => {
    const bench = movingOwner();
    const { owner } = bench;
    const held = owner.hold(LEFT);
    const signal = held?.signal;
    bench.order();
    bench.caughtUp();
    await turn();
    expect([held?.isHeld(), signal?.aborted]).toEqual([false, false]);
    const waiting = owner.guard(LEFT, ({ number }) => number);
    bench.acknowledged();
    expect([held?.isHeld(), signal?.aborted]).toEqual([false, false]);
    bench.returned();
    expect(await waiting).toBe(6);
    expect([held?.isHeld(), signal?.aborted]).toEqual([true, false]);
    expect(bench.carrier.story.at(-1)).toBe('returned');
  });

  it('aborts handles when the keys have departed', async () => {
    const bench = movingOwner();
    const signal = bench.owner.hold(LEFT)?.signal;
    bench.order();
    bench.caughtUp();
    await turn();
    bench.acknowledged();
    bench.moved();
    expect(signal?.reason).toMatchObject({ code: 'LEASE_LOST' });
  });

  it('serves on after a stop that took too long, and stops again later', async () => {
    const bench = movingOwner();
    const { owner, carrier, runtime } = bench;
    bench.order();
    const first = work();
    const working = owner.guard(LEFT, first.run);
    bench.caughtUp();
    await turn();
    const other = owner.guard(RIGHT, () => 'served');
    runtime.pass(100);
    expect(await other).toBe('served');
    expect(carrier.story).toEqual(['stream', 'resume']);
    first.finish();
    await working;
    await turn();
    expect(carrier.story).toEqual(['stream', 'resume']);
    bench.order();
    bench.caughtUp();
    await turn();
    runtime.pass(500);
    await turn();
    expect(carrier.story).toEqual(['stream', 'resume', 'freeze']);
  });

  it('lets a call through that work under way awaits, so that the work can end', async () => {
    const bench = movingOwner();
    const { owner, carrier } = bench;
    bench.order();
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    const outer = owner.guard(LEFT, async () => {
      await gate;
      return await owner.guard(RIGHT, () => 'inner');
    });
    bench.caughtUp();
    await turn();
    go();
    expect(await outer).toBe('inner');
    await turn();
    expect(carrier.story).toEqual(['stream', 'freeze']);
  });

  it('forgets a ticket that is taken back, and its callers go on', async () => {
    const bench = movingOwner();
    const { owner, carrier, tell } = bench;
    bench.order();
    const first = work();
    const working = owner.guard(LEFT, first.run);
    bench.caughtUp();
    await turn();
    const waiting = owner.guard(RIGHT, () => 'served');
    tell();
    expect(await waiting).toBe('served');
    expect(carrier.story).toEqual(['stream', 'abandon']);
    first.finish();
    await working;
  });

  it('turns away who waits when the lease runs out on the way', async () => {
    const bench = movingOwner({}, { ackTimeoutMs: 60_000 });
    const { owner, runtime } = bench;
    const signal = owner.hold(LEFT)?.signal;
    bench.order();
    bench.caughtUp();
    await turn();
    runtime.pass(8_500);
    const waiting = expect(owner.guard(LEFT, () => 'served')).rejects.toMatchObject(NOT_OWNER);
    runtime.pass(600);
    await waiting;
    expect(signal?.aborted).toBe(true);
    expect(kindsOf(bench)).toContain('pool.lost');
  });

  it('has one move out at a time, if told so', async () => {
    const bench = movingOwner({}, { maxAtOnce: 1 });
    const { carrier, tell } = bench;
    const half = RING_SIZE / 2n;
    const moves = [
      { start: 0n, end: half, number: 5, ticket: 't', to: 'b.1', toName: 'b', address: 'x:1' },
      { start: half, end: RING_SIZE, number: 5, ticket: 'u', to: 'c.1', toName: 'c', address: 'x:2' },
    ];
    tell({ moves });
    expect(carrier.effects.map((effect) => 'ticket' in effect && effect.ticket)).toEqual(['t']);
    bench.caughtUp();
    await turn();
    bench.acknowledged();
    expect(carrier.effects.flatMap((effect) => (effect.do === 'stream' ? [effect.ticket] : []))).toEqual([
      't',
      'u',
    ]);
  });
});

describe('keys that were handed over', () => {
  it('are a loss if their log is no more, and the carrier waits for no answer', async () => {
    const bench = movingOwner();
    bench.order();
    bench.caughtUp();
    await turn();
    bench.acknowledged();
    const waiting = expect(bench.owner.guard(LEFT, () => 'served')).rejects.toMatchObject(NOT_OWNER);
    bench.runtime.pass(4_000);
    bench.tell({ spans: [], history: 'another' });
    await waiting;
    expect(bench.carrier.story).toEqual(['stream', 'freeze', 'handed', 'departed']);
    expect(kindsOf(bench).at(-1)).toBe('pool.lost');
  });
});

describe('onDepart', () => {
  it('is called while the keys are served, and again when no work is under way, before the freeze', async () => {
    const story: string[] = [];
    const bench = movingOwner({
      onDepart: (_, { isStopped }) => void story.push(`${isStopped} ${bench.carrier.story.join()}`),
    });
    bench.order();
    const first = work();
    const working = bench.owner.guard(LEFT, async () => {
      await first.run();
      story.push('work ends');
    });
    bench.caughtUp();
    await turn();
    await turn();
    expect(story).toEqual(['false stream']);
    first.finish();
    await working;
    await turn();
    expect(story).toEqual(['false stream', 'work ends', 'true stream']);
    expect(bench.carrier.story).toEqual(['stream', 'freeze']);
  });

  it.each([false, true])('keeps the keys here if it fails (stopped: %s)', async (failsStopped) => {
    const bench = movingOwner({
      onDepart: (_, { isStopped }) => {
        if (isStopped === failsStopped) throw new Error('no store');
      },
    });
    bench.order();
    bench.caughtUp();
    await turn();
    await turn();
    expect(bench.carrier.story).toEqual(['stream', 'abandon']);
    expect(bench.owner.check(LEFT)).toBe(5);
    expect(await bench.owner.guard(LEFT, () => 'served')).toBe('served');
    expect(bench.logger.lines.map(({ message }) => message)).toContain(
      'onDepart failed, so the keys do not move',
    );
  });

  it('is told by its signal that it is late, and then the keys stay', async () => {
    const signals: AbortSignal[] = [];
    const bench = movingOwner({
      onDepart: (_, { isStopped, signal }) => {
        signals.push(signal);
        return isStopped ? new Promise(() => {}) : undefined;
      },
    });
    bench.order();
    bench.caughtUp();
    await turn();
    await turn();
    bench.runtime.pass(100);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
    expect(bench.carrier.story).toEqual(['stream', 'resume']);
    expect(bench.owner.check(LEFT)).toBe(5);
  });
});

describe('the last stop of a drain', () => {
  it('aborts the signals of work, and freezes although the work goes on', async () => {
    const departed: boolean[] = [];
    const bench = movingOwner({ onDepart: (_, { isStopped }) => void departed.push(isStopped) });
    const { owner, runtime, carrier } = bench;
    bench.order();
    const first = work();
    let signal: AbortSignal | undefined;
    const working = owner.guard(LEFT, (held) => {
      signal = held.signal;
      return first.run();
    });
    const failed = expect(working).rejects.toMatchObject({ code: 'LEASE_LOST' });
    const draining = owner.drain({ timeoutMs: 2_000 });
    await turn();
    bench.caughtUp();
    await turn();
    await turn();
    expect(signal?.aborted).toBe(true);
    expect(departed).toEqual([false]);
    runtime.pass(1_500);
    await turn();
    expect(departed).toEqual([false, true]);
    expect(carrier.story).toEqual(['stream', 'freeze']);
    first.finish();
    await failed;
    bench.acknowledged();
    bench.moved();
    bench.tell({ spans: [], admitted: false });
    expect(await draining).toEqual({ moved: 1, lost: 0 });
  });
});

describe('an owner that is brought keys', () => {
  it('serves nothing before onArrive resolves, and lets callers wait', async () => {
    let go = (): void => {};
    const calls: string[] = [];
    const bench = movingOwner({
      onGrant: () => void calls.push('onGrant'),
      onArrive: () => {
        calls.push('onArrive');
        return new Promise<void>((resolve) => (go = resolve));
      },
    });
    await turn();
    bench.tell({ spans: [] });
    bench.runtime.pass(9_000);
    bench.arrive();
    await turn();
    expect(calls).toEqual(['onGrant', 'onArrive']);
    expect(bench.carrier.story).toEqual(['receive', 'commit']);
    expect(bench.owner.check(LEFT)).toBeUndefined();
    const waiting = bench.owner.guard(LEFT, ({ number }) => number);
    await turn();
    go();
    expect(await waiting).toBe(7);
    expect(kindsOf(bench).at(-1)).toBe('pool.arrived');
  });

  it('calls onArrive again after a failure', async () => {
    let calls = 0;
    const bench = movingOwner({
      onArrive: () => {
        calls += 1;
        if (calls < 3) throw new Error('no store');
      },
    });
    bench.tell({ spans: [] });
    bench.runtime.pass(9_000);
    bench.arrive();
    for (let retry = 0; retry < 3; retry += 1) {
      await turn();
      bench.runtime.pass(200);
    }
    await turn();
    expect([calls, bench.owner.check(LEFT)]).toEqual([3, 7]);
  });

  it('serves what comes empty at once, with onArrive alone', () => {
    const bench = movingOwner({ onArrive: () => Promise.reject(new Error('not asked')) });
    expect(bench.owner.check(LEFT)).toBe(5);
  });

  it('turns callers away who wait for keys whose lease ends before they are served', async () => {
    const bench = movingOwner({ onArrive: () => new Promise<void>(() => {}) });
    bench.tell({ spans: [] });
    bench.runtime.pass(9_000);
    bench.arrive();
    await turn();
    bench.runtime.pass(8_500);
    const waiting = expect(bench.owner.guard(LEFT, () => 'served')).rejects.toMatchObject(NOT_OWNER);
    bench.runtime.pass(600);
    await waiting;
  });
});

describe('an owner without keys', () => {
  it('is no sign of trouble while it is cordoned, and is one if it was told to give everything back', () => {
    const [cordoned, other] = [movingOwner(), movingOwner()];
    const isBare = ({ owner }: MovingBench): boolean =>
      owner
        .toService()
        .checks?.()
        .some(({ name, standsStill }) => name === 'keys' && standsStill(instant(0)) !== undefined) ?? false;
    cordoned.owner.cordon();
    for (const bench of [cordoned, other]) {
      bench.tell({ spans: [{ recalled: true }] });
      bench.runtime.pass(9_000);
    }
    expect(other.logger.lines.map(({ message }) => message)).toContain(
      'this owner is to give back everything',
    );
    expect(cordoned.logger.lines.map(({ message }) => message)).not.toContain(
      'this owner is to give back everything',
    );
    expect([isBare(cordoned), isBare(other)]).toEqual([false, true]);
    expect(cordoned.owner.status().intent).toBe('cordoned');
    cordoned.owner.uncordon();
    expect(cordoned.report().intent).toBe('stay');
  });

  it('leaves by itself, and is closed, when another process has its name', async () => {
    const bench = movingOwner();
    bench.tell({ asked: 'draining' });
    bench.order({ asked: 'draining' });
    bench.caughtUp();
    await turn();
    bench.acknowledged();
    bench.tell({ spans: [], asked: 'draining' });
    bench.tell({ spans: [], admitted: false });
    expect(await bench.owner.closed).toBeUndefined();
    expect(bench.closed).toEqual([true]);
    await expect(bench.owner.guard(LEFT, () => 'served')).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

describe('state by name', () => {
  const state = { snapshot: async function* () {}, changes: () => [], done: () => {} };
  const movable = { ...state, stage: () => ({ add: () => {}, commit: () => {}, discard: () => {} }) };

  it('is told to other owners at once, all that is named in one turn together', async () => {
    const bench = movingOwner();
    const before = bench.report().sequence;
    bench.owner.movable('rooms', movable);
    bench.owner.movable('doors', movable);
    await turn();
    expect(bench.report().sequence).toBe(before + 1);
    expect(bench.report().transfer).toEqual({
      address: '127.0.0.1:1',
      names: ['rooms', 'doors'].map((name) => ({ name, version: 1, reads: [] })),
    });
  });

  it('is refused without a name, and with a name in use', () => {
    const { owner } = movingOwner();
    expect(() => owner.leasedMap()).toThrow(/a map needs a name/);
    owner.movable('rooms', movable);
    expect(() => owner.movable('rooms', movable)).toThrow(/state of that name/);
    expect(() => owner.leasedMap('rooms')).toThrow(/map of that name/);
  });

  it.each([
    ['no functions', {}, /movable state is .* with the functions snapshot, changes, done and stage/],
    ['nothing', undefined, /movable state is undefined/],
    ['one function too few', state, /movable state/],
    ['a version that is no whole number', { ...movable, version: '2' }, /movable version is 2/],
    ['older versions that are no list', { ...movable, reads: 1 }, /movable reads is 1/],
    ['half of a codec', { ...movable, codec: { encode: () => new Uint8Array() } }, /movable codec/],
  ])('is refused at once with %s', (_, wrong, words) => {
    const { owner } = movingOwner();
    expect(() => owner.movable('rooms', wrong as typeof movable)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(words) }),
    );
    expect(() => owner.movable('rooms', movable)).not.toThrow();
  });

  it('has its name before its options, and says so', () => {
    expect(() => movingOwner().owner.leasedMap({ ttlMs: 5 } as never)).toThrow(
      "leasedMap name is an object, but the name comes first: leasedMap('carts', { … })",
    );
  });
});
