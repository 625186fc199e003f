/**
 * Messages between replicas, as bytes: one message a frame. The first message of a connection is a {@link Hello}, which names the
 * sender's directory; anything else before the hello is refused.
 */

import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw, refusing } from '../../runtime/msgpack/flaw.ts';
import { type Instant, instant } from '../../runtime/time.ts';
import type { Hello } from '../core/founding.ts';
import type { Message } from '../core/messages.ts';
import { SEATS_MAX } from '../core/ballot.ts';
import type { Usage } from '../placement/usage.ts';
import {
  ADDRESS_BYTES_MAX,
  CLOCK_MS_MAX,
  COUNT_MAX,
  HOLD_MS_MAX,
  LEASE_MS_MAX,
  REPORTED_MAX,
  ROUND_TRIP_MS_MAX,
  SLICES_MAX,
  SLOT_MAX,
  STORAGE_BYTES_MAX,
} from './bounds.ts';
import {
  flag,
  type Form,
  integer,
  list,
  map,
  mapped,
  milliseconds,
  optional,
  record,
  text,
  union,
  whole,
  wholeUpTo,
} from './form.ts';
import { found, life, request, storage } from './hot.ts';
import {
  ballot,
  configuration,
  electorate,
  entry,
  keys,
  mask,
  member,
  object,
  operation,
  readAnswer,
  session,
  slot,
  snapshot,
} from './parts.ts';

export type PeerMessage = Message | Hello;

const name = text(STORAGE_BYTES_MAX);

/** A slot, or -1 for none. */
const slotOrNone: Form<number> = mapped(
  integer,
  (value: number) => value,
  (value) => {
    if (value < -1 || value > SLOT_MAX) throw new Flaw(`must be a slot up to ${SLOT_MAX}, or -1`);
    return value;
  },
);

/** A reading of a monotonic clock, which begins with the process or the machine. */
const stamp: Form<Instant> = mapped(milliseconds(CLOCK_MS_MAX), (value: Instant) => value, instant);

/** Counts fade, and a sixteenth of a read is as exact as it needs to be. */
const count: Form<number> = mapped(
  wholeUpTo(16 * COUNT_MAX),
  (value: number) => Math.round(16 * value),
  (sixteenths) => sixteenths / 16,
);

const usage: Form<Usage> = record<Usage>({
  reads: whole,
  localReads: whole,
  sliceReads: list(count, SLICES_MAX),
  sliceWrites: list(count, SLICES_MAX),
  objects: list(record<Usage['objects'][number]>({ object, reads: count, writes: count }), REPORTED_MAX),
  roundTrips: map(storage, milliseconds(ROUND_TRIP_MS_MAX), SEATS_MAX),
});

const message: Form<PeerMessage> = union<'kind', PeerMessage>('kind', {
  'pre-vote': { ballot, last: slot },
  'pre-voted': { ballot, isYes: flag },
  prepare: { ballot, chosen: slot },
  prepared: { ballot, chosen: slot, committed: slot, entries: list(entry), votes: life, isComplete: flag },
  refused: { ballot, promised: ballot },
  accept: {
    ballot,
    merged: slot,
    first: slot,
    operations: list(operation),
    chosen: slot,
    committed: slot,
  },
  gap: { ballot, from: slot },
  install: {
    ...{ ballot, merged: slot, slot, configuration },
    ...{ first: whole, values: list(found), sessions: list(session), isLast: flag },
  },
  installing: { ballot, slot, next: whole },
  accepted: {
    ballot,
    upTo: slot,
    committed: slot,
    settled: slot,
    life,
    number: whole,
    mask,
    votes: life,
  },
  ask: { life, number: whole, leaseMs: milliseconds(LEASE_MS_MAX), ballot, upTo: slotOrNone },
  promise: { life, number: whole, last: slot, stamp, by: life },
  release: { life, number: whole, isDiskFull: flag },
  forward: { requests: list(request) },
  'remote-read': { id: whole, keys },
  'remote-answer': { id: whole, answer: optional(readAnswer) },
  query: { id: whole },
  queried: { id: whole, last: slot },
  join: {},
  'lead-now': { ballot },
  fetch: { first: slot, last: slot },
  compare: { first: slot, last: slot },
  fetched: { first: slot, operations: list(operation), snapshot: optional(snapshot) },
  usage: { usage },
  'check-in': { nonce: whole },
  'checked-in': {
    ...{ nonce: whole, votes: life, slot, configuration: electorate },
    ...{ promised: ballot, reached: slot, holdMs: milliseconds(HOLD_MS_MAX) },
  },
  hello: {
    group: name,
    storage,
    life,
    process: name,
    address: text(ADDRESS_BYTES_MAX),
    initial: optional(list(member, SEATS_MAX)),
    isJoining: flag,
    cluster: optional(name),
  },
});

const writer = new ByteWriter();

/** The bytes of a value; nothing of a value that cannot be written is left for the next. */
export function encode<T>(form: Form<T>, value: T): Uint8Array {
  try {
    form.write(writer, value);
    return writer.take();
  } finally {
    writer.clear();
  }
}

/** @throws {MalformedMessageError} and nothing else */
export function decode<T>(form: Form<T>, frame: Uint8Array): T {
  return refusing(() => {
    const reader = new ByteReader(frame);
    const value = form.read(reader);
    reader.finish();
    return value;
  });
}

export const encodeMessage = (value: PeerMessage): Uint8Array => encode(message, value);
export const decodeMessage = (frame: Uint8Array): PeerMessage => decode(message, frame);
