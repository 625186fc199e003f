import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../../runtime/errors.ts';
import type { Ballot } from '../core/ballot.ts';
import type { Lease } from '../core/lease.ts';
import { type Item, type Packet, RESOURCE_BYTES_MAX, ROUND_MAX } from '../core/messages.ts';
import { NAME_CHARACTERS_MAX } from '../core/view.ts';
import { DURATION_MS_MAX } from '../core/options.ts';
import { FLEASE_PROTOCOL } from './codec.ts';
import { fuzzFlease } from './fuzz.ts';
import { decodePacket, encodePacket, FRAME_BYTES, packetSamples } from './packet.ts';
import { ANSWERS, GREETING, QUESTIONS, SAMPLES } from './samples.ts';

/** There and back; however many frames it takes. */
function passed(packet: Packet): Packet {
  const [first, ...others] = encodePacket(packet).map(decodePacket);
  if (first === undefined) throw new Error('a packet has a frame');
  return { ...first, items: [first, ...others].flatMap(({ items }) => items) };
}

const bytesOf = (packet: Packet): Buffer => Buffer.concat(encodePacket(packet));

// Everything that a packet may be.

const record = <T>(model: { [Field in keyof T]: fc.Arbitrary<T[Field]> }): fc.Arbitrary<T> =>
  fc.record<T>(model, { noNullPrototype: true });
const text = (bytes: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc
      .string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
      .filter((value) => Buffer.byteLength(value) <= bytes && value.length <= bytes),
    fc.constantFrom('x', '\u0000', '__proto__', '\ufeffx', 'é', '😀', 'x'.repeat(bytes)),
  );
const name = text(NAME_CHARACTERS_MAX);
const resource = text(RESOURCE_BYTES_MAX);
const count = fc.oneof(fc.maxSafeNat(), fc.nat(300), fc.constantFrom(0, 127, 128, 2 ** 32, 2 ** 53 - 1));
const round = count.map((value) => value % (ROUND_MAX + 1));
const positive = count.map((value) => Math.max(1, value));
const ms = fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true }).map((value) => value + 0);
const duration = fc.double({ min: 0, max: DURATION_MS_MAX, minExcluded: true, noNaN: true });
const ballot: fc.Arbitrary<Ballot> = record({
  ...{ askedMs: ms, round, member: name, incarnation: positive, attempt: count },
});
const lease: fc.Arbitrary<Lease> = fc
  .tuple(
    record({ holder: name, incarnation: positive, number: count, untilMs: ms }),
    fc.constantFrom<Lease['state']>('held', 'free', 'left'),
    name,
  )
  .map(([rest, state, successor]) => ({
    ...rest,
    state,
    successor: state === 'left' ? successor : undefined,
  }));
const question = { attempt: count, resource, askedMs: ms, round };
const of = fc.constantFrom('read' as const, 'write' as const);
const items: fc.Arbitrary<Item> = fc.oneof<fc.Arbitrary<Item>[]>(
  record({ kind: fc.constant('read' as const), ...question }),
  record({ kind: fc.constant('write' as const), ...question, lease }),
  fc
    .tuple(
      fc.constantFrom('promised' as const, 'found' as const),
      count,
      fc.option(fc.tuple(ballot, lease), { nil: undefined }),
    )
    .map(([kind, attempt, found]) => ({ kind, attempt, written: found?.[0], lease: found?.[1] })),
  record({ kind: fc.constant('accepted' as const), attempt: count }),
  fc
    .tuple(count, of, fc.constantFrom('late' as const, 'early' as const, 'other-view' as const))
    .map(([attempt, asked, why]) => ({ kind: 'refused', attempt, of: asked, why, detail: 0 })),
  fc
    .tuple(count, of, round)
    .map(([attempt, asked, detail]) => ({ kind: 'refused', attempt, of: asked, why: 'outbid', detail })),
  fc
    .tuple(count, of, fc.oneof(ms, fc.constant(Number.POSITIVE_INFINITY)))
    .map(([attempt, asked, detail]) => ({ kind: 'refused', attempt, of: asked, why: 'recovering', detail })),
  record({ kind: fc.constantFrom('enqueue' as const, 'dequeue' as const), resource, member: name }),
  record({ kind: fc.constant('notify' as const), resource }),
  record({ kind: fc.constant('query' as const), attempt: count, resource }),
);
const uint32 = fc.nat(2 ** 32 - 1);
const packets: fc.Arbitrary<Packet> = record({
  digest: record({ members: uint32, before: uint32 }),
  ...{ group: name, view: positive, from: name, incarnation: positive, toIncarnation: count, sentMs: ms },
  echo: fc.option(record({ sentMs: ms, receivedMs: ms }), { nil: undefined }),
  ...{
    leaseMs: duration,
    clockSkewMs: duration,
    takeoverMs: fc.oneof(fc.constant(0), duration),
    items: fc.array(items, { maxLength: 12 }),
  },
});

