/**
 * A person in a room, wherever the room is: asks any server which server has the room, connects there, and asks again when the
 * connection ends. A line that was not heard before the connection ended is said again, under its old number: so a line
 * is shown once, although it may have been said twice.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';

const AGAIN_MS = 100;
const ANSWER_MS = 2_000;

export interface Line {
  readonly from: string;
  readonly number: number;
  readonly text: string;
}

export interface Options {
  readonly name: string;
  readonly room: string;
  /** Urls of servers; each can tell which server has the room. */
  readonly servers: readonly string[];
  onLine(line: Line): void;
  /** Connected to the server of this name. */
  onServer(name: string): void;
}

export class Person implements Disposable {
  readonly #options: Options;
  readonly #unheard = new Map<number, Line>();
  readonly #heard = new Set<string>();
  #said = 0;
  #socket: WebSocket | undefined;
  readonly #gone = new AbortController();

  constructor(options: Options) {
    this.#options = options;
    void this.#stay();
  }

  say(text: string): void {
    this.#said += 1;
    const line: Line = { from: this.#options.name, number: this.#said, text };
    this.#unheard.set(line.number, line);
    this.#send(line);
  }

  [Symbol.dispose](): void {
    this.#gone.abort();
    this.#socket?.terminate();
  }

  #send(line: Line): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(line));
  }

  async #stay(): Promise<void> {
    for (let attempt = 0; !this.#gone.signal.aborted; attempt += 1) {
      const found = await this.#find(attempt);
      if (found !== undefined) await this.#connected(found.name, found.url);
      await pause(AGAIN_MS);
    }
  }

  async #find(attempt: number): Promise<{ name: string; url: string } | undefined> {
    const { servers, room } = this.#options;
    const signal = AbortSignal.any([this.#gone.signal, AbortSignal.timeout(ANSWER_MS)]);
    try {
      const answer = await fetch(`${servers[attempt % servers.length]}/${encodeURIComponent(room)}`, {
        signal,
      });
      return answer.ok ? ((await answer.json()) as { name: string; url: string }) : undefined;
    } catch {
      return undefined; // A dead server: the next one is asked.
    }
  }

  /** Resolves when the connection has ended. */
  #connected(name: string, url: string): Promise<void> {
    const { room, onServer } = this.#options;
    const socket = new WebSocket(`${url.replace('http', 'ws')}/${encodeURIComponent(room)}`, {
      handshakeTimeout: ANSWER_MS,
    });
    this.#socket = socket;
    socket.on('open', () => {
      onServer(name);
      for (const line of this.#unheard.values()) this.#send(line);
    });
    socket.on('message', (data) => this.#hear(JSON.parse(String(data)) as Line));
    socket.on('error', () => socket.terminate());
    return new Promise((resolve) => socket.on('close', () => resolve()));
  }

  #hear(line: Line): void {
    if (line.from === this.#options.name) this.#unheard.delete(line.number);
    const id = `${line.from} ${line.number}`;
    if (this.#heard.has(id)) return;
    this.#heard.add(id);
    this.#options.onLine(line);
  }
}
