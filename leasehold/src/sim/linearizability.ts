/**
 * Could all this have happened one at a time?
 *
 * A history of operations is *linearizable* if each can be given an instant between call and return such that, carried
 * out in the order of these instants, every operation returns the value that was recorded. Two operations may be
 * swapped only where they overlap:
 *
 *     a  ├── write 1 ──┤
 *     b         ├── read 0 ──┤            fine: the read came first
 *     c                         ├ read 0 ┤   not any more: the write had returned
 *
 * An operation whose outcome is unknown (the answer was lost, the process died) may have taken effect at any time
 * after the call, even long after the caller gave up, or never.
 *
 * Operations on different keys cannot disturb each other, so every key is searched alone (a history is linearizable if
 * each key's history is). The search is Wing and Gong's: take any operation that may come next, ask whether the model
 * allows the operation, go on from there, and go back when stuck. Some rules keep the search short:
 *
 *  - A configuration is the set of taken operations, and the resulting state. One that was seen before is not tried
 *    again (Lowe). The taken operations are all operations up to some return, and few beyond; only these few are kept.
 *  - The operation with the earliest return is tried first. But a read that fits is taken at once, and nothing else is
 *    tried: a read changes nothing, so taking the read now cannot have been wrong.
 *  - An operation of unknown outcome is taken only right before an operation that needs it to return the recorded
 *    value, or to lead to a later state. Otherwise the unknown operation need not have happened.
 *  - Of two configurations that differ only in the unknown operations that they have used up, the one that has used
 *    fewer can do everything that the other can. The other is not tried.
 *
 * The search still grows with two to the number of writes that overlap on one key, and faster with many of unknown
 * outcome; see the figures in the README.
 */

import { assert, unreachable } from '../runtime/assert.ts';
import { invalidOption, SingleError } from '../runtime/errors.ts';

/** In place of an output: the outcome is unknown. */
export const UNKNOWN: unique symbol = Symbol('unknown');

export interface Operation<Input, Output> {
  /** The caller; for the explanation only. */
  readonly process: string;
  readonly key: string;
  readonly input: Input;
  readonly output: Output | typeof UNKNOWN;
  /** True times. An operation that is called when another returns may still have overlapped with the other. */
  readonly calledAt: number;
  /** Of no account if the output is unknown; undefined without a return. */
  readonly returnedAt: number | undefined;
}

/** How the thing behaves when nothing overlaps. All methods are pure. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /**
   * The state after this operation, or undefined if the operation cannot return this output in this state. For an
   * unknown output: the state if the operation takes effect.
   */
  step(state: State, input: Input, output: Output | typeof UNKNOWN): State | undefined;
  /**
   * Something that is equal for equal states and for no others.
   *
   * @default the state's JSON
   */
  keyOf?(state: State): string | number;
  /**
   * Whether an operation that returned this output changes nothing, in every state in which that output is possible.
   * Shortens the search.
   *
   * @default never
   */
  readsOnly?(input: Input, output: Output): boolean;
  /**
   * Something that is equal only for inputs that do the same. Shortens the search when many operations of unknown
   * outcome do the same.
   *
   * @default every input is taken to be different
   */
  keyOfInput?(input: Input): string;
  /** How an operation reads in an explanation. @default as JSON */
  describe?(input: Input, output: Output | typeof UNKNOWN): string;
}

export type LinearizabilityResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** The key whose history cannot be explained. */
      readonly key: string;
      /** The longest order that can be explained, as indexes into the history. */
      readonly longestPrefix: readonly number[];
      /** The operation, as an index into the history, that would have to come next and cannot. */
      readonly stuckAt: number;
      /** All of that, for people, in some lines. */
      readonly explanation: string;
    };

export interface LinearizabilityOptions {
  /**
   * How many configurations of one key to look at before giving up.
   *
   * @default 1_000_000
   */
  maxConfigurations?: number | undefined;
}

/** The search was given up: too many operations overlap on this key to tell in reasonable time. */
export class LinearizabilityUndecidedError extends SingleError {
  override readonly name = 'LinearizabilityUndecidedError';
  readonly code = 'LINEARIZABILITY_UNDECIDED';
  readonly retryable = false;
  readonly key: string;

  constructor(key: string, configurations: number) {
    super(`gave up on the history of "${key}" after ${configurations} configurations`);
    this.key = key;
  }
}

/** Collects operations while they happen. */
export class History<Input, Output> {
  readonly #operations: Operation<Input, Output>[] = [];

  /** All operations called until now; one without a return has an unknown outcome. */
  get operations(): readonly Operation<Input, Output>[] {
    return this.#operations;
  }

