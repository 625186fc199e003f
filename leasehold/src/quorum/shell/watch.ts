/**
 * A watch: the changes of some keys, in the order of the log, as an async iterable.
 *
 *     for await (const { position, changes, isWhole } of client.watch({ prefix: 'jobs/' })) …
 *
 * Every write is told, also if a later one of the same key was decided together with it. A watch survives the loss of a server and continues from
 * the last position at the next one. If that server no longer keeps the changes since, the watch begins anew with all values there are (`isWhole`):
 * only then the writes in between are not told. While the reader is slow, the watch pauses at the
 * server, and resumes from the last position when the reader has caught up.
 *
 * Each beginning has a number of its own, and replies to an earlier one are ignored. A server that was left behind may still
 * speak, and be used again: a change that follows *its* last one, taken for the next one of the watch, would hide the changes between.
 */

import { invalidOption } from '../../runtime/errors.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import * as is from '../../runtime/option-kinds.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { answerTooLarge, watchBehind } from '../core/errors.ts';
import { foundBytes } from '../core/result.ts';
import { checkKey, checkPosition } from './client-checks.ts';
import { ANSWER_TOO_LARGE, type Call, type KeyRange, type Reply } from '../wire/calls.ts';
import type { Entry } from './client-types.ts';

/** What a watch begins with, and what ends it. */
export interface WatchOptions {
  /** One key. */
  key?: string | undefined;
  /** All keys that begin so; '' for all there are. */
  prefix?: string | undefined;
  /** The keys from `first` on and below `end`. */
  range?: { readonly first: string; readonly end?: string | undefined } | undefined;
  /**
   * Changes after this position, as named by a read or an earlier watch. A server that is not there yet is waited for.
   *
   * @default begins with all values there are
   */
  from?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** A change of a key, as a watch tells it. */
export interface WatchEvent {
  /** The watcher now knows all changes up to this position. */
  readonly position: number;
  /**
   * The writes since the event before, each of them, in the order in which they took effect; a write without a value is a deletion. Writes of one
   * key that were decided together come in one event, and the last of them is what the key has then.
   */
  readonly changes: readonly Entry[];
  /** These are all keys there are: earlier knowledge is void. */
  readonly isWhole: boolean;
}

interface WatchWire {
  /** A new number, under which replies come to this watch; none come under the number before. */
  renumber(before: number | undefined, watch: Watch): number;
  send(call: Call): void;
  /** The server cannot serve the watch now: {@link Watch.tryAgain} is due in a moment. */
  refused(): void;
  ended(id: number): void;
}

/** The watch pauses when so many events, or bytes, wait to be read. */
const QUEUE_MAX = 10_000;
const QUEUE_BYTES_MAX = 16 * 1024 * 1024;

const OPTIONS: OptionNames<WatchOptions> = { key: true, prefix: true, range: true, from: true, signal: true };

/** Changes of keys, in the order of their commits. Iterate over it; leaving the loop ends it. */
export class Watch implements AsyncIterableIterator<WatchEvent>, AsyncDisposable {
  readonly #range: KeyRange;
  readonly #wire: WatchWire;
  readonly #isFromGiven: boolean;
  readonly #aborting: Disposable;
  #id: number | undefined;
  #position: number | undefined;
  #queue: WatchEvent[] = [];
  #queueBytes = 0;
  #waiting: { resolve(result: IteratorResult<WatchEvent>): void; reject(error: unknown): void }[] = [];
  #failure: { readonly error: unknown } | undefined;
  #isPaused = false;
  #isRefused = false;
  #isOver = false;

  constructor(options: WatchOptions, wire: WatchWire) {
    checkOptionNames('', options, OPTIONS);
    const { from, signal } = options;
    if (from !== undefined) checkPosition('from', from);
    if (signal !== undefined) is.signal.check('signal', signal);
    this.#range = rangeOf(options);
    this.#wire = wire;
    this.#isFromGiven = from !== undefined;
    this.#position = from;
    signal?.throwIfAborted();
    this.#aborting = onAbort(signal, () => this.fail(signal?.reason));
    this.begin();
  }

