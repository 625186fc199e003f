/// <reference lib="esnext.disposable" preserve="true" />

/**
 * HTTP for a client that asks a few servers again and again: connections are kept and reused, an answer is handed on
 * while arriving and kept nowhere, and a failure says whether the request may have arrived.
 *
 * When has certainly nothing arrived? Node writes a request as soon as the connection is there, and not before; over
 * TLS, as soon as the handshake is over. So:
 *
 *     fresh connection   ├─ connecting ─┤─ handshake ─┤─ written …
 *                          not arrived     not arrived   may have arrived
 *     kept connection    ├─ written: may have arrived …
 *
 * One case needs a look at the error. In TLS 1.3 our side of the handshake is over before the server has looked at our
 * certificate, and the request is under way when the certificate is refused. A server that says so has not finished
 * the server's side, and has read nothing: that request did not arrive either.
 *
 * Redirections are not followed and proxies of the environment not used: a request goes to exactly that server.
 */

import { Agent as PlainAgent, type ClientRequest, type IncomingMessage, request as plain } from 'node:http';
import { Agent as SecureAgent, request as secure } from 'node:https';
import type { SecureContext } from 'node:tls';
import type { HttpClient, HttpEvents, HttpExchange, HttpPost } from '../../runtime/http.ts';

export interface HttpClientOptions {
  /** The trusted authorities and our identity, by `secureContext`. @default Node's authorities, and no identity */
  readonly secureContext?: SecureContext | undefined;
}

/** Disposing closes kept connections; running requests fail. */
export function httpClient(options: HttpClientOptions = {}): HttpClient & Disposable {
  return new NodeHttpClient(options);
}

/** Connections that nobody uses, to one server. */
const IDLE_SOCKETS_MAX = 8;

class NodeHttpClient implements HttpClient, Disposable {
  readonly #plain: PlainAgent;
  readonly #secure: SecureAgent;

  constructor({ secureContext }: HttpClientOptions) {
    const kept = { keepAlive: true, noDelay: true, maxFreeSockets: IDLE_SOCKETS_MAX };
    this.#plain = new PlainAgent(kept);
    this.#secure = new SecureAgent({ ...kept, ...(secureContext === undefined ? {} : { secureContext }) });
  }

  post({ url, headers, body }: HttpPost, events: HttpEvents): HttpExchange {
    const isSecure = url.startsWith('https:');
    const options = { method: 'POST', headers: { ...headers, 'content-length': Buffer.byteLength(body) } };
    const request = isSecure
      ? secure(url, { ...options, agent: this.#secure })
      : plain(url, { ...options, agent: this.#plain });
    const exchange = new Exchange(request, isSecure, events);
    request.end(body);
    return exchange;
  }

  [Symbol.dispose](): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }
}

class Exchange implements HttpExchange {
  readonly #request: ClientRequest;
  #events: HttpEvents | undefined;
  #mayHaveArrived = false;

  constructor(request: ClientRequest, isSecure: boolean, events: HttpEvents) {
    this.#request = request;
    this.#events = events;
    request.once('socket', (socket) => {
      const arrived = (): void => void (this.#mayHaveArrived = true);
      if (request.reusedSocket) arrived();
      else socket.once(isSecure ? 'secureConnect' : 'connect', arrived);
    });
    request.once('response', (response) => this.#answered(response));
    // The listener stays for good: aborting causes errors of its own.
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (!request.reusedSocket && isHandshakeRefused(error)) this.#mayHaveArrived = false;
      this.#failed(wordsOf(error));
    });
  }

  get mayHaveArrived(): boolean {
    return this.#mayHaveArrived;
  }

  [Symbol.dispose](): void {
    this.#events = undefined;
    this.#request.destroy();
  }

  #answered(response: IncomingMessage): void {
    response.on('error', (error) => this.#failed(wordsOf(error)));
    response.once('close', () => {
      if (!response.complete) this.#failed('the connection ended in the middle of the answer');
    });
    response.on('data', (bytes: Uint8Array) => this.#events?.data(bytes));
    response.once('end', () => {
      if (!response.complete) return;
      const events = this.#events;
      this.#events = undefined;
      events?.ended();
    });
    this.#events?.status(response.statusCode ?? 0);
  }

  #failed(why: string): void {
    const events = this.#events;
    this.#events = undefined;
    events?.failed(why);
  }
}

const HANDSHAKE_ALERTS =
  /_ALERT_(?:BAD_CERTIFICATE|CERTIFICATE_(?:REQUIRED|UNKNOWN|EXPIRED|REVOKED)|UNSUPPORTED_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE|PROTOCOL_VERSION|INSUFFICIENT_SECURITY)$/;

/** By the other side, in so many words. */
const isHandshakeRefused = ({ code }: NodeJS.ErrnoException): boolean => HANDSHAKE_ALERTS.test(code ?? '');

/** Several addresses that all refused make an error without a message. */
const wordsOf = (error: NodeJS.ErrnoException): string =>
  error.message !== '' ? error.message : (error.code ?? 'it failed without a word');
