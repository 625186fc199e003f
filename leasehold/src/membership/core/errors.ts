/** The errors of a group, made here so that each has one message and the same details. `code` is the contract; the message is for people. */

import {
  ClosedError,
  InvalidArgumentError,
  OutcomeUnknownError,
  UnavailableError,
} from '../../runtime/errors.ts';

const module = 'membership';

/** The view ended before the receiver acknowledged the message, which may have arrived all the same. */
export const viewChanged = (name: string): OutcomeUnknownError =>
  new OutcomeUnknownError(
    'VIEW_CHANGED',
    `${name} did not acknowledge the message before the view ended: the message may have arrived or not; look at the next view, and ask ${name} before sending again`,
    { module, details: { name } },
  );

/** The view goes on, and a message was not acknowledged in time. */
export const notAcknowledged = (name: string): OutcomeUnknownError =>
  new OutcomeUnknownError(
    'OUTCOME_UNKNOWN',
    `${name} did not acknowledge the message in time, and the view goes on: the message may have arrived or not; ask ${name} before sending again`,
    { module, details: { name } },
  );

/** This process has no view: nothing was sent. */
export const noView = (): UnavailableError =>
  new UnavailableError(
    'NO_VIEW',
    'this process has no view at present, so there is nobody to send to: wait for acting(), and try again',
    { module },
  );

/** The receiver is in no way a part of the present view. Nothing was sent. */
export function notAMember(name: string, members: readonly string[], sender: string): UnavailableError {
  const others = members.filter((each) => each !== sender);
  const found = others.length === 0 ? 'there is no other member' : `the others are ${others.join(', ')}`;
  const why =
    name === sender ? `${name} cannot send to itself` : `${name} is not another member of the present view`;
  return new UnavailableError('NOT_A_MEMBER', `${why}: ${found}`, { module, details: { name, members } });
}

/** A message is larger than a group carries. Nothing was sent. */
export const tooLarge = (size: number, limit: number): InvalidArgumentError =>
  new InvalidArgumentError(
    'TOO_LARGE',
    `a message of ${size} bytes is too large: at most ${limit} are carried; send several, or a reference`,
    { module, details: { size, limit } },
  );

/** Too many bytes wait for acknowledgements. Nothing was sent. */
export const busy = (limit: number): UnavailableError =>
  new UnavailableError(
    'BUSY',
    `messages of ${limit} bytes wait to be acknowledged already: await earlier sends before sending more`,
    { module, details: { limit } },
  );

/** The handle was closed. A message that waited for its acknowledgement may have arrived. */
export const closed = (isMessageSent = false): ClosedError =>
  new ClosedError(
    'CLOSED',
    `this process has left the group${isMessageSent ? ' before the message was acknowledged, which may have arrived' : ''}: join again (joinGroup, connectGroup)`,
    { module, isOutcomeKnown: !isMessageSent },
  );
