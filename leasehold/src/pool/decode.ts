/**
 * From the bytes that a peer sent to a message, or to nothing.
 *
 * The cores assert their assumptions and stop when one is false. That is right for our own mistakes
 * and must not be within reach of a peer's: one owner with a report that overlaps with itself would halt
 * the Manager for everybody. So everything a core relies on without looking is checked here, once,
 * before it gets there:
 *
 *     frame ──msgpack──► map of values ──decode──► message ──► core
 *                │                        │  └ packed lists by unpack, single values by rules
 *                └────────────┬───────────┘
 *                             └─ MalformedMessageError: the core has not been called,
 *                                so nothing has changed; close the connection
 *
 * A message that passes is a new object with the fields we know, in our order. No part of the frame is
 * kept, no property is looked up by a name the peer chose, and every other property is left
 * behind. An optional field is missing when absent or nil.
 *
 * Time and memory are proportional to the length of the frame; lists are measured before they are walked.
 */

import { RING_SIZE } from '../runtime/keys/position.ts';
import type { Span } from '../runtime/keys/range.ts';
import type {
  Changes,
  NotLeader,
  FromManager,
  LookupPace,
  OwnerPace,
  Prove,
  Refused,
  Report,
  Role,
  Seen,
  Sync,
  ToGate,
  Update,
} from './messages.ts';
import { ByteReader } from '../runtime/msgpack/bytes.ts';
import { Flaw, inside, refusing } from '../runtime/msgpack/flaw.ts';
import { type FieldName, KEYS, NOT_LEADER_ON_THE_WIRE } from './wire/keys.ts';
import { readMap, type ValueMap } from '../runtime/msgpack/msgpack.ts';
import {
  chosenName,
  chosenUrl,
  count,
  duration,
  load,
  name,
  optional,
  type Read,
  secret,
  sentence,
  publicKey,
  signature,
  stamp,
  yesOrNo,
} from './wire/rules.ts';
import { granted, held, letGo, rows } from './wire/unpack.ts';

/** @throws {MalformedMessageError} if it is not something that owners, look-ups or supervisors say */
export const decodeToManager = (frame: Uint8Array): ToGate =>
  refusing(() => toManager(fieldsOf(wholeMap(frame))));

/** @throws {MalformedMessageError} if it is not something that a Manager says */
export const decodeFromManager = (frame: Uint8Array): FromManager =>
  refusing(() => fromManager(fieldsOf(wholeMap(frame))));

function wholeMap(frame: Uint8Array): ValueMap {
  const reader = new ByteReader(frame);
  const map = readMap(reader);
  reader.finish();
  return map;
}

function toManager(field: Fields): ToGate {
  switch (field('kind', name)) {
    case 'report':
      return report(field);
    case 'sync':
      return sync(field);
    case 'certificate':
      return { kind: 'certificate', secret: field('secret', secret) };
    case 'prove':
      return prove(field);
    case 'probe':
      return { kind: 'probe', asker: field('asker', name), round: field('round', count) };
    default:
      throw new Flaw('must be prove, probe, report, sync or certificate', 'kind');
  }
}

function fromManager(field: Fields): FromManager {
  switch (field('kind', name)) {
    case 'update':
      return update(field);
    case 'changes':
      return changes(field);
    case 'certified':
      return { kind: 'certified', proof: field('proof', name) };
    case 'refused':
      return refused(field);
    case NOT_LEADER_ON_THE_WIRE:
      return notLeader(field);
    case 'role':
      return role(field);
    default:
      throw new Flaw('must be update, changes, certified, refused, elsewhere or role', 'kind');
  }
}

const report = (field: Fields): Report => ({
  kind: 'report',
  pool: field('pool', chosenName),
  incarnation: field('incarnation', name),
  name: field('name', chosenName),
  url: field('url', chosenUrl),
  proof: field('proof', optional(name)),
  sequence: field('sequence', count),
  wantsAnswer: field('wantsAnswer', yesOrNo),
  heard: field('heard', optional(heard)),
  seen: field('seen', optional(seen)),
  held: field('held', held),
  letGo: field('letGo', letGo),
  leaving: field('leaving', yesOrNo),
  load: field('load', load),
});

