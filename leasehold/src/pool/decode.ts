/**
 * From what a peer sent to a message, or to nothing.
 *
 * The cores assert what they believe and stop when it is not so. That is right for our own mistakes
 * and must not be within reach of a peer's: one owner whose report overlaps with itself would halt
 * the Manager for everybody. So everything a core relies on without looking is checked here, once,
 * before it gets there:
 *
 *     bytes ──frame──► parsed ──decode──► message ──► core
 *                        │         └─ MalformedMessageError: the core has not been called,
 *                        │            so nothing has changed; close the connection
 *                        └─ trusted in nothing: not its keys, not its lengths, not its numbers
 *
 * A message that passes is a new object with the fields we know, in our order. The peer's object is
 * not kept, no property is looked up by a name the peer chose, and what it has beyond that is left
 * behind. What may be missing is missing when absent, undefined or null.
 *
 * Time is proportional to the length of the message, and lists are measured before they are walked.
 */

import { MalformedMessageError } from '../runtime/errors.ts';
import { RING_SIZE } from '../runtime/keys/position.ts';
import type { Span } from '../runtime/keys/range.ts';
import type {
  Changes,
  FromManager,
  GrantedSpan,
  LetGo,
  NumberedSpan,
  OwnerAddress,
  Report,
  Seen,
  Sync,
  TableRow,
  ToManager,
  Update,
} from './messages.ts';

/** The longest name of anything: pool, owner, incarnation, look-up, history, proof. */
export const LONGEST_NAME = 256;
export const LONGEST_URL = 2_048;
export const LONGEST_SECRET = 512;
/** What one owner can hold, or have let go of, in pieces. */
export const MOST_SPANS = 100_000;
/** What one pool's table can have. */
export const MOST_ROWS = 1_000_000;

/** @throws {MalformedMessageError} if it is not something that owners, look-ups or supervisors say */
export const decodeToManager = (value: unknown): ToManager => decoded(toManager, value);

/** @throws {MalformedMessageError} if it is not something that a Manager says */
export const decodeFromManager = (value: unknown): FromManager => decoded(fromManager, value);

/** Takes a value over, or throws a {@link Flaw}. */
type Read<T> = (value: unknown) => T;

function toManager(value: unknown): ToManager {
  const field = fieldsOf(value);
  switch (field('kind', name)) {
    case 'report':
      return report(field);
    case 'sync':
      return sync(field);
    case 'certificate':
      return { kind: 'certificate', secret: field('secret', secret) };
    default:
      throw new Flaw('must be report, sync or certificate', 'kind');
  }
}

function fromManager(value: unknown): FromManager {
  const field = fieldsOf(value);
  switch (field('kind', name)) {
    case 'update':
      return update(field);
    case 'changes':
      return changes(field);
    case 'certified':
      return { kind: 'certified', proof: field('proof', name) };
    default:
      throw new Flaw('must be update, changes or certified', 'kind');
  }
}

const report = (field: Fields): Report => ({
  kind: 'report',
  pool: field('pool', name),
  incarnation: field('incarnation', name),
  name: field('name', name),
  url: field('url', url),
  proof: field('proof', optional(name)),
  sequence: field('sequence', count),
  wantsAnswer: field('wantsAnswer', yesOrNo),
  heard: field('heard', optional(heard)),
  seen: field('seen', optional(seen)),
  held: field('held', spans(numberedSpan, MOST_SPANS)),
  letGo: field('letGo', spans(letGo, MOST_SPANS)),
  leaving: field('leaving', yesOrNo),
  load: field('load', load),
});

const sync = (field: Fields): Sync => ({
  kind: 'sync',
  pool: field('pool', name),
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
  acknowledges: field('acknowledges', count),
  leaseMs: field('leaseMs', duration),
  admitted: field('admitted', yesOrNo),
  spans: field('spans', spans(grantedSpan, MOST_SPANS)),
});

function changes(field: Fields): Changes {
  const message: Changes = {
    kind: 'changes',
    pool: field('pool', name),
    history: field('history', name),
    term: field('term', count),
    from: field('from', count),
    to: field('to', count),
    rows: field('rows', spans(tableRow, MOST_ROWS)),
    answers: field('answers', optional(answered)),
  };
  if (message.to < message.from) throw new Flaw('must not be below from', 'to');
  // A look-up forgets its table for these, so they must be all there are.
  if (message.from === 0 && !isWhole(message.rows))
    throw new Flaw('must cover the ring, because from is 0', 'rows');
  return message;
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
  return { history: field('history', name), term: field('term', count), position: field('position', count) };
}

