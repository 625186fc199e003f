/**
 * The last few hundred events of a service, for readers that come later than the events did.
 *
 * The log waits for no reader. It keeps a bounded number of events; a reader has a place in it and takes
 * the next event when it has room for one. So a slow reader costs no memory, and a reader that
 * falls too far behind is told, once, that there is a gap:
 *
 *     kept         │ 7  8  9  10  11 │ 12 …
 *     reader at 9           └► 10, 11
 *     reader at 3  gap, └► 7, 8, …
 *
 * Ids carry the epoch, one incarnation of one process: a number from another incarnation says nothing about
 * the events of this one, and a reader that shows such an id gets a gap too.
 */

import { assert } from '../../runtime/assert.ts';
import { Condition } from '../../runtime/condition.ts';
import type { EventsOptions } from '../../runtime/handle.ts';

export interface ServiceEvent {
  readonly kind: string;
}

/** An event as it was written down. */
export type Logged<Event extends ServiceEvent> = Event & {
  /** Shown to resume after this event. */
  readonly id: string;
  /** The wall clock, in milliseconds since 1970. */
  readonly atMs: number;
};

/** The events between the id that was shown and the next event are not kept any more. */
export interface Gap {
  readonly kind: 'gap';
  /** The id that was shown, or the last one that this reader took. */
  readonly after: string;
  readonly atMs: number;
}

export interface EventReader<Event extends ServiceEvent> extends Disposable {
  /** The next event, or undefined if there is none yet. */
  next(): Logged<Event> | Gap | undefined;
}

export interface EventLogOptions {
  /** Unlike that of any other incarnation of any process; letters, digits and dots. */
  readonly epoch: string;
  /** How many events are kept. @default 1_000 */
  readonly capacity?: number | undefined;
}

export type EventFilter<Event> = (event: Event) => boolean;

export interface ReadOptions<Event> {
  /** The id of the last event seen. Without it, reading begins with the next event that happens. */
  readonly after?: string | undefined;
  /** @default all events */
  readonly filter?: EventFilter<Event> | undefined;
  /** Called when there is more to read. */
  readonly onMore?: (() => void) | undefined;
}

const ALL = (): boolean => true;

export class EventLog<Event extends ServiceEvent> {
  readonly #epoch: string;
  readonly #capacity: number;
  readonly #kept: Logged<Event>[] = [];
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

  /** The id to resume after, for a reader that has just read everything else there is. */
  get latestId(): string {
    return this.#id(this.#next - 1);
  }

  /** Whether this log has given the id, or will. */
  isOwn(id: string): boolean {
    return id.startsWith(`${this.#epoch}-`);
  }

  append(events: readonly Event[], atMs: number): void {
    if (events.length === 0) return;
    for (const event of events) {
      this.#kept.push({ id: this.#id(this.#next), atMs, ...event });
      this.#next += 1;
    }
    // Cut seldom, and then by a lot: to take one from the front of an array moves all the others.
    if (this.#kept.length > 2 * this.#capacity) this.#kept.splice(0, this.#kept.length - this.#capacity);
    for (const tell of [...this.#readers]) tell();
  }

  /** The last events, the newest last. */
  recent(limit: number, filter: EventFilter<Event> = ALL): readonly Logged<Event>[] {
    const events = this.#kept.slice(-this.#capacity).filter(filter);
    return limit <= 0 ? [] : events.slice(-limit);
  }

  read({ after, filter = ALL, onMore }: ReadOptions<Event> = {}): EventReader<Event> {
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
          if (event !== undefined && filter(event)) return event;
        }
        return undefined;
      },
      [Symbol.dispose]: () => {
        this.#readers.delete(tell);
      },
    };
  }

  /** As {@link read}, for `events()` of a handle. Begins with the iteration, and ends with the signal. */
  async *follow({ signal, after }: EventsOptions = {}): AsyncGenerator<Logged<Event> | Gap, void> {
    const news = new Condition();
    using reader = this.read({ after, onMore: () => news.look() });
    while (signal?.aborted !== true) {
      const event = await news
        .until(() => reader.next(), signal)
        .catch((error: unknown) => {
          if (signal?.aborted === true) return undefined;
          throw error;
        });
      if (event !== undefined) yield event;
    }
  }

  #at(number: number): Logged<Event> | undefined {
    return this.#kept[this.#kept.length - (this.#next - number)];
  }

  #id(number: number): string {
    return `${this.#epoch}-${number}`;
  }

  /** Undefined for an id of another incarnation, or none that this log ever gave. */
  #numberIn(id: string): number | undefined {
    const [epoch, digits, ...more] = id.split('-');
    const number = /^\d{1,15}$/.test(digits ?? '') ? Number(digits) : Number.NaN;
    const isOurs = epoch === this.#epoch && more.length === 0 && number < this.#next;
    return isOurs ? number : undefined;
  }
}
