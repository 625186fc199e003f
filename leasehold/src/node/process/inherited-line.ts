/**
 * The other end of a {@link Child}'s line of communication, in the child.
 *
 * The descriptor is only a number, and a number can by now be something else: a shell in between may have closed the
 * descriptor, and then the number belongs to the next file that this process opened. So a descriptor that is no socket
 * is left alone, and the caller has to know that we are the child of this line.
 *
 * Nobody waits for ever: a parent that is gone is the end of the file, and one that is stopped is
 * waited for until a deadline.
 *
 * **The end of the parent.** The kernel closes the parent's end with the parent, however that ends. But a parent of an
 * earlier version closes its end as soon as the line is written. So the end of the file counts as the end of the
 * parent only after the parent has said {@link STAYS}.
 */

import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';

export interface InheritedLineOptions {
  readonly descriptor: number;
  readonly charactersMax: number;
  readonly withinMs: number;
  /** The answer to the line; `undefined` for none. */
  reply(line: string): string | undefined;
  /**
   * The parent has ended before us, and had said that the parent's end of the line would last as long as the parent.
   * Not without a reply.
   */
  onParentGone?: (() => void) | undefined;
}

/** A parent says this after the line if the parent keeps the line open for life. */
export const STAYS = 'stays\n';

/**
 * Reads one line and answers. The line is returned when the answer is on the way; `undefined` if there is none, or
 * nobody to answer. The descriptor is closed, unless the parent's end is waited for.
 */
export async function answerInheritedLine(options: InheritedLineOptions): Promise<string | undefined> {
  const socket = openInherited(options.descriptor);
  if (socket === undefined) return undefined;
  const tooLate = setTimeout(() => socket.destroy(), options.withinMs);
  const reading = new Reading(socket, options.charactersMax);
  let isWatched = false;
  try {
    const line = await reading.firstLine;
    const reply = line === undefined ? undefined : options.reply(line);
    if (reply !== undefined) {
      await written(socket, reply);
      isWatched = options.onParentGone !== undefined;
    }
    return line;
  } catch {
    return undefined; // The parent is gone, or too late: there is no line.
  } finally {
    clearTimeout(tooLate);
    if (isWatched) reading.onEnd((stayed) => (stayed ? options.onParentGone?.() : undefined));
    else socket.destroy();
  }
}

function openInherited(descriptor: number): Socket | undefined {
  try {
    if (!fstatSync(descriptor).isSocket()) return undefined;
    return new Socket({ fd: descriptor, readable: true, writable: true, allowHalfOpen: true });
  } catch {
    return undefined; // Closed, or nothing that can be read.
  }
}

/** The data of the line: a first line, perhaps {@link STAYS}, and the end. */
class Reading {
  readonly firstLine: Promise<string | undefined>;
  readonly #socket: Socket;
  readonly #end: Promise<void>;
  #text = '';

  constructor(socket: Socket, charactersMax: number) {
    this.#socket = socket;
    socket.setEncoding('utf8');
    this.#end = new Promise((resolve) => {
      for (const event of ['end', 'close', 'error']) socket.once(event, () => resolve());
    });
    this.firstLine = new Promise((resolve, reject) => {
      socket.on('data', (more: string) => {
        this.#text = (this.#text + more).slice(0, charactersMax + STAYS.length);
        const end = this.#text.indexOf('\n');
        if (end >= 0) resolve(this.#text.slice(0, end));
        else if (this.#text.length > charactersMax) resolve(undefined);
      });
      socket.once('error', reject);
      void this.#end.then(() => resolve(undefined));
    });
  }

  /** The process may end meanwhile: nothing here keeps the process running. */
  onEnd(use: (stayed: boolean) => void): void {
    this.#socket.unref();
    void this.#end.then(() => {
      this.#socket.destroy();
      use(this.#text.endsWith(`\n${STAYS}`));
    });
  }
}

const written = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.write(text, (cause) => (cause ? reject(cause) : resolve()));
  });
