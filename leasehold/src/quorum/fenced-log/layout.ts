/**
 * The keys of the log. All have one tag, so they are one object: whoever may read one of them locally may read all.
 *
 *     meta             history, its key, the floor; written once, when the log begins
 *     term             the candidate that leads, and the replica in its process; deleted when the leader resigns
 *     head             the position of the last batch; written by every append, so each append names the one before
 *     batch/<position> a batch
 *     snapshot         where the newest snapshot is
 *     part/<id>/<n>    1 MiB of a snapshot
 *     manager/<storage> how the Manager in the process of that replica can be reached
 *
 * The revision of `term` is the fence. Its slot is the term: two writes of `term` in one slot cannot both take effect, because
 * the second one names the revision before the first.
 */

import { isHistoryKey } from '../../log/history.ts';
import type { Condition, Revision, Value } from '../core/operation.ts';

export const TAG = '{leasehold-log}';
export const META_KEY: string = `${TAG}meta`;
export const TERM_KEY: string = `${TAG}term`;
export const HEAD_KEY: string = `${TAG}head`;
export const SNAPSHOT_KEY: string = `${TAG}snapshot`;
const BATCH = `${TAG}batch/`;
const PART = `${TAG}part/`;
const MANAGER = `${TAG}manager/`;

export const batchKey = (position: number): string => `${BATCH}${String(position).padStart(16, '0')}`;
export const partKey = (id: string, part: number): string => `${PART}${id}/${part}`;
export const managerKey = (storage: string): string => `${MANAGER}${storage}`;

export const positionOf = (key: string): number | undefined =>
  key.startsWith(BATCH) ? Number(key.slice(BATCH.length)) : undefined;
export const isPart = (key: string): boolean => key.startsWith(PART);
export const isPartOf = (id: string, key: string): boolean => key.startsWith(`${PART}${id}/`);
export const managerStorageOf = (key: string): string | undefined =>
  key.startsWith(MANAGER) ? key.slice(MANAGER.length) : undefined;

export interface Meta {
  readonly history: string;
  readonly key: string;
  readonly floor: number;
}

export interface Holder {
  readonly candidate: string;
  /** Which try of the candidate: a value is written once. */
  readonly attempt: number;
  /** The replica in the candidate's process. */
  readonly storage: string;
}

export interface SnapshotPointer {
  readonly position: number;
  readonly id: string;
  readonly parts: number;
}

export const encodeJson = (value: Meta | Holder | SnapshotPointer | object): Value =>
  new TextEncoder().encode(JSON.stringify(value));

export const encodeHead = (position: number): Value => new TextEncoder().encode(String(position));

/** The position of the last batch; 0 before the first. Undefined if the value is something else. */
export function decodeHead(value: Value | undefined): number | undefined {
  if (value === undefined) return 0;
  const position = Number(new TextDecoder().decode(value));
  return Number.isSafeInteger(position) && position > 0 ? position : undefined;
}

export function decodeMeta(value: Value): Meta | undefined {
  const fields = fieldsOf(value);
  const { history, key, floor } = fields;
  const isWhole = typeof history === 'string' && isHistoryKey(key) && isCount(floor);
  return isWhole ? { history, key, floor } : undefined;
}

export function decodeHolder(value: Value): Holder | undefined {
  const { candidate, attempt, storage } = fieldsOf(value);
  const isWhole = typeof candidate === 'string' && isCount(attempt) && typeof storage === 'string';
  return isWhole ? { candidate, attempt, storage } : undefined;
}

export function decodePointer(value: Value): SnapshotPointer | undefined {
  const { position, id, parts } = fieldsOf(value);
  const isWhole = isCount(position) && typeof id === 'string' && isCount(parts);
  return isWhole ? { position, id, parts } : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** No field, if the value is no JSON object. */
export function fieldsOf(value: Value): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(value));
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The condition that a key was last written by this revision; undefined: that it is not there. */
export const hasRevision = (key: string, revision: Revision | undefined): Condition =>
  revision === undefined ? { key, is: 'absent' } : { key, is: 'revision', revision };
