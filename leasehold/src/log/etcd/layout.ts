/**
 * The keys under the prefix. A prefix ends in `/`, and all keys below belong to one log:
 *
 *     meta                        { format: 1, cluster, history, key, termBase, floor }, made once; one that has no key
 *                                 yet is given one with the next election
 *     leader                      { candidate, lease, … }, under the leader's lease: the owner of this key leads
 *     head                        the position of the last batch, as digits
 *     halted                      { term, position, why }: nobody may lead before an operator was there; see `halting.ts`
 *     log/<position>              one batch, the bytes unchanged; 16 hexadecimal digits
 *     snapshot                    { position, chunks, bytes, checksum }: which snapshot counts
 *     snapshots/<position>/<n>    the pieces, 0 to chunks - 1; 4 hexadecimal digits
 *     managers/<id>               the present Managers, each under a lease of its own: see `manager-registry.ts`
 *
 * Digits are padded, so that the order of the keys is the order of the positions. `log/` and `meta` lie
 * side by side in that order, with only `managers/` between, which nobody follows: one watch sees both, in
 * the order in which they changed, and nobody takes a batch of another history for one of the history he
 * follows.
 *
 * A term is `termBase` plus the revision that created the leader key. Revisions grow with everything
 * that is written, so terms do; and when the store was put back from a backup, an operator raises
 * `termBase` and `floor` (see `counters.ts`).
 */

import { UnknownLogFormatError } from '../file/errors.ts';
import { type History, isHistoryKey } from '../history.ts';
import type { EtcdKeyValue } from '../../etcd/client.ts';
import { PrefixInUseError } from '../../etcd/errors.ts';
import { DamagedEtcdLogError } from './errors.ts';
import { encodeJson, decodeJson } from '../../etcd/values.ts';

const FORMAT = 1;

/** Keys from `key` to before `end`. */
export interface KeyRange {
  readonly key: string;
  readonly end: string;
}

export class Layout {
  readonly prefix: string;
  readonly meta: string;
  readonly leader: string;
  readonly head: string;
  readonly halted: string;
  readonly snapshot: string;
  readonly all: KeyRange;
  /** The log and `meta`. */
  readonly watched: KeyRange;
  readonly allChunks: KeyRange;
  readonly managers: KeyRange;
  readonly #log: string;
  readonly #snapshots: string;

