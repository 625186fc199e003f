import { describe, expect, it } from 'vitest';
import { HandMovedRuntime } from '../../node/tcp/socket-script.ts';
import { ClosedError } from '../../runtime/errors.ts';
import { memberClosed, noMajority } from '../core/errors.ts';
import { type Holder, looking } from './looking.ts';

const LEASE_MS = 1_000;
const ADA: Holder = { holder: 'ada', number: 7, validUntil: 5_000 };
const NOBODY_KNOWS = noMajority('r', new Map(), 'too few answer');

/** Polls by a clock that is moved by hand, and finds the given results one after the other; an error is thrown. */
function bench(...finds: readonly (Holder | Error | undefined)[]) {
  const runtime = new HandMovedRuntime();
  const over = new AbortController();
  const left = [...finds];
  const ask = async (): Promise<Holder | undefined> => {
    const found = left.shift();
    if (found instanceof Error) throw found;
    return found;
  };
  const looks = looking({ runtime, leaseMs: LEASE_MS, ask, signal: over.signal });
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  /** The pause before the next poll. */
  const waits = async (): Promise<number> => {
    const next = looks.next();
    let waitedMs = 0;
    for (await turn(); runtime.timers > 0; await turn(), waitedMs += 1) runtime.pass(1);
    await next;
    return waitedMs;
  };
  return { looks, over, waits };
}

describe('a look for the holder of a resource, again and again', () => {
  it('finds the holder, that there is none, and that no member knows', async () => {
    const first = async (find: Holder | Error | undefined) => (await bench(find).looks.next()).value;
    expect(await first(ADA)).toEqual({ holder: ADA });
    expect(await first(undefined)).toEqual({ holder: undefined });
    expect(await first(NOBODY_KNOWS)).toEqual({ error: NOBODY_KNOWS });
  });

  it('looks four times in a lease while somebody has it, and ten times otherwise', async () => {
    const { looks, waits } = bench(ADA, undefined, NOBODY_KNOWS, ADA);
    await looks.next();
    expect([await waits(), await waits(), await waits()]).toEqual([250, 100, 100]);
  });

  it('ends with the reason of its signal', async () => {
    const { looks, over } = bench(ADA);
    await looks.next();
    const next = looks.next();
    over.abort('enough');
    await expect(next).rejects.toBe('enough');
  });

  it('ends with it also while it asks, and finds nothing any more', async () => {
    const over = new AbortController();
    let answer: (holder: Holder) => void = () => {};
    const ask = (): Promise<Holder> => new Promise((resolve) => (answer = resolve));
    const looks = looking({ runtime: new HandMovedRuntime(), leaseMs: LEASE_MS, ask, signal: over.signal });
    const next = looks.next();
    over.abort('enough');
    answer(ADA);
    await expect(next).rejects.toBe('enough');
    expect(await looks.next()).toMatchObject({ done: true });
  });

  it('ends if it cannot be asked any more', async () => {
    await expect(bench(memberClosed()).looks.next()).rejects.toThrow(ClosedError);
  });
});
