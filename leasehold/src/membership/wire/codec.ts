/**
 * Messages as bytes. The writing and the reading of each part stand together.
 *
 *     heartbeat   1  word  echo?  digest  (count (id sequence)…)?
 *     records     2  record record … until the frame ends
 *     packet      3  from  to  hopsLeft  payload
 *
 *     word        startedMs nonce  stamp  echo?  viewId?
 *     echo        startedMs nonce  stamp
 *     record      id  sequence  hasLeft  links  cannotReach  number  holdMs  set  count set…
 *     payload     1 word | 2 id oldestId body until the frame ends | 3 id | 4 channel body until the frame ends
 *     set, links  count id…
 *
 * Numbers are varints; stamps and `holdMs` are doubles; `?` is a byte 0 or 1 before the part. One frame names the same processes many
 * times over: with 50 servers a record has 500 ids. So an id is a place among the ids of this frame. The first
 * free place means that name and incarnation follow, and have that place from then on.
 *
 * **Nothing that can be computed is believed.** The key of a set of members is not on the wire: two sets with equal keys are the same
 * set, and the agreement on views rests on that. The reader computes the key, and refuses a set that is not sorted or has a
 * name twice, so one set has one form.
 *
 * Records that do not fit into a frame go in several; each of them is a whole message.
 */

import type { Codec } from '../../runtime/codec.ts';
import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw, inside, refusing } from '../../runtime/msgpack/flaw.ts';
import { instant } from '../../runtime/time.ts';
import {
  type Incarnation,
  keyOf,
  type MemberId,
  type Membership,
  membershipOf,
} from '../core/incarnation.ts';
import type {
  Echo,
  Heartbeat,
  Message,
  Packet,
  Payload,
  Proposal,
  ServerRecord,
  Version,
  Word,
} from '../core/messages.ts';
import { HOPS_MAX } from '../core/overlay.ts';
import {
  BODY_BYTES_MAX,
  CHAIN_MAX,
  CHANNEL_BYTES_MAX,
  DIGEST_BYTES_MAX,
  FRAME_BYTES,
  HOLD_MS_MAX,
  NAME_CHARACTERS_MAX,
  SERVERS_MAX,
  VIEW_ID_BYTES_MAX,
} from './bounds.ts';

export const MEMBERSHIP_PROTOCOL: {
  readonly name: string;
  readonly version: number;
  readonly oldest: number;
} = { name: 'leasehold-membership', version: 1, oldest: 1 };

/** What goes out is frames already, because records may take several. */
export const membershipCodec: Codec<Uint8Array, Message> = {
  encode: (frame) => frame,
  decode: decodeMessage,
};

const MESSAGE = { heartbeat: 1, records: 2, packet: 3 } as const;
const PAYLOAD = { word: 1, data: 2, acknowledgement: 3, datagram: 4 } as const;

export function encodeMessage(message: Message): Uint8Array[] {
  switch (message.kind) {
    case 'heartbeat': {
      const out = new Out(MESSAGE.heartbeat);
      writeHeartbeat(out, message);
      return [out.take()];
    }
    case 'records':
      return recordFrames(message.records);
    case 'packet': {
      const out = new Out(MESSAGE.packet);
      writePacket(out, message);
      return [out.take()];
    }
  }
}

/** @throws {MalformedMessageError} and nothing else */
export function decodeMessage(frame: Uint8Array): Message {
  return refusing(() => {
    const input = new In(frame);
    const kind = input.reader.uint8();
    switch (kind) {
      case MESSAGE.heartbeat:
        return finished(input, readHeartbeat(input));
      case MESSAGE.records:
        return { kind: 'records', records: readRecords(input) };
      case MESSAGE.packet:
        return finished(input, readPacket(input));
      default:
        throw new Flaw(`is of kind ${kind}, which there is not`);
    }
  });
}

// Heartbeats.

function writeHeartbeat(out: Out, { word, linkEcho, digest, versions }: Heartbeat): void {
  writeWord(out, word);
  out.optional(linkEcho, (echo) => writeEcho(out, echo));
  out.text(digest);
  out.optional(versions, (listed) =>
    out.list(listed, (version) => {
      out.id(version);
      out.writer.varint(version.sequence);
    }),
  );
}

