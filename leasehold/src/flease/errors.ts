/**
 * The errors of a group. `code` is the contract; the message is for people.
 */

import { LeaseholdError } from '../runtime/errors.ts';
import type { EndReason } from './held-lease.ts';
import { goneWords, seconds } from './wording.ts';

/** The group cannot be changed again before its last change is settled. Wait for `settled()`. */
export class GroupChangeError extends LeaseholdError {
  override readonly name = 'GroupChangeError';
  readonly code = 'GROUP_CHANGE';
  readonly retryable = true;
  /** The view that is not settled yet. */
  readonly view: number;

  constructor(view: number) {
    super(
      `view ${view} is not settled yet: a lease and twice the skew have to pass after a majority of those before it has moved; wait for settled()`,
    );
    this.view = view;
  }
}

const quoted = (resource: string): string => JSON.stringify(resource);

/** Another member holds the lease. Nothing was acquired; ask again later, or wait longer (`waitMs`). */
export class LeaseHeldError extends LeaseholdError {
  override readonly name = 'LeaseHeldError';
  readonly code = 'LEASE_HELD';
  readonly retryable = true;
  readonly resource: string;
  /** The holder, as last seen. */
  readonly holder: string;
  /** Until when, unless renewed, by the group's clock. */
  readonly untilMs: number;

  constructor(resource: string, holder: string, untilMs: number, waitedMs: number) {
    const when =
      waitedMs > 0 ? `for all of the ${seconds(waitedMs)} that were waited` : 'when it was asked for';
    super(`the lease on ${quoted(resource)} was held by ${holder} ${when}: ask again later, or wait longer`);
    this.resource = resource;
    this.holder = holder;
    this.untilMs = untilMs;
  }
}

/**
 * Too few members said yes, so nothing is known and nothing was acquired. `reasons` has the reason of each member.
 */
export class NoMajorityError extends LeaseholdError {
  override readonly name = 'NoMajorityError';
  readonly code = 'NO_MAJORITY';
  readonly retryable = true;
  readonly resource: string;
  /** For each member that did not say yes, the reason. */
  readonly reasons: ReadonlyMap<string, string>;

  /** @param why all of the reasons, in a sentence */
  constructor(resource: string, reasons: ReadonlyMap<string, string>, why: string) {
    super(`no majority for ${quoted(resource)}: ${why}`);
    this.resource = resource;
    this.reasons = reasons;
  }

  /** Like other errors in JSON, with readable reasons. */
  toJSON(): object {
    return { ...this, reasons: Object.fromEntries(this.reasons) };
  }
}

export type LeaseEnd = EndReason | 'ending' | 'closed';

const HOW: Record<LeaseEnd, string> = {
  ending: 'is about to end and could not be renewed so far: stop what you do under it',
  lapsed: 'has expired, because it could not be renewed in time: discard what was not finished',
  lost: 'was found to be no longer ours: discard what was not finished',
  clock: 'was given up, because the clock of this machine jumped or is not that of the others',
  released: 'was given back',
  closed: 'was given back, because the group was closed here',
};

/**
 * The lease is over, or about to be: the reason of its signal. Unless the lease was released, work done under it may
 * overlap with that of the next holder; a store should compare lease numbers.
 */
export class LeaseEndedError extends LeaseholdError {
  override readonly name = 'LeaseEndedError';
  readonly code = 'LEASE_ENDED';
  readonly retryable = true;
  readonly resource: string;
  readonly number: number;
  readonly how: LeaseEnd;

  constructor(resource: string, number: number, how: LeaseEnd) {
    super(`the lease on ${quoted(resource)} (number ${number}) ${HOW[how]}`);
    this.resource = resource;
    this.number = number;
    this.how = how;
  }
}

/** This process does not hold the lease, so it cannot hand the lease over. Acquire it first. */
export class LeaseNotHeldError extends LeaseholdError {
  override readonly name = 'LeaseNotHeldError';
  readonly code = 'LEASE_NOT_HELD';
  readonly retryable = false;
  readonly resource: string;

  constructor(resource: string) {
    super(
      `this process does not hold the lease on ${quoted(resource)}, so it cannot hand it over: acquire it first`,
    );
    this.resource = resource;
  }
}

/** The group has changed without this member, which will never take part again. Close it. */
export class GroupLeftError extends LeaseholdError {
  override readonly name = 'GroupLeftError';
  readonly code = 'GROUP_LEFT';
  readonly retryable = false;
  readonly member: string;
  /** The view without this member. */
  readonly view: number;

  constructor(member: string, view: number) {
    super(`this member, ${member}, ${goneWords('left', view)}`);
    this.member = member;
    this.view = view;
  }
}

/** This member was closed. Join again. */
export class GroupClosedError extends LeaseholdError {
  override readonly name = 'GroupClosedError';
  readonly code = 'CLOSED';
  readonly retryable = false;

  constructor() {
    super('the group was closed in this process, so it cannot be used any more; join it again (joinFlease)');
  }
}
