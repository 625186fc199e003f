/**
 * Encodes packets as bytes, in the form of `form.ts`. One writer serves all packets, and a frame is copied from it
 * once.
 */

import { assert, unreachable } from '../../runtime/assert.ts';
import { ByteWriter } from '../../runtime/msgpack/bytes.ts';
import type { Lease } from '../lease.ts';
import type { Found, Item, Packet, Promised, Read, Refused, Write } from '../messages.ts';
import { KIND, REASONS, STATES } from './form.ts';
import { FRAME_BYTES } from './rules.ts';

const writer = new ByteWriter();
const writeLength = (length: number): void => writer.varint(length);

/** The names in the present frame, and their places. */
const places = new Map<string, number>();
/** The last look-up: the next name is mostly the same. */
let lastName: string | undefined;
let lastPlace = 0;

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
  writeHead(packet);
  for (const item of packet.items) {
    if (writer.length > FRAME_BYTES) {
      frames.push(writer.take());
      writeHead(packet);
    }
    writeItem(item);
  }
  frames.push(writer.take());
  return frames;
}

function writeHead(packet: Packet): void {
  const {
    group,
    view,
    digest,
    from,
    incarnation,
    toIncarnation,
    sentMs,
    echo,
    leaseMs,
    clockSkewMs,
    takeoverMs,
  } = packet;
  places.clear();
  places.set(from, 0);
  lastName = undefined;
  writeText(group);
  writer.varint(view);
  writer.uint32(digest.members);
  writer.uint32(digest.before);
  writeText(from);
  writer.float64(incarnation);
  writer.float64(toIncarnation);
  writer.float64(sentMs);
  writer.float64(leaseMs);
  writer.float64(clockSkewMs);
  writer.float64(takeoverMs);
  if (echo === undefined) {
    writer.uint8(0);
    return;
  }
  writer.uint8(1);
  writer.float64(echo.sentMs);
  writer.float64(echo.receivedMs);
}

function writeItem(item: Item): void {
  switch (item.kind) {
    case 'read':
      writeQuestion(KIND.read, item);
      return;
    case 'write':
      writeQuestion(KIND.write, item);
      writeLease(item.lease);
      return;
    case 'query':
      writer.uint8(KIND.query);
      writer.varint(item.attempt);
      writeText(item.resource);
      return;
    case 'promised':
      writeContent(KIND.promisedNothing, KIND.promised, item);
      return;
    case 'found':
      writeContent(KIND.foundNothing, KIND.found, item);
      return;
    case 'accepted':
      writer.uint8(KIND.accepted);
      writer.varint(item.attempt);
      return;
    case 'refused':
      writeRefused(item);
      return;
    case 'enqueue':
    case 'dequeue':
      writer.uint8(KIND[item.kind]);
      writeText(item.resource);
      writeName(item.member);
      return;
    case 'notify':
      writer.uint8(KIND.notify);
      writeText(item.resource);
      return;
    default:
      unreachable(item);
  }
}

function writeQuestion(kind: number, { attempt, resource, askedMs, round }: Read | Write): void {
  writer.uint8(kind);
  writer.varint(attempt);
  writeText(resource);
  writer.float64(askedMs);
  writer.varint(round);
}

function writeContent(nothing: number, something: number, item: Promised | Found): void {
  const { attempt, written, lease } = item;
  if (written === undefined || lease === undefined) {
    assert(written === lease, 'a lease is written under a ballot, and nothing else is');
    writer.uint8(nothing);
    writer.varint(attempt);
    return;
  }
  writer.uint8(something);
  writer.varint(attempt);
  writer.float64(written.askedMs);
  writer.varint(written.round);
  writeName(written.member);
  writer.float64(written.incarnation);
  writer.varint(written.attempt);
  writeLease(lease);
}

function writeRefused({ attempt, of, why, detail }: Refused): void {
  writer.uint8(of === 'read' ? KIND.refusedRead : KIND.refusedWrite);
  writer.varint(attempt);
  writer.uint8(REASONS.indexOf(why));
  if (why === 'outbid') writer.varint(detail);
  else if (why === 'recovering') writer.float64(detail);
}

function writeLease({ holder, incarnation, number, untilMs, state, successor }: Lease): void {
  writeName(holder);
  writer.float64(incarnation);
  writer.float64(number);
  writer.float64(untilMs);
  writer.uint8(STATES.indexOf(state));
  assert(
    (successor !== undefined) === (state === 'left'),
    'a lease that was left has a successor, and no other lease has',
  );
  if (successor !== undefined) writeName(successor);
}

function writeName(name: string): void {
  if (name === lastName) {
    writer.varint(lastPlace);
    return;
  }
  const known = places.get(name);
  const place = known ?? places.size;
  writer.varint(place);
  lastName = name;
  lastPlace = place;
  if (known !== undefined) return;
  places.set(name, place);
  writeText(name);
}

const writeText = (text: string): void => writer.text(text, writeLength);
