import { SingleError } from 'leasehold/internal';

/** The demo cannot begin, or cannot go on: a port is taken, or a process did not start or ended at once. */
export class DemoError extends SingleError {
  override readonly name = 'DemoError';
  readonly code: string;
  readonly retryable = true;

  constructor(message: string, code = 'DEMO_FAILED') {
    super(message);
    this.code = code;
  }
}
