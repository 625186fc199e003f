/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Asking a server over HTTP: one POST and its answer, which may be a stream without an end. On Node it is
 * `node/http-client/`.
 *
 * Whoever asks for something that must not happen twice has one question when it fails: can the other
 * side have got it? So every exchange says whether it *may have arrived*, at any time and also when it is
 * broken off: false only as long as it is sure that nothing of it has reached the other side.
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
  /** A piece of the answer, as large as it happened to arrive. */
  data(bytes: Uint8Array): void;
  /** Comes once, last: the answer is whole. */
  ended(): void;
  /** Comes once, last, instead: there is no answer, or no whole one. */
  failed(why: string): void;
}

/** Disposing breaks it off; no event comes after that. */
export interface HttpExchange extends Disposable {
  readonly mayHaveArrived: boolean;
}

export interface HttpClient {
  post(post: HttpPost, events: HttpEvents): HttpExchange;
}
