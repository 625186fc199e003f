/**
 * Messages between replicas, as bytes: one message a frame. The first message of a connection is a {@link Hello}, which names the
 * sender's directory; anything else before the hello is refused.
 */

import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { refusing } from '../../runtime/msgpack/flaw.ts';
import type { Member } from '../core/configuration.ts';
import type { Message } from '../core/messages.ts';
import { ADDRESS_BYTES_MAX, STORAGE_BYTES_MAX } from './bounds.ts';
import { flag, type Form, integer, list, milliseconds, optional, text, union, whole } from './form.ts';
import { entry, keys, member, operation, readAnswer, request, snapshot, storage } from './parts.ts';

/** A replica introduces its directory. */
export interface Hello {
  readonly kind: 'hello';
  readonly group: string;
  readonly storage: string;
  readonly life: number;
  /** Drawn by the process: two processes that open copies of one directory may have the same life. */
  readonly process: string;
  /** Where this replica listens, as others should dial it. */
  readonly address: string;
  /** The members at the group's beginning; undefined if the replica does not know them, or joins. */
  readonly initial: readonly Member[] | undefined;
  readonly isJoining: boolean;
}

export type PeerMessage = Message | Hello;

const name = text(STORAGE_BYTES_MAX);

const message: Form<PeerMessage> = union<'kind', PeerMessage>('kind', {
  'pre-vote': { ballot: whole, last: whole },
  'pre-voted': { ballot: whole, isYes: flag },
  prepare: { ballot: whole, chosen: whole },
  prepared: { ballot: whole, chosen: whole, committed: whole, entries: list(entry) },
  refused: { ballot: whole, promised: whole },
  accept: {
    ballot: whole,
    merged: whole,
    first: whole,
    operations: list(operation),
    chosen: whole,
    committed: whole,
  },
  gap: { ballot: whole, from: whole },
  install: { ballot: whole, merged: whole, snapshot },
  accepted: {
    ballot: whole,
    upTo: whole,
    committed: whole,
    settled: whole,
    life: whole,
    number: whole,
    mask: whole,
  },
  ask: { life: whole, number: whole, leaseMs: milliseconds, ballot: whole, upTo: integer },
  promise: { life: whole, number: whole, last: whole },
  release: { life: whole, number: whole },
  forward: { requests: list(request) },
  'remote-read': { id: whole, keys },
  'remote-answer': { id: whole, answer: optional(readAnswer) },
  query: { id: whole },
  queried: { id: whole, last: whole },
  join: {},
  'lead-now': { ballot: whole },
  fetch: { first: whole, last: whole },
  fetched: { first: whole, operations: list(operation), snapshot: optional(snapshot) },
  hello: {
    group: name,
    storage,
    life: whole,
    process: name,
    address: text(ADDRESS_BYTES_MAX),
    initial: optional(list(member)),
    isJoining: flag,
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
