/**
 * The leader's operations: append, and compact the log.
 *
 * An append is one transaction:
 *
 *     if    leader is our key, and head was last written at the revision that we know
 *     then  put log/<position>, put head
 *     else  get leader, get head, get log/<position>
 *
 * **Fenced** by the first comparison (see `fence.ts`).
 *
 * **Once, and in order** by the second. Each append writes `head`, so each names the append before. A try of unknown
 * outcome is repeated, and the earlier try may still be on the way, for as long as some member of etcd is stopped;
 * when the earlier try arrives after the other, `head` has been written since, and the late try does nothing. (To
 * require the absence of `log/<position>` would not do: by then the batch may have been compacted away, and the late
 * try would bring the batch back, and set the head back too.)
 *
 * **Known or deposed.** If the comparison fails, the values found tell the case. Not our key: we are deposed. Our key,
 * and our bytes at the position: an earlier try went through. A refusal by etcd counts only if no earlier try of the
 * same append can have been written, or can be yet; otherwise the append is repeated.
 *
 * **An etcd that becomes full** may refuse a transaction that was just written, and from then on refuses the
 * transaction without comparing anything. So after such a refusal the same keys are read: they say whether that try
 * was written, and a later write is impossible. To take the try for refused would leave a batch in the log that
 * followers are told of and the leader knows nothing about.
 */

import { assert } from '../../runtime/assert.ts';
import type { AppendOutcome, DeposedReason, Leadership, LogBatch, LogStart } from '../log.ts';
import { LeaseholdError } from '../../runtime/errors.ts';
import type { EtcdKeyValue, EtcdRefusal, EtcdTransaction, EtcdTransactionResult } from '../../etcd/client.ts';
import { Compaction } from './compaction.ts';
import type { LogContext } from './context.ts';
import { DamagedEtcdLogError, StoreWentBackError } from './errors.ts';
import type { Fence } from './fence.ts';
import { decodeHead, encodeHead } from './layout.ts';
import { sameBytes } from '../../etcd/values.ts';
import type { Lifetime } from '../../runtime/lifetime.ts';
import type { Contents } from './reading.ts';

export interface LeadingOptions {
  readonly lifetime: Lifetime;
  readonly fence: Fence;
  readonly contents: Contents;
  readonly term: number;
  deposed(reason: DeposedReason): void;
  resigned(): void;
}

interface Append {
  readonly batch: LogBatch;
  readonly done: (outcome: AppendOutcome) => void;
  /** An earlier try may have been written, or may be yet. */
  mayBeWritten: boolean;
}

export class Leading implements Leadership {
  readonly term: number;
  readonly start: LogStart;
  readonly #context: LogContext;
  readonly #options: LeadingOptions;
  readonly #compaction: Compaction;
  #appending: Append | undefined;
  /** The next batch goes above this position. */
  #last: number;
  #headRevision: number;

  constructor(context: LogContext, options: LeadingOptions) {
    const { lifetime, fence, contents, term } = options;
    const { head, headRevision, pointer, pointerRevision } = contents.overview;
    this.#context = context;
    this.#options = options;
    this.term = term;
    this.start = contents.start;
    this.#last = head;
    this.#headRevision = headRevision;
    const present = { position: pointer?.position ?? 0, revision: pointerRevision };
    this.#compaction = new Compaction(context, { lifetime, fence, deposed: options.deposed }, present);
  }

