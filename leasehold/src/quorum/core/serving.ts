/**
 * What a replica that runs sends to a replica that lacks chosen slots: slots from its log, or, if they are compacted away, its state as
 * of a committed slot and then the slots behind that.
 *
 * **One question has one piece for an answer**, of at most {@link PIECE_BYTES} unless a single slot or value is larger. The replica that asks says when it
 * is ready for the next piece (`repair.ts`), so a large loss costs the others no more memory and no longer a wait on their links than a
 * small one. A piece takes 0.1 s at 20 Mbit/s: about so long a write waits behind it.
 *
 *     fetch  first … last                            slots: as many as fit
 *            first … last, items 0, 40, 90 … of S    parts of one snapshot as of slot S, which is pinned for the replica that asks
 *
 * A snapshot is pinned until its replica asks for slots, or for nothing for {@link PINNED_ELECTIONS} election times: the values as of its slot are kept as long.
 */

import type { ResolvedQuorumDurations } from './options.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { Context } from './context.ts';
import { fitting } from './fitting.ts';
import type { Fetch, Fetched } from './messages.ts';
import { Outgoing } from './transfer.ts';

/** The size of one answer. */
export const PIECE_BYTES: number = 256 * 1024;

/** A replica that repairs its journal pauses for at most half as long between two questions. */
const PINNED_ELECTIONS = 32;

interface Pinned {
  readonly snapshot: Outgoing;
  until: Instant;
}

export class Serving {
  readonly #context: Context;
  /** By the replica that fetches it. */
  readonly #pinned = new Map<string, Pinned>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Another replica asks for chosen slots. */
  fetch(from: string, question: Fetch, now: Instant): void {
    const { log } = this.#context;
    if (log.chosen < question.first) return;
    const answer = question.first <= log.base ? this.#part(from, question, now) : this.#slots(from, question);
    this.#context.send(from, answer);
  }

  /** Keeps no state for replicas that ask no more. */
  tidy(now: Instant): void {
    for (const [peer, { until }] of this.#pinned) if (until <= now) this.#release(peer);
  }

  #slots(from: string, { first, last }: Fetch): Fetched {
    this.#release(from);
    const { log } = this.#context;
    const entries = log.slice(first, Math.min(last, log.chosen));
    const operations = fitting(
      entries.map(({ operation }) => operation),
      PIECE_BYTES,
    );
    return { kind: 'fetched', first, operations, part: undefined };
  }

  #part(from: string, { partOf, next }: Fetch, now: Instant): Fetched {
    const known = this.#pinned.get(from);
    const isPresent = known?.snapshot.slot === partOf && isAt(known.snapshot, next);
    if (!isPresent) this.#release(from);
    const snapshot = isPresent && known ? known.snapshot : new Outgoing(this.#context, PIECE_BYTES);
    this.#pinned.set(from, { snapshot, until: pinnedUntil(now, this.#context.durations) });
    return { kind: 'fetched', first: snapshot.slot + 1, operations: [], part: snapshot.part };
  }

  #release(peer: string): void {
    this.#pinned.get(peer)?.snapshot.release();
    this.#pinned.delete(peer);
  }
}

/** The part that begins with this item is at hand: it is repeated, or it is the next one. */
const isAt = (snapshot: Outgoing, next: number): boolean =>
  snapshot.part.first === next || snapshot.advance(next);

const pinnedUntil = (now: Instant, { electionMs }: ResolvedQuorumDurations): Instant =>
  later(now, PINNED_ELECTIONS * electionMs);
