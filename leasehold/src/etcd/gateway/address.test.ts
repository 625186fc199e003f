import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import { parseEtcdAddress } from './address.ts';

describe('an address of etcd', () => {
  it('names the members, with the usual port where there is none', () => {
    const { endpoints, isSecure } = parseEtcdAddress('etcd://10.0.0.1:23790,etcd-2,[fd00::1],[::1]:80');
    expect(endpoints).toEqual([
      'http://10.0.0.1:23790',
      'http://etcd-2:2379',
      'http://[fd00::1]:2379',
      'http://[::1]:80',
    ]);
    expect(isSecure).toBe(false);
  });

  it('wants TLS if it says etcds', () => {
    expect(parseEtcdAddress('etcds://a,b')).toMatchObject({
      endpoints: ['https://a:2379', 'https://b:2379'],
      isSecure: true,
      credentials: undefined,
    });
  });

  it.each([
    ['etcd://a', 'leasehold/'],
    ['etcd://a/', 'leasehold/'],
    ['etcd://a/managers', 'managers/'],
    ['etcd://a/managers/', 'managers/'],
    ['etcd://a/one/two', 'one/two/'],
    ['etcd://a//one', '/one/'],
    ['etcd://a/a%25b', 'a%b/'],
  ])('%s keeps all under %s', (address, prefix) => {
    expect(parseEtcdAddress(address).prefix).toBe(prefix);
  });

  it('has a name and a password, with per cent signs where need be', () => {
    expect(parseEtcdAddress('etcd://root:p%40ss%3A%2Fw@a,b/x').credentials).toEqual({
      user: 'root',
      password: 'p@ss:/w',
    });
    expect(parseEtcdAddress('etcd://root:a:b@a').credentials).toEqual({ user: 'root', password: 'a:b' });
  });

  it.each([
    ['http://a', /etcd:\/\/ or, for TLS, with etcds:\/\//],
    ['a:2379', /must begin with etcd:\/\//],
    ['etcd://', /member 1 must be/],
    ['etcd://a,', /member 2 must be/],
    ['etcd://a,,b', /member 2 must be/],
    ['etcd://a:0', /member 1 must be/],
    ['etcd://a:65536', /member 1 must be/],
    ['etcd://a:port', /member 1 must be/],
    ['etcd://[::1', /member 1 must be/],
    ['etcd://[:::1]', /member 1 must be/],
    ['etcd://-a', /member 1 must be/],
    ['etcd://a,A:2379', /each member once/],
    ['etcd://a b', /no blanks/],
    ['etcd://a?tls=1', /no \? or #/],
    ['etcd://root@a', /a name and a password/],
    ['etcd://:word@a', /a name and a password/],
    ['etcd://root:@a', /a name and a password/],
    ['etcd://root:%zz@a', /two hexadecimal digits/],
    ['etcd://a/%ff', /two hexadecimal digits/],
    ['etcd://a/%C3%A9', /printable ASCII/],
    [`etcd://${Array.from({ length: 33 }, (_, index) => `m${index}`).join(',')}`, /at most 32 members/],
  ])('%s is refused', (address, rule) => {
    expect(() => parseEtcdAddress(address)).toThrow(InvalidArgumentError);
    expect(() => parseEtcdAddress(address)).toThrow(rule);
  });

  it.each([
    [
      '127.0.0.1:23790',
      /^option log is 127\.0\.0\.1:23790, but .* for example etcd:\/\/127\.0\.0\.1:2379\/prefix$/,
    ],
    ['http://a,b:1/x', /^option log is http:\/\/a,b:1, but /],
    ['etcd:/a', /^option log is not shown here, for it may have a password, but /],
  ])('%s is refused, and its members are shown if they are certain to be that', (address, message) => {
    expect(() => parseEtcdAddress(address, 'log')).toThrow(message);
  });

  it.each([
    'etcd://root:sesame@',
    'etcd://root:sesame',
    'etcd://root:sesame@a:x',
    'http://root:sesame@a',
    'root:sesame@a:2379',
    'root:sesame',
    'a:2379/root:sesame',
    'etcd://root:sesame@a?x',
    'etcd://root:sesame %@a',
    'etcd://ro%ot:sesame@a',
    'etcd://a/root:sesame@%',
  ])('is not repeated when it is wrong: %s', (address) => {
    let thrown: unknown;
    try {
      parseEtcdAddress(address, 'log');
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      code: 'INVALID_OPTION',
      details: expect.objectContaining({ option: 'log' }),
    });
    expect(inspect(thrown, { depth: 5 }).replace(/\n\s+at .*/g, '')).not.toContain('sesame');
  });
});
