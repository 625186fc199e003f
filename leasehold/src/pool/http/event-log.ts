/**
 * The last few hundred events, for whoever comes later than they did.
 *
 * Nobody is waited for. The log keeps a bounded number of events; a reader has a place in it and takes
 * the next event when it has room for one. So a reader that is slow costs no memory, and one that
 * falls too far behind is told, once, that there is a gap:
 *
 *     kept         │ 7  8  9  10  11 │ 12 …
 *     reader at 9           └► 10, 11
 *     reader at 3  gap, └► 7, 8, …
 *
 * Ids carry the epoch, one life of one Manager process: a number from another life says nothing about
 * what was seen of this one, and whoever shows it gets a gap too.
 */

import { assert } from '../../runtime/assert.ts';
import type { Change } from './events.ts';

interface Stamp {
  /** Shown to resume after this event. */
  readonly id: string;
  /** The wall clock, in milliseconds since 1970. */
  readonly atMs: number;
  /** How far the Manager's log had got. */
  readonly logPosition: number;
}

export type LoggedEvent = Change & Stamp;

/** What lies between the id that was shown and the next event cannot be told any more. */
export interface Gap {
  readonly kind: 'gap';
  /** The id that was shown; empty if this is the reader's own lagging behind. */
  readonly after: string;
  readonly atMs: number;
}

export interface EventReader extends Disposable {
  /** The next event, or undefined if there is none yet. */
  next(): LoggedEvent | Gap | undefined;
}

export interface EventLogOptions {
  /** Unlike that of any other life of any Manager; letters, digits and dots. */
  readonly epoch: string;
  /** How many events are kept. @default 1_000 */
  readonly capacity?: number | undefined;
}

export interface ReadOptions {
  /** The id of the last event seen. Without it, reading begins with the next event that happens. */
  readonly after?: string | undefined;
  /** Only events of this pool, and those of the Manager itself. */
  readonly pool?: string | undefined;
  /** Called when there is more to read. */
  readonly onMore?: (() => void) | undefined;
}

export class EventLog {
  readonly #epoch: string;
  readonly #capacity: number;
  readonly #kept: LoggedEvent[] = [];
  readonly #readers = new Set<() => void>();
  /** Of the event that comes next, from 1. */
  #next = 1;

  constructor({ epoch, capacity = 1_000 }: EventLogOptions) {
    assert(/^[\w.]+$/.test(epoch), `an epoch is letters, digits and dots, not "${epoch}"`);
    assert(Number.isInteger(capacity) && capacity > 0, `a log of ${capacity} events`);
    this.#epoch = epoch;
    this.#capacity = capacity;
  }

  /** How many are listening. */
  get readers(): number {
    return this.#readers.size;
  }

  /** The id to resume after, for somebody who has just read everything there is otherwise. */
  get latestId(): string {
    return this.#id(this.#next - 1);
  }

  append(changes: readonly Change[], atMs: number, logPosition: number): void {
    if (changes.length === 0) return;
    for (const change of changes) {
      this.#kept.push({ id: this.#id(this.#next), atMs, logPosition, ...change });
      this.#next += 1;
    }
    // Cut seldom, and then by a lot: to take one from the front of an array moves all the others.
    if (this.#kept.length > 2 * this.#capacity) this.#kept.splice(0, this.#kept.length - this.#capacity);
    for (const tell of [...this.#readers]) tell();
  }

  /** The last events, the newest last. */
  recent(limit: number, pool?: string): readonly LoggedEvent[] {
    const events = this.#kept.slice(-this.#capacity).filter((event) => isOf(event, pool));
    return limit <= 0 ? [] : events.slice(-limit);
  }

  read({ after, pool, onMore }: ReadOptions = {}): EventReader {
    const tell = (): void => onMore?.();
    this.#readers.add(tell);
    const number = after === undefined ? this.#next - 1 : this.#numberIn(after);
    let at = (number ?? 0) + 1;
    let gapAfter = number === undefined ? after : undefined;
    return {
      next: () => {
        const oldest = this.#next - Math.min(this.#kept.length, this.#capacity);
        if (gapAfter !== undefined || at < oldest) {
          const gap: Gap = {
            kind: 'gap',
            after: gapAfter ?? this.#id(at - 1),
            atMs: this.#at(oldest)?.atMs ?? 0,
          };
          gapAfter = undefined;
          at = oldest;
          return gap;
        }
        while (at < this.#next) {
          const event = this.#at(at);
          at += 1;
          if (event !== undefined && isOf(event, pool)) return event;
        }
        return undefined;
      },
      [Symbol.dispose]: () => {
        this.#readers.delete(tell);
      },
    };
  }

  #at(number: number): LoggedEvent | undefined {
    return this.#kept[this.#kept.length - (this.#next - number)];
  }

  #id(number: number): string {
    return `${this.#epoch}-${number}`;
  }

  /** Undefined for an id of another life, or none that this log ever gave. */
  #numberIn(id: string): number | undefined {
    const [epoch, digits, ...more] = id.split('-');
    const number = /^\d{1,15}$/.test(digits ?? '') ? Number(digits) : Number.NaN;
    const isOurs = epoch === this.#epoch && more.length === 0 && number < this.#next;
    return isOurs ? number : undefined;
  }
}

const isOf = (event: LoggedEvent, pool: string | undefined): boolean =>
  pool === undefined || !('pool' in event) || event.pool === pool;
