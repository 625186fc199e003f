/**
 * The format of the files of a log. All numbers are little-endian; a u64 holds a whole number up to 2^53 - 1. Two
 * kinds of files, named by 16 digits:
 *
 *     0000000000000007.log         a segment, by number: 1, 2, 3, … without a gap
 *     0000000000001234.snapshot    a snapshot, by the last position inside
 *     *.tmp                        an unfinished one of these; means nothing
 *
 * Both begin with a head of 128 bytes:
 *
 *      0  magic, 8 bytes: LEASELOG or LEASESNP
 *      8  u32 format version, 1
 *     12  u32 checksum of bytes 0 to 11, of the rest of the head, and of all that follows in a snapshot
 *     16  u64 × 5: in a segment the number, the index of the first frame, the term and the floor at
 *         the beginning, and 1 if a new history begins here (else 0); in a snapshot the position, the
 *         number of the first segment that is still needed besides, the length in bytes, 0, 0
 *     56  u32 length of the history id, then the id in UTF-8, zeros
 *     96  in a segment the key of the history, 32 bytes; zeros if there is none
 *
 * A snapshot's bytes follow the head. A segment goes on with *frames*, each at a multiple of 8:
 *
 *      0  u32 mark "LHfr"
 *      4  u32 length of the body
 *      8  u64 index: the number of earlier frames in this log
 *     16  u32 number of records
 *     20  u32 checksum of the history id, of bytes 0 to 19, and of the body
 *     24  the body: records
 *
 * and ends with zeros, preallocated so that a sync need not change the file's length. A record:
 *
 *      0  u32 kind: 1 a batch, 2 a term begins
 *      4  u32 length of the bytes
 *      8  u64 position (0 for a term)
 *     16  u64 term
 *     24  the bytes
 *
 * A frame is written and synced at once. The one checksum makes a frame whole or absent, with any number of records;
 * the history id in the checksum and the index keep a frame of another log, or of another place, from passing for the
 * expected frame.
 */

import { assert } from '../../runtime/assert.ts';
import type { History } from '../history.ts';
import { checksum } from './checksum.ts';

export const FORMAT_VERSION = 1;
export const HEAD_BYTES = 128;
const HISTORY_AT = 60;
const KEY_AT = 96;
const HISTORY_BYTES_MAX: number = KEY_AT - HISTORY_AT;
const SEGMENT_MAGIC = new TextEncoder().encode('LEASELOG');
const SNAPSHOT_MAGIC = new TextEncoder().encode('LEASESNP');
const NO_KEY = '00'.repeat(HEAD_BYTES - KEY_AT);
const MARK = 0x7266484c;
const FRAME_HEAD_BYTES = 24;
const RECORD_HEAD_BYTES = 24;
const ALIGNMENT = 8;

export interface SegmentHead extends History {
  readonly sequence: number;
  /** The index of the first frame. */
  readonly firstIndex: number;
  readonly term: number;
  readonly floor: number;
  readonly beginsHistory: boolean;
}

export interface SnapshotHead {
  readonly history: string;
  readonly position: number;
  /** All entries after the snapshot lie in this segment and later ones. */
  readonly firstSegment: number;
}

export type LogRecord =
  | { readonly kind: 'batch'; readonly term: number; readonly position: number; readonly bytes: Uint8Array }
  | { readonly kind: 'term'; readonly term: number };

export interface Frame {
  readonly index: number;
  readonly records: readonly LogRecord[];
  /** Where the next one begins. */
  readonly end: number;
}

export const segmentName = (sequence: number): string => `${String(sequence).padStart(16, '0')}.log`;
export const snapshotName = (position: number): string => `${String(position).padStart(16, '0')}.snapshot`;
export const temporaryName = (name: string): string => `${name}.tmp`;

export type FileName =
  | { readonly what: 'segment' | 'snapshot'; readonly number: number }
  | { readonly what: 'temporary' };

/** The role of a file in the directory; undefined if the file is not the log's. */
export function parseName(name: string): FileName | undefined {
  const [, digits, ending, temporary] = /^(\d{16})\.(log|snapshot)(\.tmp)?$/.exec(name) ?? [];
  if (digits === undefined) return undefined;
  if (temporary !== undefined) return { what: 'temporary' };
  return { what: ending === 'log' ? 'segment' : 'snapshot', number: Number(digits) };
}

