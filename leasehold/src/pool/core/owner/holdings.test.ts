import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { highOf, lowOf } from '../../../runtime/keys/position.ts';
import { instant } from '../../../runtime/time.ts';
import type { GrantedSpan, NumberedSpan } from '../messages.ts';
import { at, granted, numbered, showLetGo, showNumbered, SIXTEENTH } from '../script.ts';
import { Holdings } from './holdings.ts';
import type { Phase } from './piece.ts';
import { noTransitions, type Transitions } from './transitions.ts';

const lease = (until: number, now = 0, revokeBy = now + 3_000) => ({
  until: instant(until),
  now: instant(now),
  revokeBy: instant(revokeBy),
  isLeaving: false,
});

/** The pieces, as `0-4#7 serving`, and what the application hears, as `granted 0-4#7`. */
const pieces = (holdings: Holdings): string[] =>
  holdings.pieces.map((piece) => `${showNumbered(piece)} ${piece.phase}`);
const heard = (transitions: Transitions): string[] =>
  Object.entries(transitions).flatMap(([what, spans]: [string, readonly NumberedSpan[]]) =>
    spans.map((piece) => `${what} ${showNumbered(piece)}`),
  );

function holding(...spans: string[]): Holdings {
  const holdings = new Holdings();
  holdings.reconcile(spans.map(granted), lease(9_000), 1, noTransitions());
  holdings.loaded(spans.map((text) => numbered(text)));
  return holdings;
}

describe('the pieces an owner holds', () => {
  it('are one for each span of the Manager, however often it is said', () => {
    const holdings = holding('0-4#2', '4-8#3');
    const before = holdings.pieces;
    expect(holdings.reconcile(['0-4#2', '4-8#3'].map(granted), lease(10_000), 2, noTransitions())).toBe(
      false,
    );
    expect(holdings.pieces).toBe(before);
    expect(holdings.nextExpiry()).toBe(10_000);
  });

  it('keep the later end when an earlier one is heard of after it', () => {
    const holdings = holding('0-4#2');
    holdings.reconcile([granted('0-4#2')], lease(8_000), 2, noTransitions());
    expect(holdings.nextExpiry()).toBe(9_000);
  });

  it('are checked by their later end, also beside others that were let go of', () => {
    const holdings = holding('0-4#2', '4-8#3!');
    holdings.flushed([numbered('4-8#3')], noTransitions());
    const before = holdings.pieces;
    holdings.reconcile([granted('0-4#2')], lease(10_000), 1, noTransitions());
    expect(holdings.pieces).toBe(before);
    const numberAt = (sixteenth: number, now: number): number | undefined =>
      holdings.index.numberAt(highOf(at(sixteenth)), lowOf(at(sixteenth)), instant(now));
    expect([numberAt(2, 9_999), numberAt(2, 10_000), numberAt(6, 0)]).toEqual([2, undefined, undefined]);
  });

  it('become one again when the Manager merges them and they are alike', () => {
    const holdings = holding('0-8#2');
    holdings.reconcile(['0-4#2', '4-8#2!'].map(granted), lease(9_000), 2, noTransitions());
    expect(pieces(holdings)).toEqual(['0-4#2 serving', '4-8#2 revoking']);
    const other = holding('0-4#2', '4-8#2');
    other.reconcile([granted('0-8#2')], lease(9_000), 2, noTransitions());
    expect(pieces(other)).toEqual(['0-8#2 serving']);
  });

  it('follow a merge that is told as two also when they have become one meanwhile', () => {
    const holdings = holding('0-4#5', '4-8#5');
    const merged = { ...granted('0-8#7'), continues: ['0-4#5', '4-8#5'].map((text) => numbered(text)) };
    holdings.reconcile([merged], lease(0, 100), 2, noTransitions()); // Too late to give a lease.
    expect(pieces(holdings)).toEqual(['0-8#5 serving']);
    const transitions = noTransitions();
    holdings.reconcile([merged], lease(9_000, 200), 3, transitions);
    expect(pieces(holdings)).toEqual(['0-8#7 serving']);
    expect(heard(transitions)).toEqual([]);
  });

  it('are split where the application has loaded only a part', () => {
    const holdings = new Holdings();
    holdings.reconcile([granted('0-8#2')], lease(9_000), 1, noTransitions());
    holdings.loaded([numbered('2-4#2')]);
    expect(pieces(holdings)).toEqual(['0-2#2 loading', '2-4#2 serving', '4-8#2 loading']);
    holdings.loaded([numbered('0-8#1'), numbered('8-9#2')]);
    expect(pieces(holdings)).toEqual(['0-2#2 loading', '2-4#2 serving', '4-8#2 loading']);
  });

  it('are all let go of when the clock cannot be trusted', () => {
    const holdings = holding('0-4#2', '4-8#2');
    holdings.reconcile(['0-4#2', '4-8#2!'].map(granted), lease(9_000), 2, noTransitions());
    const transitions = noTransitions();
    holdings.lapseAll(transitions);
    expect(pieces(holdings)).toEqual(['0-4#2 lapsed', '4-8#2 released']);
    expect(heard(transitions)).toEqual(['lapsed 0-4#2', 'dropped 4-8#2']);
  });

  it('are forgotten, duties and all, when the log they came from is no more', () => {
    const holdings = holding('0-4#2');
    const transitions = noTransitions();
    holdings.clear(transitions);
    expect(pieces(holdings)).toEqual([]);
    expect(heard(transitions)).toEqual(['dropped 0-4#2']);
    expect(holdings.tellLetGo(9)).toEqual([]);
  });

  it('change the version whenever anything about them changes', () => {
    const holdings = holding('0-4#2');
    const { version } = holdings;
    holdings.flushed([numbered('0-4#2')], noTransitions());
    expect(holdings.version).toBe(version);
    holdings.reconcile([granted('0-4#2')], lease(10_000), 2, noTransitions());
    expect(holdings.version).toBeGreaterThan(version);
  });
});

