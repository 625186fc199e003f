import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { type MemberId, membershipOf } from '../core/incarnation.ts';
import type { AnyMessage, Message, ServerRecord } from '../core/messages.ts';
import { BODY_BYTES_MAX, FRAME_BYTES, NAME_CHARACTERS_MAX, SERVERS_MAX } from './bounds.ts';
import { decodeMessage, encodeMessage } from './codec.ts';
import { fuzzMembership } from './fuzz.ts';
import { message } from './messages.ts';

const passed = (message: AnyMessage): AnyMessage[] => encodeMessage(message).map(decodeMessage);

const server = (name: string): MemberId => ({
  name,
  incarnation: { startedMs: 1_700_000_000_000, nonce: 1 },
});

const names = (count: number): MemberId[] =>
  Array.from({ length: count }, (_, index) => server(`server-${String(index).padStart(4, '0')}`));

function recordOf(id: MemberId, members: readonly MemberId[], views = 8): ServerRecord {
  const set = membershipOf(members.map((member) => ({ ...member, listVersion: 300 })));
  return {
    ...{
      ...id,
      sequence: 1,
      links: members,
      cannotReach: [],
      list: { version: 0, clients: [], parts: [] },
      hasLeft: false,
    },
    proposal: { ...set, number: 1, holdMs: 0, chain: Array(views).fill(set) },
  };
}

const data = (body: Uint8Array): Message => ({
  ...{ kind: 'packet', from: server('a'), to: server('b'), hopsLeft: 8 },
  payload: { kind: 'data', id: 1, oldestId: 1, body },
});

describe('a message of membership', () => {
  it.each(message.samples().map((sample, place) => [place, sample.kind, sample] as const))(
    'is read as it was written: %d, %s',
    (_, __, sample) => expect(passed(sample)).toStrictEqual([sample]),
  );

  it('names each process once in a frame, so that the records of 50 servers fit into 80 KiB', () => {
    const members = names(50);
    const records = members.map((id) => recordOf(id, members));
    const frames = encodeMessage({ kind: 'records', records });
    expect(frames.length).toBe(1);
    expect(frames[0]?.length).toBeLessThan(80 * 1024);
    expect(frames.map(decodeMessage)).toStrictEqual([{ kind: 'records', records }]);
  });

  it('goes in several frames if it has many records, and none is lost', () => {
    const members = names(SERVERS_MAX);
    // Each record proposes another set.
    const records = members.map((id) => recordOf(id, members.toSpliced(members.indexOf(id), 1), 1));
    const frames = encodeMessage({ kind: 'records', records });
    expect(frames.length).toBeGreaterThan(1);
    for (const frame of frames) expect(frame.length).toBeLessThanOrEqual(FRAME_BYTES);
    const read = frames.map(decodeMessage).flatMap((each) => (each.kind === 'records' ? each.records : []));
    expect(read).toStrictEqual(records);
  });

  it('carries a body that stays as it is when the frame is used again', () => {
    const [frame = new Uint8Array()] = encodeMessage(data(new Uint8Array([1, 2, 3])));
    const read = decodeMessage(frame);
    frame.fill(0);
    expect(read).toMatchObject({ payload: { body: new Uint8Array([1, 2, 3]) } });
  });
});

describe('a message that is refused', () => {
  const largest = data(new Uint8Array(BODY_BYTES_MAX));
  const listed = (name: string, startedMs = 1) => ({
    name,
    incarnation: { startedMs, nonce: 1 },
    listVersion: 0,
  });

  it('has a body, a name or a list above its bound', () => {
    expect(passed(largest)).toStrictEqual([largest]);
    expect(() => passed(data(new Uint8Array(BODY_BYTES_MAX + 1)))).toThrow(
      `payload.body must have at most ${BODY_BYTES_MAX} bytes`,
    );
    const long = { ...largest, from: server('x'.repeat(NAME_CHARACTERS_MAX + 1)) } as Message;
    expect(() => passed(long)).toThrow(
      `from.name must be a name of at most ${NAME_CHARACTERS_MAX} characters`,
    );
    const members = names(SERVERS_MAX + 1);
    expect(() => passed({ kind: 'records', records: [recordOf(server('a'), members)] })).toThrow(
      `records[0].set must have at most ${SERVERS_MAX} items`,
    );
  });

  it('has a number so large that servers could not count on from it', () => {
    const plain = recordOf(server('a'), [server('a')]);
    const large = 2 ** 44 + 1;
    for (const record of [
      { ...plain, sequence: large },
      { ...plain, proposal: { ...plain.proposal, number: Number.MAX_SAFE_INTEGER } },
      { ...plain, incarnation: { startedMs: large, nonce: 1 } },
    ])
      expect(() => passed({ kind: 'records', records: [record] })).toThrow(`must be at most ${2 ** 44}`);
  });

  it('has a set of members that is not sorted, or that has a name twice', () => {
    const [plain] = [recordOf(server('a'), [server('a')])];
    for (const members of [
      [listed('b'), listed('a')],
      [listed('a'), listed('a', 2)],
    ]) {
      const record = { ...plain, proposal: { ...plain.proposal, members } };
      expect(() => passed({ kind: 'records', records: [record] })).toThrow(
        'must be sorted by name, each name once',
      );
    }
  });

  it('is anything else, and never does any harm', () => {
    const { accepted, refused } = fuzzMembership(Number(process.env['FUZZ_INPUTS'] ?? 30_000), 1);
    expect(Math.min(accepted, refused)).toBeGreaterThan(1_000);
  });

  it('is cut off anywhere, or has bytes behind its end', () => {
    for (const sample of message.samples()) {
      const [frame = new Uint8Array()] = encodeMessage(sample);
      for (let length = 0; length < frame.length; length += 1)
        expect(() => decodeMessage(frame.subarray(0, length))).toThrow(MalformedMessageError);
      expect(() => decodeMessage(Buffer.concat([frame, Buffer.of(0)]))).toThrow('too many');
    }
  });

  it('refers to a process or a set that its frame has not named', () => {
    const [named = new Uint8Array()] = encodeMessage(data(new Uint8Array()));
    const later = named.slice();
    later[1] = 1; // The first id of a frame has place 0.
    expect(() => decodeMessage(later)).toThrow('from refers to a process that was not named before');
    const [sets = new Uint8Array()] = encodeMessage({
      kind: 'records',
      records: [recordOf(server('a'), [server('a')])],
    });
    sets[2] = 1;
    expect(() => decodeMessage(sets)).toThrow('records[0].set refers to a set that was not named before');
  });
});
