/**
 * A snapshot in the place of the batches up to its position.
 *
 *     put part/<id>/0 … n     each under the fence; nobody reads them yet
 *     put snapshot            if `term` is ours and the pointer is the one that we know: from here on the snapshot counts
 *     delete rubbish          batches up to the position, parts of other snapshots, also of earlier leaders that did not finish
 *
 * A reader of any slot finds either the old pointer with everything that it needs, or the new one: parts and batches are
 * deleted after the switch only. The id names the term, so no two leaders write the same part.
 */

import { VALUE_BYTES_MAX } from '../wire/bounds.ts';
import type { Lifetime } from '../../runtime/lifetime.ts';
import { type Action, type Condition, type Revision, slotOf } from '../core/operation.ts';
import type { LogContext } from './context.ts';
import { encodeJson, hasRevision, partKey, SNAPSHOT_KEY, TERM_KEY } from './layout.ts';
import { foundOf, type Outcome } from './requests.ts';

/** Keys deleted by one write. */
const DELETES_MAX = 500;

/** The leadership under which snapshots are written. */
export interface WritingTerm {
  /** Of our write of `term`: the fence. */
  readonly revision: Revision;
  readonly life: Lifetime;
  /** Another candidate has written `term`. */
  superseded(): void;
}

interface Job {
  readonly bytes: Uint8Array;
  readonly position: number;
}

export class Compaction {
  readonly #context: LogContext;
  readonly #term: WritingTerm;
  #isBusy = false;
  /** The newest snapshot that waits. */
  #next: Job | undefined;

  constructor(context: LogContext, term: WritingTerm) {
    this.#context = context;
    this.#term = term;
  }

  compact(bytes: Uint8Array, position: number): void {
    if (position <= (this.#next?.position ?? 0)) return;
    this.#next = { bytes, position };
    this.#begin();
  }

  #begin(): void {
    const job = this.#next;
    if (this.#isBusy || job === undefined) return;
    this.#next = undefined;
    const { pointer } = this.#context.view;
    if (job.position <= (pointer?.value.position ?? 0)) return;
    this.#isBusy = true;
    this.#putPart(job, 0);
  }

  #putPart(job: Job, part: number): void {
    const { partBytes = VALUE_BYTES_MAX } = this.#context.options;
    const id = this.#idOf(job);
    const value = job.bytes.subarray(part * partBytes, (part + 1) * partBytes);
    const parts = Math.max(1, Math.ceil(job.bytes.length / partBytes));
    this.#write([], [{ do: 'put', key: partKey(id, part), value }], () => {
      if (part + 1 < parts) this.#putPart(job, part + 1);
      else this.#switch(job, id, parts);
    });
  }

  #switch({ position }: Job, id: string, parts: number): void {
    const { view } = this.#context;
    const pointerIs = hasRevision(SNAPSHOT_KEY, view.pointer?.revision);
    const value = encodeJson({ position, id, parts });
    this.#write([pointerIs], [{ do: 'put', key: SNAPSHOT_KEY, value }], (outcome) =>
      this.#context.whenSeen(slotOf(outcome.revision), () => this.#sweep()),
    );
  }

  #sweep(): void {
    if (this.#term.life.isOver) return;
    const keys = this.#context.view.rubbish.slice(0, DELETES_MAX);
    const actions: Action[] = keys.map((key) => ({ do: 'delete', key }));
    if (actions.length === 0) {
      this.#isBusy = false;
      this.#begin();
      return;
    }
    this.#write([], actions, (outcome) =>
      this.#context.whenSeen(slotOf(outcome.revision), () => this.#sweep()),
    );
  }

  /** Under the fence. A write that finds its other condition unmet was made by an earlier copy. */
  #write(
    conditions: readonly Condition[],
    actions: readonly Action[],
    next: (outcome: Outcome) => void,
  ): void {
    const { life, revision, superseded } = this.#term;
    this.#context.requests.write(
      { conditions: [hasRevision(TERM_KEY, revision), ...conditions], actions },
      life.hearing((outcome) => {
        if (outcome.kind === 'unmet' && foundOf(outcome, TERM_KEY)?.revision !== revision) superseded();
        else next(outcome);
      }),
    );
  }

  #idOf({ position }: Job): string {
    return `${slotOf(this.#term.revision)}-${position}`;
  }
}
