import { describe, expect, it } from 'vitest';
import { Account } from './account.ts';

describe('an account', () => {
  it('adds every item once, though transfers are lost, repeated and reordered', () => {
    const [giver, receiver] = [new Account(), new Account()];
    let received = 0;
    const take = (transfer: ReturnType<Account['send']>): void => {
      received += receiver.receive(transfer)?.[0] ?? 0;
    };
    giver.give([5]);
    const first = giver.send(0);
    giver.give([7]);
    const second = giver.send(1);
    take(second);
    take(first);
    take(second);
    expect(received).toBe(12);
    giver.give([1]);
    take(giver.send(2)); // The acknowledgement was lost: this transfer has all three.
    expect(received).toBe(13);
    giver.acknowledge(receiver.seen);
    expect(giver.isOutstanding).toBe(false);
    giver.give([2]);
    take(giver.send(3));
    expect(received).toBe(15);
  });

  it('is settled by what the receiver has seen; a late transfer adds nothing', () => {
    const [giver, receiver] = [new Account(), new Account()];
    giver.give([5]);
    receiver.receive(giver.send(0));
    giver.give([7]);
    const late = giver.send(1);
    const seen = receiver.void(giver.last);
    expect(seen).toBe(1);
    expect(receiver.receive(late)).toBeUndefined();
    expect(receiver.void(giver.last)).toBe(1); // Asked again, the same answer.
    expect(giver.takeBack(giver.last, seen)).toEqual([7]);
    expect(giver.takeBack(giver.last, seen)).toBeUndefined();
    giver.give([3]);
    expect(receiver.receive(giver.send(2))).toEqual([3]);
  });

  it('ignores acknowledgements of items that were never given', () => {
    const giver = new Account();
    giver.give([5]);
    giver.acknowledge(9);
    expect(giver.isOutstanding).toBe(true);
  });
});
