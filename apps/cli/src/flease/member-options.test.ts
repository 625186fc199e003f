import { describe, expect, it } from 'vitest';
import { UsageError } from '../failure.ts';
import { recordedContext } from '../testing/recorded-context.ts';
import { httpOf, joinOptionsOf, peersOf } from './member-options.ts';

const PEERS = 'ada=10.0.0.1:7500,ben=10.0.0.2:7500';

describe('the identity of a member and its peers', () => {
  it('is said by options, in the words of joinFlease', () => {
    const options = {
      name: 'ada',
      peers: PEERS,
      lease: 5_000,
      clockSkew: 100,
      peersVersion: 2,
      peersBefore: 'ada=10.0.0.1:7500',
    };
    expect(joinOptionsOf(recordedContext(), options)).toMatchObject({
      ...{ name: 'ada', peers: { ada: '10.0.0.1:7500', ben: '10.0.0.2:7500' }, leaseMs: 5_000 },
      ...{ clockSkewMs: 100, peersVersion: 2, peersBefore: { ada: '10.0.0.1:7500' } },
    });
  });

  it('is said by the environment, unless an option says otherwise', () => {
    const environment = { LEASEHOLD_FLEASE_PEERS: PEERS, LEASEHOLD_FLEASE_NAME: 'ada' };
    const context = recordedContext({ environment });
    expect(joinOptionsOf(context, {})).toMatchObject({ name: 'ada', peers: { ben: '10.0.0.2:7500' } });
    expect(joinOptionsOf(context, { name: 'ben' }).name).toBe('ben');
  });

  it.each([
    [{}, 'who is in the cell?'],
    [{ peers: PEERS }, 'which of ada, ben is this?'],
    [{ peers: PEERS, name: 'cyd' }, '"cyd" is not among the peers, which are ada, ben'],
    [{ peers: '10.0.0.1:7500', name: 'ada' }, 'is no member with its address'],
    [{ peers: 'ada=', name: 'ada' }, 'is no member with its address'],
    [{ peers: 'ada=a:1,ada=b:1', name: 'ada' }, 'has "ada" twice'],
    [{ peers: PEERS, name: 'ada', ca: 'ca.pem', key: 'key.pem' }, 'and --cert is missing'],
    [{ peers: PEERS, name: 'ada', cert: 'cert.pem' }, 'and --ca and --key are missing'],
  ])('is complained of, with what would be right: %o', (options, complaint) => {
    expect(() => joinOptionsOf(recordedContext(), options)).toThrow(UsageError);
    expect(() => joinOptionsOf(recordedContext(), options)).toThrow(complaint);
  });

  it('comes with certificates, if they are named', () => {
    const tls = { ca: 'ca.pem', cert: 'cert.pem', key: 'key.pem' };
    expect(joinOptionsOf(recordedContext(), { peers: PEERS, name: 'ada', ...tls }).tls).toEqual(tls);
  });

  it('may have spaces, a comma at the end, and addresses of IPv6', () => {
    expect(peersOf('--peers', 'a=[::1]:1, b=h:2,')).toEqual({ a: '[::1]:1', b: 'h:2' });
  });
});

describe('where to tell how it is', () => {
  const ADA = { name: 'ada', peers: { ada: '10.0.0.1:7500' } };

  it.each([
    ['7501', { host: '127.0.0.1', port: 7501 }],
    ['10.0.0.1:7501', { host: '10.0.0.1', port: 7501 }],
    ['[::1]:7501', { host: '::1', port: 7501 }],
    ['0', { host: '127.0.0.1', port: 0 }],
  ])('is %s', (http, place) => {
    expect(httpOf({ http, insecure: true }, ADA)).toMatchObject(place);
  });

  it.each(['0.0.0.0:7501', '10.0.0.1:7501', '[::]:7501'])(
    'is not %s, unless somebody says --insecure',
    (http) => {
      expect(() => httpOf({ http }, ADA)).toThrow(expect.objectContaining({ code: 'NO_TOKEN' }));
      expect(() => httpOf({ http }, ADA)).toThrow(`--http is ${http}, but everybody who can connect there`);
    },
  );

  it('is nowhere unless somebody says so', () => {
    expect([httpOf({}, ADA), httpOf({ http: false }, ADA)]).toEqual([undefined, undefined]);
  });

  it.each(['', 'here', '70000', 'a:b:1', '10.0.0.1:'])('is not "%s"', (http) => {
    expect(() => httpOf({ http }, ADA)).toThrow('neither a port');
  });
});
