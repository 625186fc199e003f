import { describe, expect, it } from 'vitest';
import type { Item } from './messages.ts';
import { ITEMS_ENOUGH, Outbox } from './outbox.ts';

const notify = (resource: string): Item => ({ kind: 'notify', resource });
const accepted = (attempt: number) => ({ kind: 'accepted', attempt }) as const;
const sizes = (taken: ReturnType<Outbox['take']>) => taken.map(([to, { items }]) => [to, items.length]);

describe('a message in the outbox', () => {
  it('waits for more, each for whom it is for, and is there once', () => {
    const outbox = new Outbox();
    outbox.add('b', notify('r1'));
    outbox.add('c', notify('r2'));
    outbox.add('b', notify('r3'));
    outbox.greet('d');
    expect(outbox.isFull).toBe(false);
    expect(outbox.takeFull()).toEqual([]);
    expect(outbox.take()).toMatchObject([
      ['b', { toIncarnation: 0, items: [notify('r1'), notify('r3')] }],
      ['c', { toIncarnation: 0, items: [notify('r2')] }],
      ['d', { toIncarnation: 0, items: [] }],
    ]);
    expect(outbox.take()).toEqual([]);
  });

  it('need not wait once there is enough for one of them; the others wait on', () => {
    const outbox = new Outbox();
    outbox.add('c', notify('r'));
    for (let count = 1; count < ITEMS_ENOUGH; count += 1) outbox.answer('b', 7, accepted(count));
    expect(outbox.isFull).toBe(false);
    outbox.add('b', notify('r'));
    expect(outbox.isFull).toBe(true);
    expect(sizes(outbox.takeFull())).toEqual([['b', ITEMS_ENOUGH]]);
    expect(outbox.isFull).toBe(false);
    outbox.add('b', notify('r'));
    expect(sizes(outbox.take())).toEqual([
      ['c', 1],
      ['b', 1],
    ]);
  });

  it.each(['take', 'clear'] as const)('is not too much any more once it is gone: %s', (how) => {
    const outbox = new Outbox();
    for (let count = 1; count <= ITEMS_ENOUGH; count += 1) outbox.add('b', notify('r'));
    outbox[how]();
    expect([outbox.isFull, outbox.take()]).toEqual([false, []]);
  });

  it('is no answer any more if the asker has begun another incarnation', () => {
    const outbox = new Outbox();
    outbox.answer('b', 7, accepted(1));
    outbox.add('b', notify('r'));
    outbox.answer('b', 8, accepted(1));
    expect(outbox.take()).toMatchObject([['b', { toIncarnation: 8, items: [notify('r'), accepted(1)] }]]);
  });
});
