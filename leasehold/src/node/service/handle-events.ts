/** The events of one handle, as `events()` and `/v1/events` tell them: bounded, and read by whoever is slow or late. */

import type { Module } from '../../runtime/errors.ts';
import type { Event, EventsOptions } from '../../runtime/handle.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { EventLog } from './event-log.ts';

/** What is told: the kind with its module, and facts as plain data. */
export interface Told<Of extends Module = Module> {
  readonly kind: `${Of}.${string}`;
  readonly instance: string;
  readonly [fact: string]: unknown;
}

const KEPT = 200;

export class HandleEvents<Of extends Module> {
  readonly log: EventLog<Told<Of>>;
  readonly #runtime: Pick<Runtime, 'wallMs'>;
  readonly #instance: string;
  readonly #over = new AbortController();

  /** @param id of this handle, unlike that of any other in any process */
  constructor(id: string, instance: string, runtime: Pick<Runtime, 'wallMs'>) {
    this.log = new EventLog({ epoch: id.replace(/[^\w.]/g, '.'), capacity: KEPT });
    this.#instance = instance;
    this.#runtime = runtime;
  }

  tell(kind: Told<Of>['kind'], facts: Readonly<Record<string, unknown>> = {}): void {
    this.log.append([{ ...facts, kind, instance: this.#instance }], this.#runtime.wallMs());
  }

  /** Ends with the signal, or with the handle. */
  async *follow({ signal, after }: EventsOptions = {}): AsyncGenerator<Event, void> {
    const over = AbortSignal.any([this.#over.signal, ...(signal === undefined ? [] : [signal])]);
    for await (const event of this.log.follow({ signal: over, after }))
      yield 'id' in event ? event : { id: event.after, ...event };
  }

  close(): void {
    this.#over.abort();
  }
}
