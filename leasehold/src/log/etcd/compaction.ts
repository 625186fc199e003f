/**
 * Puts a snapshot in the place of the oldest part of the log, in steps of which each can be the last:
 *
 *     1  the pieces are put, one by one; nobody looks at them
 *     2  `snapshot` is put: from this revision on the snapshot counts
 *     3  the batches up to there are deleted, and the pieces of earlier snapshots
 *
 * Every step is one transaction, or several, and each compares two things. The leader key, so that a deposed leader
 * changes nothing. And, up to step 2, that `snapshot` is unchanged since this compaction began: a transaction that was
 * given up for lost and arrives late finds a changed `snapshot`, and neither puts a piece over one that counts nor
 * sets `snapshot` back. Deletions need no such care: the deleted keys lie below a snapshot that counts, and snapshots
 * only grow.
 *
 * The leftovers of a leader that dies in between are below the position of the next compaction, which deletes them. A
 * position is tried once by a leader, so pieces under one position are always of one snapshot.
 *
 * If etcd refuses (because the database is full), the log goes on without; the next compaction tries again. But etcd
 * may have put `snapshot` before refusing, as with an append (see `leadership.ts`); so after such a refusal the key is
 * read, or this leader would compare with a revision that is gone, and never compact again.
 */

import { checksum } from '../file/checksum.ts';
import type { DeposedReason } from '../log.ts';
import type { EtcdCompare, EtcdOperation, EtcdTransactionResult } from '../../etcd/client.ts';
import type { LogContext } from './context.ts';
import type { Fence } from './fence.ts';
import { encodePointer } from './layout.ts';
import { sameBytes } from '../../etcd/values.ts';
import type { Lifetime } from '../../runtime/lifetime.ts';

export interface CompactionOptions {
  readonly lifetime: Lifetime;
  readonly fence: Fence;
  deposed(reason: DeposedReason): void;
}

interface Snapshot {
  readonly position: number;
  readonly bytes: Uint8Array;
}

export class Compaction {
  readonly #context: LogContext;
  readonly #options: CompactionOptions;
  /** At which `snapshot` was last written. */
  #pointerRevision: number;
  /** The last one that was tried, or is there. */
  #reached: number;
  #isBusy = false;
  #next: Snapshot | undefined;

  constructor(
    context: LogContext,
    options: CompactionOptions,
    present: { readonly position: number; readonly revision: number },
  ) {
    this.#context = context;
    this.#options = options;
    this.#reached = present.position;
    this.#pointerRevision = present.revision;
  }

  /** One after the other; of those that wait, the last. */
  compact(bytes: Uint8Array, position: number): void {
    if (position <= this.#reached) return;
    this.#reached = position;
    this.#next = { position, bytes };
    if (!this.#isBusy) this.#begin();
  }

  #begin(): void {
    const snapshot = this.#next;
    this.#next = undefined;
    this.#isBusy = snapshot !== undefined;
    if (snapshot !== undefined) this.#putChunk(snapshot, 0);
  }

  #putChunk(snapshot: Snapshot, place: number): void {
    const { layout, options } = this.#context;
    const { position, bytes } = snapshot;
    const from = place * options.chunkBytes;
    if (from >= bytes.length) {
      this.#putPointer(snapshot, place);
      return;
    }
    const value = bytes.subarray(from, from + options.chunkBytes);
    this.#change(
      [this.#unchanged()],
      [{ do: 'put', key: layout.chunk(position, place), value }],
      () => this.#putChunk(snapshot, place + 1),
      () => this.#begin(),
    );
  }

  #putPointer(snapshot: Snapshot, chunks: number): void {
    const { layout } = this.#context;
    const { position, bytes } = snapshot;
    const value = encodePointer({ position, chunks, bytes: bytes.length, checksum: checksum(bytes) });
    this.#change(
      [this.#unchanged()],
      [{ do: 'put', key: layout.snapshot, value }],
      ({ revision }) => this.#replaced(snapshot, revision),
      ({ found: [, pointer] }) => {
        // An earlier try went through.
        if (pointer !== undefined && sameBytes(pointer.value, value))
          return this.#replaced(snapshot, pointer.modRevision);
        this.#begin();
      },
    );
  }

  #replaced(snapshot: Snapshot, revision: number): void {
    const { layout } = this.#context;
    const { position } = snapshot;
    this.#pointerRevision = revision;
    const deletions = [
      { do: 'delete', ...layout.batchesUpTo(position) },
      { do: 'delete', ...layout.chunksBefore(position) },
    ] as const;
    this.#change(
      [],
      deletions,
      () => this.#begin(),
      () => this.#begin(),
    );
  }

  #unchanged(): EtcdCompare {
    return { key: this.#context.layout.snapshot, modRevision: this.#pointerRevision };
  }

  /**
   * Asks until the outcome is known. A refusal counts only if no earlier try can have been carried out, or can be yet;
   * otherwise the request is repeated, too. After a refusal that may have come after the write, the keys that a failed
   * comparison would have returned are read.
   */
  #change(
    compare: readonly EtcdCompare[],
    success: readonly EtcdOperation[],
    succeeded: (result: EtcdTransactionResult) => void,
    failed: (result: EtcdTransactionResult) => void,
  ): void {
    const { requester, layout } = this.#context;
    const { lifetime, fence, deposed } = this.#options;
    const again = (): void => void lifetime.after(requester.pauseMs(), attempt);
    let mayBeDone = false;
    const transaction = {
      compare: [...fence.compare, ...compare],
      success,
      failure: [
        { do: 'get', key: layout.leader },
        { do: 'get', key: layout.snapshot },
      ],
    } as const;
    const attempt = (): void =>
      requester.transact(
        transaction,
        lifetime.hearing((answer) => {
          if (answer.kind === 'done') {
            if (answer.value.succeeded) succeeded(answer.value);
            else found(answer.value);
          } else if (answer.kind === 'unknown') {
            if (answer.refusal !== undefined) return look();
            mayBeDone = true;
            again();
          } else if (answer.refusal.reason === 'unavailable' || mayBeDone) again();
          else this.#begin();
        }),
      );
    const found = (result: EtcdTransactionResult): void => {
      const [leader] = result.found;
      if (fence.isOurs(leader)) failed(result);
      else deposed(fence.reason(leader));
    };
    /** The last try was carried out or never will be. */
    const look = (): void =>
      requester.insist<EtcdTransactionResult>(
        lifetime,
        (hear) => requester.get([layout.leader, layout.snapshot], hear),
        (result) => {
          const [leader, pointer] = result.found;
          const isAsBefore = fence.isOurs(leader) && (pointer?.modRevision ?? 0) === this.#pointerRevision;
          if (isAsBefore && mayBeDone) again();
          else found(result);
        },
      );
    attempt();
  }
}
