import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { HandMovedRuntime } from '../../node/tcp/socket-script.ts';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import { silent } from '../../runtime/logger.ts';
import type { FromManager, ToManager, Update } from '../messages.ts';
import { ownerPace, resolveDurations } from '../options.ts';
import { PoolOwner } from './pool-owner.ts';

const durations = resolveDurations();
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const HALF = RING_SIZE / 2n;
/** One key in each half. */
const [LEFT, RIGHT] = [1n, HALF + 1n];

/** A machine that can be suspended; also right after somebody has made sure that it was not. */
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

/** An owner of both halves, and the Manager's voice. */
function bench() {
  const runtime = new SleepyRuntime();
  const said: ToManager[] = [];
  let hear: (from: string, message: FromManager) => void = () => {};
  const owner = new PoolOwner({
    ...{ durations, runtime, logger: silent, addresses: { current: ['m1'] }, application: {} },
    identity: { pool: 'p', incarnation: 'a.1', name: 'a', url: 'http://a', proof: undefined },
    dialer: {
      send: (_, message) => said.push(message),
      listen: (callback) => {
        hear = callback;
        return { [Symbol.dispose]: () => {} };
      },
    },
    close: async () => {},
  });
  let sequence = 0;
  const say = (leftIsRecalled: boolean): void => {
    sequence += 1;
    const report = said.findLast((message) => message.kind === 'report');
    const update: Update = {
      ...{ kind: 'update', pool: 'p', incarnation: 'a.1', history: 'h', term: 1, sequence, position: 5 },
      ...{ acknowledges: report?.sequence ?? 0, leaseMs: durations.leaseMs, pace: ownerPace(durations) },
      admitted: true,
      spans: [
        { start: 0n, end: HALF, number: 5, recalled: leftIsRecalled, continues: [] },
        { start: HALF, end: RING_SIZE, number: 5, recalled: false, continues: [] },
      ],
    };
    hear('m1', update);
  };
  say(false);
  return { owner, runtime, recallLeft: () => say(true) };
}

const hangs = (): Promise<never> => new Promise(() => {});
const never = (): never => {
  throw new Error('this is not to begin');
};

describe('who waits for a key behind work that hangs', () => {
  it('is turned away when the key has to be given back, and no other', async () => {
    const { owner, recallLeft } = bench();
    let finish = (): void => {};
    void owner.guard(LEFT, hangs);
    const working = owner.guard(RIGHT, () => new Promise<void>((resolve) => (finish = resolve)));
    const [left, right] = [owner.guard(LEFT, never), owner.guard(RIGHT, () => 'done')];
    recallLeft();
    await expect(left).rejects.toMatchObject({ code: 'NOT_OWNER', key: LEFT });
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
    const left = owner.leave();
    await expect(waiting).rejects.toMatchObject({ code: 'NOT_OWNER' });
    await turn();
    runtime.pass(2 * durations.leaseMs);
    await left;
    await expect(owner.guard(LEFT, never)).rejects.toMatchObject({ code: 'NOT_OWNER' });
  });

  it('does not even wait if the key is not ours, and may be the work itself', async () => {
    const { owner, recallLeft } = bench();
    const nested = owner.guard(LEFT, () => owner.guard(LEFT, never));
    recallLeft();
    await expect(nested).rejects.toMatchObject({ code: 'NOT_OWNER' });
    void owner.guard(RIGHT, hangs);
    await expect(owner.guard(LEFT, never)).rejects.toMatchObject({ code: 'NOT_OWNER' });
  });
});

describe('an owner on a machine that was suspended', () => {
  it('serves nothing from the first check on, also while the core is busy and has yet to hear of it', () => {
    const { owner, runtime, recallLeft } = bench();
    const checks: unknown[] = [];
    const check = (): void => {
      checks.push(owner.checkLeaseNow(RIGHT), owner.checkLeaseContinuous(RIGHT, 5), owner.held());
    };
    owner.hold(LEFT)?.signal.addEventListener('abort', check);
    expect(owner.checkLeaseNow(RIGHT)).toBe(5);
    runtime.suspendAfterNextReading(60_000);
    recallLeft();
    check();
    expect(checks).toEqual([undefined, false, [], undefined, false, []]);
  });

  it('holds nothing, whatever it is asked first', () => {
    const { owner, runtime } = bench();
    expect(owner.held()).toHaveLength(2);
    runtime.suspend(60_000);
    expect(owner.held()).toEqual([]);
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
