/**
 * Changes of the configuration under way at this replica, one at a time (M1): a leader proposes no configuration before the last one is
 * committed, the term's first included, nor one that could not be decided by the members that are heard now.
 *
 * A change of members also waits until a majority will know, even after a restart, that the configuration before is committed; and such a
 * change is answered when the same is true of the new configuration. A change of the placement need not wait so: every placement is
 * safe with every other.
 */

import type { Instant } from '../../runtime/time.ts';
import type { Answer } from './answer.ts';
import type { ReaderMapChange } from './configuration.ts';
import type { Context } from './context.ts';
import type { Leadership } from './leadership.ts';
import { type Change, changed, isInForce } from './membership.ts';

const NOT_READY: Answer = { kind: 'refused', why: 'not-ready' };

export class Changes {
  readonly #context: Context;
  #underWay: { readonly slot: number; readonly id: number } | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** A caller wants a change, and is answered when the change is committed. `leadership` is undefined if this replica does not lead. */
  begin(id: number, change: Change, leadership: Leadership | undefined, now: Instant): void {
    const { log, self } = this.#context;
    const newest = log.newestConfigurationSlot;
    const isIdle =
      change.kind === 'placement' ? this.#isCommitted(newest) : leadership?.isSettled(newest) === true;
    const next = changed(log.countingConfigurations, change, self);
    const isMade = isInForce(log.newestConfiguration, change);
    const answer = (given: Answer): void => this.#context.answer(id, given);
    if (isMade) answer(isIdle ? { kind: 'changed', position: newest } : NOT_READY);
    else if (typeof next === 'string') answer({ kind: 'not-changed', why: next });
    else if (leadership === undefined || !isIdle || !this.#canPropose(leadership)) answer(NOT_READY);
    else if (!leadership.canDecide(next, now)) answer(NOT_READY);
    else {
      leadership.append({ kind: 'configuration', configuration: next });
      this.#underWay = { slot: log.last, id };
    }
  }

  /** The leader itself changes the tables of the placement. False if that is not possible now. */
  propose(placement: ReaderMapChange, leadership: Leadership | undefined, now: Instant): boolean {
    const { log } = this.#context;
    const { newestConfiguration } = log;
    const isPossible =
      leadership !== undefined &&
      this.#isCommitted(log.newestConfigurationSlot) &&
      this.#canPropose(leadership) &&
      leadership.canDecide(newestConfiguration, now);
    if (isPossible)
      leadership.append({ kind: 'configuration', configuration: { ...newestConfiguration, placement } });
    return isPossible;
  }

  /** A change is done when a majority of the new members will know that it is committed, even after a restart. */
  answer(leadership: Leadership | undefined): void {
    const change = this.#underWay;
    if (change === undefined || leadership?.isSettled(change.slot) !== true) return;
    this.#context.answer(change.id, { kind: 'changed', position: change.slot });
    this.#underWay = undefined;
  }

  /** This replica no longer leads: nobody knows what becomes of the change. */
  abandon(): void {
    if (this.#underWay === undefined) return;
    this.#context.answer(this.#underWay.id, NOT_READY);
    this.#underWay = undefined;
  }

  #canPropose(leadership: Leadership): boolean {
    return leadership.hasBegun && !leadership.isTransferring && this.#underWay === undefined;
  }

  #isCommitted(slot: number): boolean {
    return slot > 0 && this.#context.log.isCommitted(slot);
  }
}
