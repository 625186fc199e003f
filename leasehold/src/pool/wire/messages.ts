/**
 * The pool's messages as bytes: each message declared once, with its fields in the order in which they are written.
 *
 * The cores assert their assumptions and stop when one is false. That is right for our own mistakes
 * and must not be within reach of a peer's: one owner with a report that overlaps with itself would halt
 * the Manager for everybody. So everything a core relies on without looking is checked here, once,
 * before it gets there.
 *
 * A message for many receivers is encoded once: a push to thousands of look-ups, a report to all Managers. The rows of
 * a snapshot are not packed or copied for each receiver either: answers differ in the receiver, not in the rows, so
 * the rows come last, and their packed form is shared for as long as the list itself is kept.
 *
 * Time and memory are proportional to the length of the frame; lists are measured before they are walked.
 */

import { type Payload, wholePayload } from '../../runtime/codec.ts';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import type { Span } from '../../runtime/keys/range.ts';
import { Flaw } from '../../runtime/msgpack/flaw.ts';
import {
  count,
  decodeEnvelope,
  duration,
  encodeEnvelope,
  type Entry,
  flag,
  map,
  messages,
  notNegative,
  optional,
  packed,
  packedOnce,
} from '../../runtime/wire/envelope.ts';
import type {
  Changes,
  FromManager,
  Leadership,
  LookupPace,
  OwnerPace,
  Report,
  Seen,
  ToGate,
} from '../core/messages.ts';
import { KEYS } from './keys.ts';
import { arrived, handed, incoming, movables, moves, moving, receiving } from './move-lists.ts';
import { granted, held, letGo, rows } from './packed-lists.ts';
import type { Transfer } from '../core/moves/seam.ts';
import {
  chosenName,
  chosenUrl,
  intent,
  name,
  publicKey,
  secret,
  sentence,
  signature,
  stamp,
  url,
} from './rules.ts';

const seen: Entry<Seen> = map<Seen>(KEYS, {
  history: name,
  term: count,
  position: count,
  stamp: optional(stamp),
});

const heard = map<NonNullable<Report['heard']>>(KEYS, { term: count, sequence: count });

const transfer = map<Transfer>(KEYS, { address: url, names: packed(movables) });

const ownerPace = map<OwnerPace>(KEYS, {
  renewEveryMs: duration,
  retryMs: duration,
  revokeTimeoutMs: duration,
  suspensionToleranceMs: duration,
});

const lookupPace = map<LookupPace>(KEYS, {
  syncEveryMs: duration,
  staleAfterMs: duration,
  retryMs: duration,
});

const answers = map<NonNullable<Changes['answers']>>(KEYS, { lookup: name, sequence: count });

const leadership = map<Leadership>(KEYS, {
  history: name,
  term: count,
  leader: name,
  holdMs: duration,
  isLogShared: flag,
});

/** What owners, look-ups and supervisors say. */
export const toManager: Entry<ToGate> = messages<ToGate>(KEYS, {
  prove: { pool: name, incarnation: name, key: publicKey, signature },
  probe: { asker: name, round: count },
  report: {
    pool: chosenName,
    incarnation: name,
    name: chosenName,
    url: chosenUrl,
    proof: optional(name),
    sequence: count,
    wantsAnswer: flag,
    heard: optional(heard),
    seen: optional(seen),
    leaving: flag,
    load: notNegative,
    held: packed(held),
    letGo: packed(letGo),
    transfer: optional(transfer),
    intent: optional(intent),
    moving: optional(packed(moving)),
    receiving: optional(packed(receiving)),
    handed: optional(packed(handed)),
  },
  sync: { pool: chosenName, lookup: name, sequence: count, seen: optional(seen) },
  certificate: { secret },
});

/** What a Manager says. */
export const fromManager: Entry<FromManager> = messages<FromManager>(
  KEYS,
  {
    update: {
      pool: name,
      incarnation: name,
      history: name,
      term: count,
      sequence: count,
      position: count,
      stamp: optional(stamp),
      acknowledges: count,
      leaseMs: duration,
      pace: ownerPace,
      admitted: flag,
      spans: packed(granted),
      moves: optional(packed(moves)),
      incoming: optional(packed(incoming)),
      arrived: optional(packed(arrived)),
      asked: optional(intent),
      targets: optional(count),
    },
    changes: {
      pool: name,
      history: name,
      term: count,
      from: count,
      to: count,
      stamp: optional(stamp),
      answers: optional(answers),
      pace: optional(lookupPace),
      rows: packedOnce(rows),
    },
    certified: { proof: name },
    refused: { pool: name, asker: name, code: name, message: sentence, retryable: flag },
    notLeader: { pool: name, incarnation: name, term: count, leader: name },
    role: { asker: name, round: count, leads: optional(leadership) },
  },
  {
    // A `NotLeader` was first called that. Old peers know no other name.
    spelt: { notLeader: 'elsewhere' },
    rules: { changes: goForward },
    samples: { changes: goingForward },
  },
);

function goForward(message: Changes): void {
  if (message.to < message.from) throw new Flaw('must not be below from', 'to');
  // A look-up forgets its table for these, so they must be all there are.
  if (message.from === 0 && !isWhole(message.rows))
    throw new Flaw('must cover the ring, because from is 0', 'rows');
}

/** A sample that keeps the rules. */
function goingForward(sample: Changes): Changes {
  const [from, to] = [Math.min(sample.from, sample.to), Math.max(sample.from, sample.to)];
  return { ...sample, from, to, rows: from === 0 ? rows.samples().filter(isWhole).flat() : sample.rows };
}

function isWhole(rows: readonly Span[]): boolean {
  let at = 0n;
  for (const { start, end } of rows) {
    if (start !== at) return false;
    at = end;
  }
  return at === RING_SIZE;
}

/** @throws {MalformedMessageError} if it is not something that owners, look-ups or supervisors say */
export const decodeToManager = (frame: Uint8Array): ToGate => decodeEnvelope(toManager, frame);

/** @throws {MalformedMessageError} if it is not something that a Manager says */
export const decodeFromManager = (frame: Uint8Array): FromManager => decodeEnvelope(fromManager, frame);

const frames = new WeakMap<ToGate | FromManager, Payload>();

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
  switch (message.kind) {
    case 'prove':
    case 'probe':
    case 'report':
    case 'sync':
    case 'certificate':
      return encodeEnvelope(toManager, message);
    default:
      return encodeEnvelope(fromManager, message);
  }
}
