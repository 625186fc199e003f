/**
 * Surroundings that end: from then on no timer fires, nothing is sent, and no answer arrives, for all users of these
 * surroundings. A client of etcd asks one member after the other until one answers; when the connection is closed, the
 * client has to be silent, and its errors about members that hang up are of no interest.
 */

import type { HttpClient, HttpEvents, HttpExchange, HttpPost } from '../../runtime/http.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';

const NEVER: HttpExchange = { mayHaveArrived: false, [Symbol.dispose]: () => {} };

export class SurroundingsUntil implements Disposable {
  readonly runtime: Runtime;
  readonly http: HttpClient;
  readonly #open = new Set<Disposable>();
  #isOver = false;

  constructor(runtime: Runtime, http: HttpClient) {
    this.runtime = {
      now: () => runtime.now(),
      wallMs: () => runtime.wallMs(),
      uptimeMs: () => runtime.uptimeMs(),
      random: () => runtime.random(),
      wakeAt: (at, callback) => this.#wakeAt(runtime, at, callback),
    };
    this.http = { post: (post, events) => this.#post(http, post, events) };
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const each of [...this.#open]) each[Symbol.dispose]();
    this.#open.clear();
  }

  #wakeAt(runtime: Runtime, at: Instant, callback: () => void): Disposable {
    if (this.#isOver) return NEVER;
    const timer = runtime.wakeAt(at, () => {
      this.#open.delete(timer);
      callback();
    });
    this.#open.add(timer);
    return {
      [Symbol.dispose]: () => {
        this.#open.delete(timer);
        timer[Symbol.dispose]();
      },
    };
  }

  #post(http: HttpClient, post: HttpPost, events: HttpEvents): HttpExchange {
    if (this.#isOver) return NEVER;
    const exchange = http.post(post, {
      status: (status) => events.status(status),
      data: (bytes) => events.data(bytes),
      ended: () => {
        this.#open.delete(exchange);
        events.ended();
      },
      failed: (why) => {
        this.#open.delete(exchange);
        events.failed(why);
      },
    });
    this.#open.add(exchange);
    return {
      get mayHaveArrived() {
        return exchange.mayHaveArrived;
      },
      [Symbol.dispose]: () => {
        this.#open.delete(exchange);
        exchange[Symbol.dispose]();
      },
    };
  }
}
