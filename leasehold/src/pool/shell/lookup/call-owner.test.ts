import { describe, expect, it } from 'vitest';
import { HandMovedRuntime } from '../../../node/tcp/socket-script.ts';
import { type LookupCallOptions, callOwner, type OwnerCall } from './call-owner.ts';
import { leaseLost, notOwner } from '../errors.ts';
import { httpAnswer } from '../http-answer.ts';
import type { FoundOwner } from './call-owner.ts';

const ADA: FoundOwner = { url: 'http://ada', name: 'ada', incarnation: 'a.1', number: 5 };
const BEN: FoundOwner = { url: 'http://ben', name: 'ben', incarnation: 'b.1', number: 9 };

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A table in which the key has these owners, one after the other, each time the caller has waited. */
function bench(...owners: readonly (FoundOwner | undefined)[]) {
  const runtime = new HandMovedRuntime();
  const pausesMs: number[] = [];
  const called: string[] = [];
  const call = async <T>(request: OwnerCall<T>, options: LookupCallOptions = {}): Promise<T> => {
    let found = 0;
    const calling = callOwner<T>(
      'alice',
      (owner, signal) => (called.push(owner.name), request(owner, signal)),
      options,
      {
        runtime,
        whyNone: () => undefined,
        find: () => owners[Math.min(found, owners.length - 1)],
        findWeakly: (_, tried) => [ADA, BEN].find(({ incarnation }) => !tried.has(incarnation)),
        otherThan: async (_, __, withinMs, signal) => {
          signal.throwIfAborted();
          pausesMs.push(withinMs);
          found += 1;
          runtime.pass(withinMs);
          await turn();
          signal.throwIfAborted();
        },
      },
    );
    return calling;
  };
  return { runtime, call, called, pausesMs };
}

/** What a server answers that fails with this error, as `fetch` gives it. */
const answerTo = (error: Error): Response => {
  const { body, ...init } = httpAnswer(error) ?? { body: '', status: 500 };
  return new Response(body, init);
};

const refusing = (): never => {
  throw notOwner('alice');
};
const broken = (): never => {
  throw new TypeError('fetch failed', {
    cause: Object.assign(new Error('reset'), { code: 'ECONNRESET', syscall: 'read' }),
  });
};
const unreachable = (): never => {
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' });
  throw new TypeError('fetch failed', { cause: new AggregateError([refused]) });
};

describe('a call to the owner of a key', () => {
  it('goes to the owner, and its result is the result', async () => {
    const { call, called } = bench(ADA);
    expect(await call(({ url }) => `answer of ${url}`)).toBe('answer of http://ada');
    expect(called).toEqual(['ada']);
  });

  it.each([
    ['throws that it is not the owner', refusing],
    ['answers that it is not the owner', () => answerTo(notOwner('alice'))],
    ['could not be reached', unreachable],
  ])('goes to the next owner if the first %s', async (_, fail) => {
    const { call, called } = bench(ADA, BEN);
    expect(await call((owner) => (owner === ADA ? fail() : 'done'))).toBe('done');
    expect(called).toEqual(['ada', 'ben']);
  });

  it.each([
    ['fetch', (read: () => void) => ({ body: { cancel: async () => read() } })],
    ['undici', (read: () => void) => ({ body: { resume: read } })],
    ['node:http', (read: () => void) => ({ resume: read })],
  ])('frees the connection of an answer that it does not hand on: %s', async (_, answerOf) => {
    const { call } = bench(ADA, BEN);
    const { status, headers } = httpAnswer(notOwner('alice')) ?? {};
    let isFreed = false;
    const refusal = { status, headers, ...answerOf(() => void (isFreed = true)) };
    expect(await call<unknown>((owner) => (owner === ADA ? refusal : 'done'))).toBe('done');
    expect(isFreed).toBe(true);
  });

  it('waits for an owner if there is none, longer each time, and by chance', async () => {
    const { call, called, pausesMs } = bench(
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      ADA,
    );
    expect(await call(() => 'done')).toBe('done');
    expect([called, pausesMs]).toEqual([['ada'], [20, 40, 80, 160, 250, 250]]);
  });

  it.each([
    ['a broken connection', broken],
    [
      'an error of the application',
      () => {
        throw new Error('out of stock');
      },
    ],
    [
      'a lost lease',
      () => {
        throw leaseLost('alice', 5);
      },
    ],
  ])('is not repeated after %s, since the work may have run', async (_, fail) => {
    const { call, called } = bench(ADA, BEN);
    await expect(call(fail)).rejects.toThrow();
    expect(called).toEqual(['ada']);
  });

  it('is not repeated after the answer that the lease was lost: the caller gets that answer', async () => {
    const { call, called } = bench(ADA, BEN);
    expect(await call(() => answerTo(leaseLost('alice', 5)))).toMatchObject({ status: 409 });
    expect(called).toEqual(['ada']);
  });

  it.each([
    ['a broken connection', broken],
    ['the answer that the lease was lost', () => answerTo(leaseLost('alice', 5))],
  ])('is repeated after %s if it is idempotent', async (_, fail) => {
    const { call, called } = bench(ADA, BEN);
    expect(await call<unknown>((owner) => (owner === ADA ? fail() : 'done'), { idempotent: true })).toBe(
      'done',
    );
    expect(called).toEqual(['ada', 'ben']);
  });
});