export function encodeSegmentHead(head: SegmentHead): Uint8Array {
  const { sequence, firstIndex, term, floor, beginsHistory } = head;
  const numbers = [sequence, firstIndex, term, floor, beginsHistory ? 1 : 0];
  return encodeHead(SEGMENT_MAGIC, numbers, head, new Uint8Array(0));
}

export function encodeSnapshotHead(head: SnapshotHead, body: Uint8Array): Uint8Array {
  const numbers = [head.position, head.firstSegment, body.length, 0, 0];
  return encodeHead(SNAPSHOT_MAGIC, numbers, { history: head.history }, body);
}

/** The head, or the format version if not ours, or undefined if damaged. */
export function decodeSegmentHead(file: Uint8Array): SegmentHead | number | undefined {
  const head = decodeHead(SEGMENT_MAGIC, file, new Uint8Array(0));
  if (head === undefined || typeof head === 'number') return head;
  const [sequence = 0, firstIndex = 0, term = 0, floor = 0, begins = 0] = head.numbers;
  const key = toHex(file.subarray(KEY_AT, HEAD_BYTES));
  const history = { history: head.history, key: key === NO_KEY ? undefined : key };
  return { ...history, sequence, firstIndex, term, floor, beginsHistory: begins === 1 };
}

export function decodeSnapshot(
  file: Uint8Array,
): { readonly head: SnapshotHead; readonly bytes: Uint8Array } | number | undefined {
  const bytes = file.subarray(HEAD_BYTES);
  const head = decodeHead(SNAPSHOT_MAGIC, file, bytes);
  if (head === undefined || typeof head === 'number') return head;
  const [position = 0, firstSegment = 0, length = 0] = head.numbers;
  if (length !== bytes.length) return undefined;
  return { head: { history: head.history, position, firstSegment }, bytes };
}

/** The beginning of the checksums of a history's frames. */
export const historySeed = (history: string): number => checksum(new TextEncoder().encode(history));

/** The frame, and where the bytes of each record lie. */
export function encodeFrame(seed: number, index: number, records: readonly LogRecord[]): Uint8Array {
  let bodyBytes = 0;
  for (const record of records) bodyBytes += RECORD_HEAD_BYTES + bytesOf(record).length;
  assert(bodyBytes < 2 ** 32, `a frame of ${bodyBytes} bytes`);
  const frame = new Uint8Array(aligned(FRAME_HEAD_BYTES + bodyBytes));
  const view = new DataView(frame.buffer);
  view.setUint32(0, MARK, true);
  view.setUint32(4, bodyBytes, true);
  setNumber(view, 8, index);
  view.setUint32(16, records.length, true);
  let at = FRAME_HEAD_BYTES;
  for (const record of records) {
    const bytes = bytesOf(record);
    view.setUint32(at, record.kind === 'batch' ? 1 : 2, true);
    view.setUint32(at + 4, bytes.length, true);
    setNumber(view, at + 8, record.kind === 'batch' ? record.position : 0);
    setNumber(view, at + 16, record.term);
    frame.set(bytes, at + RECORD_HEAD_BYTES);
    at += RECORD_HEAD_BYTES + bytes.length;
  }
  view.setUint32(20, frameChecksum(seed, frame, 0, at), true);
  return frame;
}

/** The frame at this offset, if a whole one of this history is there, with this index or a later one. */
export function decodeFrame(
  file: Uint8Array,
  offset: number,
  seed: number,
  leastIndex: number,
): Frame | undefined {
  if (offset + FRAME_HEAD_BYTES > file.length) return undefined;
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (view.getUint32(offset, true) !== MARK) return undefined;
  const bodyEnd = offset + FRAME_HEAD_BYTES + view.getUint32(offset + 4, true);
  const index = getNumber(view, offset + 8);
  if (bodyEnd > file.length || index < leastIndex) return undefined;
  if (view.getUint32(offset + 20, true) !== frameChecksum(seed, file, offset, bodyEnd)) return undefined;
  const records: LogRecord[] = [];
  let at = offset + FRAME_HEAD_BYTES;
  while (at < bodyEnd) {
    const end = at + RECORD_HEAD_BYTES + view.getUint32(at + 4, true);
    const term = getNumber(view, at + 16);
    // Copied, so that one batch does not keep the whole file in memory.
    const bytes = file.slice(at + RECORD_HEAD_BYTES, end);
    if (view.getUint32(at, true) === 2) records.push({ kind: 'term', term });
    else records.push({ kind: 'batch', term, position: getNumber(view, at + 8), bytes });
    at = end;
  }
  return { index, records, end: aligned(bodyEnd) };
}

