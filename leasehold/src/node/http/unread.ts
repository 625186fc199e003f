/**
 * Answers that nobody reads.
 *
 * To ask takes fifty bytes, and an answer may have megabytes. A client that asks a thousand times in one packet and
 * reads nothing would have all answers kept here, so on one connection the next request is read only when the answer
 * before has left. Nobody needs more: browsers, scrapers and health checks wait for their answer. A client that does
 * not wait is cut off rather than delayed, because received requests are parsed a packet at a time in any case. And an
 * answer may take only so long to leave; a connection then keeps one answer at most, and not for ever.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Logger, unsaid } from '../../runtime/logger.ts';

/** One line about such clients at most so often, with the number of omitted lines. */
const LINE_EVERY_MS = 10_000;

export class UnreadAnswers {
  readonly #logger: Logger;
  readonly #answerMs: number;
  readonly #onCutOff: () => void;
  #saidAt = Number.NEGATIVE_INFINITY;
  #leftOut = 0;

  /** @param answerMs how long an answer may take to leave */
  constructor(logger: Logger, answerMs: number, onCutOff: () => void) {
    this.#logger = logger;
    this.#answerMs = answerMs;
    this.#onCutOff = onCutOff;
  }

  /** Whether all answers before this one have left. If not, the connection is closed. */
  isInTurn({ socket }: IncomingMessage, response: ServerResponse): boolean {
    // An answer gets the socket when the answer before has left.
    if (response.socket !== null && !socket.destroyed) return true;
    if (!socket.destroyed) {
      this.#cutOff(socket, 'it asked again before it had taken the answer; ask one at a time');
    }
    return false;
  }

  /** Closes the connection if the answer, which is complete, does not leave in time. */
  watch({ socket }: IncomingMessage, response: ServerResponse): void {
    const late = setTimeout(
      () => this.#cutOff(socket, `it did not take an answer within ${this.#answerMs} ms`),
      this.#answerMs,
    ).unref();
    response.on('close', () => clearTimeout(late));
  }

  #cutOff(socket: IncomingMessage['socket'], why: string): void {
    const peer = socket.remoteAddress;
    socket.destroy();
    this.#onCutOff();
    const now = performance.now();
    if (now - this.#saidAt < LINE_EVERY_MS) {
      this.#leftOut += 1;
      return;
    }
    this.#logger.warn('http connection cut off', { peer, why, also: unsaid(this.#leftOut) });
    this.#saidAt = now;
    this.#leftOut = 0;
  }
}
