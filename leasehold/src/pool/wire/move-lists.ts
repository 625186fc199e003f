/**
 * Lists about moves of keys, as packed bytes of their own: a reader of `held`, `letGo` and `spans` closes the connection at a bit that it
 * does not know, and passes over a whole field that it does not know. So an older Manager or owner takes no notice of moves.
 *
 *     item      start, end: 64 bits each (2^64 is written as 0), number: varint, ticket: text, and what the kind of list adds
 *     text      bytes: varint, then so many bytes of UTF-8
 */

import { RING_SIZE } from '../../runtime/keys/position.ts';
import {
  checked,
  type Fields,
  type Form,
  list,
  mapped,
  optional,
  record,
  text,
  whole,
  withSamples,
} from '../../runtime/wire/form.ts';
import type { Expected, Handed, MoveOrder, Moving, Receiving, TicketSpan } from '../core/messages.ts';
import { MOST_TICKETS } from '../core/moves/limits.ts';
import type { MovableName } from '../core/moves/seam.ts';

const LONGEST_TEXT_BYTES = 768;
/** Older versions that one owner reads. */
const MOST_VERSIONS = 16;

const label: Form<string> = checked(text(LONGEST_TEXT_BYTES), (value) => value !== '', 'must not be empty');
const address: Form<string> = checked(text(2_048), (value) => value !== '', 'must not be empty');
const place: Form<bigint> = {
  write: (writer, value) => writer.place(value),
  read: (reader) => reader.place(),
  samples: () => [0n, 1n, RING_SIZE / 4n],
};
/** No span ends at 0. */
const end: Form<bigint> = withSamples(
  mapped(
    place,
    (value: bigint) => value,
    (read) => read || RING_SIZE,
  ),
  () => [RING_SIZE, RING_SIZE / 2n],
);

type More<T extends TicketSpan> = Fields<Omit<T, keyof TicketSpan>>;

/** At most {@link MOST_TICKETS} tickets, with the facts of one kind of list. */
function tickets<T extends TicketSpan>(more: More<T>): Form<readonly T[]> {
  const item = record<T>({ start: place, end, number: whole, ticket: label, ...more } as Fields<T>);
  const ahead = checked(item, (value) => value.start < value.end, 'must end above its start');
  return list(ahead, MOST_TICKETS);
}

export const moving: Form<readonly Moving[]> = tickets<Moving>({ to: label, bytes: whole });
export const receiving: Form<readonly Receiving[]> = tickets<Receiving>({
  from: label,
  digest: optional(label),
});
export const handed: Form<readonly Handed[]> = tickets<Handed>({ to: label, digest: label, bytes: whole });
export const moves: Form<readonly MoveOrder[]> = tickets<MoveOrder>({
  to: label,
  toName: label,
  address,
});
export const incoming: Form<readonly Expected[]> = tickets<Expected>({ from: label, fromName: label });
export const arrived: Form<readonly TicketSpan[]> = tickets<TicketSpan>({});

export const movables: Form<readonly MovableName[]> = list(
  record<MovableName>({ name: label, version: whole, reads: list(whole, MOST_VERSIONS) }),
  MOST_TICKETS,
);