  /** @param prefix ends in `/` */
  constructor(prefix: string) {
    this.prefix = prefix;
    this.meta = `${prefix}meta`;
    this.leader = `${prefix}leader`;
    this.head = `${prefix}head`;
    this.halted = `${prefix}halted`;
    this.snapshot = `${prefix}snapshot`;
    this.#log = `${prefix}log/`;
    this.#snapshots = `${prefix}snapshots/`;
    this.allChunks = { key: this.#snapshots, end: afterFolder(this.#snapshots) };
    const managers = `${prefix}managers/`;
    this.managers = { key: managers, end: afterFolder(managers) };
    this.all = { key: prefix, end: afterFolder(prefix) };
    this.watched = { key: this.#log, end: afterKey(this.meta) };
  }

  manager(id: string): string {
    return this.managers.key + encodeURIComponent(id);
  }

  batch(position: number): string {
    return this.#log + digits(position, 16);
  }

  /** Undefined if the key is not that of a batch. */
  positionOf(key: string): number | undefined {
    if (!key.startsWith(this.#log)) return undefined;
    const rest = key.slice(this.#log.length);
    return /^[0-9a-f]{16}$/.test(rest) ? Number.parseInt(rest, 16) : undefined;
  }

  batchesAfter(position: number): KeyRange {
    return { key: this.batch(position + 1), end: afterFolder(this.#log) };
  }

  batchesUpTo(position: number): KeyRange {
    return { key: this.#log, end: this.batch(position + 1) };
  }

  chunk(position: number, place: number): string {
    return `${this.#snapshots}${digits(position, 16)}/${digits(place, 4)}`;
  }

  chunks(position: number, count: number): KeyRange {
    return { key: this.chunk(position, 0), end: this.chunk(position, count) };
  }

  /** The pieces of all snapshots of less. */
  chunksBefore(position: number): KeyRange {
    return { key: this.#snapshots, end: `${this.#snapshots}${digits(position, 16)}/` };
  }
}

/** The end of a range that holds this key alone. */
export const afterKey = (key: string): string => `${key}\0`;

/** `0` comes right after `/`. */
const afterFolder = (folder: string): string => `${folder.slice(0, -1)}0`;

const digits = (value: number, length: number): string => value.toString(16).padStart(length, '0');

export interface Meta extends History {
  readonly cluster: string;
  readonly termBase: number;
  readonly floor: number;
}

/** Counters of a log that a peer has seen and the log no longer shows. */
export interface Halt {
  readonly term: number;
  readonly position: number;
  /** For people. */
  readonly why: string;
}

export interface SnapshotPointer {
  readonly position: number;
  readonly chunks: number;
  readonly bytes: number;
  readonly checksum: number;
}

export const encodeMeta = (meta: Meta): Uint8Array => encodeJson({ format: FORMAT, ...meta });

/** Throws if the value is not that of a log of this cluster in a known format. */
export function decodeMeta({ key, value }: EtcdKeyValue, cluster: string): Meta {
  const fields = decodeJson(value);
  const { format, history, key: historyKey, termBase, floor } = fields;
  if (typeof format !== 'number') throw new PrefixInUseError(key, 'is not that of a log');
  if (format !== FORMAT) throw new UnknownLogFormatError(key, format, FORMAT);
  if (fields['cluster'] !== cluster) {
    throw new PrefixInUseError(key, `says that this is the log of ${JSON.stringify(fields['cluster'])}`);
  }
  if (typeof history !== 'string' || !isCount(termBase) || !isCount(floor)) {
    throw new DamagedEtcdLogError(key, 'its history, termBase or floor is missing');
  }
  return { cluster, history, key: isHistoryKey(historyKey) ? historyKey : undefined, termBase, floor };
}

export const encodeHead = (position: number): Uint8Array => encodeText(String(position));

/** 0 if nothing was ever appended. */
export function decodeHead(found: EtcdKeyValue | undefined): number {
  if (found === undefined) return 0;
  const text = decodeText(found.value);
  if (!/^\d{1,16}$/.test(text)) throw new DamagedEtcdLogError(found.key, 'it is not a position');
  return Number(text);
}

export const encodeHalt = ({ term, position, why }: Halt): Uint8Array => encodeJson({ term, position, why });

/** The presence of the key counts, with any content. */
export function decodeHalt(found: EtcdKeyValue | undefined): Halt | undefined {
  if (found === undefined) return undefined;
  const { term, position, why } = decodeJson(found.value);
  return {
    term: isCount(term) ? term : 0,
    position: isCount(position) ? position : 0,
    why: typeof why === 'string' ? why : 'it does not say why',
  };
}

export const encodePointer = (pointer: SnapshotPointer): Uint8Array => encodeJson({ ...pointer });

export function decodePointer(found: EtcdKeyValue | undefined): SnapshotPointer | undefined {
  if (found === undefined) return undefined;
  const { position, chunks, bytes, checksum } = decodeJson(found.value);
  if (!isCount(position) || !isCount(chunks) || !isCount(bytes) || !isCount(checksum)) {
    throw new DamagedEtcdLogError(found.key, 'its position, chunks, bytes or checksum is missing');
  }
  return { position, chunks, bytes, checksum };
}

/** `about` is for people, and for other Managers; candidate and lease make the value unique. */
export const encodeLeader = (
  candidate: string,
  lease: string,
  about: Readonly<Record<string, string>>,
): Uint8Array => encodeJson({ ...about, candidate, lease });

/** The leader's name, for people. */
export function leaderName({ value }: EtcdKeyValue): string {
  const { id, candidate } = decodeJson(value);
  return String(id ?? candidate ?? 'somebody');
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const encodeText = (text: string): Uint8Array => encoder.encode(text);
const decodeText = (bytes: Uint8Array): string => decoder.decode(bytes);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
