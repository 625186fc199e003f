import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { checksum, checksumByTable } from './checksum.ts';

describe('a checksum', () => {
  it('is CRC-32 as others know it', () => {
    const digits = new TextEncoder().encode('123456789');
    expect([checksum(digits), checksumByTable(digits)]).toEqual([0xcbf43926, 0xcbf43926]);
    expect([checksum(new Uint8Array(0)), checksumByTable(new Uint8Array(0))]).toEqual([0, 0]);
  });

  it('is the same by the table as by Node, in one go or in two', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (one, two) => {
        const both = new Uint8Array([...one, ...two]);
        expect(checksumByTable(both)).toBe(crc32(both));
        expect(checksumByTable(two, checksumByTable(one))).toBe(crc32(both));
      }),
    );
  });
});
