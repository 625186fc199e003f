/**
 * A packet as the bytes of frames. `docs/flease-protocol.md` says it in English.
 *
 *     packet   group  view  digest  from  incarnation  toIncarnation  sentMs  leaseMs  clockSkewMs  takeoverMs  echo  item item … until the frame ends
 *
 * The head is declared; the items are written by hand (`items.ts`). There is no count of the items, so there is none to believe: a packet
 * that is too long for a frame is cut between two items, and each piece gets the same head.
 *
 * What is read keeps the rules: names and resources are texts within bounds, times are finite, numbers are whole. So the core can rely on
 * the form of every packet; whether the content is true is another question. No memory is reserved on the word of a peer: a text is
 * as long as the bytes that came, and there are as many items as were read.
 */

import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { inside, refusing } from '../../runtime/msgpack/flaw.ts';
import {
  double,
  type Form,
  optional,
  record,
  ruled,
  uint32,
  whole as varint,
} from '../../runtime/wire/form.ts';
import type { Echo, Item, Packet } from '../core/messages.ts';
import type { ViewDigest } from '../core/view-digest.ts';
import { item } from './items.ts';
import { beginReading, beginWriting } from './names.ts';
import { duration, nameText, positive, takeover, time, whole } from './rules.ts';

type Head = Omit<Packet, 'items'>;

const head: Form<Head> = record<Head>({
  group: nameText,
  view: ruled(varint, positive),
  digest: record<ViewDigest>({ members: uint32, before: uint32 }),
  from: nameText,
  incarnation: ruled(double, positive),
  toIncarnation: ruled(double, whole),
  sentMs: ruled(double, time),
  leaseMs: ruled(double, duration),
  clockSkewMs: ruled(double, duration),
  takeoverMs: ruled(double, takeover),
  echo: optional(record<Echo>({ sentMs: ruled(double, time), receivedMs: ruled(double, time) })),
});

/** No frame is longer than this and one item; a packet that is longer goes as several. */
export const FRAME_BYTES: number = 256 * 1024;

/** One writer serves all packets, and a frame is copied from it once. */
const writer = new ByteWriter();

/** One frame, or several for a long packet. */
export function encodePacket(packet: Packet): Uint8Array[] {
  try {
    return framesOf(packet);
  } finally {
    writer.clear(); // After an error nothing must be left for the next packet.
  }
}

function framesOf(packet: Packet): Uint8Array[] {
  const frames: Uint8Array[] = [];
  beginFrame(packet);
  for (const each of packet.items) {
    if (writer.length > FRAME_BYTES) {
      frames.push(writer.take());
      beginFrame(packet);
    }
    item.write(writer, each);
  }
  frames.push(writer.take());
  return frames;
}

function beginFrame(packet: Packet): void {
  head.write(writer, packet);
  beginWriting(packet.from);
}

/** @throws {MalformedMessageError} and nothing else */
export const decodePacket = (frame: Uint8Array): Packet =>
  refusing(() => {
    const reader = new ByteReader(frame);
    const begun = head.read(reader);
    beginReading(begun.from);
    return { ...begun, items: readItems(reader) };
  });

function readItems(reader: ByteReader): Item[] {
  const items: Item[] = [];
  try {
    while (reader.left > 0) items.push(item.read(reader));
  } catch (error) {
    throw inside(`items[${items.length}]`, error);
  }
  return items;
}

/** Each head with some of the items, one with all of them, and one with none. */
export function packetSamples(): readonly Packet[] {
  const [heads, items] = [head.samples(), item.samples()];
  const some = heads.map((each, place) => ({
    ...each,
    items: items.filter((_, at) => at % heads.length === place),
  }));
  return heads.slice(0, 1).flatMap((each) => [...some, { ...each, items }, { ...each, items: [] }]);
}
