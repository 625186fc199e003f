/**
 * A kind of objects: what its objects can be asked, and the state with which one begins.
 *
 * A kind is plain functions and not a class. Only listed functions can be called from outside, so nothing is published by accident; the types of the
 * calls follow from the functions; and a test calls a function with an object literal.
 *
 * `then` and the names of `Object.prototype` are no names for calls: an awaited object with a method `then` would be called by the language.
 */

import { InvalidArgumentError, invalidOption } from '../../runtime/errors.ts';
import * as is from '../../runtime/option-kinds.ts';
import { type OptionTable, optional, or, required, resolveOptions } from '../../runtime/option-table.ts';

/** The lease on the key under which a turn runs. */
export interface HeldObject {
  readonly key: string;
  /** For a store to compare: of two numbers the greater one is the later. */
  readonly number: number;
  /** Aborts when the turn should stop: the caller's time is over, the call was given up, the key was lost. */
  readonly signal: AbortSignal;
  /** True if the key is held now, and has been since the turn began. */
  isHeld(): boolean;
}

/** What the functions of a kind are given: one object, for one turn. */
export interface ObjectContext<State> {
  readonly key: string;
  readonly held: HeldObject;
  /** May be changed, and replaced, in calls and `onLoad`. */
  state: State;
  /** Other objects, by kind. Calls from here know which turns wait for them, and end with the time of this turn. */
  objects<K extends AnyKind>(kind: K): Objects<K>;
  /** The state ends with this turn; the next call begins with a new one. */
  delete(): void;
}

/** A context whose state is not to be changed. */
export interface ReadContext<State> extends Omit<ObjectContext<State>, 'state' | 'delete'> {
  readonly state: Readonly<State>;
}

/** Functions that callers call by name. The first parameter is the object; callers pass the others. */
// biome-ignore lint/suspicious/noExplicitAny: arguments are inferred from each handler
export type Handlers<Context> = Record<string, (object: Context, ...args: any[]) => unknown>;

/** How an object came to be in memory: for the first time, or from what was saved. */
export type Loaded = 'new' | 'stored';

/** What {@link defineObject} takes. */
export interface ObjectDefinition<State, Calls, Reads> {
  /** Of 1 to 64 characters; the same for all servers and versions. */
  readonly name: string;
  /** Of the saved state: `load` is told under which version a state was saved. */
  readonly version: number;
  /** The state of a new object. Plain data, unless there are `save` and `load`. */
  readonly state: (key: string) => State;
  /** The state as plain data. @default the state itself */
  readonly save?: ((state: State) => unknown) | undefined;
  /** The state from what was saved by this version or an older one. @default what was saved */
  // biome-ignore lint/suspicious/noExplicitAny: what an older version saved has no type here
  readonly load?: ((saved: any, version: number) => State) | undefined;
  /** What changes the state. Each runs at most once. @default none */
  readonly calls?: (Calls & Handlers<ObjectContext<State>>) | undefined;
  /** What only looks at the state. A read may be repeated. @default none */
  readonly reads?: (Reads & Handlers<ReadContext<State>>) | undefined;
  /** Before the first turn of an object that comes into memory. */
  readonly onLoad?: ((object: ObjectContext<State>, how: Loaded) => unknown) | undefined;
}

declare const phantom: unique symbol;

/** What {@link defineObject} returns: to be given to those who serve or call objects. */
export interface ObjectKind<State, Calls, Reads> {
  readonly name: string;
  readonly version: number;
  /** For the types alone. */
  readonly [phantom]?: { state: State; calls: Calls; reads: Reads };
}

/** A kind, whatever its state and calls. */
// biome-ignore lint/suspicious/noExplicitAny: any kind whatsoever
export type AnyKind = ObjectKind<any, any, any>;

// biome-ignore lint/suspicious/noExplicitAny: the object is left out of what a caller passes
type Asked<F> = F extends (object: any, ...args: infer Args) => infer Result
  ? (...args: Args) => Promise<Awaited<Result>>
  : never;

/** An object as its callers have it: each call and read, without the object, and with a promise. */
export type Remote<K> =
  // biome-ignore lint/suspicious/noExplicitAny: of any state
  K extends ObjectKind<any, infer Calls, infer Reads>
    ? { readonly [N in keyof Calls]: Asked<Calls[N]> } & { readonly [N in keyof Reads]: Asked<Reads[N]> }
    : never;

