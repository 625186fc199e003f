/** A connection on which every line is answered by one line, in the order of asking. */

import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { lines } from '../processes/conversation.ts';

export class AnsweredLine {
  readonly #socket: Socket;
  readonly #waiting: ((answer: unknown) => void)[] = [];
  #isOver = false;

  constructor(to: NetConnectOpts) {
    this.#socket = connect(to);
    this.#socket.setEncoding('utf8').on(
      'data',
      lines((line) => this.#waiting.shift()?.(JSON.parse(line))),
    );
    // The close that follows answers whoever waits.
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.#isOver = true;
      for (const answer of this.#waiting.splice(0)) answer(undefined);
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Undefined if the connection ends first. */
  ask<Answer>(question: object): Promise<Answer | undefined> {
    if (this.#isOver) return Promise.resolve(undefined);
    this.#socket.write(`${JSON.stringify(question)}\n`);
    return new Promise((resolve) => this.#waiting.push(resolve as (answer: unknown) => void));
  }
}
