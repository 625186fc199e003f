/**
 * An operator's tool for when etcd was restored from a backup: the log went back in time, and terms and positions that
 * were given since must not be given again. They begin above the highest seen, in a new history, so that look-ups take
 * everything for lost and no owner is believed about holdings from the time that is gone.
 *
 *     look ─► the log's counters ─► an operator decides ─► look ─► raise
 *
 * Both functions require that nobody leads: a leader would go on giving out the numbers that are to be left behind.
 *
 * Raising is one transaction, which compares `meta` with the value that was read and requires the absence of the
 * leader key. So no leader of the old history can append afterwards: to append, a leader would need that key, and to
 * be elected, the old `meta`. The next term is `termBase` plus a revision that is later than this one, and `termBase`
 * becomes the highest seen term or the highest possible term here, whichever is more.
 *
 * The floor is at least one above all positions: by that gap the next leader knows of the duty to wait and to remove
 * all owners, even if the log has grown since the operator looked. Counters that a Manager has noted (`halting.ts`)
 * count as seen, and the note is deleted in the same transaction.
 */

import { invalidOption, LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { RaisedCounters } from '../file/raise-counters.ts';
import { newHistory } from '../history.ts';
import { Requester, type Hearing } from './requester.ts';
import type { EtcdClient, EtcdTransactionResult } from '../../etcd/client.ts';
import { PrefixInUseError } from '../../etcd/errors.ts';
import { LeaderAliveError } from './errors.ts';
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
import { Lifetime } from '../../runtime/lifetime.ts';
import { checkPrefix } from './options.ts';

export interface EtcdCountersOptions {
  readonly client: EtcdClient;
  readonly prefix: string;
  readonly cluster: string;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** How long the call may take, in milliseconds. @default 10_000 */
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
  /** The highest term that the log can have had. */
  readonly term: number;
  readonly position: number;
  /** Counters that a peer has seen and the log no longer shows. */
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
 * Durable when this resolves. Never lowers anything. Rejects with LeaderAliveError while somebody leads, or as opening
 * the log does; after EtcdUnavailableError the change may have been made, or may be yet: a repetition does no harm.
 */
export async function raiseEtcdCounters(options: RaiseEtcdCountersOptions): Promise<RaisedCounters> {
  checkPrefix(options.prefix);
  for (const name of ['term', 'position'] as const) {
    if (!(Number.isSafeInteger(options[name]) && options[name] >= 0)) {
      throw invalidOption(name, options[name], 'it must be a whole number, 0 or more');
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
  const begun = newHistory(options.randomId);
  const { history } = begun;
  const end = ({ termBase, floor }: Meta): void => errand.end({ history, term: termBase, floor });
  errand.look('raise the counters', (found, hearing, again) => {
    const { meta, metaRevision, leader, halt, haltRevision } = found;
    if (meta.history === history) return end(meta);
    if (leader !== undefined) return errand.fail(new LeaderAliveError(leader));
    const raised = {
      ...{ cluster, ...begun },
      termBase: Math.max(found.term, term, halt?.term ?? 0),
      floor: Math.max(found.position + 1, position, halt?.position ?? 0),
    };
    const { requester, layout } = errand;
    requester.transact(
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

/** The result of a look. */
interface Found extends Omit<EtcdCounters, 'history'> {
  readonly meta: Meta;
  readonly metaRevision: number;
  /** The revision of the last write of `halted`; 0 if absent. */
  readonly haltRevision: number;
  /** The leader, if any. */
  readonly leader: string | undefined;
}

/** One of the two calls, from the first look until the outcome is known. */
class Errand<T> {
  readonly requester: Requester;
  readonly layout: Layout;
  readonly #options: EtcdCountersOptions;
  readonly #done: Done<T>;
  readonly #lifetime: Lifetime;

  constructor(options: EtcdCountersOptions, done: Done<T>) {
    const { client, runtime, logger, prefix } = options;
    this.#options = options;
    this.#done = done;
    this.#lifetime = new Lifetime(runtime);
    this.layout = new Layout(prefix);
    this.requester = new Requester({
      ...{ client, runtime, logger },
      ...{ requestTimeoutMs: REQUEST_TIMEOUT_MS, retryMs: RETRY_MS },
    });
  }

  /** `use` may look `again`, send further requests and hear the answers, and ends the errand or fails. */
  look(doing: string, use: (found: Found, hearing: Hearing, again: () => void) => void): void {
    const { meta, head, leader, halted } = this.layout;
    const begin = (hearing: Hearing): void =>
      this.requester.get(
        [meta, head, leader, halted],
        hearing((result) => {
          const found = this.#found(result);
          if (found instanceof LeaseholdError) this.fail(found);
          else use(found, hearing, () => begin(hearing));
        }),
      );
    const { withinMs = WITHIN_MS } = this.#options;
    this.requester.within(this.#lifetime, withinMs, doing, begin, (error) => this.fail(error));
  }

  end(value: T): void {
    this.#lifetime[Symbol.dispose]();
    this.#done(value, undefined);
  }

  fail(error: LeaseholdError): void {
    this.#lifetime[Symbol.dispose]();
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