function numberedSpan(value: unknown): NumberedSpan {
  const field = fieldsOf(value);
  return { start: field('start', place), end: field('end', place), number: field('number', count) };
}

function letGo(value: unknown): LetGo {
  const field = fieldsOf(value);
  return { ...numberedSpan(value), how: field('how', how) };
}

function grantedSpan(value: unknown): GrantedSpan {
  const field = fieldsOf(value);
  return {
    ...numberedSpan(value),
    recalled: field('recalled', yesOrNo),
    continues: field('continues', spans(numberedSpan, MOST_SPANS)),
  };
}

function tableRow(value: unknown): TableRow {
  const field = fieldsOf(value);
  return {
    start: field('start', place),
    end: field('end', place),
    owner: field('owner', optional(address)),
    number: field('number', count),
    lostAt: field('lostAt', count),
  };
}

function address(value: unknown): OwnerAddress {
  const field = fieldsOf(value);
  return { incarnation: field('incarnation', name), name: field('name', name), url: field('url', url) };
}

const isWhole = (rows: readonly Span[]): boolean =>
  rows.length > 0 &&
  rows.every(({ start }, index) => start === (rows[index - 1]?.end ?? 0n)) &&
  rows.at(-1)?.end === RING_SIZE;

// What single values must be.

const text =
  (longest: number): Read<string> =>
  (value) => {
    if (typeof value === 'string' && value !== '' && value.length <= longest) return value;
    throw new Flaw(`must be a text of 1 to ${longest} characters`);
  };
const name = text(LONGEST_NAME);
const url = text(LONGEST_URL);
const secret = text(LONGEST_SECRET);

function count(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new Flaw('must be a whole number from 0');
}

/** The start or the end of a span. */
function place(value: unknown): bigint {
  if (typeof value === 'bigint' && value >= 0n && value <= RING_SIZE) return value;
  throw new Flaw('must be a 64-bit position');
}

function duration(value: unknown): number {
  if (typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY) return value;
  throw new Flaw('must be a positive number of milliseconds');
}

function load(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY) return value;
  throw new Flaw('must be a number from 0');
}

function yesOrNo(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new Flaw('must be true or false');
}

function how(value: unknown): LetGo['how'] {
  if (value === 'released' || value === 'lapsed') return value;
  throw new Flaw('must be released or lapsed');
}

// How they are put together.

const optional =
  <T>(read: Read<T>): Read<T | undefined> =>
  (value) =>
    value === undefined || value === null ? undefined : read(value);

/** Spans that are none of them empty, that ascend, and that do not overlap. */
const spans =
  <T extends Span>(read: Read<T>, most: number): Read<readonly T[]> =>
  (value) => {
    if (!Array.isArray(value)) throw new Flaw('must be a list');
    if (value.length > most) throw new Flaw(`must have at most ${most} items`);
    const items: T[] = [];
    let at = 0n;
    try {
      while (items.length < value.length) {
        const item = read(value[items.length]);
        if (item.end <= item.start) throw new Flaw('must be above start', 'end');
        if (item.start < at) throw new Flaw('must not be below the end of the one before', 'start');
        at = item.end;
        items.push(item);
      }
    } catch (error) {
      throw inside(`[${items.length}]`, error);
    }
    return items;
  };

/** Reads a field of one object. */
type Fields = <T>(name: string, read: Read<T>) => T;

/** Only what is the object's own counts: what every object inherits, no peer has sent. */
function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Flaw('must be an object');
  const object = value as Readonly<Record<string, unknown>>;
  return (name, read) => {
    try {
      return read(Object.hasOwn(object, name) ? object[name] : undefined);
    } catch (error) {
      throw inside(name, error);
    }
  };
}

/** A rule is broken at `path`, which grows on the way out, so that good messages pay nothing for it. */
class Flaw {
  readonly rule: string;
  readonly path: string;

  constructor(rule: string, path = '') {
    this.rule = rule;
    this.path = path;
  }
}

function inside(place: string, error: unknown): unknown {
  if (!(error instanceof Flaw)) return error;
  const dot = error.path === '' || error.path.startsWith('[') ? '' : '.';
  return new Flaw(error.rule, `${place}${dot}${error.path}`);
}

function decoded<T>(read: Read<T>, value: unknown): T {
  try {
    return read(value);
  } catch (error) {
    if (!(error instanceof Flaw)) throw error;
    throw new MalformedMessageError(error.path === '' ? 'the message' : error.path, error.rule);
  }
}
