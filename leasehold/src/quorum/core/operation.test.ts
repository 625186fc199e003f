import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage, message } from '../wire/messages.ts';
import { batch, isSameOperation, put } from './operation.ts';

const write = (value: string, number = 1) =>
  batch([
    {
      ...{ session: 1, number, answeredBelow: 1, origin: 'a', life: 1, id: 1 },
      command: put('k', new TextEncoder().encode(value)),
    },
  ]);

describe('the operations of one slot at two replicas', () => {
  it('are the same if one was sent to the other', () => {
    const sent = message
      .samples()
      .find((sample) => sample.kind === 'fetched' && sample.operations.length > 1);
    if (sent?.kind !== 'fetched') return expect.unreachable();
    const received = decodeMessage(encodeMessage(sent));
    if (received.kind !== 'fetched') return expect.unreachable();
    sent.operations.forEach((operation, place) => {
      const other = received.operations[place] ?? expect.unreachable();
      expect(isSameOperation(operation, other)).toBe(true);
      expect(isSameOperation(write('elsewhere'), other)).toBe(false);
    });
  });

  it('differ if a byte of a value or the number of a request differs', () => {
    expect(isSameOperation(write('new'), write('new'))).toBe(true);
    expect(isSameOperation(write('new'), write('old'))).toBe(false);
    expect(isSameOperation(write('new'), write('newer'))).toBe(false);
    expect(isSameOperation(write('new'), write('new', 2))).toBe(false);
  });
});
