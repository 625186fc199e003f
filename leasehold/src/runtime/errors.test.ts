import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { AssertionError, assert, present, unreachable } from './assert.ts';
import {
  brokenRule,
  ClosedError,
  errorFields,
  InUseError,
  InvalidArgumentError,
  invalidKey,
  invalidOption,
  isCoded,
  LeaseholdError,
  LeaseLostError,
  MalformedMessageError,
  NotOwnerError,
  OutcomeUnknownError,
  RefusedError,
  StorageError,
  UnavailableError,
} from './errors.ts';

describe('the nine errors', () => {
  it.each([
    [InvalidArgumentError, 'InvalidArgumentError', false, true],
    [NotOwnerError, 'NotOwnerError', true, true],
    [LeaseLostError, 'LeaseLostError', false, false],
    [UnavailableError, 'UnavailableError', true, true],
    [OutcomeUnknownError, 'OutcomeUnknownError', false, false],
    [InUseError, 'InUseError', true, true],
    [RefusedError, 'RefusedError', false, true],
    [ClosedError, 'ClosedError', false, true],
    [StorageError, 'StorageError', false, true],
  ] as const)('%o say by their class what a caller decides', (Class, name, retryable, isOutcomeKnown) => {
    const error = new Class('A_CODE', 'it is so');
    expect(error).toBeInstanceOf(LeaseholdError);
    expect(error).toMatchObject({ name, code: 'A_CODE', retryable, isOutcomeKnown, details: {} });
    expect(error.module).toBeUndefined();
    expect('cause' in error).toBe(false);
    expect(isCoded(error)).toBe(true);
    expect(errorFields(error)).toEqual({ code: 'A_CODE', message: 'it is so', retryable, isOutcomeKnown });
  });

  it('carry the module, the details and the cause of a single case', () => {
    const cause = new Error('why');
    const error = new UnavailableError('NO_MAJORITY', 'm', { module: 'flease', details: { of: 3 }, cause });
    expect(error).toMatchObject({ module: 'flease', details: { of: 3 }, cause });
  });

  it('are not retryable where the outcome is unknown, whatever their class', () => {
    const error = new UnavailableError('TIMEOUT', 'm', { isOutcomeKnown: false });
    expect(error).toMatchObject({ retryable: false, isOutcomeKnown: false });
  });

  it.each([
    () => new OutcomeUnknownError('ANSWER_LOST', 'm', { retryable: true }),
    () => new LeaseLostError('LEASE_LOST', 'm', { retryable: true }),
    () => new UnavailableError('TIMEOUT', 'm', { retryable: true, isOutcomeKnown: false }),
  ])('refuse to be retryable with an unknown outcome: %o', (make) => {
    expect(make).toThrow(AssertionError);
  });

  it('escape what other processes wrote', () => {
    expect(new RefusedError('NOT_ALLOWED', 'a\u001b[2Jb').message).toBe('a\\x1b[2Jb');
  });
});

describe('an error that is thrown on purpose', () => {
  it('has a code and says whether it is of use to try again', () => {
    const errors = [
      invalidOption('ttlMs', -1, 'it must be positive'),
      new MalformedMessageError('kind', 'x'),
    ];
    for (const error of errors) expect(error).toBeInstanceOf(LeaseholdError);
    expect(errors.map(({ name, code, retryable }) => [name, code, retryable])).toEqual([
      ['InvalidArgumentError', 'INVALID_OPTION', false],
      ['MalformedMessageError', 'MALFORMED_MESSAGE', false],
    ]);
  });

  it('has its facts as fields, and a sentence with the values in it', () => {
    const option = invalidOption('ttlMs', -1, 'it must be positive');
    expect(option.details).toEqual({ option: 'ttlMs', value: -1, rule: 'it must be positive' });
    expect(brokenRule(option)).toEqual({ code: 'INVALID_OPTION', ...option.details });
    expect(brokenRule(invalidKey(7))).toBeUndefined();
    expect(invalidKey(7)).toMatchObject({ code: 'INVALID_KEY', details: { key: 7 } });
    expect(option.message).toBe('option ttlMs is -1, but it must be positive');
    const message = new MalformedMessageError('rows[3].number', 'must be a whole number from 0');
    expect(message.path).toBe('rows[3].number');
    expect(message.message).toBe('malformed message: rows[3].number must be a whole number from 0');
  });

  it('shows no token that was given for an option', () => {
    for (const given of ['lh1.A-secret_one', ['lh1.A-secret_one'], '"lh1.A-secret_one"']) {
      const error = invalidOption('tls.ca', given, 'it cannot be read');
      expect(inspect(error)).not.toContain('secret');
      expect(error.message).toContain('lh1.…');
    }
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
