import { describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../runtime/time.ts';
import { Candidate } from './candidate.ts';
import { HeldLease } from './held-lease.ts';

const SKEW_MS = 50;

/** A member whose clocks the test moves: the group's shows 1000 more than the monotonic one, until somebody sets it. */
class Bench {
  nowMs = 0;
  aheadMs = 1_000;
  readonly told: string[] = [];
  readonly did: string[] = [];
  #granted: ((held: HeldLease) => void) | undefined;
  readonly candidate = new Candidate(
    {
      clockSkewMs: SKEW_MS,
      now: () => instant(this.nowMs),
      leftMs: ({ untilMs }) => untilMs - (this.nowMs + this.aheadMs),
      acquire: (granted) => {
        this.did.push('stood');
        this.#granted = granted;
        return () => void this.did.push('withdrew');
      },
      release: ({ number }) => void this.did.push(`gave back ${number}`),
    },
    {
      won: (number: number, until: Instant) => void this.told.push(`won ${number} until ${until}`),
      renewed: (until: Instant) => void this.told.push(`renewed until ${until}`),
      lost: () => void this.told.push('lost'),
    },
  );

  grant(held: HeldLease = new HeldLease('r', { number: 7, untilMs: 2_000 })): HeldLease {
    this.#granted?.(held);
    return held;
  }
}

describe('a candidate', () => {
  it('is elected for what is left of the lease, less twice the skew', () => {
    const bench = new Bench();
    bench.nowMs = 10;
    bench.grant();
    expect(bench.told).toEqual(['won 7 until 900']);
  });

  it('is told of every renewal in the same way', () => {
    const bench = new Bench();
    const held = bench.grant();
    bench.nowMs = 400;
    held.renewed({ number: held.number, untilMs: 2_400 });
    bench.candidate.hear({ kind: 'renewed', held });
    expect(bench.told.at(-1)).toBe('renewed until 1300');
  });

  it('counts by the clock that was set since, the less that leaves', () => {
    const bench = new Bench();
    const held = bench.grant();
    bench.aheadMs += 20;
    held.renewed({ number: held.number, untilMs: 2_400 });
    bench.candidate.hear({ kind: 'renewed', held });
    expect(bench.told.at(-1)).toBe('renewed until 1280');
  });

  it('goes on while the lease is only about to end, and is told once that it has ended', () => {
    const bench = new Bench();
    const held = bench.grant();
    bench.candidate.hear({ kind: 'ending', held });
    bench.candidate.hear({ kind: 'renewed', held });
    bench.candidate.hear({ kind: 'ended', held });
    bench.candidate.hear({ kind: 'ended', held });
    expect(bench.told.map((word) => word.split(' ')[0])).toEqual(['won', 'renewed', 'lost']);
    expect(bench.candidate.isOver).toBe(true);
  });

  it('takes no notice of other leases of its member', () => {
    const bench = new Bench();
    bench.grant();
    const other = new HeldLease('other', { number: 8, untilMs: 5_000 });
    bench.candidate.hear({ kind: 'renewed', held: other });
    bench.candidate.hear({ kind: 'ended', held: other });
    expect(bench.told).toHaveLength(1);
  });

  it('stands again if the lease was over before it heard of it', () => {
    const bench = new Bench();
    const over = new HeldLease('r', { number: 7, untilMs: 2_000 });
    over.end('clock');
    bench.grant(over);
    expect(bench.told).toEqual([]);
    expect(bench.did).toEqual(['stood', 'stood']);
  });

  it('withdraws, and gives back what is granted all the same', () => {
    const bench = new Bench();
    bench.candidate[Symbol.dispose]();
    bench.grant();
    expect(bench.did).toEqual(['stood', 'withdrew', 'gave back 7']);
    expect(bench.told).toEqual([]);
  });

  it('gives the lease back once, and is told nothing of that', () => {
    const bench = new Bench();
    const held = bench.grant();
    bench.candidate[Symbol.dispose]();
    bench.candidate[Symbol.dispose]();
    bench.candidate.hear({ kind: 'ended', held });
    expect(bench.did).toEqual(['stood', 'gave back 7']);
    expect(bench.told).toEqual(['won 7 until 900']);
  });
});