describe('a call that no owner serves', () => {
  it('fails when the time is over, with the last failure, and nothing was done', async () => {
    const { call, called } = bench(ADA);
    const failing = call(refusing, { timeoutMs: 1_000 });
    await expect(failing).rejects.toMatchObject({
      code: 'NOT_SERVED',
      retryable: true,
      cause: { code: 'NOT_OWNER' },
    });
    await expect(failing).rejects.toThrow('nothing was done');
    expect(called.length).toBeGreaterThan(3);
  });

  it('fails after so many attempts, and waits no more after the last', async () => {
    const { call, called, pausesMs } = bench(ADA);
    await expect(call(refusing, { maxAttempts: 3 })).rejects.toMatchObject({ code: 'NOT_SERVED' });
    expect([called.length, pausesMs.length]).toEqual([3, 2]);
  });

  it('fails with the reason of the caller’s signal, which the request gets as well', async () => {
    const { call } = bench(ADA);
    const stop = new AbortController();
    const failing = call(
      (_, signal) => {
        stop.abort(new Error('never mind'));
        expect(signal.aborted).toBe(true);
        refusing();
      },
      { signal: stop.signal },
    );
    await expect(failing).rejects.toThrow('never mind');
  });

  it('tells the request that the time is over, and leaves no timer behind', async () => {
    const { call, runtime } = bench(ADA);
    const failing = call(
      (_, signal) => {
        runtime.pass(500);
        signal.throwIfAborted();
      },
      { timeoutMs: 500, idempotent: true },
    );
    await expect(failing).rejects.toMatchObject({ code: 'NOT_SERVED', cause: { name: 'TimeoutError' } });
    expect(runtime.timers).toBe(0);
  });

  it.each([{ timeoutMs: 0 }, { maxAttempts: 0 }, { retries: 3 } as LookupCallOptions])(
    'refuses %j',
    async (options) => {
      const { call, called } = bench(ADA);
      await expect(call(() => 'done', options)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
      expect(called).toEqual([]);
    },
  );
});

describe('a weak call', () => {
  const weak = { weak: true } as const;

  it('is made although nobody is known to be the owner', async () => {
    const { call, called } = bench(undefined);
    expect(await call(({ name }) => name, weak)).toBe('ada');
    expect(called).toEqual(['ada']);
  });

  it('goes on to another if one refuses or cannot be reached, and begins anew when all were asked', async () => {
    const { call, called } = bench(undefined);
    let asked = 0;
    const answer = (): string => {
      asked += 1;
      return asked === 1 ? refusing() : asked < 4 ? unreachable() : 'done';
    };
    expect(await call(answer, weak)).toBe('done');
    expect(called).toEqual(['ada', 'ben', 'ada', 'ben']);
  });

  it('pauses between attempts, also while the table names an owner that cannot be reached', async () => {
    const { call, called, pausesMs } = bench(ADA);
    await expect(call(unreachable, { ...weak, maxAttempts: 4 })).rejects.toMatchObject({
      code: 'NOT_SERVED',
    });
    expect(called).toEqual(['ada', 'ben', 'ada', 'ben']);
    expect(pausesMs).toHaveLength(4);
  });

  it('is not repeated if it may have had an effect', async () => {
    const { call, called } = bench(undefined);
    await expect(call(broken, weak)).rejects.toThrow('fetch failed');
    expect(called).toEqual(['ada']);
  });
});
