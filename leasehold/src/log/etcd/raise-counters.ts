/**
 * What an operator does after etcd was restored from a backup: the log went back in time, and terms and
 * positions that were given since must not be given again. They begin above what was seen, in a new
 * history, so that look-ups take everything for lost and no owner is believed for what it holds from the
 * time that is gone.
 *
 * It is one transaction, which finds `meta` as it was read and the leader key absent. So no leader of the
 * old history can append afterwards: to append it would need that key, and to be elected it would need the
 * old `meta`. The next term is `termBase` plus a revision that is later than this one, and `termBase` becomes
 * what was seen or the highest term that there can have been here, whichever is more.
 */

import { InvalidOptionError, LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { RaisedCounters } from '../file/raise-counters.ts';
import { Asking } from './asking.ts';
import type { EtcdAnswer, EtcdClient, EtcdRefusalReason, EtcdTransactionResult } from './client.ts';
import { EtcdUnavailableError, LeaderAliveError, PrefixInUseError } from './errors.ts';
import { decodeHead, decodeMeta, encodeMeta, Layout, leaderName, type Meta } from './layout.ts';
import { Lifetime } from './lifetime.ts';
import { checkPrefix } from './options.ts';

export interface RaiseEtcdCountersOptions {
  readonly client: EtcdClient;
  readonly prefix: string;
  readonly cluster: string;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly randomId: () => string;
  /** The highest term that anybody has seen. */
  readonly term: number;
  /** The highest position that anybody has seen. */
  readonly position: number;
  /** How long it may take, in milliseconds. @default 10_000 */
  readonly withinMs?: number | undefined;
}

/**
 * Durable when it resolves. Never lowers anything. Rejects with LeaderAliveError while somebody leads, or as
 * opening the log does; after EtcdUnavailableError it may have been done, or may be yet: to do it once more
 * does no harm.
 */
export async function raiseEtcdCounters(options: RaiseEtcdCountersOptions): Promise<RaisedCounters> {
  checkPrefix(options.prefix);
  for (const name of ['term', 'position'] as const) {
    if (!(Number.isSafeInteger(options[name]) && options[name] >= 0)) {
      throw new InvalidOptionError(name, options[name], 'it must be a whole number, 0 or more');
    }
  }
  return await new Promise((resolve, reject) => {
    beginRaising(options, (raised, error) => (raised === undefined ? reject(error) : resolve(raised)));
  });
}

/** The same in events. Calls back once, with one of the two. */
export function beginRaising(
  options: RaiseEtcdCountersOptions,
  done: (raised: RaisedCounters | undefined, error: LeaseholdError | undefined) => void,
): void {
  new Raising(options, done).look();
}

const REQUEST_TIMEOUT_MS = 2_000;
const RETRY_MS = 200;

class Raising {
  readonly #options: RaiseEtcdCountersOptions;
  readonly #done: (raised: RaisedCounters | undefined, error: LeaseholdError | undefined) => void;
  readonly #life: Lifetime;
  readonly #asking: Asking;
  readonly #layout: Layout;
  /** Known again if an earlier try went through. */
  readonly #history: string;
  #why = 'no answer yet';
  #reason: EtcdRefusalReason | undefined;

  constructor(
    options: RaiseEtcdCountersOptions,
    done: (raised: RaisedCounters | undefined, error: LeaseholdError | undefined) => void,
  ) {
    const { client, runtime, logger, prefix, randomId, withinMs = 10_000 } = options;
    this.#options = options;
    this.#done = done;
    this.#life = new Lifetime(runtime);
    this.#layout = new Layout(prefix);
    this.#history = randomId();
    this.#asking = new Asking({
      ...{ client, runtime, logger },
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      retryMs: RETRY_MS,
    });
    this.#life.after(withinMs, () => this.#unavailable());
  }

  look(): void {
    const { meta, head, leader } = this.#layout;
    this.#asking.get(
      [meta, head, leader],
      this.#hearing((result) => this.#found(result)),
    );
  }

  #found({ revision, found: [found, head, leader] }: EtcdTransactionResult): void {
    const { cluster, term, position } = this.#options;
    try {
      if (found === undefined)
        throw new PrefixInUseError(this.#layout.meta, 'is missing: there is no log under the prefix');
      const meta = decodeMeta(found, cluster);
      const isDone = meta.history === this.#history;
      if (leader !== undefined && !isDone) throw new LeaderAliveError(leaderName(leader));
      const raised = {
        ...{ cluster, history: this.#history },
        termBase: Math.max(meta.termBase + revision, term),
        floor: Math.max(meta.floor, decodeHead(head), position),
      };
      if (isDone) this.#end(meta);
      else this.#put(raised, found.modRevision, meta.history);
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      this.#fail(error);
    }
  }

  #put(raised: Meta, modRevision: number, from: string): void {
    const { meta: key, leader } = this.#layout;
    this.#asking.transact(
      {
        compare: [
          { key, modRevision },
          { key: leader, createRevision: 0 },
        ],
        success: [{ do: 'put', key, value: encodeMeta(raised) }],
        failure: [],
      },
      this.#hearing(({ succeeded }) => {
        if (!succeeded) return this.look();
        const { history, termBase, floor } = raised;
        this.#options.logger.info('raised the counters of the log, in a new history', {
          ...{ from, history, term: termBase, floor },
        });
        this.#end(raised);
      }),
    );
  }

  #hearing<T>(use: (value: T) => void): (answer: EtcdAnswer<T>) => void {
    return this.#life.hearing((answer) => {
      if (answer.kind === 'done') return use(answer.value);
      this.#why = answer.kind === 'unknown' ? answer.why : answer.refusal.message;
      this.#reason = answer.kind === 'unknown' ? undefined : answer.refusal.reason;
      if (this.#reason === 'denied') return this.#unavailable();
      this.#life.after(this.#asking.pauseMs(), () => this.look());
    });
  }

  #unavailable(): void {
    this.#fail(new EtcdUnavailableError('raise the counters', this.#why, this.#reason));
  }

  #fail(error: LeaseholdError): void {
    this.#life[Symbol.dispose]();
    this.#done(undefined, error);
  }

  #end({ history, termBase, floor }: Meta): void {
    this.#life[Symbol.dispose]();
    this.#done({ history, term: termBase, floor }, undefined);
  }
}
