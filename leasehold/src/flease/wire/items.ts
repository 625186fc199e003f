/**
 * The items of a packet: what one member asks another and answers, by the hundred in one packet. So they are written out by hand; the
 * writing and the reading of each part stand together.
 *
 *      1  read       attempt  resource  askedMs  round
 *      2  write      attempt  resource  askedMs  round  lease
 *      3  promised   attempt                                   nothing is written there
 *      4  promised   attempt  askedMs  round  member  incarnation  attempt  lease
 *      5  accepted   attempt
 *      6  refused    attempt  why  detail                      a read or a query
 *      7  refused    attempt  why  detail                      a write
 *      8  enqueue    resource  member
 *      9  dequeue    resource  member
 *     10  notify     resource
 *     11  query      attempt  resource
 *     12  found      attempt                                   nothing is written there
 *     13  found      attempt  askedMs  round  member  incarnation  attempt  lease
 *
 *     lease    holder  incarnation  number  untilMs  state  successor?
 *
 * Small numbers are varints, times and numbers that are large anyway are doubles: 51 bits take eight bytes either way, and a double is
 * quicker to write. A member is a place among the names of the packet (`names.ts`).
 */

import { assert, unreachable } from '../../runtime/assert.ts';
import type { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw } from '../../runtime/msgpack/flaw.ts';
import type { ByHand, Form } from '../../runtime/wire/form.ts';
import type { Ballot } from '../core/ballot.ts';
import type { Lease } from '../core/lease.ts';
import type { Found, Item, Promised, Read, Refused, RefusalReason, Write } from '../core/messages.ts';
import { readName, writeName } from './names.ts';
import { positive, readResource, round, time, wait, whole, writeResource } from './rules.ts';

const KIND = {
  read: 1,
  write: 2,
  promisedNothing: 3,
  promised: 4,
  accepted: 5,
  refusedRead: 6,
  refusedWrite: 7,
  enqueue: 8,
  dequeue: 9,
  notify: 10,
  query: 11,
  foundNothing: 12,
  found: 13,
} as const;

/** In the order of their numbers, from 0. */
export const REASONS: readonly RefusalReason[] = [
  'outbid',
  'late',
  'early',
  'clock-off',
  'recovering',
  'other-view',
];

/** In the order of their numbers, from 0. */
const STATES: readonly Lease['state'][] = ['held', 'free', 'left'];

const lease: ByHand<Lease> = {
  write: (writer, { holder, incarnation, number, untilMs, state, successor }) => {
    writeName(writer, holder);
    writer.float64(incarnation);
    writer.float64(number);
    writer.float64(untilMs);
    writer.uint8(STATES.indexOf(state));
    assert(
      (successor !== undefined) === (state === 'left'),
      'a lease that was left has a successor, and no other lease has',
    );
    if (successor !== undefined) writeName(writer, successor);
  },
  read: (reader) => {
    const holder = readName(reader);
    const incarnation = positive(reader.float64());
    const number = whole(reader.float64());
    const untilMs = time(reader.float64());
    const state = STATES[reader.uint8()];
    if (state === undefined) throw new Flaw('has a lease in a state that there is not');
    const successor = state === 'left' ? readName(reader) : undefined;
    return { holder, incarnation, number, untilMs, state, successor };
  },
};

const ballot: ByHand<Ballot> = {
  write: (writer, given) => {
    writer.float64(given.askedMs);
    writer.varint(given.round);
    writeName(writer, given.member);
    writer.float64(given.incarnation);
    writer.varint(given.attempt);
  },
  read: (reader) => {
    const askedMs = time(reader.float64());
    const inRound = round(reader.varint());
    const member = readName(reader);
    const incarnation = positive(reader.float64());
    return { askedMs, round: inRound, member, incarnation, attempt: reader.varint() };
  },
};

function writeQuestion(
  writer: ByteWriter,
  kind: number,
  { attempt, resource, askedMs, round }: Read | Write,
): void {
  writer.uint8(kind);
  writer.varint(attempt);
  writeResource(writer, resource);
  writer.float64(askedMs);
  writer.varint(round);
}

function writeContent(
  writer: ByteWriter,
  nothing: number,
  something: number,
  { attempt, written, lease: found }: Promised | Found,
): void {
  if (written === undefined || found === undefined) {
    assert(written === found, 'a lease is written under a ballot, and nothing else is');
    writer.uint8(nothing);
    writer.varint(attempt);
    return;
  }
  writer.uint8(something);
  writer.varint(attempt);
  ballot.write(writer, written);
  lease.write(writer, found);
}

function writeRefused(writer: ByteWriter, { attempt, of, why, detail }: Refused): void {
  writer.uint8(of === 'read' ? KIND.refusedRead : KIND.refusedWrite);
  writer.varint(attempt);
  writer.uint8(REASONS.indexOf(why));
  if (why === 'outbid') writer.varint(detail);
  else if (why === 'recovering') writer.float64(detail);
}

