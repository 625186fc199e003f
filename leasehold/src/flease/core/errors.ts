/**
 * The errors of a cell, made here so that each has one message and the same details. `code` is the contract; the message is for people.
 */

import {
  ClosedError,
  InUseError,
  LeaseLostError,
  OutcomeUnknownError,
  UnavailableError,
} from '../../runtime/errors.ts';
import type { EndReason } from './held-lease.ts';
import { goneWords, seconds } from './wording.ts';

const module = 'flease';

const quoted = (resource: string): string => JSON.stringify(resource);

/** The members cannot be changed again before their last change is settled. Wait for `settled()`. */
export const changePending = (view: number): UnavailableError =>
  new UnavailableError(
    'CHANGE_PENDING',
    `view ${view} is not settled yet: a lease and twice the skew have to pass after a majority of those before it has moved; wait for settled()`,
    { module, details: { view } },
  );

/**
 * Another member holds the lease. Nothing was acquired.
 *
 * @param untilMs until when, unless renewed, by the cell's clock
 */
export function leaseHeld(resource: string, holder: string, untilMs: number, waitedMs: number): InUseError {
  const when =
    waitedMs > 0 ? `for all of the ${seconds(waitedMs)} that were waited` : 'when it was asked for';
  const message = `the lease on ${quoted(resource)} was held by ${holder} ${when}: ask again later, or wait longer`;
  return new InUseError('LEASE_HELD', message, { module, details: { resource, holder, untilMs } });
}

export interface NoMajorityDetails {
  readonly resource: string;
  /** For each member that did not say yes, the reason. */
  readonly reasons: Readonly<Record<string, string>>;
}

export interface NoMajority extends UnavailableError {
  readonly details: NoMajorityDetails & UnavailableError['details'];
}

/**
 * Too few members said yes, so nothing is known and nothing was acquired.
 *
 * @param why all of the reasons, in a sentence
 */
export function noMajority(resource: string, reasons: ReadonlyMap<string, string>, why: string): NoMajority {
  const details = { resource, reasons: Object.fromEntries(reasons) };
  const facts = { module, details } as const;
  return new UnavailableError(
    'NO_MAJORITY',
    `no majority for ${quoted(resource)}: ${why}`,
    facts,
  ) as NoMajority;
}

export const isNoMajority = (error: unknown): error is NoMajority =>
  error instanceof UnavailableError && error.code === 'NO_MAJORITY';

/** A lease was released for a successor, and no majority has confirmed that: the successor may get it, or any member. */
export const handoverUnconfirmed = ({
  details: { resource, reasons },
  message,
}: NoMajority): OutcomeUnknownError =>
  new OutcomeUnknownError(
    'OUTCOME_UNKNOWN',
    `the lease on ${quoted(resource)} is no longer held here, and whether its successor was written is not known: ${message}`,
    { module, details: { resource, reasons } },
  );

export type LeaseEnd = EndReason | 'ending' | 'closed';

const HOW: Record<LeaseEnd, string> = {
  ending: 'is about to end and could not be renewed so far: stop what you do under it',
  lapsed: 'has expired, because it could not be renewed in time: discard what was not finished',
  lost: 'was found to be no longer ours: discard what was not finished',
  clock: 'was given up, because the clock of this machine jumped or is not that of the others',
  released: 'was given back',
  closed: 'was given back, because the member was closed here',
};

/**
 * The lease is over, or about to be: the reason of its signal. Unless the lease was released, work done under it may
 * overlap with that of the next holder; a store should compare lease numbers.
 */
export const leaseLost = (resource: string, number: number, how: LeaseEnd): LeaseLostError =>
  new LeaseLostError('LEASE_LOST', `the lease on ${quoted(resource)} (number ${number}) ${HOW[how]}`, {
    ...{ module, details: { resource, number, how } },
  });

/** How the lease ended whose signal has this reason; undefined: another reason. */
export function endOfLease(reason: unknown): LeaseEnd | undefined {
  const how = reason instanceof LeaseLostError ? reason.details['how'] : undefined;
  return typeof how === 'string' && Object.hasOwn(HOW, how) ? (how as LeaseEnd) : undefined;
}

/** The members have changed without this one, which will never take part again. Close it. */
export const removed = (member: string, view: number): ClosedError =>
  new ClosedError('REMOVED', `this member, ${member}, ${goneWords('left', view)}`, {
    ...{ module, details: { member, view } },
  });

/** This member was closed. Join again. */
export const memberClosed = (): ClosedError =>
  new ClosedError(
    'CLOSED',
    'this member was closed in this process, so it cannot be used any more; join again (joinFlease)',
    { module },
  );
