import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { inspect } from 'node:util';
import { HandMovedRuntime, listeningLogger } from '../../../node/tcp/socket-script.ts';
import { notOwner } from '../errors.ts';
import type { Key } from '../../../runtime/keys/hash.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import type { FromManager, GrantedSpan, ToManager, Update } from '../../core/messages.ts';
import { ownerPace, resolveDurations } from '../../core/options.ts';
import { PoolOwner } from './pool-owner.ts';

const durations = resolveDurations();
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const HALF = RING_SIZE / 2n;
/** One key in each half. */
const [LEFT, RIGHT] = [1n, HALF + 1n];

/** A machine that can be suspended; also right after a check that the machine was not. */
class SleepyRuntime extends HandMovedRuntime {
  #sleptMs = 0;
  #sleepsAfterReadingMs = 0;

  suspend(ms: number): void {
    this.#sleptMs += ms;
  }

  suspendAfterNextReading(ms: number): void {
    this.#sleepsAfterReadingMs = ms;
  }

  override wallMs(): number {
    const wallMs = super.wallMs() + this.#sleptMs;
    this.suspend(this.#sleepsAfterReadingMs);
    this.#sleepsAfterReadingMs = 0;
    return wallMs;
  }

  override uptimeMs(): number {
    return super.uptimeMs() + this.#sleptMs;
  }
}

const RIGHT_HALF = { start: HALF, end: RING_SIZE };

/** An owner of both halves, and the Manager's voice. */
function bench(isAdmitted = true) {
  const runtime = new SleepyRuntime();
  const logger = listeningLogger();
  const closed: boolean[] = [];
  const said: ToManager[] = [];
  let hear: (from: string, message: FromManager) => void = () => {};
  const owner = new PoolOwner({
    ...{ durations, runtime, logger, addresses: { current: ['m1'] }, application: {} },
    identity: { pool: 'p', incarnation: 'a.1', name: 'a', url: 'http://a', proof: undefined },
    dialer: {
      send: (_, message) => said.push(message),
      listen: (callback) => {
        hear = callback;
        return { [Symbol.dispose]: () => {} };
      },
    },
    close: async (hasLeft) => void closed.push(hasLeft),
  });
  let sequence = 0;
  const tell = (spans: readonly Partial<GrantedSpan>[], admitted = true): void => {
    sequence += 1;
    const report = said.findLast((message) => message.kind === 'report');
    const update: Update = {
      ...{ kind: 'update', pool: 'p', incarnation: 'a.1', history: 'h', term: 1, sequence, position: 5 },
      ...{ acknowledges: report?.sequence ?? 0, leaseMs: durations.leaseMs, pace: ownerPace(durations) },
      admitted,
      spans: spans.map((span) => ({
        ...{ start: 0n, end: HALF, number: 5 },
        recalled: false,
        continues: [],
        ...span,
      })),
    };
    hear('m1', update);
  };
  const say = (leftIsRecalled: boolean): void => tell([{ recalled: leftIsRecalled }, RIGHT_HALF]);
  const warnings = () => logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  const nothing = (): void => tell([], false);
  if (isAdmitted) say(false);
  return {
    owner,
    runtime,
    closed,
    said,
    tell,
    nothing,
    warnings,
    renew: () => say(false),
    recallLeft: () => say(true),
  };
}

const hangs = (): Promise<never> => new Promise(() => {});
const never = (): never => {
  throw new Error('this is not to begin');
};

describe('a caller that waits for a key behind work that hangs', () => {
  it('is turned away when the key has to be given back, and no other', async () => {
    const { owner, recallLeft } = bench();
    let finish = (): void => {};
    void owner.guard(LEFT, hangs);
    const working = owner.guard(RIGHT, () => new Promise<void>((resolve) => (finish = resolve)));
    const [left, right] = [owner.guard(LEFT, never), owner.guard(RIGHT, () => 'done')];
    recallLeft();
    await expect(left).rejects.toMatchObject({ code: 'NOT_OWNER', details: { key: LEFT } });
    finish();
    await working;
    expect(await right).toBe('done');
  });

  it('is turned away when the lease runs out', async () => {
    const { owner, runtime } = bench();
    void owner.guard(LEFT, hangs);
    const waiting = owner.guard(LEFT, never);
    runtime.pass(durations.leaseMs);
    await expect(waiting).rejects.toMatchObject({ code: 'NOT_OWNER' });
  });

  it('is turned away when the owner leaves, and is not let in after that', async () => {
    const { owner, runtime } = bench();
    void owner.guard(LEFT, hangs);
    const waiting = owner.guard(LEFT, never);
    const left = owner.close();
    await expect(waiting).rejects.toMatchObject({ code: 'NOT_OWNER' });
    await turn();
    runtime.pass(2 * durations.leaseMs);
    await left;
    await expect(owner.guard(LEFT, never)).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('does not even wait if the key is not ours, and is not the work itself', async () => {
    const { owner, recallLeft, runtime } = bench();
    const nested = owner.guard(LEFT, () => owner.guard(LEFT, never));
    const refused = expect(nested).rejects.toMatchObject({
      ...{ code: 'GUARD_WITHIN_GUARD', retryable: false, details: { key: LEFT } },
    });
    await turn();
    runtime.pass(100);
    await refused;
    recallLeft();
    void owner.guard(RIGHT, hangs);
    await expect(owner.guard(LEFT, never)).rejects.toMatchObject({ code: 'NOT_OWNER' });
  });
});

describe('an owner on a machine that was suspended', () => {
  it('serves nothing from the first check on, also while the core is busy and has yet to hear of it', () => {
    const { owner, runtime, recallLeft } = bench();
    const checks: unknown[] = [];
    const check = (): void => {
      checks.push(owner.check(RIGHT), owner.isHeld(RIGHT, 5), owner.ranges());
    };
    owner.hold(LEFT)?.signal.addEventListener('abort', check);
    expect(owner.check(RIGHT)).toBe(5);
    runtime.suspendAfterNextReading(60_000);
    recallLeft();
    check();
    expect(checks).toEqual([undefined, false, [], undefined, false, []]);
  });

  it('holds nothing, whatever it is asked first', () => {
    const { owner, runtime } = bench();
    expect(owner.ranges()).toHaveLength(2);
    runtime.suspend(60_000);
    expect(owner.ranges()).toEqual([]);
  });
});

describe('the signal that guarded work is given', () => {
  it('follows the caller’s while the work goes on, and leaves nothing behind with it', async () => {
    const { owner } = bench();
    const shutdown = new AbortController();
    const listeners = (): number => getEventListeners(shutdown.signal, 'abort').length;
    const guarded = (work: (signal: AbortSignal) => unknown): Promise<unknown> =>
      owner.guard(LEFT, ({ signal }) => work(signal), { signal: shutdown.signal });
    expect([await guarded(listeners), listeners()]).toEqual([1, 0]);
    const reason = await guarded((signal) => {
      shutdown.abort(new Error('shutting down'));
      return signal.reason;
    });
    expect([reason, listeners()]).toEqual([new Error('shutting down'), 0]);
  });
});

describe('an owner that leaves', () => {
  /** How long leaving took, by the owner's clock, if the Manager does as `meanwhile` says. */
  async function leaving(
    { owner, runtime }: ReturnType<typeof bench>,
    meanwhile: (elapsedMs: number) => void = () => {},
  ): Promise<number> {
    const [startedAt, progress] = [runtime.now(), { isOver: false }];
    const left = owner.close().then(() => {
      progress.isOver = true;
    });
    for (let elapsedMs = 0; !progress.isOver; elapsedMs += 100) {
      await turn();
      if (progress.isOver) break;
      meanwhile(elapsedMs);
      runtime.pass(100);
      await turn();
    }
    await left;
    return runtime.now() - startedAt;
  }
  const ROUND_MS = 2 * durations.retryMs;

  it('is gone when the Manager has confirmed it', async () => {
    const all = bench();
    expect(await leaving(all, all.nothing)).toBeLessThan(200);
    expect([all.closed, all.warnings()]).toEqual([[true], []]);
  });

  it('waits for an answer until what it held has run out, and a round of questions more', async () => {
    const all = bench();
    all.runtime.pass(1_000);
    expect(await leaving(all)).toBe(durations.leaseMs - 1_000 + ROUND_MS);
    expect(all.closed).toEqual([false]);
    expect(all.warnings()).toEqual(['left without a word from a Manager; what was held runs out by itself']);
  });

  it('waits for a round of questions if its lease expired long ago', async () => {
    const all = bench();
    all.runtime.pass(90_000);
    expect(await leaving(all)).toBe(ROUND_MS);
    expect(all.warnings()).toEqual([
      'the lease expired',
      'left without a word from a Manager; nothing was held any more',
    ]);
  });

  it('gives a Manager that answers but is slow more time, up to one and a half leases', async () => {
    const all = bench();
    const took = await leaving(all, (elapsedMs) => {
      if (elapsedMs % 1_000 === 0) all.tell([{ recalled: true }, { ...RIGHT_HALF, recalled: true }]);
    });
    expect(took).toBe(1.5 * durations.leaseMs);
  });

  it('does not wait for anybody if it was never let in, and says nothing of it', async () => {
    const { owner, runtime, closed, said, warnings } = bench(false);
    runtime.pass(5_000);
    await owner.giveUp();
    expect(said.at(-1)).toMatchObject({ kind: 'report', leaving: true });
    expect([closed, warnings()]).toEqual([[true], []]);
  });

  it('may hold something for all it knows, if a Manager has spoken to it before it gave up', async () => {
    const { owner, tell, closed } = bench(false);
    tell([], false);
    await owner.giveUp();
    expect(closed).toEqual([false]);
  });
});

describe('the report of an owner about its leases', () => {
  it('is that they ran out, and that they were taken up again', () => {
    const { runtime, tell, warnings } = bench();
    runtime.pass(durations.leaseMs);
    runtime.pass(1);
    tell([{ number: 6, continues: [{ start: 0n, end: HALF, number: 5 }] }]);
    expect(warnings()).toEqual([
      'the lease expired',
      'the lease was renewed after its expiry; no other owner had the keys',
    ]);
  });

  it('is that they ran out, and that there are others', () => {
    const { runtime, tell, warnings } = bench();
    runtime.pass(durations.leaseMs);
    runtime.pass(1);
    tell([{ number: 9 }]);
    tell([{ number: 9 }, { ...RIGHT_HALF, number: 9 }]);
    expect(warnings()).toEqual([
      'the lease expired',
      'keys are held here again; what was remembered of them is not good any more',
    ]);
  });

  it('is that everything is to be given back, which happens to one whose name another has', () => {
    const { recallLeft, tell, warnings } = bench();
    recallLeft();
    expect(warnings()).toEqual([]);
    tell([{ recalled: true }, { ...RIGHT_HALF, recalled: true }]);
    expect(warnings()).toEqual(['this owner is to give back everything']);
  });

  it('is what and how it is, if somebody prints it', () => {
    expect(inspect(bench().owner, { breakLength: Number.POSITIVE_INFINITY })).toBe(
      "PoolOwner { pool: 'p', name: 'a', url: 'http://a', incarnation: 'a.1', isAdmitted: true, ranges: 2 }",
    );
  });
});

describe('an owner that is asked about what is no key', () => {
  const [number, nothing, object] = [5, undefined, {}] as unknown as Key[];
  it.each([
    ['a number', number],
    ['nothing', nothing],
    ['an object', object],
    ['a position below the ring', -1n],
    ['a position above the ring', RING_SIZE],
    ['a text that is too long', 'a'.repeat(4_097)],
  ])('refuses it: %s', async (_, key = nothing as Key) => {
    const { owner } = bench();
    const refusal = expect.objectContaining({ code: 'INVALID_KEY', retryable: false, details: { key } });
    expect(() => owner.check(key)).toThrow(refusal);
    expect(() => owner.isHeld(key, 5)).toThrow(refusal);
    expect(() => owner.hold(key)).toThrow(refusal);
    await expect(owner.guard(key, () => 'done')).rejects.toThrow(refusal);
    await expect(owner.whenOwned(key)).rejects.toThrow(refusal);
  });
});

describe('a map of an owner', () => {
  it('has what was set while the key is held, and frees the memory when the key was given back', async () => {
    const { owner, recallLeft } = bench();
    const map = owner.leasedMap<string>();
    for (const key of [LEFT, RIGHT]) await owner.guard(key, (held) => map.set(held, `state of ${key}`));
    expect(await owner.guard(LEFT, (held) => map.get(held))).toBe(`state of ${LEFT}`);
    recallLeft();
    await turn();
    expect(map.size).toBe(1);
    expect(await owner.guard(RIGHT, (held) => map.get(held))).toBe(`state of ${RIGHT}`);
  });

  it('goes by the clock and the limits of its options, and frees everything when the owner closes', async () => {
    const { owner, runtime } = bench();
    const map = owner.leasedMap<string>('notes', { ttlMs: 1_000, maxEntries: 1 });
    const set = (key: Key): Promise<string> => owner.guard(key, (held) => map.set(held, 'here'));
    await set(LEFT);
    await expect(set(RIGHT)).rejects.toMatchObject({ code: 'FULL', details: { name: 'notes', key: RIGHT } });
    runtime.pass(1_000);
    expect(map.peek(LEFT)).toBeUndefined();
    await set(RIGHT);
    expect([...map.entries()]).toEqual([[RIGHT, 'here']]);
    await owner.giveUp();
    expect(map.size).toBe(0);
  });

  it('has a name that no other map of the owner has', () => {
    const { owner } = bench();
    for (const name of ['notes', undefined, undefined]) owner.leasedMap(name);
    expect(() => owner.leasedMap('notes')).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringContaining('this owner has a map of that name'),
      }),
    );
  });
});

