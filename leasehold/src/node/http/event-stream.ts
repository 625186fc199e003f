/**
 * Server-sent events to one reader, which may be slow or gone.
 *
 * Events are pulled, one at a time, while the socket has room; then nothing happens until the socket has drained. So
 * never more than the socket's own buffer and one event waits for a reader, and the source of the events decides
 * whether the reader has missed something by then. A reader that takes nothing for a while is cut off. When there is
 * nothing to tell, a comment now and then keeps the connection from being taken for dead on either side.
 */

import type { ServerResponse } from 'node:http';
import type { HttpStreamAnswer, ServerSentEvent } from './exchange.ts';

export interface StreamTimes {
  readonly heartbeatEveryMs: number;
  /** A reader that takes nothing for so long is cut off. */
  readonly stalledAfterMs: number;
  /** How long a browser should wait before connecting again. */
  readonly retryMs: number;
}

const ONE_LINE = /[\r\n\0]/g;

/** The text on the wire; the reader joins data of several lines again. */
export function frameEvent({ id, event, data }: ServerSentEvent): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  const name = `event: ${event.replace(ONE_LINE, ' ')}\n`;
  return `${id === undefined ? '' : `id: ${id.replace(ONE_LINE, ' ')}\n`}${name}${lines.join('')}\n`;
}

export class EventStream {
  readonly #response: ServerResponse;
  readonly #source: ReturnType<HttpStreamAnswer['open']>;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #stalledAfterMs: number;
  readonly #onStalled: () => void;
  #stalled: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(response: ServerResponse, answer: HttpStreamAnswer, times: StreamTimes, onStalled: () => void) {
    this.#response = response;
    this.#stalledAfterMs = times.stalledAfterMs;
    this.#onStalled = onStalled;
    response.on('drain', () => this.#drained());
    response.on('close', () => this.#finish());
    response.write(`retry: ${times.retryMs}\n\n`);
    this.#heartbeat = setInterval(() => this.#beat(), times.heartbeatEveryMs).unref();
    this.#source = answer.open(() => this.#pump());
    this.#pump();
  }

  /** Ends the stream properly; the reader may connect again, here or elsewhere. */
  end(): void {
    this.#finish();
    this.#response.end();
  }

  #pump(): void {
    while (!this.#isOver && this.#stalled === undefined) {
      const event = this.#source.next();
      if (event === undefined) return;
      this.#write(frameEvent(event));
    }
  }

  #beat(): void {
    if (this.#stalled === undefined) this.#write(': still here\n\n');
  }

  #write(text: string): void {
    if (this.#response.write(text)) return;
    this.#stalled = setTimeout(() => {
      this.#onStalled();
      this.#finish();
      this.#response.destroy();
    }, this.#stalledAfterMs).unref();
  }

  #drained(): void {
    clearTimeout(this.#stalled);
    this.#stalled = undefined;
    this.#pump();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#heartbeat);
    clearTimeout(this.#stalled);
    this.#source[Symbol.dispose]();
  }
}
