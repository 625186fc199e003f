/**
 * One request to the cluster: which members are asked, for how long, and what may be said in the end.
 *
 * A member that fails is followed by the next, each at most once. Half of the time that is left goes to a
 * try, all of it to the last: so a member that hangs leaves room for the others, and one that is merely
 * slow has most of it.
 *
 *     timeoutMs  ├────────── first ──────────┤──── second ────┤──── third ────┤
 *
 * What a failure means depends on where the request got to:
 *
 *     surely not carried out   no connection, no leader, token refused    ask the next
 *     perhaps carried out      sent, and no answer, or none we can read   see below
 *
 * A request that does no harm when it is carried out twice goes on to the next member. One that does (a
 * transaction) ends here, as `unknown`, and the caller asks again if it wants to. So of each call at most one
 * copy can ever take effect, and after any other answer than `unknown` none is still under way. That matters
 * because such a copy can be late without bound: a member that was stopped reads it when it is resumed.
 *
 * `refused` promises that nothing was done. So if an earlier try may have been carried out, a later refusal
 * does not count as one, except for requests that only read.
 *
 * The answers of one call, and of all calls of one client, must come from one cluster. Two clusters in one
 * list, or a member that was set up anew, would show another log: each answer's cluster is compared with
 * the one that is meant (`identity.ts`).
 */

import { present, unreachable } from '../../../runtime/assert.ts';
import { MalformedMessageError } from '../../../runtime/errors.ts';
import type { HttpExchange } from '../../../runtime/http.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import type { EtcdAnswer, EtcdRefusal, EtcdRefusalReason } from '../client.ts';
import { type Fields, objectOf } from './answers.ts';
import { Body } from './body.ts';
import { errorIn, type Verdict, verdictOn, verdictOnStranger } from './refusals.ts';
import { type GatewaySurroundings, headersWith, strangerTo } from './surroundings.ts';

export interface Question<T> {
  /** `/v3/kv/range` */
  readonly path: string;
  readonly body: string;
  /** @throws {MalformedMessageError} */
  readonly read: (answer: Fields) => T;
  /**
   *  - `read`: changes nothing
   *  - `repeatable`: carried out twice is as good as once
   *  - `once`: must not be sent again by us once it may have arrived
   */
  readonly kind: 'read' | 'repeatable' | 'once';
  /** A member that knows no leader can answer it too. @default true */
  readonly needsLeader?: boolean | undefined;
  /** Its answer is one line of a stream. */
  readonly isStreamed?: boolean | undefined;
  /** Refused for this reason, when an earlier try may have arrived, it was that one that did it. */
  readonly doneIfRefused?: { readonly reason: EtcdRefusalReason; readonly value: T } | undefined;
}

/** Where the token comes from that says who we are. */
export interface Tokens {
  /** Answers once, within that time; `done` with undefined: none is wanted. */
  token(withinMs: number, use: (answer: EtcdAnswer<string | undefined>) => void): void;
  /** This one was refused. */
  forget(token: string | undefined): void;
}

export interface CallOptions {
  readonly timeoutMs: number;
  /** Undefined: nobody asks who we are. */
  readonly tokens: Tokens | undefined;
  /** @default all, from the current one on */
  readonly endpoints?: readonly string[] | undefined;
}

/** Enough for the event loop to read what has come. */
const ONE_TURN_MS = 1;

/** What one try came to. */
type Outcome<T> = { readonly kind: 'done'; readonly value: T } | Verdict;

export class Call<T> {
  readonly #around: GatewaySurroundings;
  readonly #question: Question<T>;
  readonly #tokens: Tokens | undefined;
  readonly #until: Instant;
  /** Those that are left, the present one first. */
  readonly #endpoints: string[];
  readonly #answer: (answer: EtcdAnswer<T>) => void;
  /** Something of an earlier try may have been carried out. */
  #mayHaveArrived = false;
  #hasRefreshed = false;
  #exchange: HttpExchange | undefined;
  #timer: Disposable | undefined;

  constructor(
    around: GatewaySurroundings,
    question: Question<T>,
    { timeoutMs, tokens, endpoints }: CallOptions,
    answer: (answer: EtcdAnswer<T>) => void,
  ) {
    this.#around = around;
    this.#question = question;
    this.#tokens = tokens;
    this.#until = later(around.runtime.now(), timeoutMs);
    this.#endpoints = [...(endpoints ?? around.endpoints.inOrder())];
    this.#answer = answer;
    this.#try();
  }

