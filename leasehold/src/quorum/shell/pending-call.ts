/** A call of a client that is not answered, and until when to wait for the answer. */

import { type Instant, later } from '../../runtime/time.ts';
import type { Command } from '../core/operation.ts';
import type { Call, Reply } from '../wire/calls.ts';
import type { NumberedWrite } from './client-session.ts';

/** An unanswered call is sent again after so long. */
export const RESEND_MS = 2_000;

/** A call that a number completes, or a command that a place in the session completes. */
export type Asked = ((id: number) => Call) | Command;

/** A call that is not answered. A class, because there are many at once, and one shape is fast. */
export class Pending {
  /** Another one if the call becomes another request: replies to the one before are then nobody's. */
  id: number;
  readonly asked: Asked;
  readonly settle: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
  readonly timeoutMs: number;
  readonly since: Instant;
  readonly until: Instant;
  write: NumberedWrite | undefined;
  /** How often the call was sent. */
  sent = 0;
  /** To be sent as soon as there is a connection. */
  isDue = false;
  /** When an unanswered call is sent again. */
  resendAt: Instant;

  constructor(
    id: number,
    asked: Asked,
    settle: (reply: Reply) => void,
    reject: (error: unknown) => void,
    timeoutMs: number,
    now: Instant,
  ) {
    this.id = id;
    this.asked = asked;
    this.settle = settle;
    this.reject = reject;
    this.timeoutMs = timeoutMs;
    this.since = now;
    this.until = later(now, timeoutMs);
    this.resendAt = later(now, RESEND_MS);
  }

  get isWrite(): boolean {
    return typeof this.asked !== 'function';
  }
}
