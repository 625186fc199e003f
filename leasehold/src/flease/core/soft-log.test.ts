import { describe, expect, it } from 'vitest';
import type { DeposedReason, FencedLog, Leadership } from '../../log/log.ts';
import { type Instant, instant } from '../../runtime/time.ts';
import { type ElectedEvents, type Electorate, SoftLog } from './soft-log.ts';

/** A group that elects whom the test says. */
class ScriptedElectorate implements Electorate {
  readonly standing: { readonly events: ElectedEvents; isOver: boolean }[] = [];
  #callbacks: (() => void)[] = [];

  stand(events: ElectedEvents): Disposable {
    const candidate = { events, isOver: false };
    this.standing.push(candidate);
    return { [Symbol.dispose]: () => (candidate.isOver = true) };
  }

  soon(callback: () => void): void {
    this.#callbacks.push(callback);
  }

  /** Lets happen what was put off. */
  pass(): void {
    for (const callback of this.#callbacks.splice(0)) callback();
  }
}

/** Somebody who stands, and what it was told. */
class Candidate {
  readonly told: string[] = [];
  leadership: Leadership | undefined;
  readonly campaign: Disposable;

  constructor(log: SoftLog, name: string) {
    this.campaign = log.campaign(name, {
      elected: (leadership, until) => {
        this.leadership = leadership;
        this.told.push(`elected until ${until}`);
      },
      extended: (until: Instant) => void this.told.push(`extended until ${until}`),
      deposed: (reason: DeposedReason) => void this.told.push(`deposed: ${reason}`),
    });
  }

  append(position: number): void {
    this.leadership?.append({ position, bytes: new Uint8Array([1]) }, (outcome) => {
      this.told.push(`${outcome} ${position}`);
    });
  }
}

function bench() {
  const group = new ScriptedElectorate();
  const log = new SoftLog(group);
  const [one, other] = [new Candidate(log, 'one'), new Candidate(log, 'other')];
  const [first, second] = group.standing as [
    { events: ElectedEvents; isOver: boolean },
    { events: ElectedEvents; isOver: boolean },
  ];
  return { group, log, one, other, first, second };
}

describe('a leader of a log that keeps nothing', () => {
  it('is told of its election, of every extension, and of its end, once', () => {
    const { one, first } = bench();
    first.events.won(100, instant(1_000));
    first.events.renewed(instant(1_500));
    first.events.lost();
    first.events.lost();
    expect(one.told).toEqual(['elected until 1000', 'extended until 1500', 'deposed: lease-ended']);
  });

  it('begins a history of its own, with nothing in it and a floor above that: so it waits', () => {
    const { one, other, first, second } = bench();
    first.events.won(100, instant(1_000));
    first.events.lost();
    second.events.won(200, instant(2_000));
    const starts = [one, other].map(({ leadership }) => leadership?.start);
    expect(starts).toEqual([
      { history: 'soft-100', snapshot: undefined, batches: [], floor: 100 },
      { history: 'soft-200', snapshot: undefined, batches: [], floor: 200 },
    ]);
  });

  it('has the number of its lease for a term, and so a later one than all before it', () => {
    const { one, other, first, second } = bench();
    first.events.won(100, instant(1_000));
    first.events.lost();
    second.events.won(101, instant(2_000));
    expect([one.leadership?.term, other.leadership?.term]).toEqual([100, 101]);
  });

  it('has appended a batch soon, but not at once', () => {
    const { group, one, first } = bench();
    first.events.won(100, instant(1_000));
    one.append(101);
    expect(one.told).not.toContain('appended 101');
    group.pass();
    expect(one.told).toContain('appended 101');
  });

  it('resigns, soon: the lease is given back, and nothing is told after that', () => {
    const { group, one, first } = bench();
    first.events.won(100, instant(1_000));
    one.leadership?.resign();
    expect(first.isOver).toBe(false);
    group.pass();
    expect(first.isOver).toBe(true);
    first.events.renewed(instant(2_000));
    first.events.lost();
    expect(one.told).toEqual(['elected until 1000', 'deposed: resigned']);
  });
});

describe('one that was deposed', () => {
  it('hears of no append any more: neither that it was made nor that it was refused', () => {
    const { group, one, first } = bench();
    first.events.won(100, instant(1_000));
    one.append(101);
    first.events.lost();
    group.pass();
    one.append(102);
    group.pass();
    expect(one.told).toEqual(['elected until 1000', 'deposed: lease-ended']);
  });

  it('puts nothing into what the next one has', () => {
    const { group, one, other, first, second } = bench();
    first.events.won(100, instant(1_000));
    one.append(101);
    group.pass();
    first.events.lost();
    second.events.won(200, instant(2_000));
    one.append(201);
    group.pass();
    expect(other.leadership?.start.batches).toEqual([]);
    expect(one.told).not.toContain('appended 201');
  });
});

describe('one that withdraws', () => {
  it('stands no more, and is not elected although it was, just then', () => {
    const { one, first } = bench();
    one.campaign[Symbol.dispose]();
    expect(first.isOver).toBe(true);
    first.events.won(100, instant(1_000));
    expect(one.told).toEqual([]);
  });

  it('gives the lease back if it leads, and is not told that it is deposed', () => {
    const { one, first } = bench();
    first.events.won(100, instant(1_000));
    one.campaign[Symbol.dispose]();
    one.campaign[Symbol.dispose]();
    expect(first.isOver).toBe(true);
    expect(one.told).toEqual(['elected until 1000']);
  });
});

describe('a follower of a log that keeps nothing', () => {
  it('hears of nothing, and nobody vouches for anything', () => {
    const { group, log, one, first } = bench();
    const told: string[] = [];
    const fenced: FencedLog = log;
    using following = fenced.follow({
      reset: () => told.push('reset'),
      batch: () => told.push('batch'),
      head: () => told.push('head'),
    });
    first.events.won(100, instant(1_000));
    one.append(101);
    following.askHead();
    group.pass();
    expect(told).toEqual([]);
    expect(log.canBeFollowed).toBe(false);
  });
});