  #try(): void {
    if (this.#tokens === undefined) {
      this.#ask(undefined);
      return;
    }
    this.#tokens.token(this.#until - this.#around.runtime.now(), (token) => {
      if (token.kind === 'done') this.#ask(token.value);
      // Nothing of ours was sent this time.
      else this.#finish(token.kind === 'refused' ? token : refused('unavailable', token.why));
    });
  }

  #ask(token: string | undefined): void {
    const { http, runtime, answerBytesMax } = this.#around;
    const { path, needsLeader } = this.#question;
    const endpoint = present(this.#endpoints[0], 'an endpoint to ask');
    const leftMs = this.#until - runtime.now();
    const tryMs = this.#endpoints.length === 1 ? leftMs : leftMs / 2;
    const body = new Body(answerBytesMax);
    let status = 0;
    const concluded = (outcome: Outcome<T>): void => {
      this.#timer?.[Symbol.dispose]();
      this.#exchange?.[Symbol.dispose]();
      this.#conclude(outcome, endpoint, token);
    };
    const giveUp = (): void => {
      const why = `no answer within ${Math.round(tryMs)} ms`;
      this.#around.endpoints.silent(endpoint, why);
      concluded(this.#unanswered(why));
    };
    // A process that was held up finds its timers due before it has read what came meanwhile.
    this.#timer = runtime.wakeAt(later(runtime.now(), Math.max(0, tryMs - ONE_TURN_MS)), () => {
      this.#timer = runtime.wakeAt(later(runtime.now(), ONE_TURN_MS), giveUp);
    });
    this.#exchange = http.post(
      { url: endpoint + path, headers: headersWith(token, needsLeader), body: this.#question.body },
      {
        status: (of) => (status = of),
        data: (piece) => {
          if (!body.add(piece)) concluded(this.#tooLarge());
        },
        ended: () => concluded(this.#outcomeOf(endpoint, status, body.text())),
        failed: (why) => concluded(this.#unanswered(why + this.#adviceOn(endpoint, why))),
      },
    );
  }

  #unanswered(message: string): Verdict {
    return this.#exchange?.mayHaveArrived === true
      ? { kind: 'unclear', message }
      : { kind: 'elsewhere', reason: 'unavailable', message };
  }

  /** An etcd that wants TLS closes the connection of one who does not, without a word. */
  #adviceOn(endpoint: string, why: string): string {
    const isFirst = this.#around.clusterId === undefined;
    const isLikely = isFirst && endpoint.startsWith('http:') && why === 'socket hang up';
    return isLikely ? ' (does it want TLS? then write etcds://)' : '';
  }

  #tooLarge(): Verdict {
    const message = `the answer is larger than ${this.#around.answerBytesMax} bytes`;
    // Another member would say the same.
    return this.#question.kind === 'read'
      ? { kind: 'refused', reason: 'too-large', message }
      : { kind: 'unclear', message };
  }

  #outcomeOf(endpoint: string, status: number, text: string): Outcome<T> {
    try {
      const answer = objectOf(text);
      const error = errorIn(answer);
      if (error !== undefined) return verdictOn(error, this.#question.body.length);
      if (status !== 200) return verdictOnStranger(status, text);
      const about = this.#question.isStreamed === true ? objectIn(answer) : answer;
      return this.#strangerTo(endpoint, about) ?? { kind: 'done', value: this.#question.read(about) };
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error;
      return status === 200 ? { kind: 'unclear', message: error.message } : verdictOnStranger(status, text);
    }
  }

  /**
   * One that was restored has another name, and may have carried it out all the same. Only of what changes
   * nothing is it sure that it had no effect.
   */
  #strangerTo(endpoint: string, answer: Fields): Verdict | undefined {
    const message = strangerTo(this.#around, endpoint, answer);
    if (message === undefined) return undefined;
    return this.#question.kind === 'read'
      ? { kind: 'elsewhere', reason: 'other', message }
      : { kind: 'unclear', message };
  }

  #conclude(outcome: Outcome<T>, endpoint: string, token: string | undefined): void {
    switch (outcome.kind) {
      case 'done':
        this.#around.endpoints.answered(endpoint);
        this.#finish(outcome);
        break;
      case 'refused':
        this.#around.endpoints.answered(endpoint);
        this.#finish(refused(outcome.reason, outcome.message));
        break;
      case 'settled':
        this.#around.endpoints.answered(endpoint);
        this.#finish(settled(this.#question.kind, outcome));
        break;
      case 'token':
        this.#tokens?.forget(token);
        if (this.#tokens === undefined || this.#hasRefreshed) {
          this.#finish(refused('denied', outcome.message));
        } else {
          this.#hasRefreshed = true;
          this.#try();
        }
        break;
      case 'elsewhere':
        this.#goOn(endpoint, outcome.message, refused(outcome.reason, `${endpoint}: ${outcome.message}`));
        break;
      case 'unclear':
        this.#mayHaveArrived = true;
        this.#goOn(endpoint, outcome.message, { kind: 'unknown', why: `${endpoint}: ${outcome.message}` });
        break;
      default:
        unreachable(outcome);
    }
  }

  /** With the next member; or with what is to be said if there is none to ask. */
  #goOn(endpoint: string, why: string, otherwise: EtcdAnswer<T>): void {
    this.#around.endpoints.failed(endpoint, why);
    this.#endpoints.shift();
    const isOver = this.#endpoints.length === 0 || this.#around.runtime.now() >= this.#until;
    if (isOver || (this.#mayHaveArrived && this.#question.kind === 'once')) this.#finish(otherwise);
    else this.#try();
  }

  #finish(answer: EtcdAnswer<T>): void {
    const { kind, doneIfRefused } = this.#question;
    const isSure = !this.#mayHaveArrived || kind === 'read';
    if (isSure || answer.kind !== 'refused') this.#answer(answer);
    else if (doneIfRefused === undefined || doneIfRefused.reason !== answer.refusal.reason)
      this.#answer({ kind: 'unknown', why: answer.refusal.message });
    else this.#answer({ kind: 'done', value: doneIfRefused.value });
  }
}

const refused = (
  reason: EtcdRefusalReason,
  message: string,
): { readonly kind: 'refused'; readonly refusal: EtcdRefusal } => ({
  kind: 'refused',
  refusal: { reason, message },
});

/** Of a request that is as good twice as once, and of one that only reads, nobody minds that it may have been carried out. */
function settled(kind: Question<unknown>['kind'], { reason, message }: EtcdRefusal): EtcdAnswer<never> {
  if (kind !== 'once') return refused(reason, message);
  return { kind: 'unknown', why: message, refusal: { reason, message } };
}

/** `{"result":{…}}`: what a line of a stream is about. */
export function objectIn(line: Fields): Fields {
  const { result } = line;
  if (typeof result === 'object' && result !== null) return result as Fields;
  throw new MalformedMessageError('result', 'must be an object');
}