const prove = (field: Fields): Prove => ({
  kind: 'prove',
  pool: field('pool', name),
  incarnation: field('incarnation', name),
  key: field('key', publicKey),
  signature: field('signature', signature),
});

const sync = (field: Fields): Sync => ({
  kind: 'sync',
  pool: field('pool', chosenName),
  lookup: field('lookup', name),
  sequence: field('sequence', count),
  seen: field('seen', optional(seen)),
});

const update = (field: Fields): Update => ({
  kind: 'update',
  pool: field('pool', name),
  incarnation: field('incarnation', name),
  history: field('history', name),
  term: field('term', count),
  sequence: field('sequence', count),
  position: field('position', count),
  stamp: field('stamp', optional(stamp)),
  acknowledges: field('acknowledges', count),
  leaseMs: field('leaseMs', duration),
  pace: field('pace', ownerPace),
  admitted: field('admitted', yesOrNo),
  spans: field('spans', granted),
});

function changes(field: Fields): Changes {
  const message: Changes = {
    kind: 'changes',
    pool: field('pool', name),
    history: field('history', name),
    term: field('term', count),
    from: field('from', count),
    to: field('to', count),
    stamp: field('stamp', optional(stamp)),
    rows: field('rows', rows),
    answers: field('answers', optional(answered)),
    pace: field('pace', optional(lookupPace)),
  };
  if (message.to < message.from) throw new Flaw('must not be below from', 'to');
  // A look-up forgets its table for these, so they must be all there are.
  if (message.from === 0 && !isWhole(message.rows))
    throw new Flaw('must cover the ring, because from is 0', 'rows');
  return message;
}

function ownerPace(value: unknown): OwnerPace {
  const field = fieldsOf(value);
  return {
    renewEveryMs: field('renewEveryMs', duration),
    retryMs: field('retryMs', duration),
    revokeWithinMs: field('revokeWithinMs', duration),
    suspensionToleranceMs: field('suspensionToleranceMs', duration),
  };
}

function lookupPace(value: unknown): LookupPace {
  const field = fieldsOf(value);
  return {
    syncEveryMs: field('syncEveryMs', duration),
    staleAfterMs: field('staleAfterMs', duration),
    retryMs: field('retryMs', duration),
  };
}

const refused = (field: Fields): Refused => ({
  kind: 'refused',
  pool: field('pool', name),
  asker: field('asker', name),
  code: field('code', name),
  message: field('message', sentence),
  retryable: field('retryable', yesOrNo),
});

const notLeader = (field: Fields): NotLeader => ({
  kind: 'notLeader',
  pool: field('pool', name),
  incarnation: field('incarnation', name),
  term: field('term', count),
  leader: field('leader', name),
});

const role = (field: Fields): Role => ({
  kind: 'role',
  asker: field('asker', name),
  round: field('round', count),
  leads: field('leads', optional(led)),
});

function led(value: unknown): NonNullable<Role['leads']> {
  const field = fieldsOf(value);
  return {
    history: field('history', name),
    term: field('term', count),
    leader: field('leader', name),
    holdMs: field('holdMs', duration),
    isLogShared: field('isLogShared', yesOrNo),
  };
}

function answered(value: unknown): NonNullable<Changes['answers']> {
  const field = fieldsOf(value);
  return { lookup: field('lookup', name), sequence: field('sequence', count) };
}

function heard(value: unknown): NonNullable<Report['heard']> {
  const field = fieldsOf(value);
  return { term: field('term', count), sequence: field('sequence', count) };
}

function seen(value: unknown): Seen {
  const field = fieldsOf(value);
  return {
    history: field('history', name),
    term: field('term', count),
    position: field('position', count),
    stamp: field('stamp', optional(stamp)),
  };
}

function isWhole(rows: readonly Span[]): boolean {
  let at = 0n;
  for (const { start, end } of rows) {
    if (start !== at) return false;
    at = end;
  }
  return at === RING_SIZE;
}

/** Reads a field of one map. */
type Fields = <T>(name: FieldName, read: Read<T>) => T;

function fieldsOf(value: unknown): Fields {
  if (!(value instanceof Map)) throw new Flaw('must be a map');
  const map: ValueMap = value;
  return (name, read) => {
    try {
      return read(map.get(KEYS[name]));
    } catch (error) {
      throw inside(name, error);
    }
  };
}
