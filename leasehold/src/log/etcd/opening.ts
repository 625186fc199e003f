/**
 * Finds the log under the prefix, or begins one where there is nothing.
 *
 * `meta` is created once, in a transaction that requires its absence; of several processes that begin at the same time
 * one creates `meta`, and all use the result. If there are keys but no `meta`, the keys belong to another program, and
 * nothing is written.
 *
 * A new log takes its floor from the clock: `log/new-log.ts` says why.
 */

import { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { newHistory } from '../history.ts';
import { newLogFloor } from '../new-log.ts';
import type { Requester, Hearing } from './requester.ts';
import type { EtcdKeyValue } from '../../etcd/client.ts';
import { PrefixInUseError } from '../../etcd/errors.ts';
import { decodeMeta, encodeMeta, type Layout } from './layout.ts';
import { Lifetime } from '../../runtime/lifetime.ts';

export interface OpeningOptions {
  readonly requester: Requester;
  readonly layout: Layout;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly cluster: string;
  readonly randomId: () => string;
  readonly openWithinMs: number;
}

type OpeningDone = (error: LeaseholdError | undefined, begun: string | undefined) => void;

/**
 * Calls back once: with the error if the log cannot be opened; otherwise with the history of a log that was begun, if
 * one was.
 */
export class Opening implements Disposable {
  readonly #options: OpeningOptions;
  readonly #done: OpeningDone;
  readonly #lifetime: Lifetime;

  constructor(options: OpeningOptions, done: OpeningDone) {
    const { requester, runtime, openWithinMs } = options;
    this.#options = options;
    this.#done = done;
    this.#lifetime = new Lifetime(runtime);
    requester.within(
      this.#lifetime,
      openWithinMs,
      'open the log',
      // Finding `meta` from an earlier try is no different from finding any other.
      (hearing) => this.#look(hearing),
      (error) => this.#end(error),
    );
  }

  [Symbol.dispose](): void {
    this.#lifetime[Symbol.dispose]();
  }

  #look(hearing: Hearing): void {
    const { requester, layout } = this.#options;
    requester.get(
      [layout.meta],
      hearing(({ revision, found: [meta] }) => {
        if (meta !== undefined) this.#found(meta);
        else this.#lookAround(revision, hearing);
      }),
    );
  }

  /** Are there other keys, as of that revision? */
  #lookAround(revision: number, hearing: Hearing): void {
    const { requester, layout } = this.#options;
    requester.range(
      { ...layout.all, limit: 1, revision },
      hearing(({ keyValues: [other] }) => {
        if (other === undefined) this.#begin(hearing);
        else this.#end(new PrefixInUseError(other.key, 'lies under the prefix, and is not that of a log'));
      }),
    );
  }

  #begin(hearing: Hearing): void {
    const { requester, layout, logger, cluster, randomId, runtime } = this.#options;
    const history = newHistory(randomId);
    const { meta: key, prefix } = layout;
    const floor = newLogFloor(runtime);
    const value = encodeMeta({ cluster, ...history, termBase: 0, floor });
    requester.transact(
      {
        compare: [{ key, createRevision: 0 }],
        success: [{ do: 'put', key, value }],
        failure: [{ do: 'get', key }],
      },
      hearing(({ succeeded, found: [meta] }) => {
        if (meta !== undefined) return this.#found(meta);
        if (!succeeded) return this.#look(hearing);
        logger.info('began a log in etcd', { prefix, cluster, history: history.history, floor });
        this.#end(undefined, history.history);
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

  #end(error: LeaseholdError | undefined, begun?: string): void {
    this.#lifetime[Symbol.dispose]();
    this.#done(error, begun);
  }
}
