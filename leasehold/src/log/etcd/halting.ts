/**
 * The note in etcd that the log went back in time, where the next leader must see the note.
 *
 * A process that finds this out knows by memory, and a restarted process remembers nothing: the restarted process
 * would lead on the older log, and grant keys that owners still hold. Keys in etcd outlive processes. So the key
 * `halted` holds the fact, with the highest counters that were seen. While that key exists nobody is elected, and a
 * leader steps down at the next extension of the leader lease; an operator who raises the counters deletes the key in
 * the same transaction, and goes above the noted counters.
 *
 * The note is about one history. Between the finding and the write an operator may have raised the counters; then the
 * history is another, in which nothing was seen, and nothing is written. A try that arrives late compares `meta`, and
 * so does no harm either.
 */

import { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Requester, Hearing } from './requester.ts';
import type { EtcdKeyValue } from '../../etcd/client.ts';
import { decodeHalt, decodeMeta, encodeHalt, type Halt, type Layout } from './layout.ts';
import { Lifetime } from '../../runtime/lifetime.ts';

/** The highest counters seen, and the history. */
export interface HaltedHistory extends Halt {
  readonly history: string;
}

export interface HaltingOptions {
  readonly requester: Requester;
  readonly layout: Layout;
  readonly cluster: string;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** How long to try. */
  readonly withinMs: number;
}

/** Writes the note if possible in time; calls back once, at the end. Disposing gives up without a call. */
export class Halting implements Disposable {
  readonly #options: HaltingOptions;
  readonly #found: HaltedHistory;
  readonly #done: () => void;
  readonly #lifetime: Lifetime;

  constructor(options: HaltingOptions, found: HaltedHistory, done: () => void) {
    const { requester, runtime, logger, withinMs } = options;
    this.#options = options;
    this.#found = found;
    this.#done = done;
    this.#lifetime = new Lifetime(runtime);
    requester.within(
      this.#lifetime,
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
    this.#lifetime[Symbol.dispose]();
  }

  #look(hearing: Hearing): void {
    const { requester, layout, cluster, logger } = this.#options;
    const { meta: metaKey, halted: key } = layout;
    requester.get(
      [metaKey, key],
      hearing(({ found: [meta, there] }) => {
        if (meta === undefined || historyIn(meta, cluster) !== this.#found.history) return this.#end();
        const known = decodeHalt(there);
        const halt = known === undefined ? this.#found : above(known, this.#found);
        if (halt === known) return this.#end();
        requester.transact(
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
            logger.warn(
              'noted in etcd that the log went back in time: no Manager leads until it is recovered',
              {
                ...{ key, term, position },
              },
            );
            this.#end();
          }),
        );
      }),
    );
  }

  #end(): void {
    this.#lifetime[Symbol.dispose]();
    this.#done();
  }
}

/** Undefined if unreadable: then nobody leads on that log anyway. */
function historyIn(meta: EtcdKeyValue, cluster: string): string | undefined {
  try {
    return decodeMeta(meta, cluster).history;
  } catch (error) {
    if (error instanceof LeaseholdError) return undefined;
    throw error;
  }
}

/** The greater of the known and the found counters. */
function above(known: Halt, found: Halt): Halt {
  const [term, position] = [Math.max(known.term, found.term), Math.max(known.position, found.position)];
  return term === known.term && position === known.position ? known : { ...known, term, position };
}
