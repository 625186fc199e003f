/**
 * What a group throws. `code` is the contract; the message is for people.
 */

import { LeaseholdError } from '../runtime/errors.ts';

/** The group cannot be changed like this, or not yet. */
export class GroupChangeError extends LeaseholdError {
  override readonly name = 'GroupChangeError';
  readonly code = 'GROUP_CHANGE';
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}
