/**
 * A small HTTP server for a process that has something more important to do: nearly all requests only read, and
 * everything that a stranger could make the server keep is bounded: connections, the size of a request, the time of a
 * request, answers that are not read, the number of open streams. A client that breaks a bound is told which, if the
 * client reads. No request needs a body, and none is read.
 */

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '../../runtime/logger.ts';
import { formatAddress } from '../tcp/address.ts';
import { whyNotListening } from '../tcp/not-listening.ts';
import { EventStream } from './event-stream.ts';
import { failure, type HttpAnswer, type HttpRoute, type HttpTextAnswer } from './exchange.ts';
import { hostCheck } from './hosts.ts';
import { HttpRooms } from './rooms.ts';
import { type RouteRequest, router } from './router.ts';
import { UnreadAnswers } from './unread.ts';

export interface HttpLimits {
  /** Of the request line and all headers together. @default 16_384 */
  readonly headBytes: number;
  /** @default 8_192 */
  readonly urlCharacters: number;
  /** Open connections; for one more, the oldest of the busiest origin is closed (`rooms.ts`). @default 256 */
  readonly connections: number;
  /** Open streams of events; for one more, one of the busiest origin ends, or the newcomer is answered 503. @default 64 */
  readonly streams: number;
  /** From the first byte of a request to the last. @default 10_000 */
  readonly requestMs: number;
  /** From an answer to when the last byte has left; the reader is cut off then. @default 30_000 */
  readonly answerMs: number;
  /** How long a connection is kept for another request. @default 5_000 */
  readonly idleMs: number;
  /** @default 15_000 */
  readonly heartbeatEveryMs: number;
  /** A reader of a stream that takes nothing for so long is cut off. @default 30_000 */
  readonly stalledAfterMs: number;
}

const HTTP_LIMITS: HttpLimits = {
  headBytes: 16_384,
  urlCharacters: 8_192,
  connections: 256,
  streams: 64,
  requestMs: 10_000,
  answerMs: 30_000,
  idleMs: 5_000,
  heartbeatEveryMs: 15_000,
  stalledAfterMs: 30_000,
};

const STREAM_RETRY_MS = 1_000;

export interface HttpServerOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly routes: readonly HttpRoute[];
  readonly logger: Logger;
  /**
   * Names under which requests may ask for this server, besides `localhost` and every address; `*` for any. See
   * `hosts.ts` for the prevented attack.
   *
   * @default []
   */
  readonly allowedHosts?: readonly string[] | undefined;
  readonly limits?: Partial<HttpLimits> | undefined;
}

/** Plain fields, which only grow but for `streams`. */
export interface HttpCounters {
  requests: number;
  failures: number;
  /** Connections closed because they asked again, or for long took nothing, while they had an answer to read. */
  cutOff: number;
  /** Open now. */
  streams: number;
  /** Cut off because they took nothing. */
  streamsStalled: number;
  /** How often all connections were taken, and all streams. */
  connectionsFull: number;
  streamsFull: number;
}

export interface HttpServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  readonly counters: Readonly<HttpCounters>;
  /** Takes no more requests, ends streams, lets answers finish for so long, then closes all. */
  close(withinMs?: number): Promise<void>;
}

/** @throws {PortInUseError} @throws {AddressUnavailableError} */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const served = new Served(options);
  await served.listen(options.host, options.port);
  return served;
}

/** Nothing here is for other sites, nothing is to be kept, and nothing is to be guessed. */
const ALWAYS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

class Served implements HttpServer {
  readonly counters: HttpCounters = {
    ...{ requests: 0, failures: 0, cutOff: 0, streams: 0, streamsStalled: 0 },
    ...{ connectionsFull: 0, streamsFull: 0 },
  };
  host = '';
  port = 0;
  readonly #server: Server;
  readonly #limits: HttpLimits;
  readonly #logger: Logger;
  readonly #route: RouteRequest;
  readonly #isExpected: (host: string | undefined) => boolean;
  readonly #streams = new Set<EventStream>();
  readonly #unread: UnreadAnswers;
  readonly #rooms: HttpRooms;