describe('a released span', () => {
  it('is told in every report until a complete set, made after the first of them was heard, lacks it', () => {
    const holdings = holding('0-4#2');
    holdings.expire(instant(9_000), noTransitions());
    expect(holdings.tellLetGo(5).map(showLetGo)).toEqual(['lapsed:0-4#2']);
    expect(holdings.tellLetGo(6).map(showLetGo)).toEqual(['lapsed:0-4#2']);
    holdings.reconcile([], lease(18_000, 9_001), 4, noTransitions());
    expect(pieces(holdings)).toEqual(['0-4#2 lapsed']);
    holdings.reconcile([granted('0-4#2')], lease(18_000, 9_002), 5, noTransitions());
    expect(pieces(holdings)).toEqual(['0-4#2 lapsed']);
    const transitions = noTransitions();
    holdings.reconcile([], lease(18_000, 9_003), 5, transitions);
    expect([pieces(holdings), heard(transitions)]).toEqual([[], ['dropped 0-4#2']]);
  });

  it('is told anew when what had lapsed is released: the Manager may know only of the lapse', () => {
    const holdings = holding('0-4#2');
    holdings.expire(instant(9_000), noTransitions());
    holdings.tellLetGo(5);
    holdings.revokeAll(instant(12_000), noTransitions());
    expect(holdings.tellLetGo(6).map(showLetGo)).toEqual(['released:0-4#2']);
    holdings.reconcile([], lease(18_000, 9_003), 5, noTransitions());
    expect(pieces(holdings)).toEqual(['0-4#2 released']);
  });

  it('comes back only by a valid lease: a continuation that is over changes nothing', () => {
    const holdings = holding('0-4#2');
    holdings.expire(instant(9_000), noTransitions());
    holdings.reconcile([granted('0-4#7<0-4#2')], lease(9_000, 9_000), 5, noTransitions());
    expect(pieces(holdings)).toEqual(['0-4#2 lapsed']);
    holdings.reconcile([granted('0-4#7<0-4#2')], lease(9_002, 9_001), 5, noTransitions());
    expect(pieces(holdings)).toEqual(['0-4#7 serving']);
  });

  it('comes back only where the continuation says so, key by key', () => {
    const holdings = holding('0-8#2');
    holdings.expire(instant(9_000), noTransitions());
    const transitions = noTransitions();
    holdings.reconcile(['0-4#7<0-4#2', '4-8#8'].map(granted), lease(18_000, 9_001), 5, transitions);
    expect(pieces(holdings)).toEqual(['0-4#7 serving', '4-8#8 loading']);
    expect(heard(transitions)).toEqual(['granted 4-8#8', 'resumed 0-4#7', 'dropped 4-8#2']);
  });
});

// From here on: any sequence of inputs, against a model that knows sixteen keys and no pieces.

interface Key {
  number: number;
  since: number;
  phase: Phase;
  until: number;
  revokeBy: number | undefined;
  toldIn: number | undefined;
}
interface Said {
  readonly number: number;
  readonly recalled: boolean;
  readonly continues: number | undefined;
}

const held = (key: Key | undefined): boolean =>
  key !== undefined && ['loading', 'serving', 'revoking'].includes(key.phase);

