/**
 * Finds the log under its prefix, or begins one where there is nothing.
 *
 * `meta` is made once, in a transaction that finds it absent; of several processes that begin at the same
 * time one makes it, and all take what is there afterwards. Where there are keys but no `meta`, they are
 * somebody else's, and nothing is written.
 */

import { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Asking } from './asking.ts';
import type { EtcdAnswer, EtcdKeyValue, EtcdRefusalReason } from './client.ts';
import { EtcdUnavailableError, PrefixInUseError } from './errors.ts';
import { decodeMeta, encodeMeta, type Layout } from './layout.ts';
import { Lifetime } from './lifetime.ts';

export interface OpeningOptions {
  readonly asking: Asking;
  readonly layout: Layout;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly cluster: string;
  readonly randomId: () => string;
  readonly openWithinMs: number;
}

/** Calls back once, with the reason if it cannot be opened. */
export class Opening implements Disposable {
  readonly #options: OpeningOptions;
  readonly #done: (error: LeaseholdError | undefined) => void;
  readonly #life: Lifetime;
  #why = 'no answer yet';
  #reason: EtcdRefusalReason | undefined;

  constructor(options: OpeningOptions, done: (error: LeaseholdError | undefined) => void) {
    this.#options = options;
    this.#done = done;
    this.#life = new Lifetime(options.runtime);
    this.#life.after(options.openWithinMs, () => this.#unavailable());
    this.#look();
  }

  [Symbol.dispose](): void {
    this.#life[Symbol.dispose]();
  }

  #look(): void {
    const { asking, layout } = this.#options;
    asking.get(
      [layout.meta],
      this.#hearing(({ revision, found: [meta] }) => {
        if (meta !== undefined) this.#found(meta);
        else this.#lookAround(revision);
      }),
    );
  }

  /** Is there anything else, as of that revision? */
  #lookAround(revision: number): void {
    const { asking, layout } = this.#options;
    asking.range(
      { ...layout.all, limit: 1, revision },
      this.#hearing(({ keyValues: [other] }) => {
        if (other === undefined) this.#begin();
        else this.#end(new PrefixInUseError(other.key, 'lies under the prefix, and is not that of a log'));
      }),
    );
  }

  #begin(): void {
    const { asking, layout, logger, cluster, randomId } = this.#options;
    const history = randomId();
    const { meta: key, prefix } = layout;
    const value = encodeMeta({ cluster, history, termBase: 0, floor: 0 });
    asking.transact(
      {
        compare: [{ key, createRevision: 0 }],
        success: [{ do: 'put', key, value }],
        failure: [{ do: 'get', key }],
      },
      this.#hearing(({ succeeded, found: [meta] }) => {
        if (meta !== undefined) return this.#found(meta);
        if (!succeeded) return this.#look();
        logger.info('began a log in etcd', { prefix, cluster, history });
        this.#end(undefined);
      }),
    );
  }

  #found(meta: EtcdKeyValue): void {
    let unfit: LeaseholdError | undefined;
    try {
      decodeMeta(meta, this.#options.cluster);
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      unfit = error;
    }
    this.#end(unfit);
  }

  /** Whatever is not answered begins anew: to find what was made after all is no different from finding it. */
  #hearing<T>(use: (value: T) => void): (answer: EtcdAnswer<T>) => void {
    const { asking } = this.#options;
    return this.#life.hearing((answer) => {
      if (answer.kind === 'done') return use(answer.value);
      this.#why = answer.kind === 'unknown' ? answer.why : answer.refusal.message;
      this.#reason = answer.kind === 'unknown' ? undefined : answer.refusal.reason;
      if (this.#reason === 'denied') return this.#unavailable();
      this.#life.after(asking.pauseMs(), () => this.#look());
    });
  }

  #unavailable(): void {
    this.#end(new EtcdUnavailableError('open the log', this.#why, this.#reason));
  }

  #end(error: LeaseholdError | undefined): void {
    this.#life[Symbol.dispose]();
    this.#done(error);
  }
}
