import { describe, expect, it } from 'vitest';
import { Dice } from '../../runtime/dice.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { hostileBytes } from '../../runtime/msgpack/hostile-bytes.ts';
import { decodeSpread, encodeSpread } from './codec.ts';
import type { SpreadMessage } from './messages.ts';

const MESSAGES: readonly SpreadMessage[] = [
  {
    ...{ kind: 'word', view: '3.5.aa', from: 'alone a#1.2', size: 6 },
    ...{ tokensPerSecond: 1_000, burst: 50, isRepeated: true },
  },
  { kind: 'show', view: '3.5.aa', demand: 0.5, credits: 2 ** 32, parts: 8, blacklist: ['b', 'c'] },
  { kind: 'transfer', line: '3.5.aa', lo: 0, cur: 300, amount: [-1.5, 0.25] },
  { kind: 'acknowledgement', line: '3.5.aa', seen: 300 },
  { kind: 'settle', line: '3.5.aa', cur: 2 },
  { kind: 'settled', line: '3.5.aa', cur: 2, seen: 1 },
  { kind: 'probe', isAnswer: false },
];

describe('a message of a spread limit', () => {
  it.each(MESSAGES.map((message) => [message.kind, message] as const))(
    '%s reads as it was written',
    (_, message) => {
      expect(decodeSpread(encodeSpread(message))).toEqual(message);
    },
  );

  it('is refused when it is cut off anywhere, or has bytes behind its end', () => {
    for (const message of MESSAGES) {
      const bytes = encodeSpread(message);
      for (let length = 0; length < bytes.length; length++) {
        expect(() => decodeSpread(bytes.subarray(0, length))).toThrow(MalformedMessageError);
      }
      expect(() => decodeSpread(Buffer.concat([bytes, Buffer.of(0)]))).toThrow(MalformedMessageError);
    }
  });

  it('is anything else, and never does any harm', () => {
    const dice = new Dice(1);
    const frames = MESSAGES.map(encodeSpread);
    let accepted = 0;
    for (let run = 0; run < 30_000; run++) {
      const input = hostileBytes(dice, frames, [0, 1, 2, 3, 7, 8, 0x7f, 0x80, 0xff, 0xf0]);
      try {
        const message = decodeSpread(input);
        expect(decodeSpread(encodeSpread(message))).toEqual(message);
        accepted += 1;
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedMessageError);
      }
    }
    expect(accepted).toBeGreaterThan(100);
    expect(accepted).toBeLessThan(29_000);
  });

  it('is refused with a demand that would make sums infinite', () => {
    const show = { kind: 'show', view: 'x', credits: 1, parts: 1, blacklist: [] } as const;
    for (const demand of [-1, 1e300, Number.POSITIVE_INFINITY]) {
      expect(() => decodeSpread(encodeSpread({ ...show, demand }))).toThrow(MalformedMessageError);
    }
  });

  it('is refused with a number that is not finite, or an amount in no order', () => {
    const transfer = { kind: 'transfer', line: 'x', lo: 0, cur: 1 } as const;
    expect(() => decodeSpread(encodeSpread({ ...transfer, amount: [Number.NaN] }))).toThrow('finite');
    expect(() => decodeSpread(encodeSpread({ ...transfer, lo: 1, amount: [1] }))).toThrow('above lo');
  });
});
