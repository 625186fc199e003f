/** The errors of calls, as sentences: what happened to which call, and what the caller may do. */

import {
  ClosedError,
  InvalidArgumentError,
  type LeaseholdError,
  OutcomeUnknownError,
  UnavailableError,
} from '../../runtime/errors.ts';
import { numberWords } from '../../runtime/option-table.ts';
import type { CallEnd, CallRequest } from './caller.ts';
import { THROUGH_MAX } from './messages.ts';

type Called = Pick<CallRequest, 'kind' | 'key' | 'name'>;

const textOf = ({ kind, key, name }: Called): string => `${name} of ${kind} '${key}'`;

const factsOf = ({ kind, key, name }: Called) =>
  ({ module: 'objects', details: { kind, key, name } }) as const;

/** @param timeoutMs of the call, as it was given */
export function callError(
  called: Called,
  end: Exclude<CallEnd, { is: 'answered' }>,
  timeoutMs: number,
): LeaseholdError {
  return end.is === 'unknown' ? outcomeUnknown(called, end.why) : failed(called, end.why, timeoutMs);
}

const WHY_UNKNOWN: Readonly<Partial<Record<string, string>>> = {
  over: 'its time was over when its turn had begun',
  cancelled: 'it was given up when its turn had begun',
  forgotten: 'its result is not kept any more',
  lost: 'the object lost its state after the call was sent',
  closed: 'the objects were closed when its turn had begun',
};

function outcomeUnknown(called: Called, why: string): LeaseholdError {
  const reason = WHY_UNKNOWN[why] ?? `an earlier attempt may have run it, and the last was refused (${why})`;
  const message = `${textOf(called)} may have run: ${reason}; look at the object before the call is made again`;
  return new OutcomeUnknownError('OUTCOME_UNKNOWN', message, factsOf(called));
}

function failed(
  called: Called,
  why: Extract<CallEnd, { is: 'failed' }>['why'],
  timeoutMs: number,
): LeaseholdError {
  const [text, facts] = [textOf(called), factsOf(called)];
  switch (why) {
    case 'over': {
      const within = `its turn had not begun within ${numberWords(timeoutMs)} ms`;
      return new UnavailableError('TIMEOUT', `${text} was not run: ${within}`, facts);
    }
    case 'cancelled':
      return new UnavailableError(
        'TIMEOUT',
        `${text} was not run: it was given up before its turn began`,
        facts,
      );
    case 'cycle': {
      const message = `${text} would wait for itself: a turn of that position waits for this call, and keys with one tag, and all kinds under one key, share a queue`;
      return new InvalidArgumentError('CALL_CYCLE', message, facts);
    }
    case 'too-far': {
      const message = `${text} was called through ${THROUGH_MAX} objects, each waiting for the next: that is the most`;
      return new InvalidArgumentError('CALL_CYCLE', message, facts);
    }
    case 'no-such-call': {
      const message = `${text} is not known to its owner, which may have an older version: deploy owners before callers`;
      return new UnavailableError('NO_SUCH_CALL', message, facts);
    }
    case 'full': {
      const message = `${text} was not run: there are as many objects of the kind ${called.kind} as maxObjects allows`;
      return new UnavailableError('BUSY', message, facts);
    }
    default:
      return closed(`${text} was not run`);
  }
}

export const closed = (what: string): ClosedError =>
  new ClosedError('CLOSED', `${what}: the objects are closed`, { module: 'objects' });

/** A context is used after its turn. */
export const turnOver = (kind: string, key: string): InvalidArgumentError =>
  new InvalidArgumentError(
    'TURN_OVER',
    `the turn of ${kind} '${key}' is over: await all work within the handler, or make a call of what comes later`,
    { module: 'objects', details: { kind, key } },
  );

/** A read has changed the state. */
export const changedByRead = (called: Called): InvalidArgumentError =>
  new InvalidArgumentError(
    'CHANGED_BY_READ',
    `${textOf(called)} is a read, and has changed the state; the change is undone: make it a call`,
    factsOf(called),
  );