describe('a packet', () => {
  it.each(Object.entries(SAMPLES))('as %s is read as it was written', (_, packet) => {
    expect(passed(packet)).toStrictEqual(packet);
  });

  it('as each sample of its form is read as it was written', () => {
    for (const packet of packetSamples()) expect(passed(packet)).toStrictEqual(packet);
  });

  it('is read as it was written, whatever is in it', () => {
    fc.assert(
      fc.property(packets, (packet) => {
        expect(passed(packet)).toStrictEqual(packet);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['to read', { kind: 'read', attempt: 1, resource: 'job', askedMs: 1, round: ROUND_MAX + 1 }],
    ['to exceed', { kind: 'refused', attempt: 1, of: 'read', why: 'outbid', detail: ROUND_MAX + 1 }],
  ] as const)('is malformed with a round %s that nobody comes to', (_, item) => {
    expect(() => passed({ ...QUESTIONS, items: [item] })).toThrow(MalformedMessageError);
  });

  it('names a member once, however often it is meant', () => {
    const from = 'a-member-with-a-long-name';
    const [item] = ANSWERS.items.filter(
      ({ kind, attempt }: Item & { attempt?: number }) => kind === 'promised' && attempt === 2,
    );
    const many = Array.from({ length: 50 }, () => item as Item);
    const named = JSON.parse(JSON.stringify(many).replaceAll('"b"', `"${from}"`)) as Item[];
    const frame = bytesOf({ ...ANSWERS, from, items: named }).toString('latin1');
    expect(frame.split(from)).toHaveLength(2);
  });

  it('that is too long for a frame goes as several, with everything in its order', () => {
    const items = Array.from(
      { length: 20_000 },
      (_, attempt): Item => ({
        ...{ kind: 'read', attempt, resource: `a resource with a long name, number ${attempt}` },
        ...{ askedMs: 1, round: 1 },
      }),
    );
    const frames = encodePacket({ ...QUESTIONS, items });
    expect(frames.length).toBeGreaterThan(3);
    expect(Math.max(...frames.map(({ length }) => length))).toBeLessThan(
      FRAME_BYTES + 2 * RESOURCE_BYTES_MAX,
    );
    expect(passed({ ...QUESTIONS, items })).toStrictEqual({ ...QUESTIONS, items });
  });

  it('does not keep the frame it came in', () => {
    const frame = bytesOf(QUESTIONS);
    const packet = decodePacket(frame);
    frame.fill(0);
    expect(packet).toStrictEqual(QUESTIONS);
  });

  it('is read wherever in memory its frame lies', () => {
    const frame = bytesOf(ANSWERS);
    const memory = new Uint8Array(frame.length + 7);
    memory.set(frame, 3);
    expect(decodePacket(memory.subarray(3, 3 + frame.length))).toStrictEqual(ANSWERS);
  });

  it('that cannot be written leaves nothing behind for the next', () => {
    const broken = { ...QUESTIONS, items: [{ kind: 'enqueue', resource: undefined }] } as unknown as Packet;
    expect(() => encodePacket(broken)).toThrow(TypeError);
    expect(passed(QUESTIONS)).toStrictEqual(QUESTIONS);
  });
});

describe('a packet that breaks a rule', () => {
  const [read] = QUESTIONS.items as [Extract<Item, { kind: 'read' }>];
  const withItem = (item: object): Packet => ({ ...GREETING, items: [item as Item] });
  it.each<[string, Packet, string]>([
    ['has no group', { ...GREETING, group: '' }, 'group must have names of 1 to 128 characters'],
    ['is of a sender with a long name', { ...GREETING, from: 'x'.repeat(129) }, 'from must have names'],
    ['is of no incarnation', { ...GREETING, incarnation: 0 }, 'incarnation must be a whole number from 1'],
    [
      'is of half an incarnation',
      { ...GREETING, incarnation: 1.5 },
      'incarnation must be a whole number from 1',
    ],
    ['was sent at no time', { ...GREETING, sentMs: Number.NaN }, 'sentMs must be a time'],
    [
      'was sent at the end of time',
      { ...GREETING, sentMs: Number.POSITIVE_INFINITY },
      'sentMs must be a time',
    ],
    ['has leases of no length', { ...GREETING, leaseMs: 0 }, 'leaseMs must be a positive number'],
    ['has leases of two days', { ...GREETING, leaseMs: 2 * DURATION_MS_MAX }, 'leaseMs must be a positive'],
    ['waits for less than nothing', { ...GREETING, takeoverMs: -1 }, 'takeoverMs must be a positive'],
    [
      'asks for nothing',
      withItem({ ...read, resource: '' }),
      'items[0] must have a resource of 1 to 1024 bytes',
    ],
    ['asks for too much', withItem({ ...read, resource: 'é'.repeat(513) }), 'items[0] must have a resource'],
    ['asks before time', withItem({ ...read, askedMs: -1 }), 'items[0] must be a time'],
  ])('because it %s is refused, and says where', (_, packet, why) => {
    const frame = bytesOf(packet);
    expect(() => decodePacket(frame)).toThrow(MalformedMessageError);
    expect(() => decodePacket(frame)).toThrow(why);
  });

  it('because it ends within an item is refused, wherever it ends', () => {
    const frame = bytesOf(QUESTIONS);
    const whole = new Set<number>();
    for (let items = 0; items <= QUESTIONS.items.length; items += 1) {
      whole.add(bytesOf({ ...QUESTIONS, items: QUESTIONS.items.slice(0, items) }).length);
    }
    for (let end = 0; end < frame.length; end += 1) {
      if (whole.has(end)) continue;
      expect(() => decodePacket(frame.subarray(0, end)), `${end} bytes`).toThrow(MalformedMessageError);
    }
  });
});

describe('the protocol', () => {
  it('has a name and a version, and understands no earlier one', () => {
    expect(FLEASE_PROTOCOL).toEqual({ name: 'leasehold-flease', version: 2, oldest: 2 });
  });
});

describe('bytes that no honest member sends', () => {
  it('are refused, or are a packet; 20,000 times (npm run fuzz tries more)', () => {
    const { accepted, refused } = fuzzFlease(20_000, 1);
    expect(accepted + refused).toBe(20_000);
    // Were everything refused at once, little would have been tried.
    expect(accepted).toBeGreaterThan(500);
    expect(refused).toBeGreaterThan(5_000);
  });
});
