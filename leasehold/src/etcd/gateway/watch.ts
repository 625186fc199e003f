/**
 * One watch at one member, until the end; from there, the caller begins another.
 *
 * The caller goes on from the revision after the last one told, so the caller must have been told all of that one.
 * etcd promises that an answer holds whole revisions, except in fragments: there the last revision may go on in the
 * next fragment. So the events of the last revision of a fragment are held back until there are certainly no more of
 * them:
 *
 *     fragment   5 5 6 6 7      told   5 5 6 6      held   7
 *     fragment   7 7 8          told   7 7 7        held   8
 *     the last   9              told   8 9
 *
 * They are of one transaction, which etcd bounds, and so is a fragment.
 *
 * That nothing comes may mean that nothing happens, or that the member hangs; `endpoints.ts` says how that is told
 * apart. Only the beginning has a time limit of its own.
 */

import { MalformedMessageError } from '../../runtime/errors.ts';
import type { HttpExchange } from '../../runtime/http.ts';
import { later } from '../../runtime/time.ts';
import type { EtcdAnswer, EtcdWatchEvents } from '../client.ts';
import { objectOf, readWatch, type WatchAnswer, type WatchEvent } from './answers.ts';
import { Lines } from './body.ts';
import { objectIn, type Tokens } from './call.ts';
import { errorIn, type GatewayError, verdictOn } from './refusals.ts';
import { type GatewayDependencies, headersWith, strangerTo } from './dependencies.ts';

const CREATED_WITHIN_MS = 5_000;

export class Watch implements Disposable {
  readonly #around: GatewayDependencies;
  readonly #tokens: Tokens | undefined;
  readonly #endpoint: string;
  readonly #lines: Lines;
  readonly #bodyBytes: number;
  #events: EtcdWatchEvents | undefined;
  #exchange: HttpExchange | undefined;
  #token: string | undefined;
  #timer: Disposable;
  #silence: Disposable;
  #held: readonly WatchEvent[] = [];

  constructor(
    around: GatewayDependencies,
    tokens: Tokens | undefined,
    body: string,
    events: EtcdWatchEvents,
  ) {
    const { runtime, endpoints } = around;
    this.#around = around;
    this.#tokens = tokens;
    this.#endpoint = endpoints.current;
    this.#lines = new Lines(around.answerBytesMax);
    this.#bodyBytes = body.length;
    this.#events = events;
    this.#silence = endpoints.onSilence(this.#endpoint, () => this.#end('the member does not answer'));
    this.#timer = runtime.wakeAt(later(runtime.now(), CREATED_WITHIN_MS), () => {
      const why = `no watch within ${CREATED_WITHIN_MS} ms`;
      if (this.#exchange !== undefined) endpoints.failed(this.#endpoint, why);
      this.#end(why);
    });
    if (tokens === undefined) this.#ask(body, undefined);
    else tokens.token(CREATED_WITHIN_MS, (token) => this.#authenticated(body, token));
  }

  [Symbol.dispose](): void {
    this.#events = undefined;
    this.#timer[Symbol.dispose]();
    this.#silence[Symbol.dispose]();
    this.#exchange?.[Symbol.dispose]();
  }

  #authenticated(body: string, token: EtcdAnswer<string | undefined>): void {
    if (this.#events === undefined) return;
    if (token.kind === 'done') this.#ask(body, token.value);
    else this.#end(token.kind === 'unknown' ? token.why : token.refusal.message);
  }

  #ask(body: string, token: string | undefined): void {
    this.#token = token;
    this.#exchange = this.#around.http.post(
      { url: `${this.#endpoint}/v3/watch`, headers: headersWith(token), body },
      {
        status: () => {},
        data: (piece) => this.#arrived(piece),
        ended: () => this.#fail('the member ended it'),
        failed: (why) => this.#fail(why),
      },
    );
  }

  #arrived(piece: Uint8Array): void {
    const lines = this.#lines.add(piece);
    for (const line of lines ?? []) {
      const answer = this.#answerIn(line);
      if (answer !== undefined) this.#answered(answer);
    }
    if (lines === undefined) this.#fail(`a line is longer than ${this.#around.answerBytesMax} bytes`);
  }

  /** Undefined if there was none, and this watch has ended; or had ended before. */
  #answerIn(text: string): WatchAnswer | undefined {
    if (this.#events === undefined) return undefined;
    try {
      const line = objectOf(text);
      const error = errorIn(line);
      if (error !== undefined) return void this.#refused(error);
      const answer = objectIn(line);
      const stranger = strangerTo(this.#around, this.#endpoint, answer);
      if (stranger === undefined) return readWatch(answer);
      this.#fail(stranger);
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error;
      this.#fail(error.message);
    }
    return undefined;
  }

  #answered(answer: WatchAnswer): void {
    if (answer.isCreated) {
      this.#timer[Symbol.dispose]();
      this.#around.endpoints.answered(this.#endpoint);
    }
    this.#tell(answer);
    if (answer.isCompacted) this.#end('its revision has been compacted', true);
    else if (answer.isCanceled)
      this.#refused({ code: undefined, message: answer.why || 'the member cancelled it' });
  }

  #tell({ events, isFragment }: WatchAnswer): void {
    const all = [...this.#held, ...events];
    const last = isFragment ? all.at(-1)?.revision : undefined;
    this.#held = all.filter(({ revision }) => revision === last);
    for (const { key, value, revision } of all) {
      if (revision !== last) this.#events?.changed(key, value, revision);
    }
  }

  /** etcd itself says why. */
  #refused(error: GatewayError): void {
    const verdict = verdictOn(error, this.#bodyBytes);
    const isDenied = verdict.kind === 'refused' && verdict.reason === 'denied';
    if (isDenied || verdict.kind === 'token') {
      // Some versions call an old token so.
      this.#tokens?.forget(this.#token);
      this.#end(verdict.message);
    } else this.#fail(verdict.message);
  }

  #fail(why: string): void {
    if (this.#events === undefined) return;
    this.#around.endpoints.failed(this.#endpoint, why);
    this.#end(why);
  }

  #end(why: string, isCompacted = false): void {
    const events = this.#events;
    this[Symbol.dispose]();
    events?.ended(why, isCompacted);
  }
}
