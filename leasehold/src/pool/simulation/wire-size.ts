/**
 * How many bytes a message would take on the wire: an estimate, for measurements in a simulated
 * world, where messages are passed by reference and have no bytes.
 *
 * It follows the packed form that tables are to travel in. Everything has a fixed width, so the
 * estimate is a formula and not an encoder:
 *
 *     place on the ring             8   64 bits
 *     number, term, sequence, …     6   48 bits: as wide as Node reads and writes in one go
 *     incarnation, history, look-up 16  random ids
 *     proof                         32  a SHA-256
 *     load                          8   a floating-point number
 *     text (name, url, pool)        2 + its UTF-8
 *     frame                         5   length and kind
 *
 *     span with a number            22  start, end, number
 *     row of the lease table        30  start, end, number, lostAt, and which owner: 2
 *     owner of some rows            16 + name + url, once in a message, however many rows it has
 *
 *     report       frame + pool + 16 + name + url + proof + 63 + 22 a held span + 23 a let-go one
 *     update       frame + pool + 67 + 23 a span + 22 for each number that it continues
 *     sync         frame + pool + 51
 *     changes      frame + pool + 45 + 30 a row + its owners
 *     certificate  frame + secret
 *     certified    frame + 32
 *
 * The papers count at most 32 bytes a range. What TCP, TLS and acknowledgements add is left out,
 * as it is in the figures derived from the papers.
 */

import { unreachable } from '../../runtime/assert.ts';
import type { Changes, OwnerAddress, Report, Seen, TableRow, Update } from '../messages.ts';
import type { PoolMessage } from './nodes.ts';

const PLACE = 8;
const INTEGER = 6;
const ID = 16;
const PROOF = 32;
const LOAD = 8;
const LENGTH = 2;
const COUNT = 4;
const FLAGS = 1;
const FRAME = 5;

const NUMBERED_SPAN: number = 2 * PLACE + INTEGER;
const ROW: number = 2 * PLACE + 2 * INTEGER + 2;

/** Pushes and snapshots share their rows, and thousands of look-ups get the same. */
const rowSizes = new WeakMap<readonly TableRow[], number>();

export function wireSize(message: PoolMessage): number {
  switch (message.kind) {
    case 'report':
      return reportSize(message);
    case 'update':
      return updateSize(message);
    case 'sync':
      return FRAME + text(message.pool) + ID + INTEGER + FLAGS + seenSize(message.seen);
    case 'changes':
      return changesSize(message);
    case 'certificate':
      return FRAME + text(message.secret);
    case 'certified':
      return FRAME + PROOF;
    default:
      return unreachable(message);
  }
}

function reportSize({ pool, name, url, proof, heard, seen, held, letGo }: Report): number {
  const identity = text(pool) + ID + text(name) + text(url) + (proof === undefined ? 0 : PROOF);
  const said = INTEGER + FLAGS + (heard === undefined ? 0 : 2 * INTEGER) + seenSize(seen) + LOAD;
  const lists = 2 * COUNT + held.length * NUMBERED_SPAN + letGo.length * (NUMBERED_SPAN + FLAGS);
  return FRAME + identity + said + lists;
}

function updateSize({ pool, spans }: Update): number {
  let size = FRAME + text(pool) + 2 * ID + 5 * INTEGER + FLAGS + COUNT;
  for (const { continues } of spans) size += (1 + continues.length) * NUMBERED_SPAN + FLAGS;
  return size;
}

function changesSize({ pool, rows, answers }: Changes): number {
  const head = text(pool) + ID + 3 * INTEGER + FLAGS + (answers === undefined ? 0 : INTEGER) + COUNT;
  let size = rowSizes.get(rows);
  if (size === undefined) rowSizes.set(rows, (size = rowsSize(rows)));
  return FRAME + head + size;
}

function rowsSize(rows: readonly TableRow[]): number {
  const owners = new Map<string, OwnerAddress>();
  for (const { owner } of rows) if (owner !== undefined) owners.set(owner.incarnation, owner);
  let size = rows.length * ROW;
  for (const { name, url } of owners.values()) size += ID + text(name) + text(url);
  return size;
}

const seenSize = (seen: Seen | undefined): number => (seen === undefined ? 0 : ID + 2 * INTEGER);

/** UTF-8 is as long as UTF-16 has units, or longer; only ASCII is worth being quick about. */
function text(value: string): number {
  let size = LENGTH;
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    size += code < 0x80 ? 1 : code < 0x800 ? 2 : code >= 0xd800 && code < 0xe000 ? 2 : 3;
  }
  return size;
}
