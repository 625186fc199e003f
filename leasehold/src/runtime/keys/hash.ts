/**
 * Where on the ring is a key?
 *
 * Every process, in any language, must give the same answer, or two processes will each be sure of owning the key. So
 * the answer is defined by published things only: the key as UTF-8, through MurmurHash3 in its variant for 128 bits on
 * 32-bit machines (`MurmurHash3_x86_128`, seed 0), of which the first two words are the position, `h1` the high one
 * and `h2` the low one. 32-bit words suit JavaScript, whose `Math.imul` is one machine instruction; and unlike simpler
 * hashes it spreads `user:1`, `user:2`, `user:3` over the whole ring.
 *
 * Tags: keys that must live together carry a common part in braces, and only that part counts.
 *
 *     cart:{ana}:items      hashed as  ana
 *     cart:{ana}:total      hashed as  ana
 *     cart:{}:{ana}         hashed whole: the first pair of braces is empty
 *     cart:}ana{            hashed whole: no brace closes after the first one opens
 *
 * That is the rule of Redis Cluster, so a key is grouped alike in both.
 *
 * How the hash is quick: an ordinary key is hashed while being read, and nothing is written down. Reading a character
 * of a string costs most, about 2 ns each, so each is read once. Whether the key is ordinary is asked on the way, of
 * many characters at a time, and answered at the end: a key is ordinary if all characters lie below `}`, for then the
 * key is ASCII and has no tag, which would need a closing brace. `}`, `~` and all that is not ASCII send the key the
 * careful way, by way of memory, which is slower and always right.
 */

import { assert } from '../assert.ts';
import { invalidKey, LONGEST_KEY } from '../errors.ts';
import { type Hash, hashOf, RING_SIZE } from './position.ts';

/** Callers' names for things: a text that is hashed, or a position that is used unchanged. */
export type Key = string | Hash;

/**
 * The position of a key.
 *
 * @throws {InvalidArgumentError} if the key is neither a string that is not too long nor a position
 */
export function keyHash(key: Key): Hash {
  if (typeof key === 'bigint') return checkKeyHash(key);
  hashKey(key, words);
  return hashOf(words[0] as number, words[1] as number);
}

/**
 * The same position, if valid, of a key that was given as a bigint.
 *
 * @throws {InvalidArgumentError} if the position lies outside [0, 2^64)
 */
export function checkKeyHash(key: Hash): Hash {
  if (key >= 0n && key < RING_SIZE) return key;
  throw invalidKey(key);
}

/** The part of a key that alone counts, between the first pair of braces; undefined: the whole key. */
export function tagOf(key: string): string | undefined {
  const open = key.indexOf('{');
  const close = closeOfTag(key, open);
  return close < 0 ? undefined : key.slice(open + 1, close);
}

/** The end of the tag that begins after the first open brace; -1 if there is no tag. */
function closeOfTag(key: string, open: number): number {
  const close = open < 0 ? -1 : key.indexOf('}', open);
  return close > open + 1 ? close : -1;
}

/**
 * Writes the position of a text, the high word to `out[0]` and the low word to `out[1]`.
 *
 * @throws {InvalidArgumentError} if the key is no text, as for callers without types, or too long
 */
export function hashKey(key: string, out: Uint32Array): void {
  if (typeof key !== 'string' || key.length > LONGEST_KEY) throw invalidKey(key);
  if (key.length < 4 || hashPlain(key, out) !== 0) hashCarefully(key, out);
}

/** As {@link hashKey}, of bytes, which have no tags. */
export function hashBytes(bytes: Uint8Array, out: Uint32Array): void {
  absorb(bytes, 0, out);
}

/**
 * The hash in full, four words with any seed, for comparison with published test values.
 *
 * @internal
 */
export function murmur128(bytes: Uint8Array, seed: number, out: Uint32Array): void {
  assert(out.length >= 4, `no room for four words in ${out.length}`);
  absorb(bytes, seed, out);
}

const BLOCK_BYTES = 16;

/** Bytes, and the same memory to be read four at a time, little end first on every machine. */
interface Memory {
  readonly bytes: Uint8Array;
  readonly words: DataView;
}

function memoryOf(size: number): Memory {
  const bytes = new Uint8Array(size);
  return { bytes, words: new DataView(bytes.buffer) };
}

/** Keys longer than this are rare; they get memory of their own. */
const SCRATCH_BYTES = 2_048;
const scratch = memoryOf(SCRATCH_BYTES);

