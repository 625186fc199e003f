import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { fuzzTransfer } from './fuzz.ts';
import {
  CHUNK_ITEMS_MAX,
  decodeFromSource,
  decodeFromTarget,
  encodeFromSource,
  encodeFromTarget,
  formatDigest,
  type FromSource,
  ITEM_BYTES_MAX,
  transferForms,
  UNPROVED_BYTES_MAX,
} from './transfer.ts';

describe('the messages of a transfer', () => {
  it('are read as they were written', () => {
    for (const message of transferForms.fromSource.samples())
      expect(decodeFromSource(encodeFromSource(message))).toStrictEqual(message);
    for (const message of transferForms.fromTarget.samples())
      expect(decodeFromTarget(encodeFromTarget(message))).toStrictEqual(message);
  });

  it('before the proof are small enough for a target that trusts nobody', () => {
    const hello: FromSource = {
      ...{ kind: 'hello', ticket: 't'.repeat(256), from: 'f'.repeat(128), to: 'g'.repeat(128) },
      ...{ nonce: '0f'.repeat(16), attempt: 3 },
    };
    expect(encodeFromSource(hello).length).toBeLessThan(UNPROVED_BYTES_MAX);
    const proof: FromSource = { kind: 'proof', key: 'a0'.repeat(32), signature: 'b1'.repeat(64) };
    expect(encodeFromSource(proof).length).toBeLessThan(UNPROVED_BYTES_MAX);
  });

  it.each<[string, FromSource]>([
    [
      'an empty ticket',
      { kind: 'hello', ticket: '', from: 'a', to: 'b', nonce: '00'.repeat(16), attempt: 1 },
    ],
    ['attempt 0', { kind: 'hello', ticket: 't', from: 'a', to: 'b', nonce: '00'.repeat(16), attempt: 0 }],
    ['attempt 4', { kind: 'hello', ticket: 't', from: 'a', to: 'b', nonce: '00'.repeat(16), attempt: 4 }],
    ['a short nonce', { kind: 'hello', ticket: 't', from: 'a', to: 'b', nonce: '00', attempt: 1 }],
    ['a key that is no key', { kind: 'proof', key: 'zz'.repeat(32), signature: 'b1'.repeat(64) }],
    ['frame number 0', { kind: 'chunk', sequence: 0, place: 0, items: [] }],
    ['a place beyond all names', { kind: 'chunk', sequence: 1, place: 64, items: [] }],
    [
      'too many items',
      {
        kind: 'chunk',
        sequence: 1,
        place: 0,
        items: Array.from({ length: CHUNK_ITEMS_MAX + 1 }, () => Uint8Array.of(1)),
      },
    ],
    [
      'an item that is too large',
      { kind: 'chunk', sequence: 1, place: 0, items: [new Uint8Array(ITEM_BYTES_MAX + 1)] },
    ],
  ])('are refused with %s', (_, message) => {
    expect(() => decodeFromSource(encodeFromSource(message))).toThrow(MalformedMessageError);
  });

  it('survive damage: refused, or understood', () => {
    const { accepted, refused } = fuzzTransfer(20_000, 7);
    expect(accepted).toBeGreaterThan(0);
    expect(refused).toBeGreaterThan(0);
  });
});

describe('the digest in reports', () => {
  it('has items, bytes and checksum', () => {
    expect(formatDigest({ items: 2, bytes: 70, checksum: 0x1a })).toBe('2-70-1a');
  });
});
