import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { put } from '../core/operation.ts';
import { KEY_BYTES_MAX, VALUE_BYTES_MAX } from './bounds.ts';
import { decodeCalls, decodeReplies, encodeCalls, encodeReplies } from './calls.ts';
import { listenerCodec } from './codec.ts';
import { decodeJournalFrame, encodeJournalFrame } from './frames.ts';
import { fuzzQuorum } from './fuzz.ts';
import { decodeMessage, encodeMessage } from './messages.ts';
import { CALLS, FRAMES, MESSAGES, REPLIES } from './samples.ts';

describe('the codec of replicas and clients', () => {
  it.each(MESSAGES.map((message) => [message.kind, message] as const))(
    'reads a message as it was written: %s',
    (_, message) => {
      expect(decodeMessage(encodeMessage(message))).toStrictEqual(message);
    },
  );

  it('reads calls, replies and frames of the journal as they were written', () => {
    expect(decodeCalls(encodeCalls(CALLS))).toStrictEqual(CALLS);
    expect(decodeReplies(encodeReplies(REPLIES))).toStrictEqual(REPLIES);
    for (const frame of FRAMES) expect(decodeJournalFrame(encodeJournalFrame(frame))).toStrictEqual(frame);
  });

  it('keeps no memory of the packet that a value came in', () => {
    const [first] = decodeCalls(encodeCalls(CALLS));
    const action =
      first?.kind === 'submit' && first.command.kind === 'transaction' && first.command.actions[0];
    expect(action && action.do === 'put' && action.value.buffer.byteLength).toBe(1);
  });

  it.each([
    ['value', put('k', new Uint8Array(VALUE_BYTES_MAX + 1))],
    ['key', put('k'.repeat(KEY_BYTES_MAX + 1), new Uint8Array(1))],
  ])('refuses a %s that is too long, and says where it is', (what, command) => {
    const call = { kind: 'submit', id: 1, session: 1, number: 1, answeredBelow: 1, command } as const;
    const read = (): unknown => decodeCalls(encodeCalls([call]));
    expect(read).toThrow(MalformedMessageError);
    expect(read).toThrow(`[0].command.actions[0].${what} must have at most`);
  });

  it('refuses a list that claims more items than there are bytes', () => {
    expect(() => decodeCalls(Uint8Array.of(0xff, 0xff, 0x7f))).toThrow('cannot have');
  });

  it('refuses what is neither a message nor calls, and what has bytes too many', () => {
    expect(() => listenerCodec.decode(Uint8Array.of(7, 0))).toThrow(MalformedMessageError);
    expect(() => decodeCalls(Uint8Array.of(0, 0))).toThrow('1 bytes too many');
  });

  it('refuses damaged bytes, or reads what keeps the rules', () => {
    const { accepted, refused } = fuzzQuorum(10_000, 1);
    expect(refused).toBeGreaterThan(2_500);
    expect(accepted).toBeGreaterThan(500);
  });
});
