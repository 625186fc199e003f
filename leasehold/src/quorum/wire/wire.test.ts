import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { decode, encode, type Form } from '../../runtime/wire/form.ts';
import { put } from '../core/operation.ts';
import { KEY_BYTES_MAX, VALUE_BYTES_MAX } from './bounds.ts';
import { calls, decodeCalls, encodeCalls, replies } from './calls.ts';
import { listenerCodec } from './codec.ts';
import { frame } from './frames.ts';
import { snapshotPart } from './parts.ts';
import { fuzzQuorum } from './fuzz.ts';
import { message } from './messages.ts';

describe('the codec of replicas and clients', () => {
  it.each(message.samples().map((sample, place) => [place, sample.kind, sample] as const))(
    'reads a message as it was written: %d, %s',
    (_, __, sample) => {
      expect(decode(message, encode(message, sample))).toStrictEqual(sample);
    },
  );

  it.each<[string, Form<unknown>]>([
    ['calls', calls as Form<unknown>],
    ['replies', replies as Form<unknown>],
    ['frames of the journal', frame as Form<unknown>],
    ['parts of a snapshot', snapshotPart as Form<unknown>],
  ])('reads %s as they were written', (_, form) => {
    for (const sample of form.samples()) expect(decode(form, encode(form, sample))).toStrictEqual(sample);
  });

  it('keeps no memory of the packet that a value came in', () => {
    const submit = { kind: 'submit', id: 1, session: 1, number: 1, answeredBelow: 1 } as const;
    const [first] = decodeCalls(encodeCalls([{ ...submit, command: put('k', Uint8Array.of(1)) }]));
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
