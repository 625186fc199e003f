/**
 * Decodes bytes that anybody may have sent into a packet that keeps the rules: names and resources are texts within
 * bounds, times are finite, numbers are whole. So the core can rely on the form of every packet; whether the content
 * is true is another question.
 *
 * No memory is reserved on the word of a peer: a text is as long as the bytes that came, and there are as many items
 * as were read.
 */

import { ByteReader } from '../../runtime/msgpack/bytes.ts';
import { Flaw, inside, refusing } from '../../runtime/msgpack/flaw.ts';
import type { Ballot } from '../ballot.ts';
import type { Lease } from '../lease.ts';
import {
  type Echo,
  type Item,
  NAME_CHARACTERS_MAX,
  type Packet,
  type Refused,
  RESOURCE_BYTES_MAX,
  ROUND_MAX,
} from '../messages.ts';
import { DURATION_MS_MAX } from '../options.ts';
import { KIND, REASONS, STATES } from './form.ts';

/** @throws {MalformedMessageError} and nothing else */
export const decodePacket = (frame: Uint8Array): Packet => refusing(() => new Decoder(frame).packet());

/** A character takes at most three bytes for each of its UTF-16 units. */
const NAME_BYTES_MAX = 3 * NAME_CHARACTERS_MAX;

class Decoder {
  readonly #reader: ByteReader;
  readonly #names: string[] = [];

  constructor(frame: Uint8Array) {
    this.#reader = new ByteReader(frame);
  }

