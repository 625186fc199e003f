/** The way to the register of a test: a write goes out with the number it was made under. */

import { connect, type Socket } from 'node:net';

export interface Write {
  readonly key: string;
  readonly number: number;
  readonly incarnation: string;
  /** The lease was not checked before it, or long ago: as by an application that was stopped in between. */
  readonly isUnchecked?: boolean;
}

export class RegisterClient {
  readonly #socket: Socket;
  /** Answers come in the order of the requests. */
  readonly #waiting: ((accepted: readonly boolean[]) => void)[] = [];

  constructor(path: string) {
    this.#socket = connect(path);
    let rest = '';
    this.#socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#waiting.shift()?.(JSON.parse(line) as boolean[]);
    });
    this.#socket.on('error', () => process.exit());
  }

  /** Whether each was accepted. */
  write(writes: readonly Write[]): Promise<readonly boolean[]> {
    this.#socket.write(`${JSON.stringify(writes)}\n`);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