/** What an update does to one key, from the words at the head of the source. */
function told(
  key: Key | undefined,
  said: Said | undefined,
  { until, now, revokeBy }: { until: number; now: number; revokeBy: number },
  acknowledged: number,
): Key | undefined {
  if (said === undefined) {
    const settled = key !== undefined && !held(key) && key.toldIn !== undefined && key.toldIn <= acknowledged;
    return settled ? undefined : key;
  }
  const unused: Key = {
    ...{ number: said.number, since: said.number, phase: 'released', until: now },
    ...{ revokeBy: undefined, toldIn: undefined },
  };
  const valid = now < until;
  const fresh = (): Key | undefined => {
    if (said.recalled || said.continues !== undefined) return unused;
    return valid ? { ...unused, phase: 'loading', until } : undefined;
  };
  const giveBack = (next: Key): Key =>
    said.recalled && next.phase !== 'revoking' ? { ...next, phase: 'revoking', revokeBy } : next;
  if (key === undefined) return fresh();
  if (key.number === said.number) {
    return held(key) ? giveBack({ ...key, until: valid ? Math.max(key.until, until) : key.until }) : key;
  }
  if (key.number > said.number) return key;
  if (said.continues !== key.number) return !valid && held(key) ? key : fresh();
  if (key.phase === 'released') return unused;
  if (!valid) return key;
  const phase = key.phase === 'lapsed' ? 'serving' : key.phase;
  return giveBack({ ...key, number: said.number, phase, until, toldIn: undefined });
}

/**
 * One span for every run of keys of which the same is said. (A span that continues several numbers
 * is made by a merge, and rows are merged only when the owner's pieces end where theirs do; the
 * scripts in `owner.test.ts` have one.)
 */
function spansOf(said: readonly (Said | undefined)[]): GrantedSpan[] {
  const spans: GrantedSpan[] = [];
  for (const [index, one] of said.entries()) {
    if (one === undefined) continue;
    const last = spans.at(-1);
    const goesOn =
      last?.end === at(index) &&
      last.number === one.number &&
      last.recalled === one.recalled &&
      last.continues[0]?.number === one.continues;
    const start = goesOn ? last.start : at(index);
    const end = at(index + 1);
    const continues = one.continues === undefined ? [] : [{ start, end, number: one.continues }];
    if (goesOn) spans.pop();
    spans.push({ start, end, number: one.number, recalled: one.recalled, continues });
  }
  return spans;
}

const said = fc.record({
  number: fc.integer({ min: 1, max: 4 }),
  recalled: fc.boolean(),
  continues: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
});
const runsOf = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc
    .array(fc.tuple(one, fc.integer({ min: 1, max: 6 })), { minLength: 16, maxLength: 16 })
    .map((list) => list.flatMap(([value, times]) => Array<T>(times).fill(value)).slice(0, 16));
const inputs = fc.array(
  fc.record({
    what: fc.constantFrom(
      'update',
      'update',
      'update',
      'expire',
      'loaded',
      'flushed',
      'report',
      'revoke',
      'lapse',
    ),
    said: runsOf(fc.option(said, { nil: undefined })),
    passes: fc.integer({ min: 0, max: 400 }),
    lasts: fc.integer({ min: -50, max: 1_000 }),
    acknowledges: fc.integer({ min: 0, max: 6 }),
    keys: runsOf(fc.boolean()),
    number: fc.integer({ min: 1, max: 4 }),
  }),
  { maxLength: 25 },
);
type Input = typeof inputs extends fc.Arbitrary<readonly (infer T)[]> ? T : never;

class Pair {
  readonly holdings: Holdings = new Holdings();
  keys: (Key | undefined)[] = Array<Key | undefined>(16).fill(undefined);
  now = 0;
  #report = 1;

  play(input: Input): void {
    this.now += input.passes;
    const now = this.now;
    this.holdings.expire(instant(now), noTransitions());
    this.#each((key) => expired(key, now));
    switch (input.what) {
      case 'update': {
        const times = { until: now + input.lasts, now, revokeBy: now + 300 };
        const spans = spansOf(input.said);
        this.holdings.reconcile(
          spans,
          lease(times.until, now, times.revokeBy),
          input.acknowledges,
          noTransitions(),
        );
        this.keys = this.keys.map((key, index) => told(key, input.said[index], times, input.acknowledges));
        return;
      }
      case 'loaded':
        this.holdings.loaded(this.#spans(input));
        this.#each((key, index) =>
          key.phase === 'loading' && includes(input, key, index) ? { ...key, phase: 'serving' } : key,
        );
        return;
      case 'flushed':
        this.holdings.flushed(this.#spans(input), noTransitions());
        this.#each((key, index) =>
          key.phase === 'revoking' && includes(input, key, index) ? gone(key, 'released') : key,
        );
        return;
      case 'report':
        this.holdings.tellLetGo(this.#report);
        this.#each((key) => (held(key) ? key : { ...key, toldIn: key.toldIn ?? this.#report }));
        this.#report += 1;
        return;
      case 'revoke':
        this.holdings.revokeAll(instant(now + 300), noTransitions());
        this.#each((key) => {
          if (key.phase === 'lapsed') return gone(key, 'released');
          return held(key) && key.phase !== 'revoking'
            ? { ...key, phase: 'revoking', revokeBy: now + 300 }
            : key;
        });
        return;
      case 'lapse':
        this.holdings.lapseAll(noTransitions());
        this.#each((key) => (held(key) ? gone(key, key.phase === 'serving' ? 'lapsed' : 'released') : key));
    }
  }

  #spans({ keys, number }: Input): NumberedSpan[] {
    return keys.flatMap((chosen, index) =>
      chosen ? [{ start: at(index), end: at(index + 1), number }] : [],
    );
  }

  #each(change: (key: Key, index: number) => Key): void {
    this.keys = this.keys.map((key, index) => key && change(key, index));
  }
}