function readHeartbeat(input: In): Heartbeat {
  const word = at('word', () => readWord(input));
  const linkEcho = at('linkEcho', () => input.optional(() => readEcho(input)));
  const digest = at('digest', () => input.text(DIGEST_BYTES_MAX));
  const versions = at('versions', () =>
    input.optional(() =>
      input.list(SERVERS_MAX, (): Version => ({ ...input.id(), sequence: input.reader.varint() })),
    ),
  );
  return { kind: 'heartbeat', word, linkEcho, digest, versions };
}

function writeWord(out: Out, { incarnation, stamp, echo, viewId }: Word): void {
  out.incarnation(incarnation);
  out.writer.float64(stamp);
  out.optional(echo, (known) => writeEcho(out, known));
  out.optional(viewId, (id) => out.text(id));
}

function readWord(input: In): Word {
  const incarnation = input.incarnation();
  const stamp = input.stamp();
  const echo = input.optional(() => readEcho(input));
  const viewId = input.optional(() => input.text(VIEW_ID_BYTES_MAX));
  return { incarnation, stamp, echo, viewId };
}

function writeEcho(out: Out, { incarnation, stamp }: Echo): void {
  out.incarnation(incarnation);
  out.writer.float64(stamp);
}

const readEcho = (input: In): Echo => ({ incarnation: input.incarnation(), stamp: input.stamp() });

// Records.

function recordFrames(records: readonly ServerRecord[]): Uint8Array[] {
  const frames: Uint8Array[] = [];
  let out = new Out(MESSAGE.records);
  for (const record of records) {
    if (out.writer.length > FRAME_BYTES) {
      frames.push(out.take());
      out = new Out(MESSAGE.records);
    }
    writeRecord(out, record);
  }
  frames.push(out.take());
  return frames;
}

function readRecords(input: In): ServerRecord[] {
  const records: ServerRecord[] = [];
  while (input.reader.left > 0) records.push(at(`records[${records.length}]`, () => readRecord(input)));
  return records;
}

function writeRecord(out: Out, record: ServerRecord): void {
  const { sequence, hasLeft, links, cannotReach, proposal } = record;
  out.id(record);
  out.writer.varint(sequence);
  out.writer.uint8(hasLeft ? 1 : 0);
  out.ids(links);
  out.ids(cannotReach);
  out.writer.varint(proposal.number);
  out.writer.float64(proposal.holdMs);
  out.ids(proposal.members);
  out.list(proposal.chain, ({ members }) => out.ids(members));
}

function readRecord(input: In): ServerRecord {
  const { reader } = input;
  const id = input.id();
  const sequence = reader.varint();
  const hasLeft = input.flag();
  const links = at('links', () => input.ids());
  const cannotReach = at('cannotReach', () => input.ids());
  const number = reader.varint();
  const holdMs = at('holdMs', () => hold(reader.float64()));
  const set = at('set', () => input.set());
  const chain = at('chain', () => input.list(CHAIN_MAX, () => input.set()));
  const proposal: Proposal = { ...set, number, holdMs, chain };
  return { ...id, sequence, links, cannotReach, proposal, hasLeft };
}

// Packets.

function writePacket(out: Out, { from, to, hopsLeft, payload }: Packet): void {
  out.id(from);
  out.id(to);
  out.writer.uint8(hopsLeft);
  out.writer.uint8(PAYLOAD[payload.kind]);
  switch (payload.kind) {
    case 'word':
      writeWord(out, payload.word);
      return;
    case 'data':
      out.writer.varint(payload.id);
      out.writer.varint(payload.oldestId);
      out.writer.bytes(payload.body);
      return;
    case 'acknowledgement':
      out.writer.varint(payload.id);
      return;
    case 'datagram':
      out.text(payload.channel);
      out.writer.bytes(payload.body);
      return;
  }
}

function readPacket(input: In): Packet {
  const [from, to, hopsLeft] = [input.id(), input.id(), input.reader.uint8()];
  if (hopsLeft > HOPS_MAX) throw new Flaw(`must have at most ${HOPS_MAX} hops left`);
  return { kind: 'packet', from, to, hopsLeft, payload: at('payload', () => readPayload(input)) };
}

