/**
 * Calls and replies of one turn travel in one packet, unless they are too long together: the receiver refuses a frame beyond its
 * limit, and a hundred values of a megabyte each are beyond any. The sizes are rough; a single value is far below the limit.
 */

import { bytesOf } from '../core/operation.ts';
import { foundBytes, resultBytes } from '../core/result.ts';
import { ANSWER_BYTES_MAX } from '../wire/bounds.ts';
import type { Call, Reply } from '../wire/calls.ts';

/** A packet is closed when this much is in it: a quarter of what a replica takes from a client. */
export const PACKET_BYTES: number = 4 * 1024 * 1024;

const SMALL_BYTES = 64;

/** The items in packets, each of at least one item. */
export function packets<T>(items: readonly T[], bytesOfItem: (item: T) => number): readonly (readonly T[])[] {
  const all: (readonly T[])[] = [];
  let first = 0;
  let bytes = 0;
  items.forEach((item, place) => {
    const more = bytesOfItem(item);
    if (bytes + more > PACKET_BYTES && place > first) {
      all.push(items.slice(first, place));
      first = place;
      bytes = 0;
    }
    bytes += more;
  });
  all.push(first === 0 ? items : items.slice(first));
  return all;
}

export function callBytes(call: Call): number {
  if (call.kind === 'submit') return bytesOf(call.command);
  let bytes = SMALL_BYTES;
  if (call.kind === 'read' || call.kind === 'read-each') for (const key of call.keys) bytes += 4 + key.length;
  return bytes;
}

/** Whether an answer with values of so many bytes is larger than a client takes. */
export const isAnswerTooLarge = (bytes: number): boolean => SMALL_BYTES + bytes > ANSWER_BYTES_MAX;

export function replyBytes(reply: Reply): number {
  if (reply.kind === 'changes' || reply.kind === 'found') return SMALL_BYTES + foundBytes(reply.found);
  if (reply.kind !== 'answer') return SMALL_BYTES;
  const { answer } = reply;
  if (answer.kind === 'read') return SMALL_BYTES + foundBytes(answer.found);
  if (answer.kind !== 'result') return SMALL_BYTES;
  return SMALL_BYTES + resultBytes(answer.result);
}
