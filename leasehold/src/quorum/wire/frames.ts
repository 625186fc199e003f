/** A frame of the journal as the bytes of one record on the disk. */

import type { Frame } from '../core/journal.ts';
import type { SnapshotPart } from '../core/snapshot.ts';
import { HOLD_MS_MAX } from './bounds.ts';
import {
  flag,
  type Form,
  list,
  map,
  milliseconds,
  optional,
  record,
  whole,
  wholeOrInfinite,
} from './form.ts';
import { decode, encode } from './messages.ts';
import { found, life, storage } from './hot.ts';
import { ballot, configuration, entry, session, slot } from './parts.ts';

const heard: Form<ReadonlyMap<string, number>> = map(storage, life);

const frame: Form<Frame> = record<Frame>({
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

const part: Form<SnapshotPart> = record<SnapshotPart>({
  slot,
  configuration,
  first: whole,
  values: list(found),
  sessions: list(session),
  isLast: flag,
});

export const encodeSnapshotPart = (value: SnapshotPart): Uint8Array => encode(part, value);

/** @throws {MalformedMessageError} as {@link decodeJournalFrame} */
export const decodeSnapshotPart = (bytes: Uint8Array): SnapshotPart => decode(part, bytes);

export const encodeJournalFrame = (value: Frame): Uint8Array => encode(frame, value);

/** @throws {MalformedMessageError} if the bytes are no frame: as the checksum was right, another version wrote them */
export const decodeJournalFrame = (bytes: Uint8Array): Frame => decode(frame, bytes);
