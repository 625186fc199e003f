/**
 * That somebody has found the log to have gone back in time, written down where whoever would lead next must see it.
 *
 * Whoever finds it out knows it by what it remembers, and a process that is started again remembers nothing: it would
 * lead on the older log, and give to others what owners still hold. What is in etcd outlives processes. So a key says
 * it, `halted`, with what was seen. While it is there nobody is elected, and whoever leads lets go when it next extends
 * its lease; an operator who raises the counters takes it away in the same transaction, and goes above what it says.
 *
 * It is about one history. Between finding it out and writing it down an operator may have been there; then the history
 * is another, in which nothing was seen, and nothing is written. A try that arrives late compares `meta`, and so does
 * no harm either.
 */

import { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Asking, Hearing } from './asking.ts';
import type { EtcdKeyValue } from './client.ts';
import { decodeHalt, decodeMeta, encodeHalt, type Halt, type Layout } from './layout.ts';
import { Lifetime } from './lifetime.ts';

/** What was seen, and of which history. */
export interface HaltedHistory extends Halt {
  readonly history: string;
}

export interface HaltingOptions {
  readonly asking: Asking;
  readonly layout: Layout;
  readonly cluster: string;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** How long to try. */
  readonly withinMs: number;
}

/** Writes it down if that can be had in time; calls back once, when it is over. Disposing gives it up without a word. */
export class Halting implements Disposable {
  readonly #options: HaltingOptions;
  readonly #found: HaltedHistory;
  readonly #done: () => void;
  readonly #life: Lifetime;

  constructor(options: HaltingOptions, found: HaltedHistory, done: () => void) {
    const { asking, runtime, logger, withinMs } = options;
    this.#options = options;
    this.#found = found;
    this.#done = done;
    this.#life = new Lifetime(runtime);
    asking.within(
      this.#life,
      withinMs,
      'note in etcd that the log went back in time',
      (hearing) => this.#look(hearing),
      (error) => {
        logger.error(error.message, { code: error.code });
        this.#end();
      },
    );
  }

  [Symbol.dispose](): void {
    this.#life[Symbol.dispose]();
  }

  #look(hearing: Hearing): void {
    const { asking, layout, cluster, logger } = this.#options;
    const { meta: metaKey, halted: key } = layout;
    asking.get(
      [metaKey, key],
      hearing(({ found: [meta, there] }) => {
        if (meta === undefined || historyIn(meta, cluster) !== this.#found.history) return this.#end();
        const known = decodeHalt(there);
        const halt = known === undefined ? this.#found : above(known, this.#found);
        if (halt === known) return this.#end();
        asking.transact(
          {
            compare: [
              { key: metaKey, modRevision: meta.modRevision },
              { key, modRevision: there?.modRevision ?? 0 },
            ],
            success: [{ do: 'put', key, value: encodeHalt(halt) }],
            failure: [],
          },
          hearing(({ succeeded }) => {
            if (!succeeded) return this.#look(hearing);
            const { term, position } = halt;
            logger.warn('noted in etcd that the log went back in time: nobody leads before it is recovered', {
              ...{ key, term, position },
            });
            this.#end();
          }),
        );
      }),
    );
  }

  #end(): void {
    this.#life[Symbol.dispose]();
    this.#done();
  }
}

/** Undefined if it cannot be read: then nobody leads on it anyway. */
function historyIn(meta: EtcdKeyValue, cluster: string): string | undefined {
  try {
    return decodeMeta(meta, cluster).history;
  } catch (error) {
    if (error instanceof LeaseholdError) return undefined;
    throw error;
  }
}

/** What is known, and more if this is more. */
function above(known: Halt, found: Halt): Halt {
  const [term, position] = [Math.max(known.term, found.term), Math.max(known.position, found.position)];
  return term === known.term && position === known.position ? known : { ...known, term, position };
}
