import { leaseLost } from 'leasehold/internal';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ChildEnd } from '../../../../leasehold/src/node/process/child.ts';
import { createLogger } from '../logger.ts';
import { recordedContext } from '../testing/recorded-context.ts';
import { HeldProcess } from './held-process.ts';

// In these a lease lasts 10 s, and is asked for again after 3; the process may take 1 s to end.
const DURATIONS = { leaseMs: 10_000, renewAfterMs: 3_000, answerTimeoutMs: 1_000, noticeMs: 1_000 };

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A process under a lease, and the calls that were made. @param hasKilled the watchman's answer, if any */
function held(hasKilled?: boolean) {
  const did: string[] = [];
  const loss = new AbortController();
  const context = recordedContext();
  let renewed: () => void = () => {};
  let end: (end: ChildEnd) => void = () => {};
  const lease = {
    ...{ resource: 'backup', number: 7, signal: loss.signal, leftMs: 10_000, isHeld: () => lease.leftMs > 0 },
    onRenewal: (callback: () => void) => {
      renewed = callback;
      return { [Symbol.dispose]: () => {} };
    },
  };
  const started = {
    ...{ command: 'sh', pid: 1, kill: (signal: NodeJS.Signals) => void did.push(signal) },
    ended: new Promise<ChildEnd>((resolve) => {
      end = resolve;
    }),
  };
  const watchman = {
    allow: (forMs: number) => void did.push(`may live for ${forMs} ms`),
    end: async () => hasKilled,
  };
  const options = { started, watchman, lease, durations: DURATIONS, logger: createLogger(context) };
  return {
    process: new HeldProcess(options),
    ...{ did, lease, said: context.complained },
    renew: () => renewed(),
    lose: (leftMs: number) => {
      lease.leftMs = leftMs;
      loss.abort(leaseLost('backup', 7, leftMs > 0 ? 'ending' : 'lapsed'));
    },
    exits: (code: number) => end({ code, signal: undefined }),
    isKilled: () => end({ code: undefined, signal: 'SIGKILL' }),
  };
}

describe('a process under a lease that runs', () => {
  it('may live for longer with each renewal', () => {
    const { process, renew, lease, did } = held();
    renew();
    lease.leftMs = 9_000;
    renew();
    expect(did).toEqual(['may live for 10000 ms', 'may live for 9000 ms']);
    expect(process.state).toBe('running');
  });

  it('ends by itself, and nothing is lost', async () => {
    const { process, exits, did } = held();
    exits(5);
    expect(await process.ended()).toEqual({ end: { code: 5, signal: undefined }, lost: undefined });
    expect([process.state, did]).toEqual(['ended', []]);
  });

  it('is killed by somebody, and nothing is lost', async () => {
    const { process, isKilled, said } = held(false);
    isKilled();
    expect((await process.ended()).lost).toBeUndefined();
    expect(said()).toBe('');
  });

  it('is killed by the watchman: what it has started goes, too, and that is a loss of a lease that is held', async () => {
    const { process, isKilled, did } = held(true);
    isKilled();
    expect((await process.ended()).lost).toMatchObject({
      wasHeldToTheEnd: true,
      reason: undefined,
      stoodStillMs: 0,
    });
    expect(did).toEqual(['SIGKILL']);
  });

  it('is killed while the watchman does not answer: nobody is said to have done it', async () => {
    const { process, isKilled, said } = held();
    isKilled();
    expect((await process.ended()).lost).toBeUndefined();
    expect(said()).toContain('cannot tell which process killed the command');
  });
});

describe('a process whose lease is about to end', () => {
  it('is asked to end, and killed when the lease is over', () => {
    const { process, lose, did } = held();
    lose(600);
    expect(did.splice(0)).toEqual(['may live for 600 ms', 'SIGTERM']);
    vi.advanceTimersByTime(599);
    expect(did).toEqual([]);
    vi.advanceTimersByTime(1);
    expect([process.state, did]).toEqual(['ending', ['SIGKILL']]);
  });

  it('is given no more than its grace', () => {
    const { lose, did } = held();
    lose(4_000);
    expect(did).toContain('may live for 1000 ms');
  });

  it('is not saved by a renewal that comes after all', () => {
    const { lose, renew, did } = held();
    lose(600);
    did.splice(0);
    renew();
    expect(did).toEqual([]);
  });

  it('has lost it, whatever it ends with, and is killed no more', async () => {
    const { process, lose, exits, did } = held();
    lose(600);
    exits(0);
    expect((await process.ended()).lost).toMatchObject({
      resource: 'backup',
      number: 7,
      wasHeldToTheEnd: true,
    });
    did.splice(0);
    vi.advanceTimersByTime(10_000);
    expect(did).toEqual([]);
  });
});
