/**
 * Encodes a message as the bytes of a frame.
 *
 * A message for many receivers is encoded once: a push to thousands of look-ups, a report to all Managers. The rows of
 * a snapshot are not packed or copied for each receiver either: answers differ in the receiver, not in the rows, so
 * the rows come last, and their packed form is shared for as long as the list itself is kept.
 */

import { unreachable } from '../../runtime/assert.ts';
import type {
  Changes,
  FromManager,
  GrantedSpan,
  LetGo,
  NumberedSpan,
  Report,
  Role,
  Seen,
  Sync,
  TableRow,
  ToGate,
  Update,
} from '../messages.ts';
import { type Payload, wholePayload } from '../../runtime/codec.ts';
import { ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { type FieldName, KEYS, NOT_LEADER_ON_THE_WIRE } from './keys.ts';
import {
  MapWriter,
  writeBytesHead,
  writeFlag,
  writeNumber,
  writeText,
} from '../../runtime/msgpack/msgpack.ts';
import { packGranted, packHeld, packLetGo, packRows } from './pack.ts';

const frames = new WeakMap<ToGate | FromManager, Payload>();
const tables = new WeakMap<readonly TableRow[], Uint8Array>();

// Nothing here waits in between, so one of each is enough.
const envelope = new ByteWriter();
const list = new ByteWriter();

/** The bytes of a message in one piece, which may be shared: do not change them. */
export const encodeMessage = (message: ToGate | FromManager): Uint8Array =>
  wholePayload(encodePayload(message));

/** The bytes of a message. Other callers share these bytes: do not change them. */
export function encodePayload(message: ToGate | FromManager): Payload {
  if (!isForMany(message)) return encode(message);
  let frame = frames.get(message);
  if (frame === undefined) frames.set(message, (frame = encode(message)));
  return frame;
}

/** An answer goes to one, and is not worth keeping. */
function isForMany(message: ToGate | FromManager): boolean {
  if (message.kind === 'changes') return message.answers === undefined;
  const { kind } = message;
  return kind === 'report' || kind === 'sync' || kind === 'certificate' || kind === 'probe';
}

function encode(message: ToGate | FromManager): Payload {
  // Leftovers of a message that could not be written.
  envelope.clear();
  list.clear();
  const map = new FieldWriter(envelope);
  map.text('kind', message.kind === 'notLeader' ? NOT_LEADER_ON_THE_WIRE : message.kind);
  switch (message.kind) {
    case 'report':
      return report(map, message);
    case 'update':
      return update(map, message);
    case 'sync':
      return sync(map, message);
    case 'changes':
      return changes(map, message);
    case 'certificate':
      map.text('secret', message.secret);
      return envelope.take();
    case 'prove':
      map.text('pool', message.pool);
      map.text('incarnation', message.incarnation);
      map.text('key', message.key);
      map.text('signature', message.signature);
      return envelope.take();
    case 'certified':
      map.text('proof', message.proof);
      return envelope.take();
    case 'refused':
      map.text('pool', message.pool);
      map.text('asker', message.asker);
      map.text('code', message.code);
      map.text('message', message.message);
      map.flag('retryable', message.retryable);
      return envelope.take();
    case 'notLeader':
      map.text('pool', message.pool);
      map.text('incarnation', message.incarnation);
      map.number('term', message.term);
      map.text('leader', message.leader);
      return envelope.take();
    case 'probe':
      map.text('asker', message.asker);
      map.number('round', message.round);
      return envelope.take();
    case 'role':
      return role(map, message);
    default:
      return unreachable(message);
  }
}

function role(map: FieldWriter, { asker, round, leads }: Role): Uint8Array {
  map.text('asker', asker);
  map.number('round', round);
  if (leads !== undefined) {
    const led = map.map('leads');
    led.text('history', leads.history);
    led.number('term', leads.term);
    led.text('leader', leads.leader);
    led.number('holdMs', leads.holdMs);
    led.flag('isLogShared', leads.isLogShared);
  }
  return envelope.take();
}

function report(map: FieldWriter, message: Report): Uint8Array {
  map.text('pool', message.pool);
  map.text('incarnation', message.incarnation);
  map.text('name', message.name);
  map.text('url', message.url);
  if (message.proof !== undefined) map.text('proof', message.proof);
  map.number('sequence', message.sequence);
  map.flag('wantsAnswer', message.wantsAnswer);
  if (message.heard !== undefined) {
    const heard = map.map('heard');
    heard.number('term', message.heard.term);
    heard.number('sequence', message.heard.sequence);
  }
  map.seen(message.seen);
  map.flag('leaving', message.leaving);
  map.number('load', message.load);
  map.list<NumberedSpan>('held', packHeld, message.held);
  map.list<LetGo>('letGo', packLetGo, message.letGo);
  return envelope.take();
}

function update(map: FieldWriter, message: Update): Uint8Array {
  map.text('pool', message.pool);
  map.text('incarnation', message.incarnation);
  map.text('history', message.history);
  map.number('term', message.term);
  map.number('sequence', message.sequence);
  map.number('position', message.position);
  if (message.stamp !== undefined) map.text('stamp', message.stamp);
  map.number('acknowledges', message.acknowledges);
  map.number('leaseMs', message.leaseMs);
  const pace = map.map('pace');
  pace.number('renewEveryMs', message.pace.renewEveryMs);
  pace.number('retryMs', message.pace.retryMs);
  pace.number('revokeWithinMs', message.pace.revokeWithinMs);
  pace.number('suspensionToleranceMs', message.pace.suspensionToleranceMs);
  map.flag('admitted', message.admitted);
  map.list<GrantedSpan>('spans', packGranted, message.spans);
  return envelope.take();
}

function sync(map: FieldWriter, message: Sync): Uint8Array {
  map.text('pool', message.pool);
  map.text('lookup', message.lookup);
  map.number('sequence', message.sequence);
  map.seen(message.seen);
  return envelope.take();
}

function changes(map: FieldWriter, message: Changes): Payload {
  map.text('pool', message.pool);
  map.text('history', message.history);
  map.number('term', message.term);
  map.number('from', message.from);
  map.number('to', message.to);
  if (message.stamp !== undefined) map.text('stamp', message.stamp);
  if (message.answers !== undefined) {
    const answers = map.map('answers');
    answers.text('lookup', message.answers.lookup);
    answers.number('sequence', message.answers.sequence);
  }
  if (message.pace !== undefined) {
    const pace = map.map('pace');
    pace.number('syncEveryMs', message.pace.syncEveryMs);
    pace.number('staleAfterMs', message.pace.staleAfterMs);
    pace.number('retryMs', message.pace.retryMs);
  }
  const packed = packedRows(message.rows);
  map.bytesHead('rows', packed.length);
  if (packed.length >= SHARED_BYTES) return { head: envelope.take(), tail: packed };
  envelope.bytes(packed);
  return envelope.take();
}

/** Rows of fewer bytes are cheaper to copy than to send apart. */
const SHARED_BYTES = 4_096;
const NO_ROWS: Uint8Array = packRowsAnew([]);

function packedRows(rows: readonly TableRow[]): Uint8Array {
  if (rows.length === 0) return NO_ROWS;
  let packed = tables.get(rows);
  if (packed === undefined) tables.set(rows, (packed = packRowsAnew(rows)));
  return packed;
}

function packRowsAnew(rows: readonly TableRow[]): Uint8Array {
  packRows(list, rows);
  return list.take();
}

/** Fields of a map, by the names that messages have for them. */
class FieldWriter {
  readonly #writer: ByteWriter;
  readonly #map: MapWriter;

  constructor(writer: ByteWriter) {
    this.#writer = writer;
    this.#map = new MapWriter(writer);
  }

  text(field: FieldName, value: string): void {
    this.#map.key(KEYS[field]);
    writeText(this.#writer, value);
  }

  number(field: FieldName, value: number): void {
    this.#map.key(KEYS[field]);
    writeNumber(this.#writer, value);
  }

  flag(field: FieldName, value: boolean): void {
    this.#map.key(KEYS[field]);
    writeFlag(this.#writer, value);
  }

  /** Fields of this inner map must be written before any further field of the outer map. */
  map(field: FieldName): FieldWriter {
    this.#map.key(KEYS[field]);
    return new FieldWriter(this.#writer);
  }

  seen(value: Seen | undefined): void {
    if (value === undefined) return;
    const seen = this.map('seen');
    seen.text('history', value.history);
    seen.number('term', value.term);
    seen.number('position', value.position);
    if (value.stamp !== undefined) seen.text('stamp', value.stamp);
  }

  list<T>(
    field: FieldName,
    pack: (writer: ByteWriter, items: readonly T[]) => void,
    items: readonly T[],
  ): void {
    pack(list, items);
    this.bytesHead(field, list.length);
    list.drainInto(this.#writer);
  }

  /** The bytes must follow. */
  bytesHead(field: FieldName, length: number): void {
    this.#map.key(KEYS[field]);
    writeBytesHead(this.#writer, length);
  }
}
