import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { HeldLease } from '../core/held-lease.ts';
import { Lease } from './lease.ts';

const NOTICE_MS = 100;

/** A lease until 1,000, and a clock that is moved by hand. */
function bench() {
  const clock: { ms: number | undefined } = { ms: 0 };
  const release = vi.fn(async () => {});
  const held = new HeldLease('r', { number: 7, untilMs: 1_000 });
  const forsake = vi.fn();
  const keeper = { noticeMs: NOTICE_MS, nowMs: () => clock.ms, release, forsake, handover: vi.fn() };
  const lease = new Lease(keeper, held);
  return { clock, held, lease, release, forsake };
}

describe('a lease', () => {
  it('says what it is', () => {
    const { lease } = bench();
    expect([lease.resource, lease.number, lease.validUntil]).toEqual(['r', 7, 1_000]);
  });

  it('can be printed, while it is held and after', () => {
    const { clock, lease, held } = bench();
    held.handle = lease;
    expect(JSON.stringify(lease)).toBe('{"resource":"r","number":7,"validUntil":1000}');
    clock.ms = 1_001;
    lease.isHeld();
    expect(inspect(lease)).toBe("Lease { resource: 'r', number: 7, validUntil: 1000, ended: 'lapsed' }");
  });

  it('is held until its end, and at its end', () => {
    const { clock, lease } = bench();
    clock.ms = 1_000;
    expect(lease.isHeld()).toBe(true);
    clock.ms = 1_000.1;
    expect(lease.isHeld()).toBe(false);
  });

  it('says how much longer it is held, and that it is not', () => {
    const { clock, lease } = bench();
    const at = (ms: number | undefined): number => ((clock.ms = ms), lease.leftMs);
    expect([at(0), at(400.5), at(1_000), at(1_001), at(0)]).toEqual([1_000, 599.5, 0, 0, 0]);
    expect(bench().lease.leftMs).toBe(1_000);
  });

  it('tells each listener of every renewal, until the listener is removed', () => {
    const { lease } = bench();
    const told = vi.fn();
    const wanting = lease.onRenewal(told);
    lease.renewed();
    lease.renewed();
    wanting[Symbol.dispose]();
    lease.renewed();
    expect(told).toHaveBeenCalledTimes(2);
  });

  it('is not to be renewed once its holder knows that it is over', () => {
    const { clock, lease, forsake, held } = bench();
    expect(lease.isHeld()).toBe(true);
    expect(forsake).not.toHaveBeenCalled();
    clock.ms = undefined;
    expect(lease.isHeld()).toBe(false);
    expect(forsake.mock.calls).toEqual([[held]]);
  });

  it('is never held again once it was not', () => {
    const { clock, lease, held } = bench();
    clock.ms = 1_001;
    expect(lease.isHeld()).toBe(false);
    held.renewed({ number: held.number, untilMs: 5_000 });
    expect(lease.isHeld()).toBe(false);
    expect(lease.signal.aborted).toBe(true);
  });

  it('is not held when the clock has jumped', () => {
    const { clock, lease } = bench();
    clock.ms = undefined;
    expect(lease.isHeld()).toBe(false);
    expect(lease.signal.reason).toMatchObject({ details: { how: 'clock' } });
  });

  it('gives itself back when it is disposed of', async () => {
    const { lease, held, release } = bench();
    await lease[Symbol.asyncDispose]();
    expect(release).toHaveBeenCalledWith(held);
  });
});

describe('the signal of a lease', () => {
  it('aborts some time before the end, by its clock or when it is told', () => {
    const { clock, lease } = bench();
    clock.ms = 899;
    expect(lease.signal.aborted).toBe(false);
    clock.ms = 900;
    expect(lease.signal.aborted).toBe(true);
    expect(lease.signal.reason).toMatchObject({
      code: 'LEASE_LOST',
      details: { how: 'ending', resource: 'r', number: 7 },
    });
    expect(lease.isHeld()).toBe(true);
    const told = bench().lease;
    const { signal } = told;
    const heard = vi.fn();
    signal.addEventListener('abort', heard);
    told.ending();
    told.ended('lapsed');
    expect(heard).toHaveBeenCalledOnce();
    expect(told.isHeld()).toBe(false);
  });

  it('does not abort while it is renewed', () => {
    const { clock, lease, held } = bench();
    const { signal } = lease;
    clock.ms = 850;
    expect(signal.aborted).toBe(false);
    held.renewed({ number: held.number, untilMs: 2_000 });
    clock.ms = 1_850;
    expect(signal.aborted).toBe(false);
    expect(() => signal.throwIfAborted()).not.toThrow();
  });

  it('is one and the same, also for those who ask after the end', () => {
    const { lease } = bench();
    lease.ended('lost');
    expect(lease.signal).toBe(lease.signal);
    expect(lease.signal.reason).toMatchObject({ details: { how: 'lost' } });
    expect(() => lease.signal.throwIfAborted()).toThrow('no longer ours');
  });

  it('is a signal that others can follow', () => {
    const { lease } = bench();
    const any = AbortSignal.any([lease.signal]);
    lease.ended('released');
    expect(any.aborted).toBe(true);
    expect(lease.signal).toBeInstanceOf(AbortSignal);
  });
});
