import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../runtime/errors.ts';
import {
  checkLinearizable,
  History,
  LinearizabilityUndecidedError,
  registerModel,
  UNKNOWN,
  type LinearizabilityResult,
  type Model,
  type Operation,
  type RegisterInput,
  type RegisterOutput,
} from './linearizability.ts';
import { Random } from './random.ts';

type RegisterOperation = Operation<RegisterInput<number>, RegisterOutput<number>>;

const register = registerModel<number>(0);

/**
 * A history of one register that begins at 0, drawn as on a whiteboard: one operation a line, call and return where
 * the bars are. `w1` writes, `r1` reads, `c12` compares-and-sets 1 to 2 and did, `x12` did not; no second bar means
 * that the outcome is unknown.
 */
function drawn(picture: string): RegisterOperation[] {
  return picture
    .split('\n')
    .filter((line) => line.includes('|'))
    .map((line, i) => {
      const calledAt = line.indexOf('|');
      const returnedAt = line.indexOf('|', calledAt + 1);
      const [kind, one, two] = line.replaceAll(/[|\s-]/g, '');
      const operation = { process: `p${i}`, key: 'k', calledAt };
      const known = returnedAt >= 0 ? { returnedAt } : undefined;
      const unknown = { output: UNKNOWN, returnedAt: undefined } as const;
      const value = Number(one);
      switch (kind) {
        case 'w':
          return {
            ...operation,
            input: { do: 'write', value },
            ...(known ? { output: { did: 'write' }, ...known } : unknown),
          };
        case 'r':
          return {
            ...operation,
            input: { do: 'read' },
            ...(known ? { output: { did: 'read', value }, ...known } : unknown),
          };
        default: {
          const input = { do: 'compare-and-set', expected: value, value: Number(two) } as const;
          const output = { did: 'compare-and-set', set: kind === 'c' } as const;
          return { ...operation, input, ...(known ? { output, ...known } : unknown) };
        }
      }
    });
}

const check = (picture: string): LinearizabilityResult => checkLinearizable(drawn(picture), register);
const holds = (picture: string): void => expect(check(picture)).toEqual({ ok: true });
const fails = (picture: string): void => expect(check(picture).ok).toBe(false);

describe('a linearizable history', () => {
  it('may be empty', () => holds(''));

  it('may be one thing after the other', () =>
    holds(`
      |-r0-|
             |-w1-|
                    |-r1-|
                           |-c12-|
                                   |-x13-|
                                           |-r2-|
    `));

  it('may let a read see a write that has not returned', () =>
    holds(`
      |------w1------|
        |-r0-|
               |-r1-|
    `));

  it('may have any order among what overlaps', () =>
    holds(`
      |---w1---|
       |---w2---|
                   |-r1-|
                          |-r1-|
    `));

  it('may let what is called at the instant of a return overlap with it', () =>
    holds(`
      |-w1-|
           |-r0-|
    `));

  it('may need a write to come between two reads that began before it', () =>
    holds(`
      |---------r2---------|
      |-----r0----|
         |--------w1----------|
            |-----w2-------------|
                                   |-r1-|
    `));
});

describe('a history that is not linearizable', () => {
  it('reads what was overwritten', () =>
    fails(`
      |-w1-|
             |-w2-|
                    |-r1-|
    `));

  it('reads what nobody wrote', () => fails('|-r7-|'));

  it('goes back: a later read sees less than an earlier one', () =>
    fails(`
      |---------w1---------|
        |-r1-|
                |-r0-|
    `));

  it('compares and sets twice from the same value', () =>
    fails(`
      |---c01---|
        |---c02---|
    `));

  it('orders two writes differently for two readers', () =>
    fails(`
      |---w1---|
      |---w2---|
                 |-r1-|
                        |-r2-|
    `));

  it('is explained: the operation that no order explains, and how far one gets', () => {
    const result = check(`
      |-w1-|
             |-w2-|
                    |-r1-|
                      |-w3-|
    `);
    expect(result).toMatchObject({ ok: false, key: 'k', stuckAt: 2, longestPrefix: [0, 1] });
    expect(result.ok ? '' : result.explanation).toMatchInlineSnapshot(`
      ""k": no order explains p2: read → 1  [20, 25]
      the longest order that can be explained has 2 operations and ends with
        p0: write 1  [6, 11]
        p1: write 2  [13, 18]
      which leaves the state 2
      called by then and not yet in the order:
        p3: write 3  [22, 27]"
    `);
  });

  it('is found on whichever key it is', () => {
    const good = drawn('|-r0-|').map((operation) => ({ ...operation, key: 'good' }));
    const bad = drawn('|-r1-|').map((operation) => ({ ...operation, key: 'bad' }));
    expect(checkLinearizable([...good, ...bad, ...good], register)).toMatchObject({ key: 'bad', stuckAt: 1 });
  });
});