  packet(): Packet {
    const reader = this.#reader;
    const group = at('group', () => this.#nameText());
    const view = at('view', () => positive(reader.varint()));
    const digest = at('digest', () => ({ members: reader.uint32(), before: reader.uint32() }));
    const from = at('from', () => this.#nameText());
    this.#names.push(from);
    const incarnation = at('incarnation', () => positive(reader.float64()));
    const toIncarnation = at('toIncarnation', () => whole(reader.float64()));
    const sentMs = at('sentMs', () => time(reader.float64()));
    const leaseMs = at('leaseMs', () => duration(reader.float64()));
    const clockSkewMs = at('clockSkewMs', () => duration(reader.float64()));
    const takeoverMs = at('takeoverMs', () => takeover(reader.float64()));
    const echo = at('echo', () => this.#echo());
    const items = this.#items();
    return {
      ...{ group, view, digest, from, incarnation, toIncarnation, sentMs, echo },
      ...{ leaseMs, clockSkewMs, takeoverMs, items },
    };
  }

  #echo(): Echo | undefined {
    const reader = this.#reader;
    const isThere = reader.uint8();
    if (isThere > 1) throw new Flaw('must be there or not, 1 or 0');
    if (isThere === 0) return undefined;
    return { sentMs: time(reader.float64()), receivedMs: time(reader.float64()) };
  }

  #items(): Item[] {
    const items: Item[] = [];
    try {
      while (this.#reader.left > 0) items.push(this.#item());
    } catch (error) {
      throw inside(`items[${items.length}]`, error);
    }
    return items;
  }

  #item(): Item {
    const reader = this.#reader;
    const kind = reader.uint8();
    switch (kind) {
      case KIND.read: {
        const attempt = reader.varint();
        const resource = this.#resource();
        const askedMs = time(reader.float64());
        return { kind: 'read', attempt, resource, askedMs, round: round(reader.varint()) };
      }
      case KIND.write: {
        const attempt = reader.varint();
        const resource = this.#resource();
        const askedMs = time(reader.float64());
        const inRound = round(reader.varint());
        return { kind: 'write', attempt, resource, askedMs, round: inRound, lease: this.#lease() };
      }
      case KIND.query: {
        const attempt = reader.varint();
        return { kind: 'query', attempt, resource: this.#resource() };
      }
      case KIND.promisedNothing:
        return { kind: 'promised', attempt: reader.varint(), written: undefined, lease: undefined };
      case KIND.promised: {
        const attempt = reader.varint();
        const written = this.#ballot();
        return { kind: 'promised', attempt, written, lease: this.#lease() };
      }
      case KIND.foundNothing:
        return { kind: 'found', attempt: reader.varint(), written: undefined, lease: undefined };
      case KIND.found: {
        const attempt = reader.varint();
        const written = this.#ballot();
        return { kind: 'found', attempt, written, lease: this.#lease() };
      }
      case KIND.accepted:
        return { kind: 'accepted', attempt: reader.varint() };
      case KIND.refusedRead:
        return this.#refused('read');
      case KIND.refusedWrite:
        return this.#refused('write');
      case KIND.enqueue:
        return { kind: 'enqueue', resource: this.#resource(), member: this.#name() };
      case KIND.dequeue:
        return { kind: 'dequeue', resource: this.#resource(), member: this.#name() };
      case KIND.notify:
        return { kind: 'notify', resource: this.#resource() };
      default:
        throw new Flaw(`is of kind ${kind}, which there is not`);
    }
  }

  #refused(of: 'read' | 'write'): Refused {
    const reader = this.#reader;
    const attempt = reader.varint();
    const number = reader.uint8();
    const why = REASONS[number];
    if (why === undefined) throw new Flaw(`has reason ${number}, which there is not`);
    const detail =
      why === 'outbid' ? round(reader.varint()) : why === 'recovering' ? wait(reader.float64()) : 0;
    return { kind: 'refused', attempt, of, why, detail };
  }

  #ballot(): Ballot {
    const reader = this.#reader;
    const askedMs = time(reader.float64());
    const inRound = round(reader.varint());
    const member = this.#name();
    const incarnation = positive(reader.float64());
    return { askedMs, round: inRound, member, incarnation, attempt: reader.varint() };
  }

  #lease(): Lease {
    const reader = this.#reader;
    const holder = this.#name();
    const incarnation = positive(reader.float64());
    const number = whole(reader.float64());
    const untilMs = time(reader.float64());
    const state = STATES[reader.uint8()];
    if (state === undefined) throw new Flaw('has a lease in a state that there is not');
    return {
      holder,
      incarnation,
      number,
      untilMs,
      state,
      successor: state === 'left' ? this.#name() : undefined,
    };
  }

  #name(): string {
    const place = this.#reader.varint();
    const known = this.#names[place];
    if (known !== undefined) return known;
    if (place !== this.#names.length) throw new Flaw('names a member that was not named before');
    const name = this.#nameText();
    this.#names.push(name);
    return name;
  }

  #nameText(): string {
    const length = this.#reader.varint();
    const name = length > NAME_BYTES_MAX ? '' : this.#reader.text(length);
    if (name !== '' && name.length <= NAME_CHARACTERS_MAX) return name;
    throw new Flaw(`must have names of 1 to ${NAME_CHARACTERS_MAX} characters`);
  }

  #resource(): string {
    const length = this.#reader.varint();
    if (length > 0 && length <= RESOURCE_BYTES_MAX) return this.#reader.text(length);
    throw new Flaw(`must have a resource of 1 to ${RESOURCE_BYTES_MAX} bytes`);
  }
}

function at<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw inside(place, error);
  }
}

function positive(value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Flaw('must be a whole number from 1');
}

function whole(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value + 0;
  throw new Flaw('must be a whole number from 0');
}

function round(value: number): number {
  if (value <= ROUND_MAX) return value;
  throw new Flaw('must have a round of at most 2^32');
}

function time(value: number): number {
  if (value >= 0 && value < Number.POSITIVE_INFINITY) return value;
  throw new Flaw('must be a time, in milliseconds since 1970');
}

function duration(value: number): number {
  if (value > 0 && value <= DURATION_MS_MAX) return value;
  throw new Flaw('must be a positive number of milliseconds, at most a day');
}

function takeover(value: number): number {
  return value === 0 ? 0 : duration(value);
}

/** Infinite if unknown, as long as a clock is off or peers differ. */
function wait(value: number): number {
  if (value >= 0) return value;
  throw new Flaw('must not be negative');
}