  append(batch: LogBatch, done: (outcome: AppendOutcome) => void): void {
    const { lifetime } = this.#options;
    if (lifetime.isOver) return;
    const { maxBatchBytes, logger } = this.#context.options;
    const { position, bytes } = batch;
    const before = this.#appending?.batch.position;
    assert(before === undefined, `append ${position} while ${before} is in flight`);
    const above = Math.max(this.#last, this.start.floor);
    assert(position > above, `append at ${position}, but the log is at ${above}`);
    const append: Append = { batch, done, mayBeWritten: false };
    this.#appending = append;
    if (bytes.length <= maxBatchBytes) {
      this.#try(append);
      return;
    }
    logger.error('refused a batch that is too large', { position, bytes: bytes.length, maxBatchBytes });
    lifetime.after(0, () => this.#finish(append, 'refused'));
  }

  compact(snapshot: Uint8Array, upTo: number): void {
    if (this.#options.lifetime.isOver) return;
    assert(upTo <= this.#last, `compact up to ${upTo}, but the log is at ${this.#last}`);
    this.#compaction.compact(snapshot, upTo);
  }

  /** The position up to which we know the log to be written. */
  get written(): number {
    return this.#last;
  }

  /** The head was read after we knew of this write: the head cannot be behind. */
  sawHead(found: EtcdKeyValue | undefined, written: number): void {
    const error = this.#flawOf(found, written);
    if (error !== undefined) this.#context.unreadable(error);
  }

  resign(): void {
    if (!this.#options.lifetime.isOver) this.#options.resigned();
  }

  #try(append: Append): void {
    const { requester } = this.#context;
    const { lifetime } = this.#options;
    requester.transact(
      this.#transaction(append.batch),
      lifetime.hearing((answer) => {
        if (answer.kind === 'done') return this.#heard(append, answer.value);
        if (answer.kind === 'refused') return this.#refused(append, answer.refusal);
        if (answer.refusal !== undefined) return this.#lookFor(append);
        append.mayBeWritten = true;
        this.#tryAgain(append);
      }),
    );
  }

  /** The last try was written or never will be; is the batch there? */
  #lookFor(append: Append): void {
    const { requester, layout } = this.#context;
    const { position } = append.batch;
    requester.insist<EtcdTransactionResult>(
      this.#options.lifetime,
      (hear) => requester.get([layout.leader, layout.head, layout.batch(position)], hear),
      (result) => this.#looked(append, result),
    );
  }

  #looked(append: Append, result: EtcdTransactionResult): void {
    const [leader, head] = result.found;
    const isUntouched = this.#options.fence.isOurs(leader) && (head?.modRevision ?? 0) === this.#headRevision;
    if (!isUntouched) this.#heard(append, { ...result, succeeded: false });
    else if (append.mayBeWritten) this.#tryAgain(append);
    else this.#finish(append, 'refused');
  }

  #tryAgain(append: Append): void {
    this.#options.lifetime.after(this.#context.requester.pauseMs(), () => this.#try(append));
  }

  #transaction({ position, bytes }: LogBatch): EtcdTransaction {
    const { layout } = this.#context;
    const key = layout.batch(position);
    return {
      compare: [...this.#options.fence.compare, { key: layout.head, modRevision: this.#headRevision }],
      success: [
        { do: 'put', key, value: bytes },
        { do: 'put', key: layout.head, value: encodeHead(position) },
      ],
      failure: [
        { do: 'get', key: layout.leader },
        { do: 'get', key: layout.head },
        { do: 'get', key },
      ],
    };
  }

  #heard(append: Append, { succeeded, revision, found: [leader, head, there] }: EtcdTransactionResult): void {
    const { fence, deposed } = this.#options;
    const isThere = there !== undefined && sameBytes(there.value, append.batch.bytes);
    if (succeeded) this.#written(append, revision);
    else if (!fence.isOurs(leader)) deposed(fence.reason(leader));
    else if (head !== undefined && isThere) this.#written(append, head.modRevision);
    else this.#context.unreadable(this.#flawOf(head, this.#last) ?? this.#strayed());
  }

  #refused(append: Append, { reason }: EtcdRefusal): void {
    if (reason === 'unavailable' || append.mayBeWritten) this.#tryAgain(append);
    else this.#finish(append, 'refused');
  }

  get #seen(): { readonly history: string; readonly term: number } {
    return { history: this.start.history, term: this.term };
  }

  /** The flaw of this head, if the log was written up to that position before the head was read. */
  #flawOf(found: EtcdKeyValue | undefined, written: number): LeaseholdError | undefined {
    const { head } = this.#context.layout;
    try {
      return decodeHead(found) < written
        ? new StoreWentBackError(head, { ...this.#seen, position: written })
        : undefined;
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      return error;
    }
  }

  /** We lead, and yet somebody else has written. */
  #strayed(): DamagedEtcdLogError {
    return new DamagedEtcdLogError(
      this.#context.layout.head,
      `somebody else has written it since the leader did, at ${this.#last}`,
    );
  }

  #written(append: Append, headRevision: number): void {
    this.#headRevision = headRevision;
    this.#last = append.batch.position;
    this.#finish(append, 'appended');
  }

  #finish(append: Append, outcome: AppendOutcome): void {
    this.#appending = undefined;
    append.done(outcome);
  }
}
