/**
 * The parts of which all messages of a group are made.
 *
 * Numbers are varints; stamps and durations are doubles; an optional part has a byte 0 or 1 before it. One frame names the same processes many
 * times over: with 50 servers a record has 500 ids. So an id is a place among the ids of this frame. The first free place means that name and
 * incarnation follow, and have that place from then on. A set is a place among the sets of this frame in the same way, and the block of the set (`set-blocks.ts`) gives a place
 * to each process in the set.
 */

import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw, inside } from '../../runtime/msgpack/flaw.ts';
import { instant, type Instant } from '../../runtime/time.ts';
import type { Attachment } from '../core/attachment.ts';
import {
  type Incarnation,
  keyOf,
  type MemberId,
  type Membership,
  membershipOf,
  type SetMember,
} from '../core/incarnation.ts';
import { readBlock, type SetBlock, writtenBlock } from './set-blocks.ts';
import { HOLD_MS_MAX, NAME_CHARACTERS_MAX, NUMBER_MAX, SERVERS_MAX } from './bounds.ts';

/** One for all messages: encoding one ends before the next begins. */
const writer = new ByteWriter();

export class Out {
  readonly writer: ByteWriter;
  readonly #places = new Map<string, number>();
  readonly #sets = new Map<string, number>();
  #placeCount = 0;

  /** @param kind of the message; none for a part that several messages share */
  constructor(kind?: number, bytes: ByteWriter = writer) {
    this.writer = bytes;
    bytes.clear(); // If the message before could not be written, nothing is left of it.
    if (kind !== undefined) bytes.uint8(kind);
  }

  take(): Uint8Array {
    return this.writer.take();
  }

  text(text: string): void {
    this.writer.text(text, (length) => this.writer.varint(length));
  }

  incarnation({ startedMs, nonce }: Incarnation): void {
    this.writer.varint(startedMs);
    this.writer.varint(nonce);
  }

  id(member: MemberId): void {
    const key = keyOf(member);
    const place = this.#places.get(key);
    this.writer.varint(place ?? this.#placeCount);
    if (place !== undefined) return;
    this.#places.set(key, this.#placeCount++);
    this.text(member.name);
    this.incarnation(member.incarnation);
  }

  ids(members: readonly MemberId[]): void {
    this.list(members, (member) => this.id(member));
  }

  set({ key, members }: Membership): void {
    const place = this.#sets.get(key);
    this.writer.varint(place ?? this.#sets.size);
    if (place !== undefined) return;
    this.#sets.set(key, this.#sets.size);
    const block = writtenBlock(members, () => blockOf(members));
    this.writer.varint(block.length);
    this.writer.bytes(block);
    for (const member of members) {
      const name = keyOf(member);
      if (!this.#places.has(name)) this.#places.set(name, this.#placeCount);
      this.#placeCount += 1;
    }
  }

  attachment(client: Attachment): void {
    this.id(client);
    this.writer.varint(client.count);
  }

  list<T>(items: readonly T[], write: (item: T) => void): void {
    this.writer.varint(items.length);
    for (const item of items) write(item);
  }

  optional<T>(part: T | undefined, write: (part: T) => void): void {
    this.writer.uint8(part === undefined ? 0 : 1);
    if (part !== undefined) write(part);
  }
}

export class In {
  readonly reader: ByteReader;
  readonly #ids: MemberId[] = [];
  readonly #sets: Membership[] = [];

  constructor(frame: Uint8Array) {
    this.reader = new ByteReader(frame);
  }

  flag(): boolean {
    const flag = this.reader.uint8();
    if (flag > 1) throw new Flaw('must be 0 or 1');
    return flag === 1;
  }

  stamp(): Instant {
    const ms = this.reader.float64();
    if (Number.isFinite(ms)) return instant(ms);
    throw new Flaw('must be a finite time');
  }

  text(bytesMax: number): string {
    const length = this.reader.varint();
    if (length > 0 && length <= bytesMax) return this.reader.text(length);
    throw new Flaw(`must be a text of 1 to ${bytesMax} bytes`);
  }

  number(): number {
    const number = this.reader.varint();
    if (number <= NUMBER_MAX) return number;
    throw new Flaw('must be a number that can still be counted on');
  }

  incarnation(): Incarnation {
    return { startedMs: this.number(), nonce: this.number() };
  }

  id(): MemberId {
    const place = this.reader.varint();
    const known = this.#ids[place];
    if (known !== undefined) return known;
    if (place !== this.#ids.length) throw new Flaw('refers to a process that was not named before');
    const member = { name: this.name(), incarnation: this.incarnation() };
    this.#ids.push(member);
    return member;
  }

  ids(): MemberId[] {
    return this.list(SERVERS_MAX, () => this.id());
  }

  set(): Membership {
    const place = this.reader.varint();
    const known = this.#sets[place];
    if (known !== undefined) return known;
    if (place !== this.#sets.length) throw new Flaw('refers to a set that was not named before');
    const bytes = this.reader.bytes(this.reader.varint());
    const { set, ids } = readBlock(bytes, () => parseBlock(bytes));
    this.#sets.push(set);
    for (const id of ids) this.#ids.push(id);
    return set;
  }

  attachment(): Attachment {
    return { ...this.id(), count: this.reader.varint() };
  }

  attachments(most: number): Attachment[] {
    return sorted(this.list(most, () => this.attachment()));
  }

  name(): string {
    // A character takes at most three bytes for each of its UTF-16 units.
    const name = this.text(3 * NAME_CHARACTERS_MAX);
    if (name.length <= NAME_CHARACTERS_MAX) return name;
    throw new Flaw(`must have names of at most ${NAME_CHARACTERS_MAX} characters`);
  }

  list<T>(most: number, read: () => T): T[] {
    const count = this.reader.varint();
    if (count > most) throw new Flaw(`must have at most ${most} items`);
    const items: T[] = [];
    for (let index = 0; index < count; index += 1) items.push(at(`[${index}]`, read));
    return items;
  }

  optional<T>(read: () => T): T | undefined {
    return this.flag() ? read() : undefined;
  }
}

/** One for all blocks: a block is written while a message is. */
const blockWriter = new ByteWriter();

function blockOf(members: readonly SetMember[]): Uint8Array {
  const out = new Out(undefined, blockWriter);
  out.list(members, ({ name, incarnation, listVersion }) => {
    out.text(name);
    out.incarnation(incarnation);
    out.writer.varint(listVersion);
  });
  return out.take();
}

function parseBlock(bytes: Uint8Array): SetBlock {
  const input = new In(bytes);
  const members = input.list(SERVERS_MAX, (): SetMember => {
    const [name, incarnation] = [input.name(), input.incarnation()];
    return { name, incarnation, listVersion: input.reader.varint() };
  });
  input.reader.finish();
  const ids = sorted(members).map(({ name, incarnation }): MemberId => ({ name, incarnation }));
  return { set: membershipOf(members), ids };
}

export function finished<T>(input: In, message: T): T {
  input.reader.finish();
  return message;
}

export function at<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw inside(place, error);
  }
}

/** A duration in milliseconds, of at most a day. */
export function duration(ms: number): number {
  if (ms >= 0 && ms <= HOLD_MS_MAX) return ms + 0;
  throw new Flaw('must be a number of milliseconds of at most a day');
}

function sorted<Item extends MemberId>(items: Item[]): Item[] {
  for (const [index, { name }] of items.entries()) {
    const before = items[index - 1];
    if (before !== undefined && before.name >= name) throw new Flaw('must be sorted by name, each name once');
  }
  return items;
}
