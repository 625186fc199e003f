/**
 * The errors that every module may throw. A module adds its own beside its protocol.
 */

/** Everything the toolkit throws on purpose. `code` is the contract; the message is for people. */
export abstract class LeaseholdError extends Error {
  abstract readonly code: string;
  /** True when the same call, made again later without change, may succeed. */
  abstract readonly retryable: boolean;
}

/** An option breaks a rule. Thrown at construction, before anything has started. */
export class InvalidOptionError extends LeaseholdError {
  override readonly name = 'InvalidOptionError';
  readonly code = 'INVALID_OPTION';
  readonly retryable = false;
  readonly option: string;
  readonly value: unknown;
  readonly rule: string;

  constructor(option: string, value: unknown, rule: string) {
    super(`option ${option} is ${String(value) || 'empty'}, but ${rule}`);
    this.option = option;
    this.value = value;
    this.rule = rule;
  }
}

/**
 * A peer sent something that is not a message of this protocol. Nothing was changed by it; close
 * the connection it came from.
 */
export class MalformedMessageError extends LeaseholdError {
  override readonly name = 'MalformedMessageError';
  readonly code = 'MALFORMED_MESSAGE';
  readonly retryable = false;
  /** Where in the message, as `rows[3].number`. */
  readonly path: string;

  constructor(path: string, rule: string, options?: ErrorOptions) {
    super(`malformed message: ${path} ${rule}`, options);
    this.path = path;
  }
}
