/**
 * Sets of servers as bytes.
 *
 * Records name sets: the proposal, and the views of a chain. With 50 servers, a set is the larger part of a record, and while a view is agreed on, 49 records
 * arrive that name the same set. So a set is a *block* of bytes that means the same in every frame. A server writes each set once, and reads a block that
 * arrived before by looking the bytes up.
 *
 *     block   count (name startedMs nonce listVersion)…   sorted by name, each name once
 *
 * What is looked up was computed from the very same bytes, so nothing is believed that a peer could forge. A few blocks are kept, of those that were used last.
 */

import { Buffer } from 'node:buffer';
import type { MemberId, Membership, SetMember } from '../core/incarnation.ts';

export interface SetBlock {
  readonly set: Membership;
  /** The processes of the set, for the other parts of the frame to refer to. */
  readonly ids: readonly MemberId[];
}

/** As many different sets as a group talks about at one time, several times over. */
const KEPT_MAX = 64;

const written = new WeakMap<readonly SetMember[], Uint8Array>();
const read = new Map<string, SetBlock>();

/** @param write makes the block */
export function writtenBlock(members: readonly SetMember[], write: () => Uint8Array): Uint8Array {
  let block = written.get(members);
  if (block === undefined) {
    block = write();
    written.set(members, block);
  }
  return block;
}

/** @param parse reads the block, if these bytes did not arrive lately */
export function readBlock(bytes: Uint8Array, parse: () => SetBlock): SetBlock {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const known = read.get(text);
  if (known !== undefined) read.delete(text);
  const block = known ?? parse();
  read.set(text, block); // Now the last one that was used.
  const [oldest] = read.size > KEPT_MAX ? read.keys() : [];
  if (oldest !== undefined) read.delete(oldest);
  return block;
}
