/**
 * Tells somebody who waits that something is happening: on a terminal a line that is written over,
 * elsewhere (a log, a pipe) a line of its own every ten seconds. It goes to the error output, so
 * that results can be piped away.
 */

import process from 'node:process';

const TERMINAL_MS = 100;
const LOG_MS = 10_000;
const CLEAR_LINE = '\r\u001b[2K';

export class Progress {
  #stream;
  #timer;
  #shown = false;

  /**
   * @param {() => string} line what to say now
   * @param {{ isTTY?: boolean | undefined, write(text: string): unknown, columns?: number | undefined }} [stream]
   */
  constructor(line, stream = process.stderr) {
    this.#stream = stream;
    const show = () => {
      const text = line();
      if (!stream.isTTY) return stream.write(`${text}\n`);
      this.#shown = true;
      return stream.write(CLEAR_LINE + text.slice(0, (stream.columns ?? 80) - 1));
    };
    this.#timer = setInterval(show, stream.isTTY ? TERMINAL_MS : LOG_MS);
  }

  /** Makes room for a line of output; the progress comes back below it. */
  clear() {
    if (this.#shown) this.#stream.write(CLEAR_LINE);
    this.#shown = false;
  }

  [Symbol.dispose]() {
    clearInterval(this.#timer);
    this.clear();
  }
}
