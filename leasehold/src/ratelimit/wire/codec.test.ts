import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../../runtime/errors.ts';
import type { Answer, Ask } from '../owner/messages.ts';
import { answerCodec, askCodec, KEY_MAX } from './codec.ts';

const ask: Ask = {
  ...{
    id: 7,
    limiter: 'api',
    key: 'ann',
    limit: 100,
    perMs: 1_000,
    burst: 20,
    isDefault: true,
    onLoss: 'empty',
  },
  ...{ size: 4, need: 1, want: 12, left: [{ id: 3, tokens: 4 }] },
};
const answers: readonly Answer[] = [
  { kind: 'grant', id: 7, tokens: 12, remaining: 3, resetMs: 81.5 },
  { kind: 'denial', id: 7, retryAfterMs: 12.25, resetMs: 200 },
  { kind: 'later', id: 7 },
];
const bytesOf = (message: Ask): Uint8Array => askCodec.encode(message) as Uint8Array;

describe('messages of shared limits', () => {
  it('are the same when written and read', () => {
    expect(answerCodec.decode(bytesOf(ask))).toEqual(ask);
    for (const answer of answers) {
      expect(askCodec.decode(answerCodec.encode(answer) as Uint8Array)).toEqual(answer);
    }
  });

  it.each([
    ['a limit of 0', { limit: 0 }],
    ['an endless limit', { limit: Number.POSITIVE_INFINITY }],
    ['a burst below 1', { burst: 0.5 }],
    ['no key', { key: '' }],
    ['a size that no group has', { size: 1_001 }],
    ['a key that is too long', { key: 'x'.repeat(KEY_MAX + 1) }],
    ['a need above the want', { need: 13 }],
  ])('are refused with %s', (_what, change) => {
    expect(() => answerCodec.decode(bytesOf({ ...ask, ...change }))).toThrow(MalformedMessageError);
  });

  it('are read or refused, whatever the bytes are', () => {
    const good = [bytesOf(ask), ...answers.map((answer) => answerCodec.encode(answer) as Uint8Array)];
    fc.assert(
      fc.property(
        fc.constantFrom(...good),
        fc.nat(60),
        fc.nat(255),
        fc.nat(60),
        (bytes, at, value, length) => {
          const damaged = Uint8Array.from(bytes.subarray(0, Math.max(1, length)));
          if (at < damaged.length) damaged[at] = value;
          for (const { decode } of [askCodec, answerCodec]) {
            try {
              decode(damaged);
            } catch (error) {
              expect(error).toBeInstanceOf(MalformedMessageError);
            }
          }
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
