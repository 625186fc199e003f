/**
 * The source's half of one ticket: up to three attempts to bring the state to the target, and what becomes of the memory afterwards.
 *
 *     attempt 1, 2, 3 ──► sealed ──► acknowledged ──► handed ──► departed or returned, key by key
 *           └───────────────┴──► failed: the core abandons the ticket, and the keys are served on
 *
 * **Another attempt begins anew**, with a snapshot of its own, because the target has dropped what it had. But once `caughtUp` was said, the
 * core may begin the stop at any time, and a freeze in the middle of a snapshot has nothing to seal. So an attempt that is lost
 * between `caughtUp` and `resume` ends the ticket; the Manager makes another one.
 *
 * **Every snapshot has its `done` exactly once, for each key**: not moved, when its attempt is over before `handed`; after that as the table decides, which can
 * be different for parts of the keys.
 */

import { type Instant, later } from '../../../runtime/time.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { MoveInput } from '../../core/moves/seam.ts';
import { type Digest, formatDigest, MOST_ATTEMPTS } from '../../wire/transfer.ts';
import { Attempt, type AttemptDependencies, type AttemptListener, type AttemptOrder } from './attempt.ts';
import { type CarriedState, reason } from './carried-state.ts';

/** The pause before the second attempt; the next is four times as long. */
const AGAIN_MS = 100;
/** How often the bytes that were sent are told. */
const TELL_EVERY_MS = 200;

export interface StreamDependencies extends AttemptDependencies {
  readonly logger: Logger;
  /** In a later turn. */
  say(input: MoveInput): void;
  /** In this turn. */
  sayNow(input: MoveInput): void;
}

export class OutgoingStream {
  readonly keys: RangeSet;
  readonly #order: Omit<AttemptOrder, 'attempt'>;
  readonly #given: StreamDependencies;
  #attempts = 0;
  #attempt: Attempt | undefined;
  #again: Disposable | undefined;
  #isCaughtUp = false;
  #isHanded = false;
  /** Of attempts that are over. */
  #bytesBefore = 0;
  #toldAt: Instant | undefined;
  /** What was handed, and has neither departed nor returned. */
  #left: RangeSet = RangeSet.empty;
  #states: readonly CarriedState[] = [];

  constructor(order: Omit<AttemptOrder, 'attempt'>, given: StreamDependencies) {
    this.#order = order;
    this.#given = given;
    this.keys = order.keys;
    this.#begin();
  }

  /** Nothing is to be told any more. */
  get isOver(): boolean {
    return this.#attempt === undefined && this.#again === undefined && this.#left.isEmpty;
  }

  get isHanded(): boolean {
    return this.#isHanded;
  }

  #begin(): void {
    this.#attempts += 1;
    const listener: AttemptListener = {
      caughtUp: () => {
        this.#isCaughtUp = true;
        this.#tellBytes();
        this.#given.say({ is: 'caughtUp', ticket: this.#order.ticket });
      },
      acknowledged: (digest) => this.#say('acknowledged', digest),
      progressed: () => {
        const now = this.#given.runtime.now();
        if (this.#toldAt === undefined || now >= later(this.#toldAt, TELL_EVERY_MS)) this.#tellBytes();
      },
      lost: (why) => this.#lost(why),
      failed: (why) => this.fail(why),
    };
    this.#attempt = new Attempt({ ...this.#order, attempt: this.#attempts }, this.#given, listener);
  }

  #lost(why: string): void {
    if (this.#isCaughtUp || this.#attempts === MOST_ATTEMPTS) {
      this.fail(this.#isCaughtUp ? why : `${MOST_ATTEMPTS} attempts failed; in the last one ${why}`);
      return;
    }
    const { runtime, logger } = this.#given;
    logger.debug('a move begins anew', { ticket: this.#order.ticket, attempt: this.#attempts, why });
    this.#endAttempt();
    const pauseMs = AGAIN_MS * 4 ** (this.#attempts - 1) * (0.5 + 0.5 * runtime.random());
    this.#again = runtime.wakeAt(later(runtime.now(), pauseMs), () => {
      this.#again = undefined;
      this.#begin();
    });
  }

  /** Ends the ticket on this side; the core is told, and abandons it. */
  fail(why: string): void {
    if (this.#isHanded || (this.#attempt === undefined && this.#again === undefined)) return;
    const { ticket, to } = this.#order;
    this.end();
    this.#given.logger.warn('the state of keys could not be moved; they are served on here', {
      ...{ ticket, to, why },
    });
    this.#given.say({ is: 'failed', ticket, why });
  }

  /** Guarded work goes on: little is left no longer. */
  resume(): void {
    this.#isCaughtUp = false;
    this.#attempt?.resume();
  }

  /** In the turn of the freeze. */
  freeze(): void {
    if (this.#isHanded) return;
    try {
      if (this.#attempt === undefined) throw new Error('the connection is lost');
      const digest = formatDigest(this.#attempt.seal());
      this.#given.sayNow({ is: 'sealed', ticket: this.#order.ticket, digest });
    } catch (thrown) {
      this.fail(`the last changes could not be sent: ${reason(thrown)}`);
    }
  }

  /** The line is closed, and the memory kept. */
  handed(): void {
    if (this.#attempt === undefined) return;
    this.#isHanded = true;
    this.#tellBytes();
    this.#left = this.keys;
    this.#states = this.#attempt.begun;
    this.#attempt[Symbol.dispose]();
    this.#attempt = undefined;
  }

  /** The table has decided about these keys. */
  decided(spans: readonly Span[], moved: boolean): void {
    const part = this.#left.intersect(RangeSet.of(spans));
    if (part.isEmpty) return;
    this.#left = this.#left.subtract(part);
    this.#done(this.#states, part, moved);
  }

  /** Ends everything that is under way; keys that were handed and not decided about are not noted any longer either. */
  end(): void {
    this.#again?.[Symbol.dispose]();
    this.#again = undefined;
    this.#endAttempt();
    this.decided(this.#left.spans(), false);
  }

  #endAttempt(): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#attempt = undefined;
    this.#bytesBefore += attempt.bytesSent;
    attempt[Symbol.dispose]();
    this.#done(attempt.begun, this.keys, false);
  }

  /** A state that fails here keeps noting changes, or memory; the move is decided all the same. */
  #done(states: readonly CarriedState[], keys: RangeSet, moved: boolean): void {
    const { ticket } = this.#order;
    const { logger } = this.#given;
    for (const { name, state } of states) {
      try {
        state.done(keys, moved);
      } catch (thrown) {
        const facts = { state: name, ticket, why: reason(thrown) };
        if (moved) logger.error('done failed; keys that have moved may still be in memory', facts);
        else logger.error('done failed; changes of keys may still be noted', facts);
      }
    }
  }

  #tellBytes(): void {
    this.#toldAt = this.#given.runtime.now();
    const bytes = this.#bytesBefore + (this.#attempt?.bytesSent ?? 0);
    this.#given.say({ is: 'sent', ticket: this.#order.ticket, bytes });
  }

  #say(is: 'acknowledged', digest: Digest): void {
    this.#given.say({ is, ticket: this.#order.ticket, digest: formatDigest(digest) });
  }
}
