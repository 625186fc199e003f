/**
 * What an operator does after etcd was restored from a backup: the log went back in time, and terms and
 * positions that were given since must not be given again. They begin above what was seen, in a new
 * history, so that look-ups take everything for lost and no owner is believed for what it holds from the
 * time that is gone.
 *
 *     look ─► what the log says ─► an operator decides ─► look ─► raise
 *
 * Both are for when nobody leads: a leader would go on giving out what is to be left behind.
 *
 * To raise is one transaction, which finds `meta` as it was read and the leader key absent. So no leader of the
 * old history can append afterwards: to append it would need that key, and to be elected it would need the
 * old `meta`. The next term is `termBase` plus a revision that is later than this one, and `termBase` becomes
 * what was seen or the highest term that there can have been here, whichever is more.
 *
 * The floor is at least one above all that there is: that is how the next leader knows that it must wait, and remove
 * everybody, also if the log has got further meanwhile than it was when the operator looked. What whoever found it out
 * has noted (`halting.ts`) counts as seen, and the note goes in the same transaction.
 */

import { InvalidOptionError, LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { RaisedCounters } from '../file/raise-counters.ts';
import { Asking, type Hearing } from './asking.ts';
import type { EtcdClient, EtcdTransactionResult } from './client.ts';
import { LeaderAliveError, PrefixInUseError } from './errors.ts';
import {
  decodeHalt,
  decodeHead,
  decodeMeta,
  encodeMeta,
  type Halt,
  Layout,
  leaderName,
  type Meta,
} from './layout.ts';
import { Lifetime } from './lifetime.ts';
import { checkPrefix } from './options.ts';

export interface EtcdCountersOptions {
  readonly client: EtcdClient;
  readonly prefix: string;
  readonly cluster: string;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** How long it may take, in milliseconds. @default 10_000 */
  readonly withinMs?: number | undefined;
}

export interface RaiseEtcdCountersOptions extends EtcdCountersOptions {
  readonly randomId: () => string;
  /** The highest term that anybody has seen. */
  readonly term: number;
  /** The highest position that anybody has seen. */
  readonly position: number;
}

/** Where a log has got to. */
export interface EtcdCounters {
  readonly history: string;
  /** The highest term that it can have had. */
  readonly term: number;
  readonly position: number;
  /** What somebody has seen of it that it does not show any more. */
  readonly halt: Halt | undefined;
}

type Done<T> = (value: T | undefined, error: LeaseholdError | undefined) => void;

const REQUEST_TIMEOUT_MS = 2_000;
const RETRY_MS = 200;
const WITHIN_MS = 10_000;

/** Rejects with LeaderAliveError while somebody leads, or as opening the log does. */
export async function readEtcdCounters(options: EtcdCountersOptions): Promise<EtcdCounters> {
  checkPrefix(options.prefix);
  return await promised((done) => beginReading(options, done));
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
  return await promised((done) => beginRaising(options, done));
}

const promised = <T>(begin: (done: Done<T>) => void): Promise<T> =>
  new Promise((resolve, reject) =>
    begin((value, error) => (value === undefined ? reject(error) : resolve(value))),
  );

/** Reading in events. Calls back once, with one of the two. */
export function beginReading(options: EtcdCountersOptions, done: Done<EtcdCounters>): void {
  const errand = new Errand(options, done);
  errand.look('read the log', ({ meta, term, position, halt, leader }) => {
    if (leader !== undefined) return errand.fail(new LeaderAliveError(leader));
    errand.end({ history: meta.history, term, position, halt });
  });
}

/** Raising in events. Calls back once, with one of the two. */
export function beginRaising(options: RaiseEtcdCountersOptions, done: Done<RaisedCounters>): void {
  const { cluster, logger, term, position } = options;
  const errand = new Errand(options, done);
  /** Known again if an earlier try went through. */
  const history = options.randomId();
  const end = ({ termBase, floor }: Meta): void => errand.end({ history, term: termBase, floor });
  errand.look('raise the counters', (found, hearing, again) => {
    const { meta, metaRevision, leader, halt, haltRevision } = found;
    if (meta.history === history) return end(meta);
    if (leader !== undefined) return errand.fail(new LeaderAliveError(leader));
    const raised = {
      ...{ cluster, history },
      termBase: Math.max(found.term, term, halt?.term ?? 0),
      floor: Math.max(found.position + 1, position, halt?.position ?? 0),
    };
    const { asking, layout } = errand;
    asking.transact(
      {
        compare: [
          { key: layout.meta, modRevision: metaRevision },
          { key: layout.leader, createRevision: 0 },
          { key: layout.halted, modRevision: haltRevision },
        ],
        success: [
          { do: 'put', key: layout.meta, value: encodeMeta(raised) },
          { do: 'delete', key: layout.halted },
        ],
        failure: [],
      },
      hearing(({ succeeded }) => {
        if (!succeeded) return again();
        const { termBase, floor } = raised;
        logger.info('raised the counters of the log, in a new history', {
          ...{ from: meta.history, history, term: termBase, floor },
        });
        end(raised);
      }),
    );
  });
}

/** What a look found. */
interface Found extends Omit<EtcdCounters, 'history'> {
  readonly meta: Meta;
  readonly metaRevision: number;
  /** At which `halted` was last written; 0 if it is not there. */
  readonly haltRevision: number;
  /** Who leads, if anybody does. */
  readonly leader: string | undefined;
}

/** One of the two, from the first look until it is known how it went. */
class Errand<T> {
  readonly asking: Asking;
  readonly layout: Layout;
  readonly #options: EtcdCountersOptions;
  readonly #done: Done<T>;
  readonly #life: Lifetime;

  constructor(options: EtcdCountersOptions, done: Done<T>) {
    const { client, runtime, logger, prefix } = options;
    this.#options = options;
    this.#done = done;
    this.#life = new Lifetime(runtime);
    this.layout = new Layout(prefix);
    this.asking = new Asking({
      ...{ client, runtime, logger },
      ...{ requestTimeoutMs: REQUEST_TIMEOUT_MS, retryMs: RETRY_MS },
    });
  }

  /** `use` may look `again`, ask for more and hear it, and ends it or fails. */
  look(doing: string, use: (found: Found, hearing: Hearing, again: () => void) => void): void {
    const { meta, head, leader, halted } = this.layout;
    const begin = (hearing: Hearing): void =>
      this.asking.get(
        [meta, head, leader, halted],
        hearing((result) => {
          const found = this.#found(result);
          if (found instanceof LeaseholdError) this.fail(found);
          else use(found, hearing, () => begin(hearing));
        }),
      );
    const { withinMs = WITHIN_MS } = this.#options;
    this.asking.within(this.#life, withinMs, doing, begin, (error) => this.fail(error));
  }

  end(value: T): void {
    this.#life[Symbol.dispose]();
    this.#done(value, undefined);
  }

  fail(error: LeaseholdError): void {
    this.#life[Symbol.dispose]();
    this.#done(undefined, error);
  }

  #found({ revision, found: [meta, head, leader, halted] }: EtcdTransactionResult): Found | LeaseholdError {
    if (meta === undefined)
      return new PrefixInUseError(this.layout.meta, 'is missing: there is no log under the prefix');
    try {
      const decoded = decodeMeta(meta, this.#options.cluster);
      return {
        meta: decoded,
        metaRevision: meta.modRevision,
        term: decoded.termBase + revision,
        position: Math.max(decoded.floor, decodeHead(head)),
        halt: decodeHalt(halted),
        haltRevision: halted?.modRevision ?? 0,
        leader: leader === undefined ? undefined : leaderName(leader),
      };
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      return error;
    }
  }
}
