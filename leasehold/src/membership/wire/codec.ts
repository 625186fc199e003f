/**
 * Messages as bytes. The writing and the reading of each part stand together.
 *
 *     heartbeat   1  word  echo?  digest  (count (id sequence)…)?
 *     records     2  record record … until the frame ends
 *     packet      3  from  to  hopsLeft  payload
 *     4 to 8         between a server and a client: `client-messages.ts`
 *
 *     word        startedMs nonce  stamp  echo?  viewId?
 *     echo        startedMs nonce  stamp
 *     record      set  id  sequence  hasLeft  links  cannotReach  version clients  number  holdMs  count set…
 *     payload     1 word | 2 id oldestId body until the frame ends | 3 id | 4 channel body until the frame ends
 *     links       count id…
 *     clients     count (id count)…
 *
 * `parts.ts` has the form of numbers, ids and sets.
 *
 * **Nothing that can be computed is believed.** The key of a set of members is not on the wire: two sets with equal keys are the same
 * set, and the agreement on views rests on that. The reader computes the key, and refuses a set that is not sorted or has a
 * name twice, so one set has one form.
 *
 * Records that do not fit into a frame go in several; each of them is a whole message.
 */

import type { Codec } from '../../runtime/codec.ts';
import { Flaw, refusing } from '../../runtime/msgpack/flaw.ts';
import { CLIENTS_MAX } from '../core/clients.ts';
import type {
  AnyMessage,
  Echo,
  Heartbeat,
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
  SERVERS_MAX,
  VIEW_ID_BYTES_MAX,
} from './bounds.ts';
import {
  prepareClientMessage,
  readAnswer,
  readDetach,
  readRefusal,
  readStamp,
  readView,
  writeClientMessage,
} from './client-messages.ts';
import { at, duration, finished, In, Out } from './parts.ts';

export const MEMBERSHIP_PROTOCOL: {
  readonly name: string;
  readonly version: number;
  readonly oldest: number;
} = { name: 'leasehold-membership', version: 4, oldest: 4 };

/** What goes out is frames already, because records may take several. */
export const membershipCodec: Codec<Uint8Array, AnyMessage> = {
  encode: (frame) => frame,
  decode: decodeMessage,
};

const MESSAGE = {
  ...{ heartbeat: 1, records: 2, packet: 3 },
  ...{ stamp: 4, detach: 5, answer: 6, view: 7, refusal: 8 },
} as const;
const PAYLOAD = { word: 1, data: 2, acknowledgement: 3, datagram: 4 } as const;

export function encodeMessage(message: AnyMessage): Uint8Array[] {
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
    default: {
      prepareClientMessage(message);
      const out = new Out(MESSAGE[message.kind]);
      writeClientMessage(out, message);
      return [out.take()];
    }
  }
}

/** @throws {MalformedMessageError} and nothing else */
export function decodeMessage(frame: Uint8Array): AnyMessage {
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
      case MESSAGE.stamp:
        return finished(input, readStamp(input));
      case MESSAGE.detach:
        return finished(input, readDetach(input));
      case MESSAGE.answer:
        return finished(input, readAnswer(input));
      case MESSAGE.view:
        return finished(input, readView(input));
      case MESSAGE.refusal:
        return finished(input, readRefusal(input));
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
  const { sequence, hasLeft, links, cannotReach, list, proposal } = record;
  out.set(proposal); // First: nearly all processes that the record names are in this set.
  out.id(record);
  out.writer.varint(sequence);
  out.writer.uint8(hasLeft ? 1 : 0);
  out.ids(links);
  out.ids(cannotReach);
  out.writer.varint(list.version);
  out.list(list.clients, (client) => out.attachment(client));
  out.writer.varint(proposal.number);
  out.writer.float64(proposal.holdMs);
  out.list(proposal.chain, (set) => out.set(set));
}

function readRecord(input: In): ServerRecord {
  const { reader } = input;
  const set = at('set', () => input.set());
  const id = input.id();
  const sequence = input.number();
  const hasLeft = input.flag();
  const links = at('links', () => input.ids());
  const cannotReach = at('cannotReach', () => input.ids());
  const version = input.number();
  const clients = at('clients', () => input.attachments(CLIENTS_MAX));
  const number = input.number();
  const holdMs = at('holdMs', () => duration(reader.float64()));
  const chain = at('chain', () => input.list(CHAIN_MAX, () => input.set()));
  const proposal: Proposal = { ...set, number, holdMs, chain };
  return { ...id, sequence, links, cannotReach, list: { version, clients }, proposal, hasLeft };
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
