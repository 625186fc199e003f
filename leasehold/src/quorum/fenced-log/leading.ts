/**
 * The leader's operations: append, and compact the log.
 *
 * An append is one transaction:
 *
 *     if    `term` has our revision, and `head` has the revision of our last append, or that of the election
 *     then  put batch/<position>, put `head`
 *
 * **Fenced** by the first condition: it is judged when the slot is applied, and every replica applies the slots in the same
 * order. Once a later `term` is applied, no append of an earlier leader writes anything.
 *
 * **Once, and in order** by the second. Each append writes `head`, so a second copy finds another revision there and writes
 * nothing, however late the copy arrives.
 *
 * **Known or deposed.** A copy that finds `term` with another revision deposes us. One that finds our `term` and a `head` at
 * the position of the append learns that an earlier copy went through.
 */

import { assert } from '../../runtime/assert.ts';
import type { AppendOutcome, Leadership, LogBatch, LogStart } from '../../log/log.ts';
import { type Revision, slotOf } from '../core/operation.ts';
import { Compaction, type WritingTerm } from './compaction.ts';
import type { LogContext } from './context.ts';
import { batchKey, decodeHead, encodeHead, hasRevision, HEAD_KEY, TERM_KEY } from './layout.ts';
import { foundOf, type Outcome } from './requests.ts';

export interface LeadingOptions extends WritingTerm {
  readonly start: LogStart;
  resigned(): void;
}

interface Append {
  readonly batch: LogBatch;
  readonly done: (outcome: AppendOutcome) => void;
}

export class Leading implements Leadership {
  readonly term: number;
  readonly start: LogStart;
  readonly #context: LogContext;
  readonly #options: LeadingOptions;
  readonly #compaction: Compaction;
  #appending: Append | undefined;
  #last: number;
  #headRevision: Revision | undefined;

  constructor(context: LogContext, options: LeadingOptions) {
    this.#context = context;
    this.#options = options;
    this.term = slotOf(options.revision);
    this.start = options.start;
    const { head } = context.view;
    this.#last = head?.value ?? 0;
    this.#headRevision = head?.revision;
    this.#compaction = new Compaction(context, options);
  }

  append(batch: LogBatch, done: (outcome: AppendOutcome) => void): void {
    const { life } = this.#options;
    if (life.isOver) return;
    const { maxBatchBytes, logger, soon } = this.#context.options;
    const { position, bytes } = batch;
    const before = this.#appending?.batch.position;
    assert(before === undefined, `append ${position} while ${before} is in flight`);
    const above = Math.max(this.#last, this.start.floor);
    assert(position > above, `append at ${position}, but the log is at ${above}`);
    const append: Append = { batch, done };
    this.#appending = append;
    if (bytes.length <= maxBatchBytes) {
      this.#write(append);
      return;
    }
    logger.error('refused a batch that is too large', { position, bytes: bytes.length, maxBatchBytes });
    soon(life.hearing(() => this.#finish(append, 'refused')));
  }

  compact(snapshot: Uint8Array, upTo: number): void {
    if (this.#options.life.isOver) return;
    assert(upTo <= this.#last, `compact up to ${upTo}, but the log is at ${this.#last}`);
    this.#compaction.compact(snapshot, upTo);
  }

  resign(): void {
    if (!this.#options.life.isOver) this.#options.resigned();
  }

  #write(append: Append): void {
    const { position, bytes } = append.batch;
    const { revision, life } = this.#options;
    const headIs = hasRevision(HEAD_KEY, this.#headRevision);
    this.#context.requests.write(
      {
        conditions: [hasRevision(TERM_KEY, revision), headIs],
        actions: [
          { do: 'put', key: batchKey(position), value: bytes },
          { do: 'put', key: HEAD_KEY, value: encodeHead(position) },
        ],
      },
      life.hearing((outcome) => this.#written(append, outcome)),
    );
  }

  #written(append: Append, outcome: Outcome): void {
    const { revision, superseded } = this.#options;
    const { position } = append.batch;
    const head = foundOf(outcome, HEAD_KEY);
    if (outcome.kind === 'done') this.#headRevision = outcome.revision;
    else if (foundOf(outcome, TERM_KEY)?.revision !== revision) {
      superseded();
      return;
    } else if (decodeHead(head?.value) === position) this.#headRevision = head?.revision;
    else {
      this.#context.damaged(HEAD_KEY);
      return;
    }
    this.#last = position;
    this.#finish(append, 'appended');
  }

  #finish(append: Append, outcome: AppendOutcome): void {
    this.#appending = undefined;
    append.done(outcome);
  }
}