describe('weak work on a key', () => {
  const weak = { weak: true } as const;
  const numberOf = (held: { readonly number: number } | undefined): number | undefined => held?.number;

  it('has the handle if the key is held, and takes its turn', async () => {
    const { owner } = bench();
    let finish = (): void => {};
    const order: string[] = [];
    const first = owner.guard(LEFT, () => new Promise<void>((resolve) => (finish = resolve)));
    const second = owner.guard(
      LEFT,
      (held) => {
        order.push('second');
        return numberOf(held);
      },
      weak,
    );
    await turn();
    order.push('first');
    finish();
    await first;
    expect([await second, order]).toEqual([5, ['first', 'second']]);
  });

  it('is done without a handle if the key is not held, where other work is refused', async () => {
    const { owner } = bench(false);
    await expect(owner.guard(LEFT, never)).rejects.toMatchObject({ code: 'NOT_OWNER' });
    expect(await owner.guard(LEFT, (held) => held === undefined, weak)).toBe(true);
  });

  it('finds that the number of a weak answer is held by nobody, also if the key is', () => {
    const { owner } = bench();
    expect([owner.isHeld(LEFT, 5), owner.isHeld(LEFT, 0)]).toEqual([true, false]);
  });

  it('is done without a handle if the key is lost while it waits for its turn', async () => {
    const { owner, runtime } = bench();
    void owner.guard(LEFT, hangs);
    const waiting = owner.guard(LEFT, (held) => held === undefined, weak);
    runtime.pass(durations.leaseMs);
    expect(await waiting).toBe(true);
  });

  it('hands its result back although the lease has ended meanwhile; the handle says that it has', async () => {
    const { owner, runtime } = bench();
    const work = async (held: { isHeld(): boolean } | undefined): Promise<boolean | undefined> => {
      runtime.pass(durations.leaseMs);
      return held?.isHeld();
    };
    expect(await owner.guard(LEFT, work, weak)).toBe(false);
  });

  it('can set nothing in a map without a handle, nor with one whose lease has ended', async () => {
    const { owner, runtime, renew } = bench();
    const map = owner.leasedMap<string>('carts');
    const late = owner.guard(
      LEFT,
      (held) => {
        runtime.pass(durations.leaseMs);
        return map.set(held as never, 'late');
      },
      weak,
    );
    await expect(late).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await expect(owner.guard(LEFT, (held) => map.set(held as never, 'weak'), weak)).rejects.toThrow();
    renew();
    expect([map.size, map.peek(LEFT)]).toEqual([0, undefined]);
  });

  it('fails with its own errors, and is not done twice for them', async () => {
    const { owner } = bench();
    let times = 0;
    const failing = owner.guard(
      LEFT,
      () => {
        times += 1;
        throw notOwner('of another pool');
      },
      weak,
    );
    await expect(failing).rejects.toThrow('of another pool');
    expect(times).toBe(1);
  });

  it('is not done any more by an owner that has left', async () => {
    const { owner, runtime } = bench();
    const left = owner.close();
    await turn();
    runtime.pass(2 * durations.leaseMs);
    await left;
    await expect(owner.guard(LEFT, never, weak)).rejects.toMatchObject({ code: 'CLOSED' });
  });
});