describe('an operation of unknown outcome', () => {
  it('may have happened', () =>
    holds(`
      |-w1
             |-r1-|
    `));

  it('may not have happened', () =>
    holds(`
      |-w1
             |-r0-|
    `));

  it('may happen late, after others saw that it had not', () =>
    holds(`
      |-w1
             |-r0-|
                     |-w2-|
                            |-r2-|
                                   |-r1-|
    `));

  it('may be needed elsewhere, so that another must do here', () =>
    holds(`
      |-w1-|
         |-w2
         |-c12
               |-r2-|
                       |-w0-|
                              |-r2-|
    `));

  it('may be one of a chain', () =>
    holds(`
      |-c01
        |-c12
          |-c23
                |-r3-|
    `));

  it('happens once at most', () =>
    fails(`
      |-w1
             |-r1-|
                     |-w2-|
                            |-r1-|
    `));

  it('does not happen before its call', () =>
    fails(`
      |-r1-|
              |-w1
    `));

  it('stays unknown although its caller gave up at some time', () => {
    const history = drawn(`
      |-w1
             |-r0-|
                     |-r1-|
    `).map((operation) => (operation.output === UNKNOWN ? { ...operation, returnedAt: 2 } : operation));
    expect(checkLinearizable(history, register)).toEqual({ ok: true });
  });

  it('may be a comparison, which sets only if it finds what it expects', () => {
    holds(`
      |-c01
             |-r1-|
    `);
    fails(`
      |-c21
             |-r1-|
    `);
  });
});

