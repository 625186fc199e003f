/**
 * Calls and replies of one turn travel in one packet, unless they are too long together: the receiver refuses a frame beyond its
 * limit, and a hundred values of a megabyte each are beyond any. The sizes are rough; a single value is far below the limit.
 */

import { bytesOf } from '../core/operation.ts';
import type { Found, Result } from '../core/result.ts';
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

export const callBytes = (call: Call): number =>
  call.kind === 'submit' ? bytesOf(call.command) : SMALL_BYTES;

export function replyBytes(reply: Reply): number {
  if (reply.kind === 'changes' || reply.kind === 'found') return foundBytes(reply.found);
  if (reply.kind !== 'answer') return SMALL_BYTES;
  const { answer } = reply;
  if (answer.kind === 'read') return foundBytes(answer.found);
  if (answer.kind !== 'result') return SMALL_BYTES;
  return resultBytes(answer.result);
}

function resultBytes(result: Result): number {
  if (result.kind === 'duplicate') return resultBytes(result.of);
  return 'found' in result ? foundBytes(result.found) : SMALL_BYTES;
}

export function foundBytes(found: readonly Found[]): number {
  let bytes = SMALL_BYTES;
  for (const { key, value } of found) bytes += SMALL_BYTES + key.length + (value?.length ?? 0);
  return bytes;
}
