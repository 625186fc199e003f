import { describe, expect, it } from 'vitest';
import { AssertionError, assert, present, unreachable } from './assert.ts';
import { InvalidOptionError, LeaseholdError, MalformedMessageError } from './errors.ts';

describe('an error that is thrown on purpose', () => {
  it('has a code and says whether it is of use to try again', () => {
    const errors = [
      new InvalidOptionError('ttlMs', -1, 'it must be positive'),
      new MalformedMessageError('kind', 'x'),
    ];
    for (const error of errors) expect(error).toBeInstanceOf(LeaseholdError);
    expect(errors.map(({ name, code, retryable }) => [name, code, retryable])).toEqual([
      ['InvalidOptionError', 'INVALID_OPTION', false],
      ['MalformedMessageError', 'MALFORMED_MESSAGE', false],
    ]);
  });

  it('has its facts as fields, and a sentence with the values in it', () => {
    const option = new InvalidOptionError('ttlMs', -1, 'it must be positive');
    expect(option).toMatchObject({ option: 'ttlMs', value: -1, rule: 'it must be positive' });
    expect(option.message).toBe('option ttlMs is -1, but it must be positive');
    const message = new MalformedMessageError('rows[3].number', 'must be a whole number from 0');
    expect(message.path).toBe('rows[3].number');
    expect(message.message).toBe('malformed message: rows[3].number must be a whole number from 0');
  });

  it('keeps what caused it', () => {
    const cause = new SyntaxError('at 7');
    expect(new MalformedMessageError('frame', 'must be msgpack', { cause }).cause).toBe(cause);
  });
});

describe('an assertion', () => {
  it('stops a program that has lost its own invariant, and is none of those errors', () => {
    expect(() => assert(false, 'two owners')).toThrow(new AssertionError('two owners'));
    expect(new AssertionError('x')).not.toBeInstanceOf(LeaseholdError);
    assert(true, 'never');
  });

  it('gives the value that must be there', () => {
    expect(present(0, 'a number')).toBe(0);
    expect(() => present(undefined, 'the leader')).toThrow('missing: the leader');
  });

  it('says which case was forgotten', () => {
    expect(() => unreachable('new-state' as never)).toThrow('unreachable: "new-state"');
  });
});
