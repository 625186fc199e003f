/**
 * Reads the log as of one revision.
 *
 * Between two reads a leader may append, or replace entries by a snapshot; so everything that belongs together is read
 * as of one revision, in any number of requests. The first request reads the small keys linearizably and returns the
 * revision; the others name that revision. If etcd has forgotten that revision meanwhile (etcd compacts old
 * revisions), reading begins anew.
 *
 * Large contents come in pages. The right size of a page is not known beforehand: a page must fit into the memory that
 * is allowed for an answer, and come within the time that is allowed for a request, by any way to etcd. So pages begin
 * small and grow with the answers; a page without an answer is requested again at half the size, down to a single key.
 *
 * The `head` is written together with each batch. So the head says where the log must end, and a log that lost the
 * last batches to somebody's `etcdctl del` is not taken for a shorter one.
 */

import { LeaseholdError } from '../../runtime/errors.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';
import { checksum } from '../file/checksum.ts';
import type { LogBatch, LogStart } from '../log.ts';
import type { Requester } from './requester.ts';
import type { EtcdKeyValue, EtcdRangeResult, EtcdTransactionResult } from '../../etcd/client.ts';
import { DamagedEtcdLogError } from './errors.ts';
import {
  afterKey,
  decodeHead,
  decodeMeta,
  decodePointer,
  type KeyRange,
  type Layout,
  type Meta,
  type SnapshotPointer,
} from './layout.ts';
import type { Lifetime } from '../../runtime/lifetime.ts';

/** The small keys. */
export interface Overview {
  /** The clock before the request was sent that this is the answer to. */
  readonly askedAt: Instant;
  readonly revision: number;
  readonly meta: Meta;
  readonly metaRevision: number;
  /** The position of the last batch; 0 if there never was one. */
  readonly head: number;
  /** At which `head` and `snapshot` were last written; 0 if never. */
  readonly headRevision: number;
  readonly pointer: SnapshotPointer | undefined;
  readonly pointerRevision: number;
  /** The values of the additionally requested keys. */
  readonly others: readonly (EtcdKeyValue | undefined)[];
}

export interface Contents {
  readonly overview: Overview;
  readonly start: LogStart;
}

export interface ReaderOptions {
  readonly requester: Requester;
  readonly layout: Layout;
  readonly cluster: string;
  readonly runtime: Runtime;
  /** The history of the log, if this process began the log. */
  readonly begun?: string | undefined;
  /** The contents cannot be read, and reading again does not help. */
  unreadable(error: LeaseholdError): void;
}

/** As many keys as make about this many bytes are asked for at a time. */
const PAGE_BYTES = 2_000_000;
/** As few as make this many, if larger pages have not come. */
const SLOW_PAGE_BYTES = 100_000;
const FIRST_PAGE_KEYS = 8;
const PAGE_KEYS_MAX = 1_000;
/** By how much a page has more keys than the one before, at most: those that come next may be larger than those that came. */
const PAGE_GROWTH = 4;
/** Waiting for an operator, the only one who can bring the log back. */
const GONE_TIMES = 10;

const LOG_GONE =
  'the log is gone from etcd: restore it from a backup and raise the counters; or restart the Managers, who begin ' +
  'another: then all leases are waited out, owners join anew, and look-ups report everything as lost';