function readPayload(input: In): Payload {
  const { reader } = input;
  const kind = reader.uint8();
  switch (kind) {
    case PAYLOAD.word:
      return { kind: 'word', word: readWord(input) };
    case PAYLOAD.data: {
      const [id, oldestId] = [reader.varint(), reader.varint()];
      return { kind: 'data', id, oldestId, body: readBody(input) };
    }
    case PAYLOAD.acknowledgement:
      return { kind: 'acknowledgement', id: reader.varint() };
    case PAYLOAD.datagram:
      return { kind: 'datagram', channel: input.text(CHANNEL_BYTES_MAX), body: readBody(input) };
    default:
      throw new Flaw(`is of kind ${kind}, which there is not`);
  }
}

/** A copy: the application may keep the body for longer than the frame is kept. */
function readBody({ reader }: In): Uint8Array {
  if (reader.left > BODY_BYTES_MAX) throw new Flaw(`must have a body of at most ${BODY_BYTES_MAX} bytes`);
  return new Uint8Array(reader.bytes(reader.left));
}

// The parts of which all messages are made.

/** One for all messages: encoding one ends before the next begins. */
const writer = new ByteWriter();

class Out {
  readonly writer: ByteWriter = writer;
  readonly #places = new Map<string, number>();

  constructor(kind: number) {
    writer.clear(); // If the message before could not be written, nothing is left of it.
    writer.uint8(kind);
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
    this.writer.varint(place ?? this.#places.size);
    if (place !== undefined) return;
    this.#places.set(key, this.#places.size);
    this.text(member.name);
    this.incarnation(member.incarnation);
  }

  ids(members: readonly MemberId[]): void {
    this.list(members, (member) => this.id(member));
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

class In {
  readonly reader: ByteReader;
  readonly #ids: MemberId[] = [];
  readonly #keys = new Set<string>();

  constructor(frame: Uint8Array) {
    this.reader = new ByteReader(frame);
  }

  flag(): boolean {
    const flag = this.reader.uint8();
    if (flag > 1) throw new Flaw('must be 0 or 1');
    return flag === 1;
  }

  stamp(): Word['stamp'] {
    const ms = this.reader.float64();
    if (Number.isFinite(ms)) return instant(ms);
    throw new Flaw('must be a finite time');
  }

  text(bytesMax: number): string {
    const length = this.reader.varint();
    if (length > 0 && length <= bytesMax) return this.reader.text(length);
    throw new Flaw(`must be a text of 1 to ${bytesMax} bytes`);
  }

  incarnation(): Incarnation {
    return { startedMs: this.reader.varint(), nonce: this.reader.varint() };
  }

  id(): MemberId {
    const place = this.reader.varint();
    const known = this.#ids[place];
    if (known !== undefined) return known;
    if (place !== this.#ids.length) throw new Flaw('refers to a process that was not named before');
    // A character takes at most three bytes for each of its UTF-16 units.
    const name = this.text(3 * NAME_CHARACTERS_MAX);
    if (name.length > NAME_CHARACTERS_MAX)
      throw new Flaw(`must have names of at most ${NAME_CHARACTERS_MAX} characters`);
    const member = { name, incarnation: this.incarnation() };
    const key = keyOf(member);
    if (this.#keys.has(key)) throw new Flaw('names a process twice that has a place already');
    this.#keys.add(key);
    this.#ids.push(member);
    return member;
  }

  ids(): MemberId[] {
    return this.list(SERVERS_MAX, () => this.id());
  }

  set(): Membership {
    const members = this.ids();
    for (const [index, { name }] of members.entries()) {
      const before = members[index - 1];
      if (before !== undefined && before.name >= name)
        throw new Flaw('must be sorted by name, each name once');
    }
    return membershipOf(members);
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

function finished(input: In, message: Message): Message {
  input.reader.finish();
  return message;
}

function at<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw inside(place, error);
  }
}

function hold(ms: number): number {
  if (ms >= 0 && ms <= HOLD_MS_MAX) return ms + 0;
  throw new Flaw('must be a number of milliseconds of at most a day');
}
