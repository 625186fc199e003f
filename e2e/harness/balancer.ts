/**
 * A load balancer as customers know it: hands each request to the next server that is ready, and to another one if that server is gone before it has answered.
 *
 * It is the place outside from which the answers of all servers are seen: when, to which customer, with which status.
 */

import { Agent, createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { nowMs } from './time.ts';

export interface Answered {
  readonly askedMs: number;
  readonly atMs: number;
  readonly key: string;
  readonly status: number;
}

export class Balancer implements AsyncDisposable {
  readonly answers: Answered[] = [];
  /** Requests that wait for their answer. */
  waiting = 0;
  /** The ports of the servers that take requests. */
  readonly ports: Set<number> = new Set();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #server: Server;
  #next = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.waiting += 1;
      this.#serve(request, response, nowMs());
    });
  }

  static async open(): Promise<Balancer> {
    const balancer = new Balancer();
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Answers since then. */
  since(fromMs: number, keys: readonly string[]): Answered[] {
    return this.answers.filter(({ atMs, key }) => atMs >= fromMs && keys.includes(key));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(request: IncomingMessage, response: ServerResponse, askedMs: number, tries: number = 0): void {
    const key = request.headers['x-api-key']?.toString() ?? '';
    const ports = [...this.ports];
    const port = ports[(this.#next += 1) % ports.length];
    if (port === undefined || tries > 8) {
      this.#answer(response, { askedMs, key, status: 502 });
      return;
    }
    let isAnswered = false;
    const asked = get(
      { agent: this.#agent, host: '127.0.0.1', port, headers: { 'x-api-key': key } },
      (answer) => {
        isAnswered = true;
        answer.resume();
        this.#answer(response, { askedMs, key, status: answer.statusCode ?? 0 });
      },
    );
    asked.on('error', () => {
      if (!isAnswered) this.#serve(request, response, askedMs, tries + 1);
    });
  }

  #answer(response: ServerResponse, answer: Omit<Answered, 'atMs'>): void {
    this.waiting -= 1;
    this.answers.push({ ...answer, atMs: nowMs() });
    response.statusCode = answer.status;
    response.end();
  }
}
