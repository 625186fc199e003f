import { describe, expect, it } from 'vitest';
import { PACKET_BYTES, packets } from './packets.ts';

const MIB = 1024 * 1024;

describe('packets', () => {
  it('keep small items together, in one packet', () => {
    expect(packets(['a', 'b', 'c'], () => 100)).toEqual([['a', 'b', 'c']]);
    expect(packets([], () => 100)).toEqual([[]]);
  });

  it('are closed before they exceed their size, and keep the order of the items', () => {
    const items = Array.from({ length: 10 }, (_, place) => place);
    const all = packets(items, () => 1.5 * MIB);
    expect(all.flat()).toEqual(items);
    for (const packet of all) expect(packet.length * 1.5 * MIB).toBeLessThanOrEqual(PACKET_BYTES);
  });

  it('carry an item that is larger than a packet alone', () => {
    expect(packets([1, 9, 1], (item) => item * MIB)).toEqual([[1], [9], [1]]);
  });
});
