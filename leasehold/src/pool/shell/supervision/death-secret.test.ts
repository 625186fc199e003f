import { describe, expect, it } from 'vitest';
import { readDeathSecrets, writeDeathSecret } from './death-secret.ts';

const secret = (digit: string): string => digit.repeat(64);
const place = { boot: 'b1', file: '8:77' };
const left = { ...place, secret: secret('a'), earlier: [secret('b')] };

describe('the secret that a process leaves in its lock file', () => {
  it('proves its death, and those it had not yet told of, to the next one', () => {
    expect(readDeathSecrets(writeDeathSecret(left), place)).toEqual({ dead: [secret('a'), secret('b')] });
  });

  it('proves nothing after a restart of the machine, or on another', () => {
    expect(readDeathSecrets(writeDeathSecret(left), { ...place, boot: 'b2' })).toEqual({
      dead: [],
      why: 'other-boot',
    });
  });

  it('proves nothing where the kernel cannot be told from another', () => {
    const nameless = { ...place, boot: undefined };
    expect(readDeathSecrets(writeDeathSecret({ ...left, boot: '' }), nameless)).toEqual({
      dead: [],
      why: 'other-boot',
    });
  });

  it('proves nothing in a copy of the file', () => {
    expect(readDeathSecrets(writeDeathSecret(left), { ...place, file: '8:78' })).toEqual({
      dead: [],
      why: 'other-file',
    });
  });

  it('is nothing when it left in good order, or was the first', () => {
    expect(readDeathSecrets('', place)).toEqual({ dead: [] });
    expect(readDeathSecrets('\n', place)).toEqual({ dead: [] });
  });

  it('does not grow for ever', () => {
    const many = Array.from({ length: 100 }, (_, index) => index.toString(16).padStart(64, '0'));
    const text = writeDeathSecret({ ...left, earlier: many });
    expect(readDeathSecrets(text, place).dead).toEqual([secret('a'), ...many.slice(0, 8)]);
  });

  it.each([
    '{',
    'null',
    '7',
    '[]',
    '{}',
    writeDeathSecret(left).slice(0, 40),
    JSON.stringify({ ...left, secret: 'short' }),
    JSON.stringify({ ...left, earlier: [7] }),
    JSON.stringify({ ...left, earlier: undefined }),
    JSON.stringify({ ...left, boot: 7 }),
  ])('is nothing when it is damaged: %s', (text) => {
    expect(readDeathSecrets(text, place)).toEqual({ dead: [], why: 'unreadable' });
  });
});
