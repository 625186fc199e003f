/** The errors of a group. `code` is the contract; the message is for people. */

import { LeaseholdError } from '../runtime/errors.ts';

/** A view without the receiver was delivered before the receiver acknowledged the message, which may have arrived all the same. */
export class NewViewError extends LeaseholdError {
  override readonly name = 'NewViewError';
  readonly code = 'NEW_VIEW';
  readonly retryable = true;
  /** The receiver. */
  readonly member: string;

  constructor(member: string) {
    super(
      `${member} did not acknowledge the message before a new view began: the message may have arrived or not; look at the new view, and send again to a member of it`,
    );
    this.member = member;
  }
}

/** This server agrees with nobody on a view. A message that waited may have arrived all the same. Wait for the next view. */
export class PanicError extends LeaseholdError {
  override readonly name = 'PanicError';
  readonly code = 'PANIC';
  readonly retryable = true;

  constructor() {
    super(
      'this server has no view, because the servers that it reaches could not agree on one: wait for onView',
    );
  }
}

/** The receiver is no member of the present view. Nothing was sent. */
export class NotAMemberError extends LeaseholdError {
  override readonly name = 'NotAMemberError';
  readonly code = 'NOT_A_MEMBER';
  readonly retryable = true;
  readonly member: string;

  constructor(member: string, members: readonly string[], sender: string) {
    const others = members.filter((name) => name !== sender);
    const found = others.length === 0 ? 'there is no other member' : `the others are ${others.join(', ')}`;
    const why =
      member === sender
        ? `${member} cannot send to itself`
        : `${member} is not another member of the present view`;
    super(`${why}: ${members.length === 0 ? 'there is no view yet' : found}`);
    this.member = member;
  }
}

/** A message is larger than a group carries. Nothing was sent. Send a reference, or several messages. */
export class MessageTooLargeError extends LeaseholdError {
  override readonly name = 'MessageTooLargeError';
  readonly code = 'MESSAGE_TOO_LARGE';
  readonly retryable = false;

  constructor(bytes: number, mostBytes: number) {
    super(
      `a message of ${bytes} bytes is too large: at most ${mostBytes} are carried; send several, or a reference`,
    );
  }
}

/** Too many bytes wait for acknowledgements. Nothing was sent. Wait for earlier messages before sending more. */
export class TooManyMessagesError extends LeaseholdError {
  override readonly name = 'TooManyMessagesError';
  readonly code = 'TOO_MANY_MESSAGES';
  readonly retryable = true;

  constructor(mostBytes: number) {
    super(
      `messages of ${mostBytes} bytes wait to be acknowledged already: await earlier sends before sending more`,
    );
  }
}

/** This process has left the group. */
export class LeftGroupError extends LeaseholdError {
  override readonly name = 'LeftGroupError';
  readonly code = 'LEFT_GROUP';
  readonly retryable = false;

  constructor() {
    super('this process has left the group: join again');
  }
}
