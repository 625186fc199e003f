import { describe, expect, it } from 'vitest';
import { advertisedHttp, checkAdvertise } from './advertised.ts';

describe('where a Manager says it can be reached', () => {
  it.each([
    [undefined, '127.0.0.1', true],
    [undefined, '10.0.0.5', true],
    [undefined, '0.0.0.0', false],
    ['10.0.0.5:7400', '0.0.0.0', true],
    ['manager-1.internal:7400', '::', true],
    ['[fd00::5]:7400', '::', true],
  ])('may be %s, listening on %s', (advertise, host, isShared) => {
    expect(() => checkAdvertise(advertise, host, isShared)).not.toThrow();
  });

  it.each(['0.0.0.0', '::'])('must be said by one that listens on %s and has others to tell it', (host) => {
    expect(() => checkAdvertise(undefined, host, true)).toThrow(
      /option advertise is not given, but .*host:port/,
    );
  });

  it.each(['10.0.0.5', '10.0.0.5:0', ':7400', 'fd00::5:7400', '', '0.0.0.0:7400', '[::]:7400'])(
    'cannot be "%s"',
    (advertise) => {
      expect(() => checkAdvertise(advertise, '10.0.0.5', true)).toThrow('option advertise is');
    },
  );
});

describe('where the HTTP API of a Manager can be reached', () => {
  it.each([
    ['10.0.0.5:7400', '10.0.0.5', 'http://10.0.0.5:7401'],
    ['10.0.0.5:7400', '0.0.0.0', 'http://10.0.0.5:7401'],
    ['10.0.0.5:7400', '10.1.0.5', 'http://10.1.0.5:7401'],
    ['[fd00::5]:7400', '::', 'http://[fd00::5]:7401'],
    ['127.0.0.1:7400', '127.0.0.1', 'http://127.0.0.1:7401'],
    ['10.0.0.5:7400', '127.0.0.1', undefined],
  ])('at %s, listening on %s: %s', (advertised, host, url) => {
    expect(advertisedHttp(advertised, { host, port: 7401 })).toBe(url);
  });

  it('is nowhere if there is none', () => {
    expect(advertisedHttp('10.0.0.5:7400', undefined)).toBeUndefined();
  });
});
