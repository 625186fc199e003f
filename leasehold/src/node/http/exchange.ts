/**
 * The interface between a server and the code that answers: routes, requests, answers. Nothing here knows the content,
 * and the answering code need not import this file: these are shapes, and the compiler compares them where the two are
 * put together.
 */

import { printableJson } from '../../runtime/printable.ts';

export interface HttpRequest {
  /** The values for the `{names}` in the route's path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** By name in small letters. */
  header(name: string): string | undefined;
}

export interface HttpTextAnswer {
  readonly kind: 'text';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One message of a stream of server-sent events. */
export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface EventSupply extends Disposable {
  /** The next event, or undefined if there is none yet. */
  next(): ServerSentEvent | undefined;
}

/** A stream without end. The server calls `next` only when there is room, so there is no queue to overflow. */
export interface HttpStreamAnswer {
  readonly kind: 'stream';
  /** `onMore` is to be called when there is something to read again. */
  open(onMore: () => void): EventSupply;
}

/** The answer takes a while. One that is rejected is answered as a fault of ours. */
export interface HttpPromisedAnswer {
  readonly kind: 'promised';
  readonly answer: Promise<HttpTextAnswer>;
}

export type HttpAnswer = HttpTextAnswer | HttpStreamAnswer | HttpPromisedAnswer;

export interface HttpRoute {
  /** `/things/{name}`: a name stands for one part of the path, which may not be empty. */
  readonly path: string;
  /**
   * A GET only reads, and a HEAD is a GET without the body. A POST does something; see `forgery.ts`. @default 'GET'
   */
  readonly method?: 'GET' | 'POST' | undefined;
  answer(request: HttpRequest): HttpAnswer;
}

/** A failure as every failure is told: a code for programs, a message for people. */
export const failure = (
  status: number,
  code: string,
  message: string,
  {
    facts = {},
    headers = {},
  }: {
    readonly facts?: Readonly<Record<string, unknown>>;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): HttpTextAnswer => ({
  kind: 'text',
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: `${printableJson({ error: { code, message, ...facts } })}\n`,
});
