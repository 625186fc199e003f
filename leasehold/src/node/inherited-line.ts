/**
 * The other end of a {@link Child}'s line of communication, in the child.
 *
 * The descriptor is only a number, and a number can by now be something else: a shell in between may
 * have closed it, and then it is whatever this process opened next. So it is touched only if it is a
 * socket, and it is on the caller to know that we are the child it was made for. A descriptor that is no
 * socket is left alone.
 *
 * Nobody waits for ever: a parent that is gone is the end of the file, and one that is stopped is
 * waited for until a deadline.
 */

import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';

export interface InheritedLineOptions {
  readonly descriptor: number;
  readonly charactersMax: number;
  readonly withinMs: number;
  /** What to answer to the line; `undefined` to say nothing. */
  reply(line: string): string | undefined;
}

/**
 * Reads one line, answers it, and closes the descriptor. The line is returned when the answer is on
 * its way; `undefined` if there is none, or nobody to answer.
 */
export async function answerInheritedLine(options: InheritedLineOptions): Promise<string | undefined> {
  const socket = openInherited(options.descriptor);
  if (socket === undefined) return undefined;
  const tooLate = setTimeout(() => socket.destroy(), options.withinMs);
  try {
    const line = await firstLine(socket, options.charactersMax);
    const reply = line === undefined ? undefined : options.reply(line);
    if (reply !== undefined) await written(socket, reply);
    return line;
  } catch {
    return undefined; // The parent is gone, or too late: there is no line.
  } finally {
    clearTimeout(tooLate);
    socket.destroy();
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

function firstLine(socket: Socket, charactersMax: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (more: string) => {
      text += more;
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end));
      else if (text.length > charactersMax) resolve(undefined);
    });
    socket.once('end', () => resolve(undefined));
    socket.once('close', () => resolve(undefined));
    socket.once('error', reject);
  });
}

const written = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.write(text, (cause) => (cause ? reject(cause) : resolve()));
  });
