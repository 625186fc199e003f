import { describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../runtime/time.ts';
import { initialConfiguration } from './configuration.ts';
import type { Effect } from './context.ts';
import { type Fetch, fetchOf, type Message } from './messages.ts';
import { batch, type Operation, put } from './operation.ts';
import type { Recovered, Slots } from './recovery.ts';
import { Repair } from './repair.ts';
import { PIECE_BYTES } from './serving.ts';
import type { SnapshotPart } from './snapshot.ts';

const operation = (value: Uint8Array): Operation =>
  batch([
    {
      ...{ session: 1, number: 1, answeredBelow: 1, origin: 'a', life: 1, id: 1 },
      command: put('k', value),
    },
  ]);
const named = (value: string): Operation => operation(new TextEncoder().encode(value));

const LAST = 10;
const VALUES = Array.from({ length: LAST }, (_, place) => named(`slot ${place + 1}`));
const CHOSEN = 8;
const RETRY_MS = 100;

interface Lost {
  readonly values?: readonly Operation[];
  readonly chosen?: number;
  readonly missing: readonly Slots[];
}

/** Slots of which some are known to be chosen; in the missing ones lie older entries, as before a frame that was damaged. */
function repairOf({ values = VALUES, chosen = CHOSEN, missing }: Lost): Repair {
  const entries = values.map((each, place) => {
    const isMissing = missing.some(({ first, last }) => place + 1 >= first && place + 1 <= last);
    return { ballot: 33, operation: isMissing ? named('old') : each };
  });
  const recovered: Recovered = {
    ...{ promised: 33, chosen, committed: chosen, holdMs: 0, heard: new Map(), votes: 10 },
    ...{ snapshot: undefined, entries, missing, isRepaired: false },
  };
  return new Repair(recovered, ['b', 'c'], RETRY_MS, instant(0));
}

interface Sent {
  readonly to: string;
  readonly message: Message;
}

const sent = (effects: readonly Effect[]): Sent[] =>
  effects.flatMap((effect) => (effect.do === 'send' ? { to: effect.to, message: effect.message } : []));
const asked = (repair: Repair, first: number, last: number): Message | undefined =>
  sent(repair.receive('b', fetchOf(first, last), instant(0)))[0]?.message;

/** The only question of these effects. */
function questionOf(effects: readonly Effect[]): { readonly to: string; readonly question: Fetch } {
  const all = sent(effects);
  expect(all).toHaveLength(1);
  const [{ to, message }] = all as [Sent];
  return message.kind === 'fetch' ? { to, question: message } : expect.unreachable();
}

const answer = (first: number, operations: readonly Operation[]): Message => ({
  ...{ kind: 'fetched', first, operations, part: undefined },
});

describe('a replica that repairs itself', () => {
  it('sends others the slots that are whole and known to be chosen, as many as follow each other', () => {
    const repair = repairOf({ missing: [{ first: 4, last: 5 }] });
    const slots = (first: number, last: number): Message => answer(first, VALUES.slice(first - 1, last));
    expect(asked(repair, 1, 3)).toEqual(slots(1, 3));
    expect(asked(repair, 2, 7)).toEqual(slots(2, 3));
    expect(asked(repair, 6, LAST)).toEqual(slots(6, CHOSEN));
  });

  it('sends nothing of the slots that are missing, where an older entry may lie, nor of those that may yet change', () => {
    const repair = repairOf({
      missing: [
        { first: 2, last: 2 },
        { first: 4, last: 5 },
      ],
    });
    expect(asked(repair, 2, 3)).toBeUndefined();
    expect(asked(repair, 3, 5)).toEqual(answer(3, VALUES.slice(2, 3)));
    expect(asked(repair, 4, 5)).toBeUndefined();
    expect(asked(repair, 5, 6)).toBeUndefined();
    expect(asked(repair, CHOSEN + 1, LAST)).toBeUndefined();
  });

  it('sends no more at once than one piece', () => {
    const large = Array.from({ length: LAST }, () => operation(new Uint8Array(PIECE_BYTES / 3)));
    const repair = repairOf({ values: large, missing: [] });
    const piece = asked(repair, 1, CHOSEN);
    expect(piece?.kind === 'fetched' && piece.operations.length).toBe(2);
  });

  it('asks one replica at a time, and for the next slots when an answer is there', () => {
    const repair = repairOf({
      missing: [
        { first: 2, last: 4 },
        { first: 6, last: 6 },
      ],
    });
    expect(questionOf(repair.wake(instant(0)))).toEqual({ to: 'b', question: fetchOf(2, 4) });
    expect(repair.wake(instant(RETRY_MS - 1))).toEqual([]);
    const second = repair.receive('b', answer(2, VALUES.slice(1, 3)), instant(10));
    expect(questionOf(second)).toEqual({ to: 'b', question: fetchOf(4, 4) });
    expect(repair.progress).toMatchObject({ slots: 4, fetched: 2, next: 4, from: 'b' });
    const third = repair.receive('b', answer(4, VALUES.slice(3, 4)), instant(20));
    expect(questionOf(third)).toEqual({ to: 'b', question: fetchOf(6, 6) });
    expect(repair.receive('b', answer(6, VALUES.slice(5, 6)), instant(30))).toEqual([]);
    expect(repair.repaired?.entries.map((entry) => entry?.operation)).toEqual(VALUES);
  });

  it('asks for nothing twice because an answer arrives twice, or late from another replica', () => {
    const repair = repairOf({ missing: [{ first: 2, last: 7 }] });
    repair.wake(instant(0));
    const first = answer(2, VALUES.slice(1, 3));
    expect(sent(repair.receive('b', first, instant(10)))).toHaveLength(1);
    expect(repair.receive('b', first, instant(11))).toEqual([]);
    expect(questionOf(repair.wake(repair.wakeAt as Instant)).to).toBe('c');
    expect(repair.receive('b', answer(4, VALUES.slice(3, 5)), instant(300))).toEqual([]);
    expect(repair.progress).toMatchObject({ fetched: 4, next: 6 });
  });

  it('leaves a source that does not answer for the next one, and waits longer from round to round', () => {
    const repair = repairOf({ missing: [{ first: 2, last: 7 }] });
    const times: { readonly to: string; readonly at: number }[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const at = repair.wakeAt as Instant;
      times.push({ to: questionOf(repair.wake(at)).to, at });
    }
    expect(times.map(({ to }) => to)).toEqual(['b', 'c', 'b', 'c', 'b', 'c']);
    expect(times.map(({ at }) => at / RETRY_MS)).toEqual([0, 1, 2, 4, 6, 10]);
  });

  it('waits for a slow source at least twice as long as for the answer before', () => {
    const repair = repairOf({ missing: [{ first: 2, last: 7 }] });
    repair.wake(instant(0));
    repair.wake(repair.wakeAt as Instant); // The next source.
    repair.receive('c', answer(2, VALUES.slice(1, 2)), instant(RETRY_MS + 150));
    expect(repair.wakeAt).toBe(RETRY_MS + 150 + 300);
  });

  it('is whole again with slots of several replicas, none of which has all of them', () => {
    const [a, b, c] = [
      repairOf({ missing: [{ first: 3, last: 6 }] }),
      repairOf({ missing: [{ first: 5, last: 7 }] }),
      repairOf({ missing: [{ first: 2, last: 4 }] }),
    ];
    for (let round = 0; a.repaired === undefined && round < 20; round += 1) {
      const now = a.wakeAt as Instant;
      let questions = sent(a.wake(now));
      while (questions.length > 0) {
        const { to, message } = questions[0] as Sent;
        const answers = sent((to === 'b' ? b : c).receive('a', message, now));
        questions = answers.flatMap((each) => sent(a.receive(to, each.message, now)));
      }
    }
    expect(a.repaired?.entries.map((entry) => entry?.operation)).toEqual(VALUES);
    expect(a.repaired?.missing).toEqual([]);
  });
});

describe('a replica whose lost slots are compacted away', () => {
  const configuration = initialConfiguration([], { mode: 'all' });
  /** One of three parts of a state as of slot 9, each with one value. */
  const part = (first: number): SnapshotPart => ({
    ...{ slot: 9, configuration, first, sessions: [], isLast: first === 2 },
    values: [{ key: `k${first}`, value: new Uint8Array(1), revision: 4_096 }],
  });
  const answered = (first: number): Message => ({
    ...{ kind: 'fetched', first: 10, operations: [], part: part(first) },
  });

  it('fetches the state of a source in parts, one at a time', () => {
    const repair = repairOf({ missing: [{ first: 2, last: 7 }] });
    repair.wake(instant(0));
    for (const next of [1, 2]) {
      const { to, question } = questionOf(repair.receive('b', answered(next - 1), instant(next)));
      expect({ to, question }).toEqual({ to: 'b', question: { ...fetchOf(2, 7), partOf: 9, next } });
    }
    expect(repair.receive('b', answered(2), instant(3))).toEqual([]);
    expect(repair.parts).toEqual([part(0), part(1), part(2)]);
    expect(repair.repaired).toMatchObject({ chosen: 9, committed: 9, snapshot: { slot: 9 } });
    expect(repair.repaired?.snapshot?.state.values.map(({ key }) => key)).toEqual(['k0', 'k1', 'k2']);
    expect(repair.repaired?.entries.map((entry) => entry?.operation)).toEqual(VALUES.slice(9));
  });

  it('does not mix the parts of two sources, and asks a source in the middle of its state again before the next one', () => {
    const repair = repairOf({ missing: [{ first: 2, last: 7 }] });
    repair.wake(instant(0));
    repair.receive('b', answered(0), instant(1));
    expect(repair.receive('c', answered(1), instant(2))).toEqual([]);
    const asks = [1, 2, 3].map(() => questionOf(repair.wake(repair.wakeAt as Instant)));
    expect(asks.map(({ to }) => to)).toEqual(['b', 'b', 'c']);
    expect(asks.map(({ question }) => [question.partOf, question.next])).toEqual([
      [9, 1],
      [9, 1],
      [0, 0],
    ]);
    repair.receive('c', answered(0), instant(9_000));
    expect(repair.receive('b', answered(1), instant(9_001))).toEqual([]);
    repair.receive('c', answered(1), instant(9_002));
    repair.receive('c', answered(2), instant(9_003));
    expect(repair.parts).toHaveLength(3);
    expect(repair.repaired?.missing).toEqual([]);
  });
});
