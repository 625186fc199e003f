/**
 * Finds the log under its prefix, or begins one where there is nothing.
 *
 * `meta` is made once, in a transaction that finds it absent; of several processes that begin at the same
 * time one makes it, and all take what is there afterwards. Where there are keys but no `meta`, they are
 * somebody else's, and nothing is written.
 *
 * **Nobody can tell the first log from one after another.** Where somebody has deleted everything, or etcd was set up
 * anew, owners may hold keys of the log that is gone, under numbers that others store and compare. So a log that is
 * begun takes its floor from the wall clock, in milliseconds. That does two things:
 *
 *  - The floor is above where the log is, so whoever leads first waits before it grants anything, as after a recovery
 *    (see `pool/manager/leader.ts`): what was held has run out by then.
 *  - Its numbers are above those of any earlier one. That one began at the clock of its time, and a number is used up by
 *    a batch; with fewer than a thousand a second on average, it has not overtaken the clock. Two things can break that,
 *    and the wait does not rest on it: a wall clock that was set back by more than the time since; and counters that an
 *    operator has raised by a leap, which is ahead of the clock by decades.
 */

import { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Asking, Hearing } from './asking.ts';
import type { EtcdKeyValue } from './client.ts';
import { PrefixInUseError } from './errors.ts';
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

  constructor(options: OpeningOptions, done: (error: LeaseholdError | undefined) => void) {
    const { asking, runtime, openWithinMs } = options;
    this.#options = options;
    this.#done = done;
    this.#life = new Lifetime(runtime);
    asking.within(
      this.#life,
      openWithinMs,
      'open the log',
      // To find what was made after all is no different from finding it.
      (hearing) => this.#look(hearing),
      (error) => this.#end(error),
    );
  }

  [Symbol.dispose](): void {
    this.#life[Symbol.dispose]();
  }

  #look(hearing: Hearing): void {
    const { asking, layout } = this.#options;
    asking.get(
      [layout.meta],
      hearing(({ revision, found: [meta] }) => {
        if (meta !== undefined) this.#found(meta);
        else this.#lookAround(revision, hearing);
      }),
    );
  }

  /** Is there anything else, as of that revision? */
  #lookAround(revision: number, hearing: Hearing): void {
    const { asking, layout } = this.#options;
    asking.range(
      { ...layout.all, limit: 1, revision },
      hearing(({ keyValues: [other] }) => {
        if (other === undefined) this.#begin(hearing);
        else this.#end(new PrefixInUseError(other.key, 'lies under the prefix, and is not that of a log'));
      }),
    );
  }

  #begin(hearing: Hearing): void {
    const { asking, layout, logger, cluster, randomId, runtime } = this.#options;
    const history = randomId();
    const { meta: key, prefix } = layout;
    const floor = Math.max(1, Math.floor(runtime.wallMs()));
    const value = encodeMeta({ cluster, history, termBase: 0, floor });
    asking.transact(
      {
        compare: [{ key, createRevision: 0 }],
        success: [{ do: 'put', key, value }],
        failure: [{ do: 'get', key }],
      },
      hearing(({ succeeded, found: [meta] }) => {
        if (meta !== undefined) return this.#found(meta);
        if (!succeeded) return this.#look(hearing);
        logger.info('began a log in etcd', { prefix, cluster, history, floor });
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

  #end(error: LeaseholdError | undefined): void {
    this.#life[Symbol.dispose]();
    this.#done(error);
  }
}
