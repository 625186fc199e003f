/** As much HTTP as the demo needs: a server on loopback, and a client that keeps connections open. */

import { Agent, createServer, request as httpRequest, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
}

export interface WebServer {
  readonly url: string;
  close(): Promise<void>;
}

/** `path` is the part behind the last slash, decoded: the user. */
export type Handler = (method: string, user: string, body: unknown) => Promise<Answer>;

export async function serve(handler: Handler): Promise<WebServer> {
  const listener: RequestListener = (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const user = decodeURIComponent((request.url ?? '/').split('/').at(-1) ?? '');
      handler(request.method ?? 'GET', user, parse(Buffer.concat(pieces).toString()))
        .catch((error: unknown): Answer => ({ status: 500, body: { error: String(error) } }))
        .then(({ status, headers, body }) => {
          response.writeHead(status, { 'content-type': 'application/json', ...headers });
          response.end(body === undefined ? '' : JSON.stringify(body));
        })
        .catch(() => response.destroy());
    });
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const agent = new Agent({ keepAlive: true, maxSockets: 32 });
const ANSWER_WITHIN_MS = 1_000;

/** Undefined: no answer, for any reason. */
export function ask(
  method: string,
  url: string,
  body?: unknown,
  withinMs: number = ANSWER_WITHIN_MS,
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const request = httpRequest(url, { method, agent }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => {
        clearTimeout(timer);
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, body: parse(Buffer.concat(pieces).toString()) });
      });
      response.on('error', () => resolve(undefined));
    });
    const timer = setTimeout(() => request.destroy(), withinMs);
    request.on('error', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Undefined if the text is not JSON. */
function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
