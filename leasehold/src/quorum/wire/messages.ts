/**
 * Messages between replicas, as bytes: one message a frame. The first message of a connection is a {@link Hello}, which names the
 * sender's directory; anything else before the hello is refused.
 */

import { type Instant, instant } from '../../runtime/time.ts';
import type { Hello } from '../core/founding.ts';
import type { Message } from '../core/messages.ts';
import { SEATS_MAX } from '../core/ballot.ts';
import type { Usage } from '../core/placement/usage.ts';
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
  checked,
  decode,
  encode,
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
} from '../../runtime/wire/form.ts';
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
  snapshotPart,
} from './parts.ts';

export type PeerMessage = Message | Hello;

const name = text(STORAGE_BYTES_MAX);

/** A slot, or -1 for none. */
const slotOrNone: Form<number> = checked(
  integer,
  (value) => value >= -1 && value <= SLOT_MAX,
  `must be a slot up to ${SLOT_MAX}, or -1`,
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

export const message: Form<PeerMessage> = union<'kind', PeerMessage>('kind', {
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
  fetch: { first: slot, last: slot, partOf: slot, next: whole },
  compare: { first: slot, last: slot },
  fetched: { first: slot, operations: list(operation), part: optional(snapshotPart) },
  usage: { usage },
  'check-in': { nonce: whole },
  'checked-in': {
    ...{ nonce: whole, votes: life, slot, configuration: electorate },
    ...{ promised: ballot, reached: slot, holdMs: milliseconds(HOLD_MS_MAX) },
  },
  hello: {
    cell: name,
    storage,
    life,
    process: name,
    address: text(ADDRESS_BYTES_MAX),
    initial: optional(list(member, SEATS_MAX)),
    isJoining: flag,
    cluster: optional(name),
  },
});

export const encodeMessage = (value: PeerMessage): Uint8Array => encode(message, value);
export const decodeMessage = (frame: Uint8Array): PeerMessage => decode(message, frame);
