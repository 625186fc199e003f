/** For tests only: an HTTP client; the test plays the server. */

import type { HttpClient, HttpEvents, HttpExchange, HttpPost } from '../../runtime/http.ts';

export class ScriptedHttp implements HttpClient {
  readonly posts: ScriptedPost[] = [];
  /** With this each endpoint answers the first status request; that request is not recorded. */
  introduction: object | undefined;
  readonly #introduced = new Set<string>();

  post(post: HttpPost, events: HttpEvents): HttpExchange {
    const scripted = new ScriptedPost(post, events);
    if (this.introduction !== undefined && post.url.endsWith('/status') && !this.#introduced.has(post.url)) {
      this.#introduced.add(post.url);
      scripted.answer(this.introduction);
      return scripted;
    }
    this.posts.push(scripted);
    return scripted;
  }

  /** The last that was asked. */
  get last(): ScriptedPost {
    const last = this.posts.at(-1);
    if (last === undefined) throw new Error('nothing was asked');
    return last;
  }

  /** `a/v3/kv/range`, for each that was asked, of `http://a/v3/kv/range`. */
  get asked(): readonly string[] {
    return this.posts.map(({ post }) => post.url.replace(/^https?:\/\//, ''));
  }
}

export class ScriptedPost implements HttpExchange {
  readonly post: HttpPost;
  readonly #events: HttpEvents;
  mayHaveArrived = true;
  isBrokenOff = false;

  constructor(post: HttpPost, events: HttpEvents) {
    this.post = post;
    this.#events = events;
  }

  get body(): unknown {
    return JSON.parse(this.post.body);
  }

  [Symbol.dispose](): void {
    this.isBrokenOff = true;
  }

  answer(body: object | string, status = 200): void {
    this.says(typeof body === 'string' ? body : JSON.stringify(body), status);
    if (!this.isBrokenOff) this.#events.ended();
  }

  /** A refusal of etcd: the sentence, and the code of gRPC. */
  refuse(message: string, code: number, status = 400): void {
    this.answer({ error: message, message, code }, status);
  }

  /** A piece of an answer that goes on. */
  says(text: string, status = 200): void {
    if (this.isBrokenOff) return;
    this.#events.status(status);
    if (text !== '') this.#events.data(Buffer.from(text));
  }

  /** A line of a stream. */
  line(result: object): void {
    this.says(`${JSON.stringify({ result })}\n`);
  }

  fail(why: string): void {
    if (!this.isBrokenOff) this.#events.failed(why);
  }

  /** There is no connection. */
  failUnsent(why: string): void {
    this.mayHaveArrived = false;
    this.fail(why);
  }
}
