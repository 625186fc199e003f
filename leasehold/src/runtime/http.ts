/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A client of a server over HTTP: one POST and the answer, which may be a stream without an end. On Node the
 * implementation is `node/http-client/`.
 *
 * A caller whose request must not happen twice has one question after a failure: can the other side have got the
 * request? So every exchange says whether the request *may have arrived*, at any time and also when aborted: false
 * only as long as certainly nothing has reached the other side.
 */

export interface HttpPost {
  /** `http://` or `https://`, whole. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** None comes from within `post`. */
export interface HttpEvents {
  /** The answer begins. */
  status(status: number): void;
  /** A piece of the answer, of any size. */
  data(bytes: Uint8Array): void;
  /** Comes once, last: the answer is whole. */
  ended(): void;
  /** Comes once, last, instead: there is no answer, or no whole one. */
  failed(why: string): void;
}

/** Disposing aborts the exchange; no event comes after that. */
export interface HttpExchange extends Disposable {
  readonly mayHaveArrived: boolean;
}

export interface HttpClient {
  post(post: HttpPost, events: HttpEvents): HttpExchange;
}
