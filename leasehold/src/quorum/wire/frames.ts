/** A frame of the journal as the bytes of one record on the disk. */

import type { Frame } from '../core/journal.ts';
import type { SnapshotPart } from '../core/snapshot.ts';
import { HOLD_MS_MAX } from './bounds.ts';
import {
  decode,
  encode,
  type Form,
  list,
  map,
  milliseconds,
  optional,
  record,
  wholeOrInfinite,
} from '../../runtime/wire/form.ts';
import { life, storage } from './hot.ts';
import { ballot, entry, slot, snapshotPart } from './parts.ts';

const heard: Form<ReadonlyMap<string, number>> = map(storage, life);

export const frame: Form<Frame> = record<Frame>({
  promised: ballot,
  chosen: slot,
  committed: slot,
  lastBefore: slot,
  holdMs: milliseconds(HOLD_MS_MAX),
  votes: life,
  heard,
  truncateTo: wholeOrInfinite,
  first: slot,
  entries: list(entry),
  base: optional(slot),
});

export const encodeSnapshotPart = (value: SnapshotPart): Uint8Array => encode(snapshotPart, value);

/** @throws {MalformedMessageError} as {@link decodeJournalFrame} */
export const decodeSnapshotPart = (bytes: Uint8Array): SnapshotPart => decode(snapshotPart, bytes);

export const encodeJournalFrame = (value: Frame): Uint8Array => encode(frame, value);

/** @throws {MalformedMessageError} if the bytes are no frame: as the checksum was right, another version wrote them */
export const decodeJournalFrame = (bytes: Uint8Array): Frame => decode(frame, bytes);