/** The position of the key of a call of {@link keyHash}, as two words; in use only during the call. */
const words = new Uint32Array(2);

const roomFor = (length: number): Memory => {
  const size = length + BLOCK_BYTES;
  return size <= SCRATCH_BYTES ? scratch : memoryOf(size);
};

/**
 * The hash of a key that has at least four characters, all below `}`; then the result is zero. If not all are, the
 * result is not zero, and the written words are worth nothing. The function is {@link mix} and {@link finish} once
 * more, on words that are read from the key.
 *
 * A word has four characters. The first and the third are taken together, and so are the second and the fourth, as 16
 * bits each; the second pair, moved up by 8 bits, fits between the first. A character of more than 7 bits shows in its
 * pair, where no neighbour can hide it:
 *
 *     first and third      ··cc··aa
 *     second and fourth    ··dd··bb
 *     the word             ddccbbaa
 *
 * This is one long function with all numbers written out. A function or a constant of the module is fetched and
 * checked at every use, even where the engine has inlined the code: with functions for the repeated parts, a key of 16
 * to 40 characters took 94 ns instead of 81.
 */
function hashPlain(key: string, out: Uint32Array): number {
  const length = key.length;
  const rest = length & 15;
  const blocksEnd = length - rest;
  let h1 = 0;
  let h2 = 0;
  let h3 = 0;
  let h4 = 0;
  let seen = 0;
  let lifted = 0;

  for (let at = 0; at < blocksEnd; at += 16) {
    const a = key.charCodeAt(at) | (key.charCodeAt(at + 2) << 16);
    const b = key.charCodeAt(at + 1) | (key.charCodeAt(at + 3) << 16);
    let k1 = a | (b << 8);
    const c = key.charCodeAt(at + 4) | (key.charCodeAt(at + 6) << 16);
    const d = key.charCodeAt(at + 5) | (key.charCodeAt(at + 7) << 16);
    let k2 = c | (d << 8);
    const e = key.charCodeAt(at + 8) | (key.charCodeAt(at + 10) << 16);
    const f = key.charCodeAt(at + 9) | (key.charCodeAt(at + 11) << 16);
    let k3 = e | (f << 8);
    const g = key.charCodeAt(at + 12) | (key.charCodeAt(at + 14) << 16);
    const h = key.charCodeAt(at + 13) | (key.charCodeAt(at + 15) << 16);
    let k4 = g | (h << 8);
    seen |= a | b | c | d | e | f | g | h;
    lifted |= (k1 + 0x0303_0303) | (k2 + 0x0303_0303) | (k3 + 0x0303_0303) | (k4 + 0x0303_0303);

    k1 = Math.imul(k1, 0x239b961b);
    h1 ^= Math.imul((k1 << 15) | (k1 >>> 17), 0xab0e9789);
    h1 = (Math.imul(((h1 << 19) | (h1 >>> 13)) + h2, 5) + 0x561ccd1b) | 0;
    k2 = Math.imul(k2, 0xab0e9789);
    h2 ^= Math.imul((k2 << 16) | (k2 >>> 16), 0x38b34ae5);
    h2 = (Math.imul(((h2 << 17) | (h2 >>> 15)) + h3, 5) + 0x0bcaa747) | 0;
    k3 = Math.imul(k3, 0x38b34ae5);
    h3 ^= Math.imul((k3 << 17) | (k3 >>> 15), 0xa1e38b93);
    h3 = (Math.imul(((h3 << 15) | (h3 >>> 17)) + h4, 5) + 0x96cd1c35) | 0;
    k4 = Math.imul(k4, 0xa1e38b93);
    h4 ^= Math.imul((k4 << 18) | (k4 >>> 14), 0x239b961b);
    h4 = (Math.imul(((h4 << 13) | (h4 >>> 19)) + h1, 5) + 0x32ac3b17) | 0;
  }
  if (rest > 0) {
    const odd = rest & 3;
    let last = 0;
    if (odd > 0) {
      // The last word ends with the key; the overlap with the word before is shifted out.
      const a = key.charCodeAt(length - 4) | (key.charCodeAt(length - 2) << 16);
      const b = key.charCodeAt(length - 3) | (key.charCodeAt(length - 1) << 16);
      last = a | (b << 8);
      seen |= a | b;
      lifted |= last + 0x0303_0303;
      last >>>= 32 - 8 * odd;
    }
    let k1 = last;
    let k2 = 0;
    let k3 = 0;
    let k4 = 0;
    if (rest >= 4) {
      const a = key.charCodeAt(blocksEnd) | (key.charCodeAt(blocksEnd + 2) << 16);
      const b = key.charCodeAt(blocksEnd + 1) | (key.charCodeAt(blocksEnd + 3) << 16);
      k1 = a | (b << 8);
      k2 = last;
      seen |= a | b;
      lifted |= k1 + 0x0303_0303;
      if (rest >= 8) {
        const c = key.charCodeAt(blocksEnd + 4) | (key.charCodeAt(blocksEnd + 6) << 16);
        const d = key.charCodeAt(blocksEnd + 5) | (key.charCodeAt(blocksEnd + 7) << 16);
        k2 = c | (d << 8);
        k3 = last;
        seen |= c | d;
        lifted |= k2 + 0x0303_0303;
        if (rest >= 12) {
          const e = key.charCodeAt(blocksEnd + 8) | (key.charCodeAt(blocksEnd + 10) << 16);
          const f = key.charCodeAt(blocksEnd + 9) | (key.charCodeAt(blocksEnd + 11) << 16);
          k3 = e | (f << 8);
          k4 = last;
          seen |= e | f;
          lifted |= k3 + 0x0303_0303;
        }
      }
    }
    k1 = Math.imul(k1, 0x239b961b);
    h1 ^= Math.imul((k1 << 15) | (k1 >>> 17), 0xab0e9789);
    k2 = Math.imul(k2, 0xab0e9789);
    h2 ^= Math.imul((k2 << 16) | (k2 >>> 16), 0x38b34ae5);
    k3 = Math.imul(k3, 0x38b34ae5);
    h3 ^= Math.imul((k3 << 17) | (k3 >>> 15), 0xa1e38b93);
    k4 = Math.imul(k4, 0xa1e38b93);
    h4 ^= Math.imul((k4 << 18) | (k4 >>> 14), 0x239b961b);
  }

  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  h3 = (h3 + h1) | 0;
  h4 = (h4 + h1) | 0;
  h1 = Math.imul(h1 ^ (h1 >>> 16), 0x85ebca6b);
  h1 = Math.imul(h1 ^ (h1 >>> 13), 0xc2b2ae35);
  h1 ^= h1 >>> 16;
  h2 = Math.imul(h2 ^ (h2 >>> 16), 0x85ebca6b);
  h2 = Math.imul(h2 ^ (h2 >>> 13), 0xc2b2ae35);
  h2 ^= h2 >>> 16;
  h3 = Math.imul(h3 ^ (h3 >>> 16), 0x85ebca6b);
  h3 = Math.imul(h3 ^ (h3 >>> 13), 0xc2b2ae35);
  h3 ^= h3 >>> 16;
  h4 = Math.imul(h4 ^ (h4 >>> 16), 0x85ebca6b);
  h4 = Math.imul(h4 ^ (h4 >>> 13), 0xc2b2ae35);
  h4 ^= h4 >>> 16;
  h1 = (h1 + h2 + h3 + h4) | 0;
  out[0] = h1;
  out[1] = h2 + h1;
  // Lifted by three, a character not below `}` is not ASCII; ASCII characters carry nothing over.
  return (seen & 0xff80_ff80) | (lifted & 0x8080_8080);
}

