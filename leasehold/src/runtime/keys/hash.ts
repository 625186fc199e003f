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
 * How it is quick: an ordinary key is hashed while it is read, and nothing is written down. To look
 * at a character of a string is what costs most, about 2 ns each, so each is looked at once. Whether
 * the key is ordinary is asked on the way, of many characters at a time, and answered at the end: it
 * is if all of them lie below `}`, for then it is ASCII and has no tag, which would need its closing
 * brace. `}`, `~` and all that is not ASCII send the key the careful way, by way of memory, which is
 * slower and always right.
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

/** The part of a key that alone counts, what lies in its first pair of braces; undefined: all of it. */
export function tagOf(key: string): string | undefined {
  const open = key.indexOf('{');
  const close = closeOfTag(key, open);
  return close < 0 ? undefined : key.slice(open + 1, close);
}

/** Where the tag ends that begins after the first open brace; -1 if it is none. */
function closeOfTag(key: string, open: number): number {
  const close = open < 0 ? -1 : key.indexOf('}', open);
  return close > open + 1 ? close : -1;
}

/** Writes the position of a text, `out[0]` being its high word and `out[1]` its low one. */
export function hashKey(key: string, out: Uint32Array): void {
  if (key.length < WORD_BYTES || !hashPlain(key)) hashCarefully(key);
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
const WORD_BYTES = 4;

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
 * {@link mix} of a key that has at least four characters, all below `}`; if not all are, it says so,
 * and what it has put into {@link state} is worth nothing.
 *
 * Characters are taken in pairs, as 16 bits each, so that one of two bytes cannot hide among its
 * neighbours; two pairs make a word. This is one long function because the engine puts only so much
 * of others in place; a call for each word would cost more than what is called.
 */
function hashPlain(key: string): boolean {
  const length = key.length;
  const rest = length % BLOCK_BYTES;
  const blocksEnd = length - rest;
  let h1 = 0;
  let h2 = 0;
  let h3 = 0;
  let h4 = 0;
  let seen = 0;
  let lifted = 0;

  for (let at = 0; at < blocksEnd; at += BLOCK_BYTES) {
    const a = key.charCodeAt(at) | (key.charCodeAt(at + 1) << 16);
    const b = key.charCodeAt(at + 2) | (key.charCodeAt(at + 3) << 16);
    const c = key.charCodeAt(at + 4) | (key.charCodeAt(at + 5) << 16);
    const d = key.charCodeAt(at + 6) | (key.charCodeAt(at + 7) << 16);
    const e = key.charCodeAt(at + 8) | (key.charCodeAt(at + 9) << 16);
    const f = key.charCodeAt(at + 10) | (key.charCodeAt(at + 11) << 16);
    const g = key.charCodeAt(at + 12) | (key.charCodeAt(at + 13) << 16);
    const h = key.charCodeAt(at + 14) | (key.charCodeAt(at + 15) << 16);
    seen |= a | b | c | d | e | f | g | h;
    lifted |= (a + TO_128) | (b + TO_128) | (c + TO_128) | (d + TO_128);
    lifted |= (e + TO_128) | (f + TO_128) | (g + TO_128) | (h + TO_128);
    h1 ^= scramble1(((a | (a >>> 8)) & 0xffff) | ((b | (b >>> 8)) << 16));
    h1 = (Math.imul(rotate(h1, 19) + h2, 5) + 0x561ccd1b) | 0;
    h2 ^= scramble2(((c | (c >>> 8)) & 0xffff) | ((d | (d >>> 8)) << 16));
    h2 = (Math.imul(rotate(h2, 17) + h3, 5) + 0x0bcaa747) | 0;
    h3 ^= scramble3(((e | (e >>> 8)) & 0xffff) | ((f | (f >>> 8)) << 16));
    h3 = (Math.imul(rotate(h3, 15) + h4, 5) + 0x96cd1c35) | 0;
    h4 ^= scramble4(((g | (g >>> 8)) & 0xffff) | ((h | (h >>> 8)) << 16));
    h4 = (Math.imul(rotate(h4, 13) + h1, 5) + 0x32ac3b17) | 0;
  }
  if (rest > 0) {
    const odd = rest % WORD_BYTES;
    let last = 0;
    if (odd > 0) {
      // It ends with the key; what it has in common with the word before is shifted out.
      const a = key.charCodeAt(length - 4) | (key.charCodeAt(length - 3) << 16);
      const b = key.charCodeAt(length - 2) | (key.charCodeAt(length - 1) << 16);
      seen |= a | b;
      lifted |= (a + TO_128) | (b + TO_128);
      last = (((a | (a >>> 8)) & 0xffff) | ((b | (b >>> 8)) << 16)) >>> (32 - 8 * odd);
    }
    let w1 = last;
    let w2 = 0;
    let w3 = 0;
    let w4 = 0;
    if (rest >= 4) {
      const a = key.charCodeAt(blocksEnd) | (key.charCodeAt(blocksEnd + 1) << 16);
      const b = key.charCodeAt(blocksEnd + 2) | (key.charCodeAt(blocksEnd + 3) << 16);
      seen |= a | b;
      lifted |= (a + TO_128) | (b + TO_128);
      w1 = ((a | (a >>> 8)) & 0xffff) | ((b | (b >>> 8)) << 16);
      w2 = last;
      if (rest >= 8) {
        const c = key.charCodeAt(blocksEnd + 4) | (key.charCodeAt(blocksEnd + 5) << 16);
        const d = key.charCodeAt(blocksEnd + 6) | (key.charCodeAt(blocksEnd + 7) << 16);
        seen |= c | d;
        lifted |= (c + TO_128) | (d + TO_128);
        w2 = ((c | (c >>> 8)) & 0xffff) | ((d | (d >>> 8)) << 16);
        w3 = last;
        if (rest >= 12) {
          const e = key.charCodeAt(blocksEnd + 8) | (key.charCodeAt(blocksEnd + 9) << 16);
          const f = key.charCodeAt(blocksEnd + 10) | (key.charCodeAt(blocksEnd + 11) << 16);
          seen |= e | f;
          lifted |= (e + TO_128) | (f + TO_128);
          w3 = ((e | (e >>> 8)) & 0xffff) | ((f | (f >>> 8)) << 16);
          w4 = last;
        }
      }
    }
    h1 ^= scramble1(w1);
    h2 ^= scramble2(w2);
    h3 ^= scramble3(w3);
    h4 ^= scramble4(w4);
  }
  finish(h1, h2, h3, h4, length);
  return ((seen | lifted) & NOT_PLAIN) === 0;
}

/** Lifts `}` to the first number that is not ASCII. */
const TO_128 = 0x0003_0003;
const NOT_PLAIN = 0xff80_ff80;

function hashCarefully(key: string): void {
  const open = key.indexOf('{');
  const close = closeOfTag(key, open);
  const start = close < 0 ? 0 : open + 1;
  const end = close < 0 ? key.length : close;
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
  finish(h1, h2, h3, h4, length);
}

/** Lets every lane have its say in every word of the result. */
function finish(lane1: number, lane2: number, lane3: number, lane4: number, length: number): void {
  const sum = ((lane1 ^ length) + (lane2 ^ length) + (lane3 ^ length) + (lane4 ^ length)) | 0;
  const h2 = avalanche(((lane2 ^ length) + sum) | 0);
  const h3 = avalanche(((lane3 ^ length) + sum) | 0);
  const h4 = avalanche(((lane4 ^ length) + sum) | 0);
  const h1 = (avalanche(sum) + h2 + h3 + h4) | 0;
  state[0] = h1;
  state[1] = h2 + h1;
  state[2] = h3 + h1;
  state[3] = h4 + h1;
}

const scramble1 = (word: number): number => Math.imul(rotate(Math.imul(word, 0x239b961b), 15), 0xab0e9789);
const scramble2 = (word: number): number => Math.imul(rotate(Math.imul(word, 0xab0e9789), 16), 0x38b34ae5);
const scramble3 = (word: number): number => Math.imul(rotate(Math.imul(word, 0x38b34ae5), 17), 0xa1e38b93);
const scramble4 = (word: number): number => Math.imul(rotate(Math.imul(word, 0xa1e38b93), 18), 0x239b961b);

/** Turns a lane, and adds its neighbour. */
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
