/**
 * Where on the ring is a key?
 *
 * Every process, in whatever language, must give the same answer, or two of them will each be
 * sure of owning the key. So the answer is defined by published things only: the key as UTF-8,
 * through MurmurHash3 in its variant for 128 bits on 32-bit machines (`MurmurHash3_x86_128`, seed
 * 0), of which the first two words are the position, `h1` the high one and `h2` the low one.
 * 32-bit words suit JavaScript, whose `Math.imul` is one machine instruction; and unlike simpler
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
 * How it is quick: the characters are copied, as bytes, into a piece of memory made once, and
 * hashed from there four bytes at a time. A copy is quicker than hashing the characters in place,
 * because each look at a character of a string costs more than a look at a byte. The copying
 * asks one thing of each character: is it below `}`? If all are, the key is ASCII and has no tag,
 * both at once, for a tag needs its closing brace. `}`, `~` and all that is not ASCII send the key
 * the careful way, which is a little slower and always right.
 */

import { checkPosition, type Position, positionOf } from './position.ts';

/** What callers name things by: a text that is hashed, or a position that is taken as it is. */
export type Key = string | Position;

/**
 * The position of a key.
 *
 * @throws {InvalidOptionError} if the key is a bigint outside [0, 2^64)
 */
export function keyPosition(key: Key): Position {
  if (typeof key === 'bigint') return checkPosition(key);
  hashKey(key, state);
  return positionOf(state[0] as number, state[1] as number);
}

/** Writes the position of a text, `out[0]` being its high word and `out[1]` its low one. */
export function hashKey(key: string, out: Uint32Array): void {
  const length = key.length;
  if (length <= SCRATCH_BYTES - BLOCK_BYTES && copyPlain(key, length)) {
    mix(scratch, length, 0);
  } else {
    hashCarefully(key);
  }
  out[0] = state[0] as number;
  out[1] = state[1] as number;
}

/** As {@link hashKey}, of bytes, which have no tags. */
export function hashBytes(bytes: Uint8Array, out: Uint32Array): void {
  absorb(bytes, 0);
  out[0] = state[0] as number;
  out[1] = state[1] as number;
}

/**
 * The hash in full, four words with any seed, as others have published test values for it.
 *
 * @internal
 */
export function murmur128(bytes: Uint8Array, seed: number, out: Uint32Array): void {
  absorb(bytes, seed);
  out.set(state);
}

const BLOCK_BYTES = 16;
const CLOSING_BRACE = 0x7d;

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

/** The result of the last {@link mix}. Nothing here waits in between, so one is enough. */
const state = new Uint32Array(4);

const roomFor = (length: number): Memory => {
  const size = length + BLOCK_BYTES;
  return size <= SCRATCH_BYTES ? scratch : memoryOf(size);
};

/**
 * Copies the key, if all its characters lie below `}`. The block it will end in is cleared first,
 * in four strokes; to clear just the bytes behind the key, afterwards, takes longer.
 */
function copyPlain(key: string, length: number): boolean {
  const { bytes, words } = scratch;
  const lastBlock = length - (length % BLOCK_BYTES);
  words.setInt32(lastBlock, 0);
  words.setInt32(lastBlock + 4, 0);
  words.setInt32(lastBlock + 8, 0);
  words.setInt32(lastBlock + 12, 0);
  for (let i = 0; i < length; i += 1) {
    const code = key.charCodeAt(i);
    if (code >= CLOSING_BRACE) return false;
    bytes[i] = code;
  }
  return true;
}

function hashCarefully(key: string): void {
  let start = 0;
  let end = key.length;
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open);
  if (close > open + 1) {
    start = open + 1;
    end = close;
  }
  const memory = roomFor(3 * (end - start));
  const length = encode(key, start, end, memory.bytes);
  fillUp(memory, length);
  mix(memory, length, 0);
}

/**
 * Writes a part of the text as UTF-8 and returns how many bytes that took: at most three for each
 * UTF-16 unit. Half of a surrogate pair without its other half stands for no character and
 * becomes U+FFFD, as in `TextEncoder`.
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

function absorb(bytes: Uint8Array, seed: number): void {
  const memory = roomFor(bytes.length);
  memory.bytes.set(bytes);
  fillUp(memory, bytes.length);
  mix(memory, bytes.length, seed);
}

function fillUp({ bytes }: Memory, length: number): void {
  for (let at = length; at % BLOCK_BYTES !== 0; at += 1) bytes[at] = 0;
}

/**
 * MurmurHash3_x86_128 of the first `length` bytes, into {@link state}.
 *
 * Four lanes of 32 bits take a word each from every block of 16 bytes. A word is scrambled
 * (multiplied, rotated, multiplied) and folded into its lane; then the lane is stirred with its
 * neighbour. What is left at the end, less than a block, is folded in without stirring. A word of
 * zeros scrambles to zero and folds to nothing, so the rest is treated as a whole block; there must
 * be zeros in memory up to its end.
 */
function mix(memory: Memory, length: number, seed: number): void {
  const words = memory.words;
  const rest = length % BLOCK_BYTES;
  const blocksEnd = length - rest;

  let h1 = seed | 0;
  let h2 = h1;
  let h3 = h1;
  let h4 = h1;

  for (let at = 0; at < blocksEnd; at += BLOCK_BYTES) {
    h1 ^= scramble1(words.getInt32(at, true));
    h1 = (Math.imul(rotate(h1, 19) + h2, 5) + 0x561ccd1b) | 0;
    h2 ^= scramble2(words.getInt32(at + 4, true));
    h2 = (Math.imul(rotate(h2, 17) + h3, 5) + 0x0bcaa747) | 0;
    h3 ^= scramble3(words.getInt32(at + 8, true));
    h3 = (Math.imul(rotate(h3, 15) + h4, 5) + 0x96cd1c35) | 0;
    h4 ^= scramble4(words.getInt32(at + 12, true));
    h4 = (Math.imul(rotate(h4, 13) + h1, 5) + 0x32ac3b17) | 0;
  }
  if (rest > 0) {
    h1 ^= scramble1(words.getInt32(blocksEnd, true));
    h2 ^= scramble2(words.getInt32(blocksEnd + 4, true));
    h3 ^= scramble3(words.getInt32(blocksEnd + 8, true));
    h4 ^= scramble4(words.getInt32(blocksEnd + 12, true));
  }

  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;

  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = avalanche((h2 + h1) | 0);
  h3 = avalanche((h3 + h1) | 0);
  h4 = avalanche((h4 + h1) | 0);
  h1 = (avalanche(h1) + h2 + h3 + h4) | 0;

  state[0] = h1;
  state[1] = h2 + h1;
  state[2] = h3 + h1;
  state[3] = h4 + h1;
}

const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

const scramble1 = (word: number): number => Math.imul(rotate(Math.imul(word, C1), 15), C2);
const scramble2 = (word: number): number => Math.imul(rotate(Math.imul(word, C2), 16), C3);
const scramble3 = (word: number): number => Math.imul(rotate(Math.imul(word, C3), 17), C4);
const scramble4 = (word: number): number => Math.imul(rotate(Math.imul(word, C4), 18), C1);

/** To the left, by `bits` of 32. */
const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** Lets every bit of the word change every other with even chance. */
function avalanche(word: number): number {
  let mixed = word;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
