import { describe, expect, it } from 'vitest';
import { membershipOf } from '../core/incarnation.ts';
import { readBlock, writtenBlock } from './set-blocks.ts';

const setOf = (...names: readonly string[]) =>
  membershipOf(
    names.map((name) => ({ name, incarnation: { startedMs: 1_700_000_000_000, nonce: 1 }, listVersion: 4 })),
  );

describe('a block of a set', () => {
  it('is written once for each set', () => {
    const { members } = setOf('a', 'b');
    expect(writtenBlock(members)).toBe(writtenBlock(members));
  });

  it('is read once while it is in use, and by nothing but its own bytes', () => {
    const bytes = writtenBlock(setOf('a', 'b').members);
    const first = readBlock(bytes);
    expect(first.set).toEqual(setOf('a', 'b'));
    const inAFrame = Buffer.concat([Buffer.of(9), bytes, Buffer.of(9)]).subarray(1, 1 + bytes.length);
    expect(readBlock(inAFrame)).toBe(first);
    expect(readBlock(writtenBlock(setOf('a').members))).not.toBe(first);
  });

  it('is not kept if it could not be read', () => {
    for (let again = 0; again < 2; again += 1)
      expect(() => readBlock(Uint8Array.of(7, 7))).toThrow(
        expect.objectContaining({ rule: 'cannot have 7 items in 1 bytes' }),
      );
  });

  it('is forgotten after many others, so that a peer that invents sets fills no memory', () => {
    const bytes = writtenBlock(setOf('first').members);
    const first = readBlock(bytes);
    for (let turn = 0; turn < 200; turn += 1) readBlock(writtenBlock(setOf(`other ${turn}`).members));
    expect(readBlock(bytes)).not.toBe(first);
  });
});