/**
 * What the beginning of a frame and of its first record says, valid or not: for a frame whose checksum is wrong. `isSingle`: as
 * {@link encodeFrame} writes one batch, with lengths that agree.
 */
export function decodeFrameHead(
  file: Uint8Array,
  offset: number,
): { readonly bytes: number; readonly index: number; readonly bodyEnd: number; readonly isSingle: boolean } {
  const bytes = FRAME_HEAD_BYTES + RECORD_HEAD_BYTES;
  const head = new Uint8Array(bytes);
  head.set(file.subarray(offset, offset + bytes));
  const view = new DataView(head.buffer);
  const bodyBytes = view.getUint32(4, true);
  const index = getNumber(view, 8);
  const isBatch = view.getUint32(16, true) === 1 && view.getUint32(FRAME_HEAD_BYTES, true) === 1;
  const hasLength = view.getUint32(FRAME_HEAD_BYTES + 4, true) + RECORD_HEAD_BYTES === bodyBytes;
  const isSingle = view.getUint32(0, true) === MARK && isBatch && hasLength;
  return { bytes, index, bodyEnd: offset + FRAME_HEAD_BYTES + bodyBytes, isSingle };
}

/** Whether a whole frame of this history, with this index or a later one, begins at or after this offset. */
export function findFrame(
  file: Uint8Array,
  from: number,
  seed: number,
  leastIndex: number,
): number | undefined {
  for (let at = aligned(from); at + FRAME_HEAD_BYTES <= file.length; at += ALIGNMENT) {
    if (decodeFrame(file, at, seed, leastIndex) !== undefined) return at;
  }
  return undefined;
}

const NOTHING = new Uint8Array(0);

const bytesOf = (record: LogRecord): Uint8Array => (record.kind === 'batch' ? record.bytes : NOTHING);

const aligned = (offset: number): number => Math.ceil(offset / ALIGNMENT) * ALIGNMENT;

function frameChecksum(seed: number, file: Uint8Array, offset: number, end: number): number {
  const head = checksum(file.subarray(offset, offset + 20), seed);
  return checksum(file.subarray(offset + FRAME_HEAD_BYTES, end), head);
}

function encodeHead(
  magic: Uint8Array,
  numbers: readonly number[],
  { history, key }: History,
  body: Uint8Array,
): Uint8Array {
  const id = new TextEncoder().encode(history);
  assert(id.length > 0 && id.length <= HISTORY_BYTES_MAX, `a history id of ${id.length} bytes`);
  const head = new Uint8Array(HEAD_BYTES);
  const view = new DataView(head.buffer);
  head.set(magic);
  view.setUint32(8, FORMAT_VERSION, true);
  for (const [place, number] of numbers.entries()) setNumber(view, 16 + 8 * place, number);
  view.setUint32(56, id.length, true);
  head.set(id, HISTORY_AT);
  if (key !== undefined) head.set(Buffer.from(key, 'hex'), KEY_AT);
  view.setUint32(12, headChecksum(head, body), true);
  return head;
}

function decodeHead(
  magic: Uint8Array,
  file: Uint8Array,
  body: Uint8Array,
): { readonly numbers: readonly number[]; readonly history: string } | number | undefined {
  if (file.length < HEAD_BYTES || magic.some((byte, at) => file[at] !== byte)) return undefined;
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (view.getUint32(12, true) !== headChecksum(file.subarray(0, HEAD_BYTES), body)) return undefined;
  const version = view.getUint32(8, true);
  if (version !== FORMAT_VERSION) return version;
  const numbers = [0, 1, 2, 3, 4].map((place) => getNumber(view, 16 + 8 * place));
  const id = file.subarray(HISTORY_AT, HISTORY_AT + view.getUint32(56, true));
  return { numbers, history: new TextDecoder().decode(id) };
}

const headChecksum = (head: Uint8Array, body: Uint8Array): number =>
  checksum(body, checksum(head.subarray(16), checksum(head.subarray(0, 12))));

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function setNumber(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % 2 ** 32, true);
  view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
}

const getNumber = (view: DataView, at: number): number =>
  view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
