/**
 * Sets of servers as bytes.
 *
 * Records name sets: the proposal, and the views of a chain. With 50 servers, a set is the larger part of a record, and while a view is agreed on, 49 records
 * arrive that name the same set. So a set is a *block* of bytes that means the same in every frame. A server writes each set once, and reads a block that
 * arrived before by looking the bytes up.
 *
 *     block   count (name incarnation listVersion)…   sorted by name, each name once
 *
 * What is looked up was computed from the very same bytes, so nothing is believed that a peer could forge. A few blocks are kept, of those that were used last.
 */

import { Buffer } from 'node:buffer';
import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { type Form, list, record, whole } from '../../runtime/wire/form.ts';
import { type MemberId, type Membership, membershipOf, type SetMember } from '../core/incarnation.ts';
import { SERVERS_MAX } from './bounds.ts';
import { incarnation, name, sortedByName } from './parts.ts';

export interface SetBlock {
  readonly set: Membership;
  /** The processes of the set, for the other parts of the frame to refer to. */
  readonly ids: readonly MemberId[];
}

const members: Form<readonly SetMember[]> = sortedByName(
  list(record<SetMember>({ name, incarnation, listVersion: whole }), SERVERS_MAX),
);

/** As many different sets as a group talks about at one time, several times over. */
const KEPT_MAX = 64;

const written = new WeakMap<readonly SetMember[], Uint8Array>();
const read = new Map<string, SetBlock>();

/** A block is written while a message is. */
const writer = new ByteWriter();

export function writtenBlock(given: readonly SetMember[]): Uint8Array {
  let block = written.get(given);
  if (block === undefined) {
    writer.clear();
    members.write(writer, given);
    block = writer.take();
    written.set(given, block);
  }
  return block;
}

/** @throws {Flaw} and keeps nothing */
export function readBlock(bytes: Uint8Array): SetBlock {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const known = read.get(text);
  if (known !== undefined) read.delete(text);
  const block = known ?? parse(bytes);
  read.set(text, block); // Now the last one that was used.
  const [oldest] = read.size > KEPT_MAX ? read.keys() : [];
  if (oldest !== undefined) read.delete(oldest);
  return block;
}

function parse(bytes: Uint8Array): SetBlock {
  const reader = new ByteReader(bytes);
  const given = members.read(reader);
  reader.finish();
  const ids = given.map((member): MemberId => ({ name: member.name, incarnation: member.incarnation }));
  return { set: membershipOf(given), ids };
}