function readRefused(reader: ByteReader, of: 'read' | 'write'): Refused {
  const attempt = reader.varint();
  const number = reader.uint8();
  const why = REASONS[number];
  if (why === undefined) throw new Flaw(`has reason ${number}, which there is not`);
  const detail =
    why === 'outbid' ? round(reader.varint()) : why === 'recovering' ? wait(reader.float64()) : 0;
  return { kind: 'refused', attempt, of, why, detail };
}

function writeItem(writer: ByteWriter, item: Item): void {
  switch (item.kind) {
    case 'read':
      writeQuestion(writer, KIND.read, item);
      return;
    case 'write':
      writeQuestion(writer, KIND.write, item);
      lease.write(writer, item.lease);
      return;
    case 'query':
      writer.uint8(KIND.query);
      writer.varint(item.attempt);
      writeResource(writer, item.resource);
      return;
    case 'promised':
      writeContent(writer, KIND.promisedNothing, KIND.promised, item);
      return;
    case 'found':
      writeContent(writer, KIND.foundNothing, KIND.found, item);
      return;
    case 'accepted':
      writer.uint8(KIND.accepted);
      writer.varint(item.attempt);
      return;
    case 'refused':
      writeRefused(writer, item);
      return;
    case 'enqueue':
    case 'dequeue':
      writer.uint8(KIND[item.kind]);
      writeResource(writer, item.resource);
      writeName(writer, item.member);
      return;
    case 'notify':
      writer.uint8(KIND.notify);
      writeResource(writer, item.resource);
      return;
    default:
      unreachable(item);
  }
}

function readItem(reader: ByteReader): Item {
  const kind = reader.uint8();
  switch (kind) {
    case KIND.read: {
      const attempt = reader.varint();
      const resource = readResource(reader);
      const askedMs = time(reader.float64());
      return { kind: 'read', attempt, resource, askedMs, round: round(reader.varint()) };
    }
    case KIND.write: {
      const attempt = reader.varint();
      const resource = readResource(reader);
      const askedMs = time(reader.float64());
      const inRound = round(reader.varint());
      return { kind: 'write', attempt, resource, askedMs, round: inRound, lease: lease.read(reader) };
    }
    case KIND.query: {
      const attempt = reader.varint();
      return { kind: 'query', attempt, resource: readResource(reader) };
    }
    case KIND.promisedNothing:
      return { kind: 'promised', attempt: reader.varint(), written: undefined, lease: undefined };
    case KIND.promised: {
      const attempt = reader.varint();
      const written = ballot.read(reader);
      return { kind: 'promised', attempt, written, lease: lease.read(reader) };
    }
    case KIND.foundNothing:
      return { kind: 'found', attempt: reader.varint(), written: undefined, lease: undefined };
    case KIND.found: {
      const attempt = reader.varint();
      const written = ballot.read(reader);
      return { kind: 'found', attempt, written, lease: lease.read(reader) };
    }
    case KIND.accepted:
      return { kind: 'accepted', attempt: reader.varint() };
    case KIND.refusedRead:
      return readRefused(reader, 'read');
    case KIND.refusedWrite:
      return readRefused(reader, 'write');
    case KIND.enqueue:
      return { kind: 'enqueue', resource: readResource(reader), member: readName(reader) };
    case KIND.dequeue:
      return { kind: 'dequeue', resource: readResource(reader), member: readName(reader) };
    case KIND.notify:
      return { kind: 'notify', resource: readResource(reader) };
    default:
      throw new Flaw(`is of kind ${kind}, which there is not`);
  }
}

const HELD: Lease = {
  holder: 'a',
  incarnation: 7,
  number: 1_700_000_000_100_000,
  untilMs: 1_700_000_010_100,
  state: 'held',
  successor: undefined,
};
const BALLOT: Ballot = { askedMs: 1_700_000_000_090.5, round: 2, member: 'b', incarnation: 9, attempt: 4 };
const ASKED = { resource: 'é', askedMs: 1_700_000_000_100, round: 2 };

/** An item of every kind, a lease in every state, a refusal for every reason. */
export const item: Form<Item> = {
  write: writeItem,
  read: readItem,
  samples: () => [
    { kind: 'read', attempt: 1, ...ASKED },
    { kind: 'write', attempt: 300, ...ASKED, lease: HELD },
    { kind: 'query', attempt: 2, resource: 'job' },
    { kind: 'promised', attempt: 3, written: undefined, lease: undefined },
    { kind: 'promised', attempt: 4, written: BALLOT, lease: { ...HELD, holder: 'b', state: 'free' } },
    { kind: 'found', attempt: 5, written: undefined, lease: undefined },
    { kind: 'found', attempt: 6, written: BALLOT, lease: { ...HELD, state: 'left', successor: '__proto__' } },
    { kind: 'accepted', attempt: 7 },
    ...REASONS.flatMap((why, place): readonly Item[] => {
      const detail = why === 'outbid' ? 3 : why === 'recovering' ? 3_200.5 : 0;
      return [
        { kind: 'refused', attempt: place, of: 'read', why, detail },
        { kind: 'refused', attempt: place, of: 'write', why, detail },
      ];
    }),
    { kind: 'enqueue', resource: 'job', member: 'c' },
    { kind: 'dequeue', resource: 'job', member: 'd' },
    { kind: 'notify', resource: 'job' },
  ],
};
