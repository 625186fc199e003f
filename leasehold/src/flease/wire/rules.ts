/** The limits of the single values in a packet. Each function takes a value over, or throws a {@link Flaw}. */

import type { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw } from '../../runtime/msgpack/flaw.ts';
import { checked, type Form, text } from '../../runtime/wire/form.ts';
import { RESOURCE_BYTES_MAX, ROUND_MAX } from '../core/messages.ts';
import { NAME_CHARACTERS_MAX } from '../core/view.ts';
import { DURATION_MS_MAX } from '../core/options.ts';

export function positive(value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Flaw('must be a whole number from 1');
}

export function whole(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value + 0;
  throw new Flaw('must be a whole number from 0');
}

export function round(value: number): number {
  if (value <= ROUND_MAX) return value;
  throw new Flaw('must have a round of at most 2^32');
}

export function time(value: number): number {
  if (value >= 0 && value < Number.POSITIVE_INFINITY) return value + 0;
  throw new Flaw('must be a time, in milliseconds since 1970');
}

export function duration(value: number): number {
  if (value > 0 && value <= DURATION_MS_MAX) return value;
  throw new Flaw('must be a positive number of milliseconds, at most a day');
}

export function takeover(value: number): number {
  return value === 0 ? 0 : duration(value);
}

/** Infinite if unknown, as long as a clock is off or peers differ. */
export function wait(value: number): number {
  if (value >= 0) return value + 0;
  throw new Flaw('must not be negative');
}

/** A character takes at most three bytes for each of its UTF-16 units. */
export const nameText: Form<string> = checked(
  text(3 * NAME_CHARACTERS_MAX),
  (name) => name !== '' && name.length <= NAME_CHARACTERS_MAX,
  `must have names of 1 to ${NAME_CHARACTERS_MAX} characters`,
);

export function writeResource(writer: ByteWriter, resource: string): void {
  writer.text(resource, (length) => writer.varint(length));
}

export function readResource(reader: ByteReader): string {
  const length = reader.varint();
  if (length > 0 && length <= RESOURCE_BYTES_MAX) return reader.text(length);
  throw new Flaw(`must have a resource of 1 to ${RESOURCE_BYTES_MAX} bytes`);
}