describe('the check', () => {
  /** Tries every order of every subset of the unknown ones: slow, and hard to get wrong. */
  function bruteForce(history: readonly RegisterOperation[]): boolean {
    const returned = (operation: RegisterOperation): number =>
      operation.output === UNKNOWN ? Number.POSITIVE_INFINITY : (operation.returnedAt ?? Number.NaN);
    const search = (state: number, left: readonly RegisterOperation[]): boolean =>
      left.every((operation) => operation.output === UNKNOWN) ||
      left.some((operation) => {
        if (left.some((other) => returned(other) < operation.calledAt)) return false;
        const next = register.step(state, operation.input, operation.output);
        return (
          next !== undefined &&
          search(
            next,
            left.filter((other) => other !== operation),
          )
        );
      });
    return search(0, history);
  }

  const value = fc.integer({ min: 0, max: 2 });
  const outcome = fc.oneof(
    fc.record({
      input: fc.record({ do: fc.constant('read' as const) }),
      output: fc.record({ did: fc.constant('read' as const), value }),
    }),
    fc.record({
      input: fc.record({ do: fc.constant('write' as const), value }),
      output: fc.record({ did: fc.constant('write' as const) }),
    }),
    fc.record({
      input: fc.record({ do: fc.constant('compare-and-set' as const), expected: value, value }),
      output: fc.record({ did: fc.constant('compare-and-set' as const), set: fc.boolean() }),
    }),
  );
  const operation: fc.Arbitrary<RegisterOperation> = fc
    .record({ outcome, calledAt: fc.nat(12), lasts: fc.nat(8), unknown: fc.integer({ min: 0, max: 3 }) })
    .map(({ outcome: { input, output }, calledAt, lasts, unknown }) => ({
      process: 'p',
      key: 'k',
      input,
      calledAt,
      ...(unknown === 0
        ? { output: UNKNOWN, returnedAt: undefined }
        : { output, returnedAt: calledAt + lasts }),
    }));

  it('agrees with trying all orders, on small histories', () => {
    let good = 0;
    let bad = 0;
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 6, size: 'max' }), (history) => {
        const expected = bruteForce(history);
        if (expected) good += 1;
        else bad += 1;
        expect(checkLinearizable(history, register).ok).toBe(expected);
      }),
      { numRuns: 3_000 },
    );
    expect(Math.min(good, bad)).toBeGreaterThan(300);
  });

  it('names a prefix that can be explained, and an operation that cannot follow it', () =>
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 8, size: 'max' }), (history) => {
        const result = checkLinearizable(history, register);
        if (result.ok) return;
        let state: number | undefined = 0;
        for (const index of result.longestPrefix) {
          const { input, output } = history[index] as RegisterOperation;
          state = register.step(state ?? Number.NaN, input, output);
          expect(state).toBeDefined();
        }
        expect(new Set(result.longestPrefix).size).toBe(result.longestPrefix.length);
        expect(result.longestPrefix).not.toContain(result.stuckAt);
      }),
    ));

  /**
   * The history that clients of a register would see, if each operation took effect somewhere between call and return.
   */
  function simulated(
    seed: number,
    clients: number,
    count: number,
    unknownChance: number,
  ): RegisterOperation[] {
    const random = new Random(seed);
    const started: { calledAt: number; effectAt: number; returnedAt: number; client: number }[] = [];
    const free = new Array<number>(clients).fill(0);
    for (let i = 0; i < count; i++) {
      const client = i % clients;
      const calledAt = (free[client] ?? 0) + random.exponential(1);
      const returnedAt = calledAt + random.exponential(10);
      free[client] = returnedAt;
      started.push({ calledAt, effectAt: random.between(calledAt, returnedAt), returnedAt, client });
    }
    let state = 0;
    return started
      .sort((a, b) => a.effectAt - b.effectAt)
      .map(({ calledAt, returnedAt, client }): RegisterOperation => {
        const base = { process: `c${client}`, key: 'k', calledAt };
        const unknown = random.chance(unknownChance);
        const lost = { output: UNKNOWN, returnedAt: undefined } as const;
        const expected = random.integer(0, 4);
        const next = random.integer(0, 4);
        const effective = !unknown || random.chance(0.5);
        switch (random.integer(0, 2)) {
          case 0:
            return {
              ...base,
              input: { do: 'read' },
              ...(unknown ? lost : { output: { did: 'read', value: state }, returnedAt }),
            };
          case 1:
            if (effective) state = next;
            return {
              ...base,
              input: { do: 'write', value: next },
              ...(unknown ? lost : { output: { did: 'write' }, returnedAt }),
            };
          default: {
            const set = state === expected;
            if (set && effective) state = next;
            return {
              ...base,
              input: { do: 'compare-and-set', expected, value: next },
              ...(unknown ? lost : { output: { did: 'compare-and-set', set }, returnedAt }),
            };
          }
        }
      });
  }

  it('accepts what a real register would have done, of any length', () => {
    for (let seed = 1; seed <= 20; seed++) {
      expect(checkLinearizable(simulated(seed, 5, 1_000, 0.05), register)).toEqual({ ok: true });
    }
    expect(checkLinearizable(simulated(1, 8, 10_000, 0.01), register)).toEqual({ ok: true });
  });

  it('finds one wrong read among thousands of operations', () => {
    let found = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const history = simulated(seed, 4, 2_000, 0);
      const victim = history.findIndex((op, i) => i > 1_000 && op.input.do === 'read');
      history[victim] = { ...(history[victim] as RegisterOperation), output: { did: 'read', value: 99 } };
      const result = checkLinearizable(history, register);
      if (!result.ok) found += 1;
    }
    expect(found).toBe(20);
  });

  it('gives up rather than search for ever', () => {
    const history = simulated(1, 30, 300, 0).map((op) => ({ ...op, calledAt: 0 }));
    history.push({
      process: 'x',
      key: 'k',
      input: { do: 'read' },
      output: { did: 'read', value: 99 },
      calledAt: 0,
      returnedAt: 1e9,
    });
    expect(() => checkLinearizable(history, register, { maxConfigurations: 1_000 })).toThrow(
      LinearizabilityUndecidedError,
    );
  });

  it('refuses an output without a return, or a return before the call', () => {
    const [operation] = drawn('|-w1-|');
    if (operation === undefined) throw new Error('drawn wrongly');
    for (const returnedAt of [undefined, -5]) {
      expect(() => checkLinearizable([{ ...operation, returnedAt }], register)).toThrow(InvalidArgumentError);
    }
  });

  it('takes any model', () => {
    const queue: Model<readonly number[], 'take' | number, number | undefined> = {
      initial: [],
      step(state, input, output) {
        if (input !== 'take') return [...state, input];
        if (output === UNKNOWN) return state.slice(1);
        return state[0] === output ? state.slice(1) : undefined;
      },
    };
    const history = new History<'take' | number, number | undefined>();
    const first = history.call('a', 'queue', 1, 0);
    const second = history.call('b', 'queue', 2, 1);
    first(undefined, 5);
    second(undefined, 6);
    history.call('c', 'queue', 'take', 10)(2, 11);
    history.call('c', 'queue', 'take', 12)(1, 13);
    history.call('c', 'queue', 3, 14);
    expect(history.operations).toHaveLength(5);
    expect(checkLinearizable(history.operations, queue)).toEqual({ ok: true });
    history.call('c', 'queue', 'take', 20)(4, 21);
    expect(checkLinearizable(history.operations, queue)).toMatchObject({ ok: false, stuckAt: 5 });
  });
});
