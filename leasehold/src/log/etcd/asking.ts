/**
 * How the log asks etcd: with a time limit, again if need be, and with one line for a trouble however
 * often it is met.
 *
 * Only the callers know what may be asked again: a read always, a transaction if it can tell from what
 * it finds whether an earlier try of it was carried out. For those, `insist` asks until it is done, and `within` for
 * somebody who waits for it: no longer than a time, and then it can be said what was in the way.
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
} from './client.ts';
import { EtcdUnavailableError } from './errors.ts';
import type { Lifetime } from './lifetime.ts';
import { Troubles } from './troubles.ts';

type Hear<T> = (answer: EtcdAnswer<T>) => void;

/** Hears the answer to one step of something; if that is none, all of it begins anew. */
export type Hearing = <T>(use: (value: T) => void) => Hear<T>;

export interface AskingOptions {
  readonly client: EtcdClient;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly requestTimeoutMs: number;
  readonly retryMs: number;
}

const UNANSWERED = 'no answer from etcd';
/** Whoever is refused must wait for somebody to do something about it. */
const REFUSED_TIMES = 4;

export class Asking {
  readonly troubles: Troubles;
  readonly #options: AskingOptions;

  constructor(options: AskingOptions) {
    this.#options = options;
    this.troubles = new Troubles(options.logger, options.runtime);
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

  /** A pause before the next try, somewhat by chance, so that those who failed together do not try together. */
  pauseMs(times = 1): number {
    const { retryMs, runtime } = this.#options;
    return retryMs * times * (0.5 + runtime.random());
  }

  /**
   * Asks until it is done. `refused` hears of a refusal that is not only for lack of a majority, also of one that may
   * have come after the deed; without it, that is asked again too.
   */
  insist<T>(
    life: Lifetime,
    ask: (hear: Hear<T>) => void,
    use: (value: T) => void,
    refused?: (refusal: EtcdRefusal) => void,
  ): void {
    const attempt = (): void =>
      ask(
        life.hearing((answer) => {
          if (answer.kind === 'done') return use(answer.value);
          const { refusal } = answer;
          if (refusal === undefined) return void life.after(this.pauseMs(), attempt);
          const isPassing = refusal.reason === 'unavailable';
          if (!isPassing && refused !== undefined) return refused(refusal);
          life.after(this.pauseMs(isPassing ? 1 : REFUSED_TIMES), attempt);
        }),
      );
    if (!life.isOver) attempt();
  }

  /**
   * Asks in steps, each heard by what `begin` is given, and from the first step on again when one is not done. If life
   * lasts so long that `limitMs` are over, or etcd denies it or is several, `unavailable` is told of the last thing that was in the way.
   *
   * @param doing `open the log`
   */
  within(
    life: Lifetime,
    limitMs: number,
    doing: string,
    begin: (hearing: Hearing) => void,
    unavailable: (error: EtcdUnavailableError) => void,
  ): void {
    let why = 'no answer yet';
    let reason: EtcdRefusalReason | undefined;
    const giveUp = (): void => unavailable(new EtcdUnavailableError(doing, why, reason));
    const hearing: Hearing = (use) =>
      life.hearing((answer) => {
        if (answer.kind === 'done') return use(answer.value);
        why = answer.kind === 'unknown' ? answer.why : answer.refusal.message;
        reason = answer.refusal?.reason;
        if (reason === 'denied' || reason === 'divided') giveUp();
        else life.after(this.pauseMs(), () => begin(hearing));
      });
    life.after(limitMs, giveUp);
    begin(hearing);
  }

  #noting<T>(hear: Hear<T>): Hear<T> {
    return (answer) => {
      if (answer.kind === 'done') this.troubles.over(UNANSWERED);
      else if (answer.refusal !== undefined) this.#noteRefusal(answer.refusal);
      else if (answer.kind === 'unknown') this.troubles.met(UNANSWERED, { why: answer.why });
      hear(answer);
    };
  }

  #noteRefusal({ reason, message }: EtcdRefusal): void {
    if (reason === 'unavailable') this.troubles.met(UNANSWERED, { why: message });
    // These two are told to those who asked, and are nothing unusual to them.
    else if (reason !== 'compacted' && reason !== 'no-lease')
      this.troubles.met(`etcd refuses: ${reason}`, { why: message });
  }
}
