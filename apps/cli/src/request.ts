/**
 * One request over HTTP, and the answer as a stream.
 *
 * Not by `fetch`: the `fetch` of Node 20 never settles if the other side accepts the first connection of a process and
 * closes the connection at once, because the parser is still being loaded when the connection ends, and nothing looks
 * again. A command that waits for such a `fetch` would end without a word. A request of `node:http` always ends: in an
 * answer, or in an error.
 */

import { type IncomingMessage, request as plain } from 'node:http';
import { request as secure } from 'node:https';

export interface HttpRequest {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** The other side closed the connection before all of the answer was there. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError';

  constructor(cause?: unknown) {
    super('the other side closed the connection', { cause });
  }
}

/**
 * The answer, of any status; the caller must read or destroy the body. Redirections are not followed. Rejects with the
 * reason of the signal if that aborts.
 */
export async function send(url: string, { signal, body, ...request }: HttpRequest): Promise<IncomingMessage> {
  signal.throwIfAborted();
  const begin = url.startsWith('https:') ? secure : plain;
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      begin(url, { ...request, signal })
        .on('response', resolve)
        .on('error', reject)
        .on('close', () => reject(new ConnectionClosedError())) // An answer that changes the protocol is none, nor an error.
        .end(body);
    });
  } catch (error) {
    throw reasonFor(error, signal);
  }
}

/** The body as a stream. Throws the reason of the signal if that aborts. */
export async function* piecesOf(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<string, void> {
  try {
    for await (const piece of answer.setEncoding('utf8')) yield String(piece);
    signal.throwIfAborted(); // Where a body ends with the connection, an abort looks like the end.
  } catch (error) {
    throw reasonFor(error, signal);
  }
}

/** All of the body. Rejects with the reason of the signal if that aborts. */
export async function textOf(answer: IncomingMessage, signal: AbortSignal): Promise<string> {
  let text = '';
  for await (const piece of piecesOf(answer, signal)) text += piece;
  return text;
}

function reasonFor(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const isClosed = error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
  return isClosed ? new ConnectionClosedError(error) : error;
}
