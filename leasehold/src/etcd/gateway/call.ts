/**
 * One request to the cluster: which members are asked, for how long, and which answer is true in the end.
 *
 * A member that fails is followed by the next, each at most once. Half of the remaining time goes to a try, all of the
 * rest to the last: so a member that hangs leaves room for the others, and a merely slow member has most of the time.
 *
 *     timeoutMs  ├────────── first ──────────┤──── second ────┤──── third ────┤
 *
 * The meaning of a failure depends on how far the request got:
 *
 *     surely not carried out   no connection, no leader, token refused    ask the next
 *     perhaps carried out      sent, and no answer, or none we can read   see below
 *
 * A request that may be carried out twice without harm goes on to the next member. A transaction, which may not, ends
 * here, as `unknown`, and the caller may ask again. So of each call at most one copy can ever take effect, and after
 * any other answer than `unknown` none is still under way. That matters because such a copy can be late without bound:
 * a stopped member reads the copy when resumed.
 *
 * `refused` promises that nothing was done. So if an earlier try may have been carried out, a later refusal
 * does not count as one, except for requests that only read.
 *
 * The answers of one call, and of all calls of one client, must come from one cluster. Two clusters in one
 * list, or a member that was set up anew, would show another log: each answer's cluster is compared with
 * the one that is meant (`identity.ts`).
 */

import { present, unreachable } from '../../runtime/assert.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import type { HttpExchange } from '../../runtime/http.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { EtcdAnswer, EtcdRefusal, EtcdRefusalReason } from '../client.ts';
import { type Fields, objectOf } from './answers.ts';
import { Body } from './body.ts';
import { errorIn, type Verdict, verdictOn, verdictOnStranger } from './refusals.ts';
import { type GatewayDependencies, headersWith, strangerTo } from './dependencies.ts';

export interface Question<T> {
  /** `/v3/kv/range` */
  readonly path: string;
  readonly body: string;
  /** @throws {MalformedMessageError} */
  readonly read: (answer: Fields) => T;
  /**
   *  - `read`: changes nothing
   *  - `repeatable`: carried out twice is as good as once
   *  - `once`: must not be sent again by us after a possible arrival
   */
  readonly kind: 'read' | 'repeatable' | 'once';
  /** A member that knows no leader can answer too. @default true */
  readonly needsLeader?: boolean | undefined;
  /** The answer is one line of a stream. */
  readonly isStreamed?: boolean | undefined;
  /** Refused for this reason after a try that may have arrived: that earlier try has done the work. */
  readonly doneIfRefused?: { readonly reason: EtcdRefusalReason; readonly value: T } | undefined;
}

/** The source of the token that identifies us. */
export interface Tokens {
  /** Answers once, within that time; `done` with undefined: none is wanted. */
  token(withinMs: number, use: (answer: EtcdAnswer<string | undefined>) => void): void;
  /** This one was refused. */
  forget(token: string | undefined): void;
}

export interface CallOptions {
  readonly timeoutMs: number;
  /** Undefined: etcd wants no token. */
  readonly tokens: Tokens | undefined;
  /** @default all, from the current one on */
  readonly endpoints?: readonly string[] | undefined;
}

/** Enough for the event loop to read pending data. */
const ONE_TURN_MS = 1;

/** The outcome of one try. */
type Outcome<T> = { readonly kind: 'done'; readonly value: T } | Verdict;

export class Call<T> {
  readonly #around: GatewayDependencies;
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
    around: GatewayDependencies,
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
    // A delayed process finds due timers before pending data is read.
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

  /** An etcd that wants TLS closes a plain connection without a word. */
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
   * A restored cluster has another name, and may have carried out the request all the same. Only a request that
   * changes nothing had certainly no effect.
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

  /** With the next member; or with the final answer if there is none to ask. */
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

/** For a repeatable request, and for one that only reads, a possible earlier execution does not matter. */
function settled(kind: Question<unknown>['kind'], { reason, message }: EtcdRefusal): EtcdAnswer<never> {
  if (kind !== 'once') return refused(reason, message);
  return { kind: 'unknown', why: message, refusal: { reason, message } };
}

/** `{"result":{…}}`: the content of a line of a stream. */
export function objectIn(line: Fields): Fields {
  const { result } = line;
  if (typeof result === 'object' && result !== null) return result as Fields;
  throw new MalformedMessageError('result', 'must be an object');
}
