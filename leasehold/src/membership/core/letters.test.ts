import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import type { MemberId } from './incarnation.ts';
import { Letters, processNamed, receiptOf } from './letters.ts';

const idOf = (name: string, startedMs = 1): MemberId => ({ name, incarnation: { startedMs, nonce: 0 } });
const [a, x] = [idOf('a'), idOf('x')];
const body = new Uint8Array();
const DURATIONS = { repeatMs: 500, giveUpMs: 4_000 };
const begun = (letters: Letters, id: number, viewId = 'v') =>
  letters.begin(id, { from: a, to: x, viewId }, body, instant(0));

describe('the sender of letters', () => {
  it('waits for the receipt of the process and of the view of the letter', () => {
    const letters = new Letters(DURATIONS);
    const receipt = receiptOf(begun(letters, 1));
    expect(letters.settles({ ...receipt, from: idOf('x', 2) })).toBe(false);
    expect(letters.settles({ ...receipt, viewId: 'w' })).toBe(false);
    expect(letters.settles(receipt)).toBe(true);
    expect(letters.settles(receipt)).toBe(false);
  });

  it('repeats a letter in its view only, after pauses that double', () => {
    const letters = new Letters(DURATIONS);
    begun(letters, 1);
    const repeatedAt = (ms: number, viewId = 'v'): number => [...letters.due(viewId, instant(ms))].length;
    expect([
      repeatedAt(499),
      repeatedAt(500),
      repeatedAt(1_499),
      repeatedAt(1_500, 'w'),
      repeatedAt(1_500),
    ]).toEqual([0, 1, 0, 0, 1]);
  });

  it('gives a letter up with the view, or after a while', () => {
    const letters = new Letters(DURATIONS);
    begun(letters, 1);
    begun(letters, 2, 'w');
    expect(letters.failedBy('w')).toEqual([1]);
    expect([letters.givenUp(instant(4_000)), letters.givenUp(instant(4_001))]).toEqual([[], [2]]);
  });
});

describe('the receiver of letters', () => {
  it('takes a letter once, in its view and in no other', () => {
    const [sender, receiver] = [new Letters(DURATIONS), new Letters(DURATIONS)];
    const letter = begun(sender, 1);
    expect([
      receiver.receive(letter, undefined),
      receiver.receive(letter, 'v'),
      receiver.receive(letter, 'v'),
      receiver.receive(letter, 'w'),
    ]).toEqual(['refused', 'new', 'repeated', 'refused']);
  });

  it('takes no letter that the sender waits for no more', () => {
    const receiver = new Letters(DURATIONS);
    const sender = new Letters(DURATIONS);
    const [first, second] = [begun(sender, 1), begun(sender, 2)];
    sender.settles(receiptOf(first));
    expect(second.oldestId).toBe(1);
    expect(receiver.receive(begun(sender, 3), 'v')).toBe('new');
    expect(receiver.receive(first, 'v')).toBe('repeated');
    expect(receiver.receive(second, 'v')).toBe('new');
  });
});

it('finds a process by name among those sorted by name', () => {
  const sorted = ['a', 'c', 'e'].map((name) => idOf(name));
  expect(sorted.map(({ name }) => processNamed(sorted, name)?.name)).toEqual(['a', 'c', 'e']);
  expect(['0', 'b', 'f'].map((name) => processNamed(sorted, name))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
