import { describe, expect, it } from 'vitest';
import { type LeaseholdError, RefusedError } from '../../runtime/errors.ts';
import { HandshakeRefusedError, UnreachableError, WrongProtocolError } from './errors.ts';
import { refusalOfAll } from './lasting-refusal.ts';

const told = (reason: string): LeaseholdError =>
  new HandshakeRefusedError(reason, 'in the words of the server');
const away = new UnreachableError('b:1', 'no process listens there');
const of = (...problems: readonly (LeaseholdError | undefined)[]): string | undefined => {
  const addresses = problems.map((_, index) => `${index}:1`);
  const known = new Map<string, LeaseholdError>();
  for (const [index, problem] of problems.entries())
    if (problem !== undefined) known.set(`${index}:1`, problem);
  return refusalOfAll(addresses, known)?.code;
};

describe('a refusal of all addresses', () => {
  it.each(['NOT_ALLOWED', 'TLS_REQUIRED', 'TLS_NOT_SPOKEN', 'WRONG_CLUSTER', 'TOKEN_EXPIRED'])(
    'is %s, whether a server told it or the own side found it',
    (code) => {
      expect(of(told(code))).toBe(code);
      expect(of(new RefusedError(code, ''), told(code))).toBe(code);
    },
  );

  it('is one that settings alone mend, too', () => {
    expect(of(new RefusedError('NOT_A_SERVER', ''))).toBe('NOT_A_SERVER');
    expect(of(new WrongProtocolError('HTTP', 'leasehold-pool'))).toBe('WRONG_PROTOCOL');
  });

  it('is none while one address may serve later, was not tried, or there is no address', () => {
    expect(of(told('NOT_ALLOWED'), away)).toBeUndefined();
    expect(of(told('NOT_ALLOWED'), undefined)).toBeUndefined();
    expect(of(told('TOO_MANY_CONNECTIONS'))).toBeUndefined();
    expect(of()).toBeUndefined();
  });
});
