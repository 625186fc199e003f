/**
 * The processes and sets that one frame names. One frame names the same processes many times over: with 50 servers a record has 500 ids. So an id is a place
 * among the ids of its frame. The first free place means that name and incarnation follow, and have that place from then on. A set is a place among the sets of
 * the frame in the same way, and the block of the set (`set-blocks.ts`) gives a place to each process in the set.
 *
 *     id    place [name incarnation]         set    place [length block]
 *
 * A form does not wait, so one frame is written or read at a time, and what it has named so far is kept here. A part that several frames share (a difference of
 * views) has names of its own: {@link withOwnNames}.
 *
 * **Nothing that can be computed is believed.** The key of a set of members is not on the wire: two sets with equal keys are the same set, and the agreement on
 * views rests on that. The reader computes the key, and refuses a set that is not sorted or has a name twice, so one set has one form.
 */

import type { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw } from '../../runtime/msgpack/flaw.ts';
import { type Form, list, record } from '../../runtime/wire/form.ts';
import { keyOf, type MemberId, type Membership, membershipOf } from '../core/incarnation.ts';
import { SERVERS_MAX } from './bounds.ts';
import { incarnation, name } from './parts.ts';
import { readBlock, writtenBlock } from './set-blocks.ts';

class Written {
  readonly ids = new Map<string, number>();
  readonly sets = new Map<string, number>();
  idCount = 0;

  begin(): void {
    // To clear a map costs as much as a small message, and most messages name nothing.
    if (this.ids.size > 0) this.ids.clear();
    if (this.sets.size > 0) this.sets.clear();
    this.idCount = 0;
  }
}

class Read {
  readonly ids: MemberId[] = [];
  readonly sets: Membership[] = [];

  begin(): void {
    this.ids.length = 0;
    this.sets.length = 0;
  }
}

let written = new Written();
let read = new Read();

/** A part whose ids and sets have places of their own: a whole message, or what several messages share. */
export function withOwnNames<T>(form: Form<T>): Form<T> {
  const [ownWritten, ownRead] = [new Written(), new Read()];
  return {
    write: (writer, value) => {
      const outer = written;
      written = ownWritten;
      written.begin();
      try {
        form.write(writer, value);
      } finally {
        written = outer;
      }
    },
    read: (reader) => {
      const outer = read;
      read = ownRead;
      read.begin();
      try {
        return form.read(reader);
      } finally {
        read = outer;
      }
    },
    samples: () => form.samples(),
  };
}

const named: Form<MemberId> = record<MemberId>({ name, incarnation });

export const id: Form<MemberId> = {
  write: writeId,
  read: readId,
  samples: () => named.samples(),
};

export const ids: Form<readonly MemberId[]> = list(id, SERVERS_MAX);

function writeId(writer: ByteWriter, member: MemberId): void {
  const key = keyOf(member);
  const place = written.ids.get(key);
  writer.varint(place ?? written.idCount);
  if (place !== undefined) return;
  written.ids.set(key, written.idCount++);
  named.write(writer, member);
}

function readId(reader: ByteReader): MemberId {
  const place = reader.varint();
  const known = read.ids[place];
  if (known !== undefined) return known;
  if (place !== read.ids.length) throw new Flaw('refers to a process that was not named before');
  const member = named.read(reader);
  read.ids.push(member);
  return member;
}

export const set: Form<Membership> = {
  write: writeSet,
  read: readSet,
  samples: setSamples,
};

function writeSet(writer: ByteWriter, { key, members }: Membership): void {
  const place = written.sets.get(key);
  writer.varint(place ?? written.sets.size);
  if (place !== undefined) return;
  written.sets.set(key, written.sets.size);
  const block = writtenBlock(members);
  writer.varint(block.length);
  writer.bytes(block);
  for (const member of members) {
    const known = keyOf(member);
    if (!written.ids.has(known)) written.ids.set(known, written.idCount);
    written.idCount += 1;
  }
}

function readSet(reader: ByteReader): Membership {
  const place = reader.varint();
  const known = read.sets[place];
  if (known !== undefined) return known;
  if (place !== read.sets.length) throw new Flaw('refers to a set that was not named before');
  const block = readBlock(reader.bytes(reader.varint()));
  read.sets.push(block.set);
  for (const each of block.ids) read.ids.push(each);
  return block.set;
}

function setSamples(): readonly Membership[] {
  const byName = new Map(named.samples().map((member) => [member.name, member]));
  const members = [...byName.values()].map((member, listVersion) => ({ ...member, listVersion }));
  return [membershipOf(members), membershipOf(members.slice(0, 1)), membershipOf([])];
}