  /** Asks for the changes after the last position. */
  begin(): void {
    if (this.#isOver || this.#isPaused) return;
    this.#isRefused = false;
    if (this.#id !== undefined) this.#wire.send({ kind: 'unwatch', id: this.#id });
    this.#id = this.#wire.renumber(this.#id, this);
    this.#wire.send({ kind: 'watch', id: this.#id, from: this.#position, ...this.#range });
  }

  /** Begins again, unless that has happened at another server meanwhile. */
  tryAgain(): void {
    if (this.#isRefused) this.begin();
  }

  /** @internal A reply of the replica. */
  heard(reply: Reply): void {
    if (this.#isOver) return;
    if (reply.kind === 'answer' && reply.answer.kind === 'refused') {
      this.#isRefused = true;
      this.#wire.refused();
      return;
    }
    if (reply.kind === 'failed' && reply.code === ANSWER_TOO_LARGE)
      this.fail(answerTooLarge(Number(reply.message), 'read'));
    else if (reply.kind === 'watch-behind') this.#behind(reply);
    else if (reply.kind === 'changes') this.#changed(reply);
  }

  /** The next change. */
  next(): Promise<IteratorResult<WatchEvent>> {
    const event = this.#queue.shift();
    if (event !== undefined) this.#queueBytes -= foundBytes(event.changes);
    if (this.#isPaused && this.#queue.length === 0) {
      this.#isPaused = false;
      this.begin();
    }
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  /** Ends the watch. */
  async return(): Promise<IteratorResult<WatchEvent>> {
    this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
  }

  /** The next turn of the loop throws this, once everything that was heard is read. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#failure = { error };
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#aborting[Symbol.dispose]();
    if (this.#id !== undefined) {
      this.#wire.send({ kind: 'unwatch', id: this.#id });
      this.#wire.ended(this.#id);
    }
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (this.#failure !== undefined) reject(this.#failure.error);
      else resolve({ done: true, value: undefined });
    }
  }

  #behind(reply: Extract<Reply, { kind: 'watch-behind' }>): void {
    const isFirst = this.#isFromGiven && !this.#hasHeard;
    if (isFirst) this.fail(watchBehind(this.#position ?? 0, reply.oldest));
    else {
      this.#isRestarting = true;
      this.#wire.send({ kind: 'watch', id: reply.id, from: undefined, ...this.#range });
    }
  }

  #hasHeard = false;
  #isRestarting = false;

  #changed({ id, position, found, isWhole }: Extract<Reply, { kind: 'changes' }>): void {
    // A repeated answer, or a server that lags behind this watcher.
    if (this.#position !== undefined && this.#hasHeard && position <= this.#position) return;
    if (isWhole && this.#hasHeard && !this.#isRestarting) return;
    this.#isRestarting = false;
    this.#hasHeard = true;
    this.#position = position;
    if (found.length === 0 && !isWhole) return;
    const event = { position, changes: found, isWhole };
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) waiting.resolve({ done: false, value: event });
    else {
      this.#queue.push(event);
      this.#queueBytes += foundBytes(found);
    }
    if (this.#isPaused || (this.#queue.length < QUEUE_MAX && this.#queueBytes < QUEUE_BYTES_MAX)) return;
    this.#isPaused = true;
    this.#wire.send({ kind: 'unwatch', id });
  }
}

/** @throws {InvalidArgumentError} unless exactly one of them is given */
function rangeOf({ key, prefix, range }: WatchOptions): KeyRange {
  const given = [key, prefix, range].filter((each) => each !== undefined);
  if (given.length !== 1)
    throw invalidOption('watch', given.length, 'exactly one of key, prefix and range must be given');
  if (range !== undefined && (typeof range !== 'object' || range === null))
    throw invalidOption('range', range, "it must be an object, as { first: 'a', end: 'b' }");
  for (const bound of [key, prefix, range?.end]) if (bound !== undefined) checkKey(bound);
  if (range !== undefined) checkKey(range.first);
  if (key !== undefined) return { first: key, end: `${key}\0` };
  if (prefix !== undefined) return { first: prefix, end: endOf(prefix) };
  return { first: range?.first ?? '', end: range?.end };
}

/** The first text behind all that begin with the prefix; undefined if there is none. */
function endOf(prefix: string): string | undefined {
  const characters = [...prefix];
  for (let character = characters.pop(); character !== undefined; character = characters.pop()) {
    const next = nextInOrder(character.codePointAt(0) as number);
    if (next !== undefined) return characters.join('') + String.fromCodePoint(next);
  }
  return undefined;
}

/** Texts are ordered by their UTF-16 units. The characters that take two of them lie between U+D7FF and U+E000. */
function nextInOrder(codePoint: number): number | undefined {
  if (codePoint === 0xd7ff) return 0x10000;
  if (codePoint === 0x10ffff) return 0xe000;
  return codePoint === 0xffff ? undefined : codePoint + 1;
}