function hashCarefully(key: string, out: Uint32Array): void {
  const open = key.indexOf('{');
  const close = closeOfTag(key, open);
  const start = close < 0 ? 0 : open + 1;
  const end = close < 0 ? key.length : close;
  const memory = roomFor(3 * (end - start));
  const length = encode(key, start, end, memory.bytes);
  fillUp(memory, length);
  mix(memory, length, 0, out);
}

/**
 * Writes a part of the text as UTF-8 and returns how many bytes that took: at most three for each UTF-16 unit. Half of
 * a surrogate pair without the other half stands for no character and becomes U+FFFD, as in `TextEncoder`.
 */
function encode(text: string, start: number, end: number, bytes: Uint8Array): number {
  let at = 0;
  for (let i = start; i < end; i += 1) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      bytes[at++] = code;
      continue;
    }
    if (code < 0x800) {
      bytes[at++] = 0xc0 | (code >> 6);
      bytes[at++] = 0x80 | (code & 0x3f);
      continue;
    }
    if (code >= 0xd800 && code < 0xe000) {
      const second = code < 0xdc00 && i + 1 < end ? text.charCodeAt(i + 1) : 0;
      if (second >= 0xdc00 && second < 0xe000) {
        i += 1;
        code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
        bytes[at++] = 0xf0 | (code >> 18);
        bytes[at++] = 0x80 | ((code >> 12) & 0x3f);
        bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
        bytes[at++] = 0x80 | (code & 0x3f);
        continue;
      }
      code = 0xfffd;
    }
    bytes[at++] = 0xe0 | (code >> 12);
    bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
    bytes[at++] = 0x80 | (code & 0x3f);
  }
  return at;
}

