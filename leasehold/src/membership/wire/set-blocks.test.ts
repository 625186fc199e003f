import { describe, expect, it } from 'vitest';
import { membershipOf } from '../core/incarnation.ts';
import { readBlock, type SetBlock, writtenBlock } from './set-blocks.ts';

const bytesOf = (...bytes: readonly number[]) => new Uint8Array(bytes);
const blockOf = (): SetBlock => ({ set: membershipOf([]), ids: [] });

describe('a block of a set', () => {
  it('is written once for each set', () => {
    const { members } = membershipOf([]);
    const first = writtenBlock(members, () => bytesOf(1));
    expect(writtenBlock(members, () => bytesOf(2))).toBe(first);
  });

  it('is read once while it is in use, and by nothing but its own bytes', () => {
    const first = readBlock(bytesOf(1, 2, 3), blockOf);
    const inAFrame = bytesOf(9, 1, 2, 3, 9).subarray(1, 4);
    expect(readBlock(inAFrame, blockOf)).toBe(first);
    expect(readBlock(bytesOf(1, 2), blockOf)).not.toBe(first);
  });

  it('is not kept if it could not be read', () => {
    const fails = (): SetBlock => {
      throw new Error('malformed');
    };
    expect(() => readBlock(bytesOf(7, 7), fails)).toThrow('malformed');
    expect(() => readBlock(bytesOf(7, 7), fails)).toThrow('malformed');
  });

  it('is forgotten after many others, so that a peer that invents sets fills no memory', () => {
    const first = readBlock(bytesOf(0xff), blockOf);
    for (let byte = 0; byte < 200; byte += 1) readBlock(bytesOf(byte, byte), blockOf);
    expect(readBlock(bytesOf(0xff), blockOf)).not.toBe(first);
  });
});
