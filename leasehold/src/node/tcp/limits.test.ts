import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import { formatAddress, parseAddress } from './address.ts';
import { DEFAULT_DIAL_LIMITS, DEFAULT_LIMITS, resolveLimits, type TcpLimits } from './limits.ts';

describe('limits', () => {
  it('have defaults for all that is left out', () => {
    expect(resolveLimits()).toEqual(DEFAULT_LIMITS);
    expect(resolveLimits({ connections: undefined }, DEFAULT_DIAL_LIMITS)).toEqual(DEFAULT_DIAL_LIMITS);
    expect(resolveLimits({ frameMs: 5 })).toEqual({ ...DEFAULT_LIMITS, frameMs: 5 });
  });

  it.each<Partial<TcpLimits>>([
    { connections: 0 },
    { frameMs: Number.NaN },
    { helloBytes: 2 ** 21 },
    { frameBytesIn: 2 ** 32 },
    { heartbeatEveryMs: 120_000 },
  ])('that make no sense are refused: %j', (limits) => {
    expect(() => resolveLimits(limits)).toThrow(InvalidArgumentError);
  });
});

describe('an address', () => {
  it.each([
    ['127.0.0.1:7400', '127.0.0.1', 7400],
    ['manager-1.example:1', 'manager-1.example', 1],
    ['[::1]:65535', '::1', 65_535],
  ])('is a host and a port: %s', (text, host, port) => {
    expect(parseAddress(text)).toEqual({ host, port });
    expect(formatAddress({ host, port })).toBe(text);
  });

  it.each([
    '',
    'host',
    ':7400',
    'host:',
    'host:0',
    'host:65536',
    'host:1x',
    'host: 1',
    'a b:1',
    '::1:7400',
    '[]:1',
  ])('is none when it is %j', (text) => {
    expect(() => parseAddress(text)).toThrow('it must be host:port, with a port from 1 to 65535');
  });
});
