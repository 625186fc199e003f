import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { decode, encode, type Form } from '../../runtime/wire/form.ts';
import { KEY_MAX } from '../core/local/local-limiter.ts';
import type { Ask, HandOver } from '../core/shared/messages.ts';
import { decodeBundle, encodeBundle, packed } from './bundle.ts';
import { fuzzRatelimit } from './fuzz.ts';
import { answer, type ToOwner, toOwner } from './messages.ts';
import { datagram, decodeSpread, encodeSpread } from './spread.ts';

const ask: Ask = {
  kind: 'ask',
  ...{
    id: 7,
    limiter: 'api',
    key: 'ann',
    limit: 100,
    perMs: 1_000,
    burst: 20,
    isDefault: true,
    whenLost: 'empty',
  },
  ...{ maxServers: 4, need: 1, want: 12, left: [{ id: 3, tokens: 4 }] },
};
const handOver: HandOver = {
  ...{ kind: 'hand-over', id: 3, page: 0, pages: 2, scope: '12.5 ann', ageMs: 1_500.5 },
  cuts: [{ at: -20.5, share: 0.75 }],
  keys: [
    {
      limiter: 'api',
      key: 'ann',
      fullMs: 80.5,
      msPerToken: 10,
      loans: [{ borrower: 'b#1.2', id: 4, tokens: 9, ms: -3.5 }],
    },
    { limiter: 'api', key: 'bob', fullMs: 0, msPerToken: 0, loans: [] },
  ],
};
const passed = (message: ToOwner): ToOwner => decode(toOwner, encode(toOwner, message));

describe('messages of limits', () => {
  it.each<[string, Form<unknown>]>([
    ['asks and hand-overs', toOwner as Form<unknown>],
    ['answers', answer as Form<unknown>],
    ['bundles', packed as Form<unknown>],
    ['messages of spread limits', datagram as Form<unknown>],
  ])('are the same when written and read: %s', (_, form) => {
    for (const sample of form.samples()) expect(decode(form, encode(form, sample))).toStrictEqual(sample);
  });

  it('have samples of every kind', () => {
    const kinds = [...toOwner.samples(), ...answer.samples()].map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['ask', 'hand-over', 'grant', 'denial', 'later', 'taken']));
    expect(new Set(datagram.samples().map(({ message }) => message.kind)).size).toBe(7);
  });

  it.each([
    ['a limit of 0', { limit: 0 }],
    ['an endless limit', { limit: Number.POSITIVE_INFINITY }],
    ['a burst below 1', { burst: 0.5 }],
    ['no key', { key: '' }],
    ['a maxServers that no group has', { maxServers: 1_001 }],
    ['a key that is too long', { key: 'x'.repeat(KEY_MAX + 1) }],
    ['a need above the want', { need: 13 }],
  ])('are refused with %s', (_what, change) => {
    expect(() => passed({ ...ask, ...change })).toThrow(MalformedMessageError);
  });

  it.each([
    ['a page beyond the last', { page: 2 }],
    ['too many pages', { pages: 257 }],
    ['no scope', { scope: '' }],
    ['an age that is none', { ageMs: Number.NaN }],
    ['a cut in the future', { cuts: [{ at: 5, share: 0.5 }] }],
    ['a cut to the whole', { cuts: [{ at: -5, share: 1 }] }],
    ['more cuts than there can be', { cuts: Array.from({ length: 65 }, () => ({ at: -5, share: 0.5 })) }],
    [
      'a loan without an end',
      {
        keys: [
          {
            limiter: 'api',
            key: 'ann',
            fullMs: 1,
            msPerToken: 1,
            loans: [{ borrower: 'b', id: 1, tokens: 1, ms: Number.POSITIVE_INFINITY }],
          },
        ],
      },
    ],
  ])('of a process that leaves are refused with %s', (_what, change) => {
    expect(() => passed({ ...handOver, ...change })).toThrow(MalformedMessageError);
  });

  it('are read or refused, whatever the bytes are', () => {
    const { accepted, refused } = fuzzRatelimit(10_000, 1);
    expect(refused).toBeGreaterThan(2_500);
    expect(accepted).toBeGreaterThan(500);
  });

  it('of a spread limit are refused with a demand that would make sums infinite, or an amount in no order', () => {
    const show = { kind: 'show', view: 'x', credits: 1, parts: 1, blacklist: [] } as const;
    for (const demand of [-1, 1e300, Number.POSITIVE_INFINITY, Number.NaN])
      expect(() => decodeSpread(encodeSpread({ ...show, demand }))).toThrow(MalformedMessageError);
    const transfer = { kind: 'transfer', line: 'x', lo: 0, cur: 1 } as const;
    expect(() => decodeSpread(encodeSpread({ ...transfer, amount: [Number.NaN] }))).toThrow('amount[0]');
    expect(() => decodeSpread(encodeSpread({ ...transfer, lo: 1, amount: [1] }))).toThrow('above lo');
  });

  it('of another version of the toolkit are refused in a group, and not read as something else', () => {
    const [asks = new Uint8Array()] = encodeBundle({ kind: 'asks', asks: [ask] });
    const word = encodeSpread({ kind: 'probe', isAnswer: true });
    for (const [bytes, read] of [
      [asks, decodeBundle],
      [word, decodeSpread],
    ] as const) {
      const other = Uint8Array.from(bytes);
      for (const version of [1, 2, 7, 10]) {
        other[0] = version;
        expect(() => read(other)).toThrow('run one version of the toolkit in a group');
      }
    }
  });
});

describe('a bundle of asks or answers', () => {
  it('is read as it was written, in as many messages as it needs', () => {
    const asks = Array.from({ length: 40 }, (_, id) => ({ ...ask, id, key: 'k'.repeat(3_000) }));
    const messages = encodeBundle({ kind: 'asks', asks });
    expect(messages.length).toBeGreaterThan(1);
    for (const message of messages) expect(message.length).toBeLessThan(64 * 1024);
    const read = messages.map(decodeBundle).flatMap((bundle) => (bundle.kind === 'asks' ? bundle.asks : []));
    expect(read).toEqual(asks);
    const answers = [{ kind: 'later' as const, id: 9 }];
    expect(encodeBundle({ kind: 'answers', answers }).map(decodeBundle)).toEqual([
      { kind: 'answers', answers },
    ]);
  });

  it('is refused when it was cut short or is of another kind', () => {
    const [message = new Uint8Array()] = encodeBundle({ kind: 'asks', asks: [ask] });
    for (let length = 2; length < message.length; length += 1) {
      expect(() => decodeBundle(message.subarray(0, length))).toThrow(MalformedMessageError);
    }
    for (const bytes of [[], [4, 3], [4, 9, 1, 1]]) {
      expect(() => decodeBundle(new Uint8Array(bytes))).toThrow(MalformedMessageError);
    }
  });
});
