/**
 * A writer of DER: as much as certificates need, and no reader.
 *
 * A value in DER is a tag, a length and the content. Lengths and whole numbers have one shortest form each, so equal values are equal bytes.
 * A token stands on that: both of its certificates are built again from a few fields, byte for byte, and the signature made
 * by the root fits the rebuilt bytes.
 *
 * The project never parses DER. A parser of certificates that a stranger wrote is an attack surface; OpenSSL parses them, and the project reads one
 * text of the result (`peer-identity.ts`).
 */

import { assert } from '../../runtime/assert.ts';

const BYTE = 256;
const SHORT_LENGTH_MAX = 0x7f;
const LONG_LENGTH = 0x80;
const SIGN_BIT = 0x80;
const CONTEXT = 0x80;
const CONSTRUCTED = 0x20;
/** In an object identifier: the first two arcs share a number. */
const FIRST_ARC = 40;
const ARC_BITS = 7;
const ARC_MASK = 0x7f;

function lengthOf(content: Uint8Array): Buffer {
  if (content.length <= SHORT_LENGTH_MAX) return Buffer.from([content.length]);
  const bytes: number[] = [];
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / BYTE)) bytes.unshift(rest % BYTE);
  return Buffer.from([LONG_LENGTH | bytes.length, ...bytes]);
}

function tagged(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, ...parts);
export const setOf = (part: Uint8Array): Buffer => tagged(0x31, part);
export const octets = (content: Uint8Array): Buffer => tagged(0x04, content);
export const utf8 = (text: string): Buffer => tagged(0x0c, Buffer.from(text, 'utf8'));
export const printableText = (text: string): Buffer => tagged(0x13, Buffer.from(text, 'latin1'));
export const yes = (): Buffer => tagged(0x01, Buffer.from([0xff]));

/** Context-specific tags: around a whole value, or in the place of its own tag. */
export const explicit = (number: number, value: Uint8Array): Buffer =>
  tagged(CONTEXT | CONSTRUCTED | number, value);
export const implicit = (number: number, content: Uint8Array): Buffer => tagged(CONTEXT | number, content);

/** A whole number that is not negative, from its bytes, the greatest first. */
export function unsigned(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first < 0 ? Uint8Array.of(0) : bytes.subarray(first);
  return tagged(0x02, Buffer.from((digits[0] ?? 0) & SIGN_BIT ? [0, ...digits] : digits));
}

/** @param unusedBits of the last byte */
export const bits = (content: Uint8Array, unusedBits = 0): Buffer =>
  tagged(0x03, Buffer.from([unusedBits]), content);

/** @param dotted such as `2.5.4.3` */
export function identifier(dotted: string): Buffer {
  const [one = 0, two = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [one * FIRST_ARC + two];
  for (const arc of rest) {
    const groups = [arc & ARC_MASK];
    for (let left = arc >>> ARC_BITS; left > 0; left >>>= ARC_BITS)
      groups.unshift((left & ARC_MASK) | SIGN_BIT);
    bytes.push(...groups);
  }
  return tagged(0x06, Buffer.from(bytes));
}

const twoDigits = (value: number): string => String(value).padStart(2, '0');
const LAST_UTC_TIME_YEAR = 2049;

/** An instant in whole seconds since 1970. Certificates write years until 2049 with two digits, and later years with four. */
export function time(unixSeconds: number): Buffer {
  const at = new Date(unixSeconds * 1_000);
  assert(!Number.isNaN(at.getTime()), `${unixSeconds} is no instant`);
  const year = at.getUTCFullYear();
  const rest = [
    at.getUTCMonth() + 1,
    at.getUTCDate(),
    at.getUTCHours(),
    at.getUTCMinutes(),
    at.getUTCSeconds(),
  ]
    .map(twoDigits)
    .join('');
  return year <= LAST_UTC_TIME_YEAR
    ? tagged(0x17, Buffer.from(`${twoDigits(year % 100)}${rest}Z`, 'latin1'))
    : tagged(0x18, Buffer.from(`${String(year)}${rest}Z`, 'latin1'));
}
