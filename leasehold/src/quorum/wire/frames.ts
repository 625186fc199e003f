/** A frame of the journal as the bytes of one record on the disk. */

import type { Frame } from '../core/journal.ts';
import { HOLD_MS_MAX } from './bounds.ts';
import { flag, type Form, list, map, milliseconds, optional, record, wholeOrInfinite } from './form.ts';
import { decode, encode } from './messages.ts';
import { ballot, entry, life, slot, snapshot, storage } from './parts.ts';

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
  snapshot: optional(snapshot),
  isWhole: flag,
});

export const encodeJournalFrame = (value: Frame): Uint8Array => encode(frame, value);

/** @throws {MalformedMessageError} if the bytes are no frame: as the checksum was right, another version wrote them */
export const decodeJournalFrame = (bytes: Uint8Array): Frame => decode(frame, bytes);
