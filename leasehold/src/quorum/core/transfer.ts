/**
 * A snapshot on the way to a replica that lags, in parts (D3).
 *
 * The leader sends one part at a time and goes on serving: a part is encoded in one turn of the event loop, the whole state is not. The
 * receiver says which value is missing next, so a lost part is sent again and a transfer goes on after a pause where it stopped.
 * Values of a part are those of the leader's snapshot, not copies, and nothing is queued: the answer asks for the next part.
 *
 *     leader      part 0 … 99 ──►           part 100 … 180 ──►           last part, with the sessions ──►
 *     receiver              ◄── next: 100              ◄── next: 181                 installs, then acknowledges
 *
 * Parts of two senders or ballots are not mixed: two replicas have the same values as of a slot, but in an order of their own. The
 * leader keeps the slots after the snapshot until the transfer is over ({@link Context.keepAfter}), or the receiver would need
 * another snapshot as soon as it has this one.
 */

import type { Application } from './application.ts';
import type { Configuration } from './configuration.ts';
import type { Context } from './context.ts';
import type { Install } from './messages.ts';
import type { Found } from './result.ts';
import type { Snapshot } from './snapshot.ts';

export type Part = Pick<Install, 'slot' | 'configuration' | 'first' | 'count' | 'values' | 'sessions'>;

/** The size of a value besides the key and the bytes. */
const VALUE_BYTES = 16;

/** The values from `first` on that fit into so many bytes; one at least, if there is one. */
export function partOf(
  { slot, configuration: whole, state }: Snapshot,
  first: number,
  bytesMax: number,
): Part {
  const count = state.values.length;
  let end = first;
  for (let bytes = 0; end < count; end += 1) {
    const { key, value } = state.values[end] as Found;
    bytes += VALUE_BYTES + key.length + (value?.length ?? 0);
    if (bytes > bytesMax && end > first) break;
  }
  const isLast = end === count;
  const sessions = isLast ? state.sessions : [];
  const configuration: Configuration = isLast ? whole : { ...whole, placement: { mode: 'leader' } }; // Tables may be large.
  return { slot, configuration, first, count, values: state.values.slice(first, end), sessions };
}

/** The parts that have arrived. */
export class IncomingSnapshot {
  readonly #context: Context;
  #from = '';
  #ballot = 0;
  #slot = 0;
  #values: Found[] = [];

  constructor(context: Context) {
    this.#context = context;
  }

  /** Takes a part: asks for the next one, or installs the snapshot if it is whole. */
  take(from: string, part: Install, application: Application): void {
    const { ballot, slot } = part;
    if (slot <= this.#context.log.chosen) return;
    const arrived = this.#add(from, part);
    if (typeof arrived === 'number')
      this.#context.send(from, { kind: 'installing', ballot, slot, next: arrived });
    else application.install(arrived);
  }

  #add(
    from: string,
    { ballot, slot, configuration, first, count, values, sessions }: Install,
  ): Snapshot | number {
    if (from !== this.#from || ballot !== this.#ballot || slot !== this.#slot) {
      this.#from = from;
      this.#ballot = ballot;
      this.#slot = slot;
      this.#values = [];
    }
    if (first !== this.#values.length) return this.#values.length;
    for (const value of values) this.#values.push(value);
    if (this.#values.length < count) return this.#values.length;
    const state = { values: this.#values, sessions };
    this.#values = [];
    this.#slot = 0;
    return { slot, configuration, state };
  }
}