  constructor({ routes, logger, host, allowedHosts = [], limits = {} }: HttpServerOptions) {
    this.#limits = { ...HTTP_LIMITS, ...limits };
    this.#logger = logger;
    this.#route = router(routes);
    this.#isExpected = hostCheck([host, ...allowedHosts]);
    this.#unread = new UnreadAnswers(logger, this.#limits.answerMs, () => (this.counters.cutOff += 1));
    this.#server = createServer(
      {
        maxHeaderSize: this.#limits.headBytes,
        requestTimeout: this.#limits.requestMs,
        headersTimeout: this.#limits.requestMs,
        keepAliveTimeout: this.#limits.idleMs,
        connectionsCheckingInterval: Math.max(10, this.#limits.requestMs / 4),
        noDelay: true,
      },
      (request, response) => this.#serve(request, response),
    );
    this.#rooms = new HttpRooms(this.#limits, logger, (limit) => (this.counters[`${limit}Full`] += 1));
    this.#server.on('connection', (socket: Socket) => {
      if (!this.#rooms.admit(socket)) refuse(socket, NO_ROOM);
    });
    // Node would answer these itself, in turn or not.
    this.#server.on('checkExpectation', (request, response) => this.#serve(request, response));
    this.#server.on('clientError', (error, socket) => refuseMalformed(error, socket));
    this.#server.on('upgrade', (_request, socket: Duplex) => socket.destroy());
  }

  get url(): string {
    return `http://${formatAddress(this)}`;
  }

  listen(host: string, port: number): Promise<void> {
    const { promise, resolve, reject } = deferred();
    const server = this.#server;
    const failed = (cause: Error): void => reject(whyNotListening(host, port, cause));
    server.once('error', failed);
    server.listen({ host, port }, () => {
      server.off('error', failed);
      server.on('error', (error) => this.#logger.warn('http server error', { error: error.message }));
      const address = server.address();
      this.host = host;
      this.port = typeof address === 'object' && address !== null ? address.port : port;
      resolve();
    });
    return promise;
  }

  async close(withinMs = 1_000): Promise<void> {
    const { promise, resolve } = deferred();
    this.#server.close(() => resolve());
    for (const stream of [...this.#streams]) stream.end();
    this.#server.closeIdleConnections();
    const cut = setTimeout(() => this.#server.closeAllConnections(), withinMs);
    await promise;
    clearTimeout(cut);
    this.#rooms[Symbol.dispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#unread.isInTurn(request, response)) return;
    this.counters.requests += 1;
    response.on('error', (error) => this.#logger.debug('http answer not sent', { error: error.message }));
    const answer = this.#answer(request);
    // A body is not wanted, and to read past a body could take for ever.
    const hasBody =
      'transfer-encoding' in request.headers || Number(request.headers['content-length'] ?? 0) > 0;
    if (hasBody || !this.#server.listening) response.setHeader('connection', 'close');
    if (answer.kind === 'text') this.#sendText(request, response, answer);
    else if (answer.kind === 'stream') this.#sendStream(request, response, answer);
    else void this.#sendWhenDone(request, response, answer.answer);
  }

  async #sendWhenDone(
    request: IncomingMessage,
    response: ServerResponse,
    promised: Promise<HttpTextAnswer>,
  ): Promise<void> {
    const answer = await promised.catch((error: unknown) => this.#fault(request, error));
    // The client may have gone meanwhile.
    if (!request.socket.destroyed) this.#sendText(request, response, answer);
  }

  #answer(request: IncomingMessage): HttpAnswer {
    const { method = 'GET', url = '/', headers } = request;
    if (url.length > this.#limits.urlCharacters) {
      return failure(414, 'URL_TOO_LONG', `the URL may have ${this.#limits.urlCharacters} characters`);
    }
    if (!this.#isExpected(headers.host)) {
      return failure(
        403,
        'HOST_NOT_ALLOWED',
        `requests for the host "${headers.host}" are not answered; use an IP address or localhost, or add the name to the allowed hosts`,
      );
    }
    try {
      return this.#route(method, url, (name) => {
        const value = headers[name];
        return Array.isArray(value) ? value.join(', ') : value;
      });
    } catch (error) {
      return this.#fault(request, error);
    }
  }

  #fault({ url }: IncomingMessage, error: unknown): HttpTextAnswer {
    this.#logger.error('http request failed', { url, error: String(error) });
    return failure(500, 'INTERNAL', 'this could not be answered; the log of the process says why');
  }

  #sendText(request: IncomingMessage, response: ServerResponse, answer: HttpTextAnswer): void {
    const { status, headers, body } = answer;
    if (status >= 400) this.counters.failures += 1;
    const length = Buffer.byteLength(body);
    response.writeHead(status, { ...ALWAYS, 'content-length': length, ...headers });
    response.end(request.method === 'HEAD' ? undefined : body);
    this.#unread.watch(request, response);
  }

  #sendStream(
    request: IncomingMessage,
    response: ServerResponse,
    answer: HttpAnswer & { kind: 'stream' },
  ): void {
    if (!this.#rooms.hasPlaceForStream(request.socket)) {
      const message = `there are already ${this.#limits.streams} streams open, which is the limit; try again later`;
      this.#sendText(
        request,
        response,
        failure(503, 'TOO_MANY_STREAMS', message, { headers: { 'retry-after': '5' } }),
      );
      return;
    }
    response.writeHead(200, {
      ...ALWAYS,
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    });
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    const times = { ...this.#limits, retryMs: STREAM_RETRY_MS };
    const stream = new EventStream(response, answer, times, () => (this.counters.streamsStalled += 1));
    const leave = this.#rooms.addStream(stream, request.socket);
    this.#streams.add(stream);
    this.counters.streams = this.#streams.size;
    response.on('close', () => {
      leave();
      this.#streams.delete(stream);
      this.counters.streams = this.#streams.size;
    });
  }
}

function deferred(): {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (why: Error) => void;
} {
  let resolve: () => void = () => {};
  let reject: (why: Error) => void = () => {};
  const promise = new Promise<void>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

/** The received bytes are no HTTP, or too much of it. Node has parsed nothing, so the answer is written by hand. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket | Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const answer =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? failure(431, 'HEADERS_TOO_LARGE', 'the URL and the headers together are too large')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? failure(408, 'REQUEST_TIMEOUT', 'the request took too long to arrive')
        : failure(
            400,
            'MALFORMED_REQUEST',
            'this is not HTTP/1.1; the protocol of owners and look-ups has another port',
          );
  refuse(socket, answer);
}

const NO_ROOM = failure(
  503,
  'TOO_MANY_CONNECTIONS',
  'all connections are taken by streams of events; try again later',
);

function refuse(socket: Socket | Duplex, { status, body }: HttpTextAnswer): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