/** For the calls of what `get` returns. */
export interface ObjectCallOptions {
  /** Until the answer, in milliseconds; Infinity: no limit. Within a turn at most what is left to that turn. @default 10_000 */
  timeoutMs?: number | undefined;
  /** Gives the call up. */
  signal?: AbortSignal | undefined;
  /** To run the call twice is the same as once, so it is repeated although its outcome cannot be known. @default false */
  idempotent?: boolean | undefined;
}

/** The objects of a kind. */
export interface Objects<K> {
  /** An object by its key. It begins with its first call. Asks nobody. */
  get(key: string, options?: ObjectCallOptions): Remote<K>;
  /** Lets an object leave the memory, as if it were idle. False if it does not exist here, or has a turn. */
  evict(key: string): Promise<boolean>;
  /** How many objects of all kinds exist here. */
  readonly size: number;
}

/** A definition whose parts are checked, without its types. @internal */
export interface CheckedDefinition {
  readonly name: string;
  readonly version: number;
  readonly state: (key: string) => unknown;
  readonly save: ((state: unknown) => unknown) | undefined;
  readonly load: ((saved: unknown, version: number) => unknown) | undefined;
  readonly calls: Readonly<Record<string, Handler>>;
  readonly reads: Readonly<Record<string, Handler>>;
  readonly onLoad: ((object: ObjectContext<unknown>, how: Loaded) => unknown) | undefined;
}

/** @internal */
export type Handler = (object: ObjectContext<unknown>, ...args: readonly unknown[]) => unknown;

const NAME_MAX = 64;

type Empty = Record<never, never>;
type AnyDefinition = ObjectDefinition<unknown, Empty, Empty>;

/** @internal */
export const DEFINE_OBJECT_OPTIONS: OptionTable<AnyDefinition, 'calls' | 'reads'> = {
  name: required(is.name(NAME_MAX)),
  version: required(is.whole(1)),
  state: required(is.callback()),
  save: optional(is.callback<(state: unknown) => unknown>(), 'the state itself'),
  load: optional(is.callback<(saved: unknown, version: number) => unknown>(), 'what was saved'),
  calls: or({}, is.record('an object with functions'), 'none'),
  reads: or({}, is.record('an object with functions'), 'none'),
  onLoad: optional(is.callback<(object: ObjectContext<unknown>, how: Loaded) => unknown>()),
};

const definitions = new WeakMap<object, CheckedDefinition>();

/**
 * Defines a kind of objects.
 *
 * @throws {InvalidArgumentError} naming the first rule that is broken
 */
export function defineObject<
  State,
  Calls extends Handlers<ObjectContext<State>> = Empty,
  Reads extends Handlers<ReadContext<State>> = Empty,
>(definition: ObjectDefinition<State, Calls, Reads>): ObjectKind<State, Calls, Reads> {
  const checked = resolveOptions('', definition as unknown as AnyDefinition, DEFINE_OBJECT_OPTIONS);
  if ((checked.save === undefined) !== (checked.load === undefined))
    throw invalidOption(
      checked.save === undefined ? 'save' : 'load',
      undefined,
      'a kind has both save and load, or neither',
    );
  const [calls, reads] = [handlersOf('calls', checked.calls), handlersOf('reads', checked.reads)];
  for (const name of Object.keys(reads))
    if (Object.hasOwn(calls, name))
      throw invalidOption(
        `reads.${name}`,
        'a function',
        'a call of that name exists: one name has one meaning',
      );
  const kind: ObjectKind<State, Calls, Reads> = Object.freeze({
    name: checked.name,
    version: checked.version,
  });
  definitions.set(kind, { ...checked, calls, reads } as CheckedDefinition);
  return kind;
}

function handlersOf(option: string, given: object): Readonly<Record<string, Handler>> {
  for (const [name, handler] of Object.entries(given)) {
    if (name === 'then' || name in Object.prototype)
      throw invalidOption(
        `${option}.${name}`,
        'a function',
        'this name has a meaning in the language; take another',
      );
    if (typeof handler !== 'function')
      throw invalidOption(`${option}.${name}`, handler, 'it must be a function');
  }
  return { ...given } as Readonly<Record<string, Handler>>;
}

/**
 * The definition behind a kind.
 *
 * @throws {InvalidArgumentError} `INVALID_KIND` if `defineObject` did not make it
 * @internal
 */
export function definitionOf(kind: AnyKind): CheckedDefinition {
  const definition = Object(kind) === kind ? definitions.get(kind) : undefined;
  if (definition !== undefined) return definition;
  throw new InvalidArgumentError(
    'INVALID_KIND',
    'that is no kind of objects: pass what defineObject returned',
    {
      module: 'objects',
    },
  );
}
