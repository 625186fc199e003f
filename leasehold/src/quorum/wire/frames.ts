/** A frame of the journal as the bytes of one record on the disk. */

import type { Frame } from '../core/journal.ts';
import { flag, type Form, list, milliseconds, optional, record, whole, wholeOrInfinite } from './form.ts';
import { decode, encode } from './messages.ts';
import { entry, snapshot } from './parts.ts';

const frame: Form<Frame> = record<Frame>({
  promised: whole,
  chosen: whole,
  committed: whole,
  lastBefore: whole,
  holdMs: milliseconds,
  truncateTo: wholeOrInfinite,
  first: whole,
  entries: list(entry),
  snapshot: optional(snapshot),
  isWhole: flag,
});

export const encodeJournalFrame = (value: Frame): Uint8Array => encode(frame, value);

/** @throws {MalformedMessageError} if the bytes are no frame: as the checksum was right, another version wrote them */
export const decodeJournalFrame = (bytes: Uint8Array): Frame => decode(frame, bytes);
