/**
 * CRC-32 (the one of zlib, PNG and Ethernet). Node has a built-in CRC-32 since 20.15; before that the checksum is
 * computed here, with the same result.
 */

import * as zlib from 'node:zlib';

/** Goes on from `before`, the checksum of the bytes before these. */
export type Checksum = (bytes: Uint8Array, before?: number) => number;

const TABLE: Uint32Array = new Uint32Array(256);
for (let byte = 0; byte < 256; byte++) {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0);
  TABLE[byte] = remainder;
}

export const checksumByTable: Checksum = (bytes, before = 0) => {
  let remainder = ~before;
  for (let i = 0; i < bytes.length; i++) {
    remainder = (remainder >>> 8) ^ (TABLE[(remainder ^ (bytes[i] as number)) & 0xff] as number);
  }
  return ~remainder >>> 0;
};

const native = (zlib as { readonly crc32?: Checksum }).crc32;

export const checksum: Checksum = native ?? checksumByTable;
