import { describe, expect, it } from 'vitest';
import { Outbox } from './outbox.ts';

const ENOUGH = 3;

describe('an outbox', () => {
  it('keeps items by receiver, in order, until they are taken once', () => {
    const outbox = new Outbox<string>();
    outbox.add('b', 'one');
    outbox.add('c', 'two');
    outbox.add('b', 'three');
    outbox.greet('d');
    expect(outbox.isFull).toBe(false);
    expect(outbox.takeFull()).toEqual([]);
    expect(outbox.take()).toEqual([
      ['b', ['one', 'three']],
      ['c', ['two']],
      ['d', []],
    ]);
    expect(outbox.take()).toEqual([]);
  });

  it('is full once a receiver has enough items; only the items of that receiver leave', () => {
    const outbox = new Outbox<number>(ENOUGH);
    outbox.add('c', 0);
    for (let count = 1; count < ENOUGH; count += 1) outbox.add('b', count);
    expect(outbox.isFull).toBe(false);
    outbox.add('b', ENOUGH);
    expect(outbox.isFull).toBe(true);
    expect(outbox.takeFull()).toEqual([['b', [1, 2, 3]]]);
    expect(outbox.isFull).toBe(false);
    outbox.add('b', 4);
    expect(outbox.take()).toEqual([
      ['c', [0]],
      ['b', [4]],
    ]);
  });

  it.each(['take', 'clear'] as const)('is empty, and not full, after %s', (how) => {
    const outbox = new Outbox<number>(ENOUGH);
    for (let count = 1; count <= ENOUGH; count += 1) outbox.add('b', count);
    outbox[how]();
    expect([outbox.isFull, outbox.take()]).toEqual([false, []]);
  });

  it('drops the items that do not stay, and still greets the receiver', () => {
    const outbox = new Outbox<number>();
    outbox.add('b', 1);
    outbox.add('b', 2);
    outbox.add('c', 1);
    outbox.keep('b', (item) => item === 2);
    outbox.keep('c', (item) => item === 2);
    outbox.keep('d', () => true);
    expect(outbox.take()).toEqual([
      ['b', [2]],
      ['c', []],
    ]);
  });
});