const gone = (key: Key, phase: 'lapsed' | 'released'): Key => ({
  ...key,
  phase,
  toldIn: phase === 'released' ? undefined : key.toldIn,
});
const includes = ({ keys, number }: Input, key: Key, index: number): boolean =>
  keys[index] === true && key.since <= number && number <= key.number;

function expired(key: Key, now: number): Key {
  if (!held(key)) return key;
  if (key.phase === 'revoking') {
    return key.until <= now || (key.revokeBy ?? key.until) <= now ? gone(key, 'released') : key;
  }
  if (now < key.until) return key;
  return gone(key, key.phase === 'loading' ? 'released' : 'lapsed');
}

const facts = (key: Key | undefined) =>
  key && { ...key, until: held(key) ? key.until : 0, revokeBy: held(key) ? key.revokeBy : 0 };

describe('any sequence of inputs', () => {
  it('does to every key what the rules say of it alone', () => {
    fc.assert(
      fc.property(inputs, (list) => {
        const pair = new Pair();
        for (const input of list) {
          pair.play(input);
          const found = pair.keys.map((_, index) => {
            const piece = pair.holdings.index.find(highOf(at(index)), lowOf(at(index)));
            if (piece === undefined) return undefined;
            const { number, since, phase, until, revokeBy, toldIn } = piece;
            return facts({ number, since, phase, until, revokeBy, toldIn });
          });
          expect(found).toEqual(pair.keys.map(facts));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('lets the checks say of every key what these rules say of it, then and later', () => {
    fc.assert(
      fc.property(inputs, (list) => {
        const pair = new Pair();
        for (const input of list) {
          pair.play(input);
          for (const [index, key] of pair.keys.entries()) {
            const [high, low] = [highOf(at(index)), lowOf(at(index))];
            const checks = pair.holdings.index;
            const ends = key === undefined ? [] : [key.until - 1, key.until];
            for (const now of [pair.now, pair.now + 200, ...ends]) {
              const isValid = key !== undefined && now < key.until;
              const isServed = isValid && key.phase === 'serving';
              expect(checks.numberAt(high, low, instant(now))).toBe(isServed ? key.number : undefined);
              const isUsed = isServed || (isValid && key.phase === 'revoking');
              const numbers = [1, 2, 3, 4].filter((number) => checks.isHeld(high, low, number, instant(now)));
              expect(numbers).toEqual(
                [1, 2, 3, 4].filter((number) => isUsed && key.since <= number && number <= key.number),
              );
            }
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  it('keeps pieces in order and apart, and reports as held exactly those that are', () => {
    fc.assert(
      fc.property(inputs, (list) => {
        const pair = new Pair();
        for (const input of list) pair.play(input);
        const { pieces: all, held: reported } = pair.holdings;
        for (const [index, piece] of all.entries()) {
          expect(piece.start < piece.end && piece.end <= (all[index + 1]?.start ?? at(16))).toBe(true);
        }
        const covered = reported.reduce((sum, { start, end }) => sum + (end - start) / SIXTEENTH, 0n);
        expect(Number(covered)).toBe(pair.keys.filter(held).length);
      }),
      { numRuns: 100 },
    );
  });

  it('never holds a key again under a number it has let go of, as long as it remembers that', () => {
    fc.assert(
      fc.property(inputs, (list) => {
        const pair = new Pair();
        for (const input of list) {
          const before = [...pair.keys];
          pair.play(input);
          for (const [index, key] of pair.keys.entries()) {
            const was = before[index];
            if (was !== undefined && !held(was) && held(key)) expect(key?.number).toBeGreaterThan(was.number);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