  /** Notes a call, and returns the function that notes the return. Without that the outcome is unknown. */
  call(
    process: string,
    key: string,
    input: Input,
    calledAt: number,
  ): (output: Output, returnedAt: number) => void {
    const index = this.#operations.length;
    const called: Operation<Input, Output> = {
      process,
      key,
      input,
      output: UNKNOWN,
      calledAt,
      returnedAt: undefined,
    };
    this.#operations.push(called);
    return (output, returnedAt) => {
      assert(this.#operations[index] === called, `${process} returned twice from one call`);
      this.#operations[index] = { ...called, output, returnedAt };
    };
  }
}

export function checkLinearizable<State, Input, Output>(
  history: readonly Operation<Input, Output>[],
  model: Model<State, Input, Output>,
  options: LinearizabilityOptions = {},
): LinearizabilityResult {
  const byKey = new Map<string, Op<Input, Output>[]>();
  history.forEach((operation, index) => {
    const op = toOp(operation, index, model);
    const ops = byKey.get(operation.key);
    if (ops === undefined) byKey.set(operation.key, [op]);
    else ops.push(op);
  });
  for (const [key, ops] of byKey) {
    const search = new Search(key, ops, model, options.maxConfigurations ?? 1_000_000);
    if (!search.succeeds()) return search.failure();
  }
  return { ok: true };
}

/** An operation as the search sees it. */
interface Op<Input, Output> {
  readonly operation: Operation<Input, Output>;
  readonly index: number;
  readonly calledAt: number;
  /** Infinity if the outcome is unknown: no other operation has to wait for this one. */
  readonly returnedAt: number;
  readonly readsOnly: boolean;
  /** For those of unknown outcome, if the model has one. */
  readonly inputKey: string | undefined;
}

function toOp<State, Input, Output>(
  operation: Operation<Input, Output>,
  index: number,
  model: Model<State, Input, Output>,
): Op<Input, Output> {
  const { input, output, calledAt, returnedAt } = operation;
  if (output === UNKNOWN) {
    const inputKey = model.keyOfInput?.(input);
    return { operation, index, calledAt, returnedAt: Number.POSITIVE_INFINITY, readsOnly: false, inputKey };
  }
  if (returnedAt === undefined || !(returnedAt >= calledAt)) {
    throw invalidOption(
      `history[${index}].returnedAt`,
      returnedAt,
      'an operation with an output returns, and not before its call',
    );
  }
  const readsOnly = model.readsOnly?.(input, output) ?? false;
  return { operation, index, calledAt, returnedAt, readsOnly, inputKey: undefined };
}

/** A place in the search: the taken operations, and the resulting state. */
interface Configuration<State> {
  readonly state: State;
  /** The number of known operations, by return, that are all taken: the first not taken is this one. */
  readonly done: number;
  /** Those known ones taken beyond, rising. */
  readonly ahead: readonly number[];
  /** The unknown ones taken, a bit each. */
  readonly used: bigint;
  /** The operation taken last, as an index into the history, and the place before. */
  readonly taken: number;
  readonly before: Configuration<State> | undefined;
}

/** A known operation, and the resulting state; undefined if the operation cannot come now. */
interface Move<State, Input, Output> {
  readonly place: number;
  readonly op: Op<Input, Output>;
  readonly state: State | undefined;
}

class Search<State, Input, Output> {
  readonly #key: string;
  readonly #model: Model<State, Input, Output>;
  readonly #maxConfigurations: number;
  /** By return, then by call. */
  readonly #known: readonly Op<Input, Output>[];
  /** By call. */
  readonly #unknown: readonly Op<Input, Output>[];
  /** One for each of them. */
  readonly #bits: readonly bigint[];
  /** For every place in `known`, the earliest call from there on: operations past that call need not be considered. */
  readonly #earliestCall: Float64Array;
  /** By taken operations and state, the sets of unknown operations used up on the way there. */
  readonly #seen = new Map<string, bigint[]>();
  #configurations = 0;
  #furthest: Configuration<State>;

  constructor(
    key: string,
    ops: readonly Op<Input, Output>[],
    model: Model<State, Input, Output>,
    maxConfigurations: number,
  ) {
    this.#key = key;
    this.#model = model;
    this.#maxConfigurations = maxConfigurations;
    this.#known = ops
      .filter((op) => op.returnedAt !== Number.POSITIVE_INFINITY)
      .sort((a, b) => a.returnedAt - b.returnedAt || a.calledAt - b.calledAt || a.index - b.index);
    this.#unknown = ops
      .filter((op) => op.returnedAt === Number.POSITIVE_INFINITY)
      .sort((a, b) => a.calledAt - b.calledAt || a.index - b.index);
    this.#bits = this.#unknown.map((_, i) => 1n << BigInt(i));
    this.#earliestCall = new Float64Array(this.#known.length + 1).fill(Number.POSITIVE_INFINITY);
    for (let i = this.#known.length - 1; i >= 0; i--) {
      const { calledAt } = this.#known[i] as Op<Input, Output>;
      this.#earliestCall[i] = Math.min(calledAt, this.#earliestCall[i + 1] as number);
    }
    this.#furthest = {
      state: model.initial,
      done: 0,
      ahead: [],
      used: 0n,
      taken: -1,
      before: undefined,
    };
  }

