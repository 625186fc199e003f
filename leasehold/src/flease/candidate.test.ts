import { describe, expect, it } from 'vitest';
import { type Instant, instant } from '../runtime/time.ts';
import { Candidate } from './candidate.ts';
import { Tenure } from './tenure.ts';

const SKEW_MS = 50;

/** A member whose clocks the test moves: the group's shows 1000 more than the monotonic one, until somebody sets it. */
class Bench {
  nowMs = 0;
  aheadMs = 1_000;
  readonly told: string[] = [];
  readonly did: string[] = [];
  #granted: ((tenure: Tenure) => void) | undefined;
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

  grant(tenure: Tenure = new Tenure('r', { number: 7, untilMs: 2_000 })): Tenure {
    this.#granted?.(tenure);
    return tenure;
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
    const tenure = bench.grant();
    bench.nowMs = 400;
    tenure.renewed({ number: tenure.number, untilMs: 2_400 });
    bench.candidate.hear({ kind: 'renewed', tenure });
    expect(bench.told.at(-1)).toBe('renewed until 1300');
  });

  it('counts by the clock that was set since, the less that leaves', () => {
    const bench = new Bench();
    const tenure = bench.grant();
    bench.aheadMs += 20;
    tenure.renewed({ number: tenure.number, untilMs: 2_400 });
    bench.candidate.hear({ kind: 'renewed', tenure });
    expect(bench.told.at(-1)).toBe('renewed until 1280');
  });

  it('goes on while the lease is only about to end, and is told once that it has ended', () => {
    const bench = new Bench();
    const tenure = bench.grant();
    bench.candidate.hear({ kind: 'ending', tenure });
    bench.candidate.hear({ kind: 'renewed', tenure });
    bench.candidate.hear({ kind: 'ended', tenure });
    bench.candidate.hear({ kind: 'ended', tenure });
    expect(bench.told.map((word) => word.split(' ')[0])).toEqual(['won', 'renewed', 'lost']);
    expect(bench.candidate.isOver).toBe(true);
  });

  it('takes no notice of other leases of its member', () => {
    const bench = new Bench();
    bench.grant();
    const other = new Tenure('other', { number: 8, untilMs: 5_000 });
    bench.candidate.hear({ kind: 'renewed', tenure: other });
    bench.candidate.hear({ kind: 'ended', tenure: other });
    expect(bench.told).toHaveLength(1);
  });

  it('stands again if the lease was over before it heard of it', () => {
    const bench = new Bench();
    const over = new Tenure('r', { number: 7, untilMs: 2_000 });
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
    const tenure = bench.grant();
    bench.candidate[Symbol.dispose]();
    bench.candidate[Symbol.dispose]();
    bench.candidate.hear({ kind: 'ended', tenure });
    expect(bench.did).toEqual(['stood', 'gave back 7']);
    expect(bench.told).toEqual(['won 7 until 900']);
  });
});
