import { describe, expect, it } from 'vitest';
import { decode, encode, type Form } from '../../runtime/wire/form.ts';
import { call, reply } from './calls.ts';
import { action, command, found, request } from './hot.ts';
import { answer } from './parts.ts';

const FORMS: readonly (readonly [string, Form<unknown>])[] = Object.entries({
  action,
  answer,
  call,
  command,
  found,
  reply,
  request,
}).map(([name, form]) => [name, form as Form<unknown>]);

const declaredOf = ({ declared }: Form<unknown>): Form<unknown> => declared ?? expect.unreachable();

describe('a form that is written by hand for speed', () => {
  it.each(FORMS)('has the bytes of the declared form, and each reads those of the other: %s', (_, form) => {
    const declared = declaredOf(form);
    const samples = form.samples();
    expect(samples.length).toBeGreaterThan(1);
    for (const sample of samples) {
      const written = encode(form, sample);
      expect([...written]).toEqual([...encode(declared, sample)]);
      expect(decode(declared, written)).toStrictEqual(sample);
      expect(decode(form, written)).toStrictEqual(sample);
    }
  });

  it.each(FORMS)('refuses at the same place what the declared form refuses: %s', (_, form) => {
    const refusal = (read: Form<unknown>, bytes: Uint8Array): string => {
      try {
        decode(read, bytes);
        return 'accepted';
      } catch (error) {
        return error instanceof Error ? error.message : 'no error';
      }
    };
    const declared = declaredOf(form);
    for (const sample of form.samples()) {
      const whole = encode(form, sample);
      for (let end = 0; end < whole.length; end += 1) {
        for (const last of [[], [0xff], [3, 200]]) {
          const cut = Uint8Array.from([...whole.subarray(0, end), ...last]);
          expect(refusal(form, cut)).toBe(refusal(declared, cut));
        }
      }
    }
  });
});
