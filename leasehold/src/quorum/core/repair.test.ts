import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import type { Effect } from './context.ts';
import type { Message } from './messages.ts';
import { batch, type Operation, put } from './operation.ts';
import type { Recovered } from './recovery.ts';
import { Repair } from './repair.ts';

const operation = (value: string): Operation =>
  batch([
    {
      ...{ session: 1, number: 1, answeredBelow: 1, origin: 'a', life: 1, id: 1 },
      command: put('k', new TextEncoder().encode(value)),
    },
  ]);

const LAST = 10;
const VALUES = Array.from({ length: LAST }, (_, place) => operation(`slot ${place + 1}`));
const CHOSEN = 8;

/** Slots 1 to 10, of which 1 to 8 are known to be chosen; in the missing ones lie older entries, as before a frame that was damaged. */
function repairOf(first: number, last: number): Repair {
  const entries = VALUES.map((each, place) => {
    const isMissing = place + 1 >= first && place + 1 <= last;
    return { ballot: 33, operation: isMissing ? operation('old') : each };
  });
  const recovered: Recovered = {
    ...{ promised: 33, chosen: CHOSEN, committed: CHOSEN, holdMs: 0, heard: new Map(), votes: 10 },
    ...{ snapshot: undefined, entries, missing: { first, last }, isRepaired: false },
  };
  return new Repair(recovered, ['b', 'c'], 100, instant(0));
}

const sent = (effects: readonly Effect[]): Message[] =>
  effects.flatMap((effect) => (effect.do === 'send' ? effect.message : []));
const asked = (repair: Repair, first: number, last: number): Message | undefined =>
  sent(repair.receive('b', { kind: 'fetch', first, last }))[0];

describe('a replica that repairs itself', () => {
  it('sends others the slots that are whole and known to be chosen, as many as follow each other', () => {
    const repair = repairOf(4, 5);
    const fetched = (first: number, last: number) => ({
      ...{ kind: 'fetched', first, operations: VALUES.slice(first - 1, last), snapshot: undefined },
    });
    expect(asked(repair, 1, 3)).toEqual(fetched(1, 3));
    expect(asked(repair, 2, 7)).toEqual(fetched(2, 3));
    expect(asked(repair, 6, LAST)).toEqual(fetched(6, CHOSEN));
  });

  it('sends nothing of the slots that are missing, where an older entry may lie, nor of those that may yet change', () => {
    const repair = repairOf(4, 5);
    expect(asked(repair, 4, 5)).toBeUndefined();
    expect(asked(repair, 5, 6)).toBeUndefined();
    expect(asked(repair, CHOSEN + 1, LAST)).toBeUndefined();
  });

  it('is whole again with slots of several replicas, none of which has all of them', () => {
    const [a, b, c] = [repairOf(3, 6), repairOf(5, 7), repairOf(2, 4)];
    for (let round = 1; round <= 2; round += 1) {
      const [question] = sent(a.wake(instant(round * 1_000)));
      if (question === undefined) continue;
      for (const [name, other] of [
        ['b', b],
        ['c', c],
      ] as const)
        for (const answer of sent(other.receive('a', question))) a.receive(name, answer);
    }
    expect(a.repaired?.entries.map((entry) => entry?.operation)).toEqual(VALUES);
    expect(a.repaired?.missing).toBeUndefined();
    expect(a.isHopeless).toBe(false);
  });
});