function absorb(bytes: Uint8Array, seed: number, out: Uint32Array): void {
  const memory = roomFor(bytes.length);
  memory.bytes.set(bytes);
  fillUp(memory, bytes.length);
  mix(memory, bytes.length, seed, out);
}

function fillUp({ bytes }: Memory, length: number): void {
  for (let at = length; at % BLOCK_BYTES !== 0; at += 1) bytes[at] = 0;
}

/**
 * MurmurHash3_x86_128 of the first `length` bytes.
 *
 * Four lanes of 32 bits take a word each from every block of 16 bytes. A word is scrambled (multiplied, rotated,
 * multiplied) and folded into a lane; then the lane is stirred with the neighbour. The rest at the end, less than a
 * block, is folded in without stirring. A word of zeros scrambles to zero and folds to nothing, so the rest is treated
 * as a whole block; there must be zeros in memory up to the end of that block.
 */
function mix({ words }: Memory, length: number, seed: number, out: Uint32Array): void {
  const rest = length % BLOCK_BYTES;
  const blocksEnd = length - rest;

  let h1 = seed | 0;
  let h2 = h1;
  let h3 = h1;
  let h4 = h1;

  for (let at = 0; at < blocksEnd; at += BLOCK_BYTES) {
    h1 = stir(h1 ^ scramble1(words.getInt32(at, true)), 19, h2, 0x561ccd1b);
    h2 = stir(h2 ^ scramble2(words.getInt32(at + 4, true)), 17, h3, 0x0bcaa747);
    h3 = stir(h3 ^ scramble3(words.getInt32(at + 8, true)), 15, h4, 0x96cd1c35);
    h4 = stir(h4 ^ scramble4(words.getInt32(at + 12, true)), 13, h1, 0x32ac3b17);
  }
  if (rest > 0) {
    h1 ^= scramble1(words.getInt32(blocksEnd, true));
    h2 ^= scramble2(words.getInt32(blocksEnd + 4, true));
    h3 ^= scramble3(words.getInt32(blocksEnd + 8, true));
    h4 ^= scramble4(words.getInt32(blocksEnd + 12, true));
  }
  finish(h1, h2, h3, h4, length, out);
}

/** Mixes every lane into every word of the result, of which `out` gets two, or all four if there is room. */
function finish(
  lane1: number,
  lane2: number,
  lane3: number,
  lane4: number,
  length: number,
  out: Uint32Array,
): void {
  const sum = ((lane1 ^ length) + (lane2 ^ length) + (lane3 ^ length) + (lane4 ^ length)) | 0;
  const h2 = avalanche(((lane2 ^ length) + sum) | 0);
  const h3 = avalanche(((lane3 ^ length) + sum) | 0);
  const h4 = avalanche(((lane4 ^ length) + sum) | 0);
  const h1 = (avalanche(sum) + h2 + h3 + h4) | 0;
  out[0] = h1;
  out[1] = h2 + h1;
  if (out.length < 4) return;
  out[2] = h3 + h1;
  out[3] = h4 + h1;
}

const scramble1 = (word: number): number => Math.imul(rotate(Math.imul(word, 0x239b961b), 15), 0xab0e9789);
const scramble2 = (word: number): number => Math.imul(rotate(Math.imul(word, 0xab0e9789), 16), 0x38b34ae5);
const scramble3 = (word: number): number => Math.imul(rotate(Math.imul(word, 0x38b34ae5), 17), 0xa1e38b93);
const scramble4 = (word: number): number => Math.imul(rotate(Math.imul(word, 0xa1e38b93), 18), 0x239b961b);

/** Turns a lane, and adds the neighbour. */
const stir = (lane: number, bits: number, neighbour: number, constant: number): number =>
  (Math.imul(rotate(lane, bits) + neighbour, 5) + constant) | 0;

/** To the left, by `bits` of 32. */
const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** Lets every bit of the word change every other with even chance. */
function avalanche(word: number): number {
  let mixed = word;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