  /** Goes deep first. Untried places are on an explicit stack, so depth costs nothing. */
  succeeds(): boolean {
    const stack = [this.#furthest];
    for (let here = stack.pop(); here !== undefined; here = stack.pop()) {
      if (!this.#isNew(here)) continue;
      if (here.done > this.#furthest.done) this.#furthest = here;
      if (here.done === this.#known.length) return true;
      this.#configurations += 1;
      if (this.#configurations > this.#maxConfigurations) {
        throw new LinearizabilityUndecidedError(this.#key, this.#maxConfigurations);
      }
      const next = this.#next(here);
      for (let i = next.length - 1; i >= 0; i--) stack.push(next[i] as Configuration<State>);
    }
    return false;
  }

  failure(): LinearizabilityResult {
    const longestPrefix: number[] = [];
    for (let here = this.#furthest; here.before !== undefined; here = here.before)
      longestPrefix.push(here.taken);
    longestPrefix.reverse();
    const stuckAt = (this.#known[this.#furthest.done] as Op<Input, Output>).index;
    return {
      ok: false,
      key: this.#key,
      longestPrefix,
      stuckAt,
      explanation: this.#explain(longestPrefix),
    };
  }

  /** The possible next places, the most promising first. */
  #next(here: Configuration<State>): Configuration<State>[] {
    const moves = this.#moves(here);
    const next: Configuration<State>[] = [];
    for (const { place, op, state } of moves) {
      if (state === undefined) continue;
      const taken = this.#take(here, place, state);
      if (op.readsOnly) return [taken];
      next.push(taken);
    }
    if (this.#unknown.length > 0) this.#helped(here, moves, next);
    return next;
  }

  /** The known operations that may come next: called before the first of them returned. */
  #moves(here: Configuration<State>): Move<State, Input, Output>[] {
    const known = this.#known;
    const deadline = (known[here.done] as Op<Input, Output>).returnedAt;
    const moves: Move<State, Input, Output>[] = [];
    let ahead = 0;
    for (let place = here.done; (this.#earliestCall[place] as number) <= deadline; place++) {
      const op = known[place] as Op<Input, Output>;
      if (here.ahead[ahead] === place) ahead += 1;
      else if (op.calledAt <= deadline) moves.push({ place, op, state: this.#step(here.state, op) });
    }
    return moves;
  }

  /**
   * The possible next places with the help of operations of unknown outcome, taken right before. `moves` are those
   * without help, and each link of a chain of helpers must matter to the next.
   */
  #helped(
    here: Configuration<State>,
    moves: readonly Move<State, Input, Output>[],
    next: Configuration<State>[],
    before?: State,
  ): void {
    const deadline = (this.#known[here.done] as Op<Input, Output>).returnedAt;
    const tried = new Set<string>();
    for (let i = 0; i < this.#unknown.length; i++) {
      const op = this.#unknown[i] as Op<Input, Output>;
      if (op.calledAt > deadline) break;
      const bit = this.#bits[i] as bigint;
      if ((here.used & bit) !== 0n) continue;
      // Of operations that do the same and have been called, any one may be used up.
      if (op.inputKey !== undefined) {
        if (tried.has(op.inputKey)) continue;
        tried.add(op.inputKey);
      }
      const state = this.#step(here.state, op);
      if (state === undefined || this.#same(state, here.state)) continue;
      if (before !== undefined && this.#same(state, this.#step(before, op))) continue;
      const used = here.used | bit;
      const after: Configuration<State> = { ...here, state, used, taken: op.index, before: here };
      const helped: Move<State, Input, Output>[] = [];
      for (const move of moves) {
        const led = this.#step(state, move.op);
        helped.push({ place: move.place, op: move.op, state: led });
        if (led !== undefined && !this.#same(led, move.state)) next.push(this.#take(after, move.place, led));
      }
      this.#helped(after, helped, next, here.state);
    }
  }

  /** Takes the known operation at this place, and moves on over all that are taken already. */
  #take(here: Configuration<State>, place: number, state: State): Configuration<State> {
    const taken = (this.#known[place] as Op<Input, Output>).index;
    let { done } = here;
    let ahead: readonly number[];
    if (place === done) {
      done += 1;
      let passed = 0;
      while (here.ahead[passed] === done) {
        passed += 1;
        done += 1;
      }
      ahead = passed === 0 ? here.ahead : here.ahead.slice(passed);
    } else {
      ahead = [...here.ahead, place].sort((a, b) => a - b);
    }
    return { state, done, ahead, used: here.used, taken, before: here };
  }

  /** False if a place at least as good has been seen; otherwise remembers this place. */
  #isNew(here: Configuration<State>): boolean {
    const name = `${here.done} ${here.ahead.join()} ${this.#keyOf(here.state)}`;
    const seen = this.#seen.get(name);
    if (seen === undefined) {
      this.#seen.set(name, [here.used]);
      return true;
    }
    if (seen.some((used) => (used & here.used) === used)) return false;
    seen.push(here.used);
    return true;
  }

  #step(state: State, op: Op<Input, Output>): State | undefined {
    return this.#model.step(state, op.operation.input, op.operation.output);
  }

  #keyOf(state: State): string | number {
    return this.#model.keyOf?.(state) ?? JSON.stringify(state);
  }

  #same(one: State, other: State | undefined): boolean {
    if (one === other) return true;
    return typeof one === 'object' && other !== undefined && this.#keyOf(one) === this.#keyOf(other);
  }

  #explain(longestPrefix: readonly number[]): string {
    const { done, ahead, state } = this.#furthest;
    const stuck = this.#known[done] as Op<Input, Output>;
    const byIndex = new Map([...this.#known, ...this.#unknown].map((op) => [op.index, op]));
    const skipped = Math.max(0, longestPrefix.length - 8);
    const taken = longestPrefix.slice(skipped).map((index) => this.#line(byIndex.get(index)));
    const pending = this.#known
      .filter((op, i) => i > done && op.calledAt <= stuck.returnedAt && !ahead.includes(i))
      .map((op) => this.#line(op));
    return [
      `"${this.#key}": no order explains ${this.#line(stuck)}`,
      `the longest order that can be explained has ${longestPrefix.length} operations and ends with`,
      ...(skipped > 0 ? [`  … ${skipped} more`] : []),
      ...taken.map((line) => `  ${line}`),
      `which leaves the state ${JSON.stringify(state)}`,
      ...(pending.length > 0
        ? ['called by then and not yet in the order:', ...pending.map((line) => `  ${line}`)]
        : []),
    ].join('\n');
  }

  #line(op: Op<Input, Output> | undefined): string {
    if (op === undefined) return '';
    const { process, input, output } = op.operation;
    const what =
      this.#model.describe?.(input, output) ??
      `${JSON.stringify(input)} → ${output === UNKNOWN ? 'unknown' : JSON.stringify(output)}`;
    const until = op.returnedAt === Number.POSITIVE_INFINITY ? '…' : op.returnedAt;
    return `${process}: ${what}  [${op.calledAt}, ${until}]`;
  }
}

export type RegisterInput<Value> =
  | { readonly do: 'read' }
  | { readonly do: 'write'; readonly value: Value }
  /** Writes `value` if the register has `expected`. */
  | { readonly do: 'compare-and-set'; readonly expected: Value; readonly value: Value };

export type RegisterOutput<Value> =
  | { readonly did: 'read'; readonly value: Value }
  | { readonly did: 'write' }
  | { readonly did: 'compare-and-set'; readonly set: boolean };

/**
 * A register per key: reads return the last written value. Name the type of the values, as in
 * `registerModel<number>(0)`; they are compared with `===`.
 */
export function registerModel<Value extends string | number | boolean | null>(
  initial: Value,
): Model<Value, RegisterInput<Value>, RegisterOutput<Value>> {
  return {
    initial,
    step(state, input, output) {
      switch (input.do) {
        case 'read':
          if (output === UNKNOWN) return state;
          return output.did === 'read' && output.value === state ? state : undefined;
        case 'write':
          return output === UNKNOWN || output.did === 'write' ? input.value : undefined;
        case 'compare-and-set': {
          const sets = state === input.expected;
          if (output !== UNKNOWN && !(output.did === 'compare-and-set' && output.set === sets))
            return undefined;
          return sets ? input.value : state;
        }
        default:
          return unreachable(input);
      }
    },
    keyOf: (state) => `${typeof state} ${state}`,
    readsOnly: (input, output) => input.do === 'read' || (output.did === 'compare-and-set' && !output.set),
    keyOfInput: (input) => JSON.stringify(input),
    describe(input, output) {
      const came = output === UNKNOWN ? ' → unknown' : '';
      switch (input.do) {
        case 'read':
          return output !== UNKNOWN && output.did === 'read' ? `read → ${output.value}` : `read${came}`;
        case 'write':
          return `write ${input.value}${came}`;
        case 'compare-and-set': {
          const set = output !== UNKNOWN && output.did === 'compare-and-set' ? ` → ${output.set}` : came;
          return `compare-and-set ${input.expected} to ${input.value}${set}`;
        }
        default:
          return unreachable(input);
      }
    },
  };
}
