import { describe, expect, it } from 'vitest';
import type { Ballot } from './ballot.ts';
import { ResourceState } from './resource-state.ts';
import type { Lease } from './lease.ts';
import { resolveFleaseDurations } from './options.ts';
import { Registers } from './register.ts';
import { Table } from './table.ts';

// A lease is 1000 ms, an attempt counts for 500, clocks are within 50.
const DURATIONS = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });
const BEGAN_MS = 100_000;

const ballot = (askedMs: number, round = 1, member = 'p'): Ballot => ({
  ...{ askedMs: BEGAN_MS + askedMs, round, member, incarnation: 1, attempt: 1 },
});
const lease = (askedMs: number, holder = 'p'): Lease => ({
  ...{
    holder,
    incarnation: 1,
    number: 7,
    untilMs: BEGAN_MS + askedMs + 1_000,
    state: 'held',
    successor: undefined,
  },
});

function bench() {
  const table = new Table<ResourceState>();
  const registers = new Registers(DURATIONS, table);
  const at = (ms: number) => BEGAN_MS + ms;
  const refusal = (asked: Ballot, atMs: number) => {
    const answer = registers.read('job', asked, at(atMs));
    return 'refused' in answer ? answer : undefined;
  };
  return {
    registers,
    table,
    read: (asked: Ballot, atMs: number) => refusal(asked, atMs)?.refused ?? 'promised',
    write: (asked: Ballot, what: Lease, atMs: number) =>
      registers.write('job', asked, what, at(atMs))?.refused ?? 'accepted',
    roundToExceed: (asked: Ballot, atMs: number) => refusal(asked, atMs)?.round,
    sweep: (atMs: number) => registers.sweep(at(atMs)),
  };
}

describe('a register', () => {
  it('promises, and tells the written lease', () => {
    const { registers, read, write } = bench();
    expect(read(ballot(0), 10)).toBe('promised');
    expect(registers.written('job')).toMatchObject({ written: undefined, lease: undefined });
    expect(write(ballot(0), lease(0), 20)).toBe('accepted');
    const promise = registers.read('job', ballot(100, 2, 'q'), BEGAN_MS + 110);
    expect(promise).toMatchObject({ written: ballot(0), lease: lease(0) });
    expect(registers.written('job')).toMatchObject({ written: ballot(0), lease: lease(0) });
  });

  it('refuses reads and writes below the ballot it has promised', () => {
    const { read, write } = bench();
    read(ballot(0, 3), 10);
    expect(read(ballot(20, 2), 30)).toBe('outbid');
    expect(write(ballot(20, 2), lease(20), 30)).toBe('outbid');
  });

  it('says which round to exceed, if that helps: in the next interval all begin anew', () => {
    const { read, roundToExceed } = bench();
    read(ballot(450, 3), 450);
    expect(roundToExceed(ballot(450, 1), 460)).toBe(3);
    read(ballot(510, 4), 510);
    expect(roundToExceed(ballot(499, 9), 511)).toBe(0);
  });

  it('does not promise the same ballot twice, and writes it again to no effect', () => {
    const { registers, read, write } = bench();
    read(ballot(0), 10);
    expect(read(ballot(0), 11)).toBe('outbid');
    write(ballot(0), lease(0), 20);
    expect(write(ballot(0), lease(0), 21)).toBe('accepted');
    expect(registers.written('job').lease).toEqual(lease(0));
  });

  it('accepts a write without a promise, from any member', () => {
    expect(bench().write(ballot(0), lease(0), 10)).toBe('accepted');
  });

  it('heeds nothing that was asked more than half a lease ago', () => {
    const { read, write } = bench();
    expect(read(ballot(0), 500)).toBe('promised');
    expect(read(ballot(0, 2), 500.1)).toBe('late');
    expect(write(ballot(0), lease(0), 500.1)).toBe('late');
  });

  it('heeds nothing that will be asked later than the skew from now', () => {
    const { read, write } = bench();
    expect(read(ballot(60), 10)).toBe('promised');
    expect(read(ballot(60.1, 2), 10)).toBe('early');
    expect(write(ballot(60.1, 2), lease(60.1), 10)).toBe('early');
  });

  it('does not write a lease that ends later than any that was asked for by now', () => {
    expect(bench().write(ballot(0), lease(60.1), 10)).toBe('early');
  });
});

describe('a number', () => {
  it('is written only if somebody with a clock within the skew can have taken it', () => {
    const numbered = (number: number): Lease => ({ ...lease(0), number });
    expect(bench().write(ballot(0), numbered((BEGAN_MS + 110) * 1_000), 10)).toBe('accepted');
    expect(bench().write(ballot(0), numbered((BEGAN_MS + 110) * 1_000 + 1), 10)).toBe('early');
  });
});

describe('a register is forgotten', () => {
  it('a lease and the skew after it was last asked for, and not before', () => {
    const { registers, read, sweep } = bench();
    read(ballot(0), 0);
    sweep(1_050);
    expect(registers.size).toBe(1);
    // It is looked for eight times in a lease.
    sweep(1_050 + 125);
    expect(registers.size).toBe(0);
    expect(registers.sweepAtMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('later, if it was asked for again', () => {
    const { registers, read, sweep } = bench();
    read(ballot(0), 0);
    read(ballot(600), 600);
    sweep(1_600);
    expect(registers.size).toBe(1);
    sweep(1_800);
    expect(registers.size).toBe(0);
  });

  it('later, if the written lease ends later than the promised one would', () => {
    const { registers, write, sweep } = bench();
    write(ballot(70), lease(110), 70);
    sweep(1_130); // A stretch of the sweep is over at 1,125, and what was promised would be at 1,120.
    expect(registers.size).toBe(1);
  });

  it('with all that it was, also while somebody here wants it', () => {
    const { registers, table, read, write, sweep } = bench();
    write(ballot(0), lease(0), 0);
    const entry = table.findOrAdd('job');
    entry.state = new ResourceState(entry, 'a');
    for (let ms = 0; registers.size > 0; ms += 1) sweep(ms);
    expect(registers.written('job')).toMatchObject({ written: undefined, lease: undefined });
    expect(read(ballot(1_200), 1_200)).toBe('promised');
  });

  it('only when whatever is heeded from then on has a higher ballot', () => {
    const { registers, read, sweep } = bench();
    const first = ballot(0, 1_000_000, 'z');
    read(first, 0);
    for (let ms = 0; registers.size > 0; ms += 1) sweep(ms);
    // The earliest that is still heeded at that time.
    const forgottenMs = 1_051;
    expect(read(ballot(forgottenMs - 500, 1, 'a'), forgottenMs)).toBe('promised');
    expect(read(first, forgottenMs)).toBe('late');
  });

  it('with all others when a member loses its memory', () => {
    const { registers, read } = bench();
    read(ballot(0), 0);
    registers.clear();
    expect(registers.size).toBe(0);
    expect(registers.sweepAtMs).toBe(Number.POSITIVE_INFINITY);
  });

  it.each(['sweep', 'clear'] as const)(
    'and with it its entry, but for what our own process wants: %s',
    (how) => {
      const { registers, table, read } = bench();
      read(ballot(0), 0);
      registers.read('ours', ballot(0), BEGAN_MS);
      const entry = table.findOrAdd('ours');
      const state = new ResourceState(entry, 'p');
      entry.state = state;
      if (how === 'sweep') registers.sweep(BEGAN_MS + 2_000);
      else registers.clear();
      const nothing = { promised: undefined, written: undefined, lease: undefined };
      expect([...table.entries()]).toMatchObject([{ resource: 'ours', state, ...nothing }]);
    },
  );
});