export class LogReader {
  readonly #options: ReaderOptions;
  #isGone = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Whether there was no log at the last look. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** The small keys, and others, at one revision: read after this was called. */
  overview(lifetime: Lifetime, others: readonly string[], use: (overview: Overview) => void): void {
    const { requester, layout, cluster, runtime } = this.#options;
    const keys = [layout.meta, layout.head, layout.snapshot, ...others];
    let askedAt = runtime.now();
    requester.insist<EtcdTransactionResult>(
      lifetime,
      (hear) => {
        askedAt = runtime.now();
        requester.get(keys, hear);
      },
      ({ revision, found: [meta, head, snapshot, ...rest] }) => {
        this.#isGone = meta === undefined;
        if (meta === undefined) {
          requester.episodes.met(LOG_GONE, { key: layout.meta });
          lifetime.after(requester.pauseMs(GONE_TIMES), () => this.overview(lifetime, others, use));
          return;
        }
        requester.episodes.over(LOG_GONE);
        this.#ifReadable(
          () => ({
            askedAt,
            revision,
            meta: decodeMeta(meta, cluster),
            metaRevision: meta.modRevision,
            head: decodeHead(head),
            headRevision: head?.modRevision ?? 0,
            pointer: decodePointer(snapshot),
            pointerRevision: snapshot?.modRevision ?? 0,
            others: rest,
          }),
          use,
        );
      },
    );
  }

  /** Everything, and other keys, as of one revision that is not before this was called. */
  everything(lifetime: Lifetime, others: readonly string[], use: (contents: Contents) => void): void {
    const { requester } = this.#options;
    const anew = (): void =>
      void lifetime.after(requester.pauseMs(), () => this.everything(lifetime, others, use));
    this.overview(lifetime, others, (overview) => this.rest(lifetime, overview, use, anew));
  }

  /** All that an overview leaves out, as of the same revision; `anew` is called if that revision is gone. */
  rest(lifetime: Lifetime, overview: Overview, use: (contents: Contents) => void, anew: () => void): void {
    const { layout } = this.#options;
    const { pointer, revision } = overview;
    this.#snapshot(lifetime, overview, anew, (bytes) =>
      this.#pages(lifetime, layout.batchesAfter(pointer?.position ?? 0), revision, anew, (found) =>
        this.#ifReadable(() => this.#assemble(overview, bytes, found), use),
      ),
    );
  }

  /** The batches after a position, as of a revision; `anew` is told if that is gone. */
  batchesAfter(
    lifetime: Lifetime,
    position: number,
    revision: number,
    use: (batches: readonly LogBatch[]) => void,
    anew: () => void,
  ): void {
    const { layout } = this.#options;
    this.#pages(lifetime, layout.batchesAfter(position), revision, anew, (found) =>
      this.#ifReadable(() => found.map((each) => this.#batch(each)), use),
    );
  }

  #snapshot(
    lifetime: Lifetime,
    overview: Overview,
    anew: () => void,
    use: (bytes: Uint8Array) => void,
  ): void {
    const { pointer, revision } = overview;
    const { layout } = this.#options;
    if (pointer === undefined || pointer.chunks === 0) {
      use(new Uint8Array(0));
      return;
    }
    this.#pages(lifetime, layout.chunks(pointer.position, pointer.chunks), revision, anew, (found) =>
      this.#ifReadable(() => joined(layout.snapshot, pointer, found), use),
    );
  }

  #pages(
    lifetime: Lifetime,
    range: KeyRange,
    revision: number,
    anew: () => void,
    use: (found: readonly EtcdKeyValue[]) => void,
  ): void {
    const { requester } = this.#options;
    const all: EtcdKeyValue[] = [];
    let bytes = 0;
    let pageBytes = PAGE_BYTES;
    const page = (key: string, most: number): void => {
      let limit = most;
      const smaller = (): void => {
        limit = Math.ceil(limit / 2);
        pageBytes = Math.max(SLOW_PAGE_BYTES, pageBytes / 2);
      };
      requester.insist<EtcdRangeResult>(
        lifetime,
        (hear) =>
          requester.range({ key, end: range.end, limit, revision }, (answer) => {
            if (answer.kind === 'unknown') smaller();
            hear(answer);
          }),
        ({ keyValues, more }) => {
          for (const found of keyValues) {
            all.push(found);
            bytes += found.key.length + found.value.length;
          }
          const last = keyValues.at(-1);
          if (!more || last === undefined) return use(all);
          const fitting = Math.floor((pageBytes * all.length) / bytes);
          page(afterKey(last.key), Math.max(1, Math.min(PAGE_GROWTH * limit, PAGE_KEYS_MAX, fitting)));
        },
        ({ reason }) => {
          // Small ones were followed by large ones.
          if (reason === 'too-large' && limit > 1) page(key, Math.ceil(limit / FIRST_PAGE_KEYS));
          // The revision is compacted, or lies in the future of a store that was put back.
          else anew();
        },
      );
    };
    page(range.key, FIRST_PAGE_KEYS);
  }

  #assemble(overview: Overview, bytes: Uint8Array, found: readonly EtcdKeyValue[]): Contents {
    const { layout } = this.#options;
    const { meta, head, pointer } = overview;
    const batches = found.map((each) => this.#batch(each));
    const last = batches.at(-1)?.position ?? pointer?.position ?? 0;
    if (last !== head)
      throw new DamagedEtcdLogError(layout.head, `it says ${head}, and the last batch is ${last}`);
    const snapshot = pointer === undefined ? undefined : { position: pointer.position, bytes };
    const { history, key, floor } = meta;
    const begunHere = history === this.#options.begun;
    return { overview, start: { history, key, snapshot, batches, floor, begunHere } };
  }

  #batch({ key, value }: EtcdKeyValue): LogBatch {
    const position = this.#options.layout.positionOf(key);
    if (position === undefined) throw new DamagedEtcdLogError(key, 'this is not the key of a batch');
    return { position, bytes: value };
  }

  #ifReadable<T>(decode: () => T, use: (decoded: T) => void): void {
    let act: () => void;
    try {
      const decoded = decode();
      act = () => use(decoded);
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      act = () => this.#options.unreadable(error);
    }
    act();
  }
}

function joined(key: string, pointer: SnapshotPointer, chunks: readonly EtcdKeyValue[]): Uint8Array {
  const bytes = new Uint8Array(pointer.bytes);
  const length = chunks.reduce((sum, { value }) => sum + value.length, 0);
  if (chunks.length !== pointer.chunks || length !== pointer.bytes) {
    throw new DamagedEtcdLogError(
      key,
      `it names ${pointer.chunks} chunks of ${pointer.bytes} bytes, and there are ${chunks.length} of ${length}`,
    );
  }
  let at = 0;
  for (const { value } of chunks) {
    bytes.set(value, at);
    at += value.length;
  }
  if (checksum(bytes) !== pointer.checksum) throw new DamagedEtcdLogError(key, 'its checksum does not fit');
  return bytes;
}
