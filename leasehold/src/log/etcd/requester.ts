/**
 * Requests of the log to etcd: with a time limit, repeated if necessary, and with one log line for each trouble
 * regardless of how often it occurs.
 *
 * Only the callers know which requests may be repeated: a read always; a transaction if its result shows whether an
 * earlier try was executed. For those, `insist` repeats until the request is done; `within` gives up after a time,
 * and then reports the reason.
 */

import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type {
  EtcdAnswer,
  EtcdClient,
  EtcdRange,
  EtcdRangeResult,
  EtcdRefusal,
  EtcdRefusalReason,
  EtcdTransaction,
  EtcdTransactionResult,
} from '../../etcd/client.ts';
import { EtcdUnavailableError } from '../../etcd/errors.ts';
import type { Lifetime } from '../../runtime/lifetime.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';

type Hear<T> = (answer: EtcdAnswer<T>) => void;

/** Handles the answer to one step of a sequence; without an answer the whole sequence begins anew. */
export type Hearing = <T>(use: (value: T) => void) => Hear<T>;

export interface RequesterOptions {
  readonly client: EtcdClient;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly requestTimeoutMs: number;
  readonly retryMs: number;
}

const UNANSWERED = 'no answer from etcd';
/** A refused request waits longer, because an operator has to change something. */
const REFUSED_TIMES = 4;

export class Requester {
  readonly episodes: EpisodeLog;
  readonly #options: RequesterOptions;

  constructor(options: RequesterOptions) {
    this.#options = options;
    this.episodes = new EpisodeLog(options.logger, options.runtime);
  }

  grant(ttlSeconds: number, hear: Hear<{ lease: string; ttlSeconds: number }>): void {
    const { client, requestTimeoutMs } = this.#options;
    client.grant(ttlSeconds, requestTimeoutMs, this.#noting(hear));
  }

  keepAlive(lease: string, timeoutMs: number, hear: Hear<{ ttlSeconds: number }>): void {
    this.#options.client.keepAlive(lease, timeoutMs, this.#noting(hear));
  }

  revoke(lease: string, hear: Hear<undefined>): void {
    const { client, requestTimeoutMs } = this.#options;
    client.revoke(lease, requestTimeoutMs, this.#noting(hear));
  }

  transact(transaction: EtcdTransaction, hear: Hear<EtcdTransactionResult>, timeoutMs?: number): void {
    const { client, requestTimeoutMs } = this.#options;
    client.transact(transaction, timeoutMs ?? requestTimeoutMs, this.#noting(hear));
  }

  range(range: EtcdRange, hear: Hear<EtcdRangeResult>): void {
    const { client, requestTimeoutMs } = this.#options;
    client.range(range, requestTimeoutMs, this.#noting(hear));
  }

  /** These keys, linearizably and as of one revision. */
  get(keys: readonly string[], hear: Hear<EtcdTransactionResult>, timeoutMs?: number): void {
    const gets = keys.map((key) => ({ do: 'get', key }) as const);
    this.transact({ compare: [], success: gets, failure: [] }, hear, timeoutMs);
  }

  /** A pause before the next try, with jitter, so that processes that failed together do not retry together. */
  pauseMs(times = 1): number {
    const { retryMs, runtime } = this.#options;
    return retryMs * times * (0.5 + runtime.random());
  }

  /**
   * Repeats a request until it is done. `refused` is called for a refusal other than for lack of a majority, also for
   * one that may have come after an earlier try was executed; without it, such a request is repeated too.
   */
  insist<T>(
    lifetime: Lifetime,
    ask: (hear: Hear<T>) => void,
    use: (value: T) => void,
    refused?: (refusal: EtcdRefusal) => void,
  ): void {
    const attempt = (): void =>
      ask(
        lifetime.hearing((answer) => {
          if (answer.kind === 'done') return use(answer.value);
          const { refusal } = answer;
          if (refusal === undefined) return void lifetime.after(this.pauseMs(), attempt);
          const isPassing = refusal.reason === 'unavailable';
          if (!isPassing && refused !== undefined) return refused(refusal);
          lifetime.after(this.pauseMs(isPassing ? 1 : REFUSED_TIMES), attempt);
        }),
      );
    if (!lifetime.isOver) attempt();
  }

  /**
   * Makes requests in steps, each handled by the function given to `begin`, and from the first step on again when one
   * fails. After `limitMs`, or if etcd denies access or there are several clusters, `unavailable` is called with the
   * last obstacle.
   *
   * @param doing `open the log`
   */
  within(
    lifetime: Lifetime,
    limitMs: number,
    doing: string,
    begin: (hearing: Hearing) => void,
    unavailable: (error: EtcdUnavailableError) => void,
  ): void {
    let why = 'no answer yet';
    let reason: EtcdRefusalReason | undefined;
    const giveUp = (): void => unavailable(new EtcdUnavailableError(doing, why, reason));
    const hearing: Hearing = (use) =>
      lifetime.hearing((answer) => {
        if (answer.kind === 'done') return use(answer.value);
        why = answer.kind === 'unknown' ? answer.why : answer.refusal.message;
        reason = answer.refusal?.reason;
        if (reason === 'denied' || reason === 'divided') giveUp();
        else lifetime.after(this.pauseMs(), () => begin(hearing));
      });
    lifetime.after(limitMs, giveUp);
    begin(hearing);
  }

  #noting<T>(hear: Hear<T>): Hear<T> {
    return (answer) => {
      if (answer.kind === 'done') this.episodes.over(UNANSWERED);
      else if (answer.refusal !== undefined) this.#noteRefusal(answer.refusal);
      else if (answer.kind === 'unknown') this.episodes.met(UNANSWERED, { why: answer.why });
      hear(answer);
    };
  }

  #noteRefusal({ reason, message }: EtcdRefusal): void {
    if (reason === 'unavailable') this.episodes.met(UNANSWERED, { why: message });
    // Callers expect and handle these two.
    else if (reason !== 'compacted' && reason !== 'no-lease')
      this.episodes.met(`etcd refuses: ${reason}`, { why: message });
  }
}
