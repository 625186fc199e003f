import { pack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { HandshakeError, HandshakeRefusedError, VersionMismatchError, WrongProtocolError } from './errors.ts';
import {
  agreeOn,
  decodeHello,
  decodeWelcome,
  encodeHello,
  encodeRefusal,
  encodeWelcome,
} from './handshake.ts';

const speaks = (oldest: number, version: number) => ({ name: 'parley', oldest, version });
const helloOf = (oldest: number, version: number) =>
  decodeHello(encodeHello(speaks(oldest, version), 'owner'));

describe('a client and a server', () => {
  it.each<[[number, number], [number, number], number]>([
    [[1, 1], [1, 1], 1],
    [[2, 5], [1, 3], 3],
    [[1, 3], [2, 5], 3],
    [[3, 3], [1, 9], 3],
  ])('that speak %j and %j agree on the highest both know', (client, server, version) => {
    expect(agreeOn(speaks(...server), helloOf(...client))).toBe(version);
  });

  it('that have no version in common say who must be upgraded', () => {
    expect(() => agreeOn(speaks(4, 6), helloOf(1, 3))).toThrow(
      new VersionMismatchError(
        'this server speaks parley versions 4 to 6, the client versions 1 to 3; upgrade the client',
      ),
    );
    expect(() => agreeOn(speaks(1, 1), helloOf(2, 2))).toThrow('upgrade the server');
  });

  it('of different protocols find it out', () => {
    const hello = decodeHello(encodeHello({ name: 'gossip\u001b[2J', version: 1, oldest: 1 }, ''));
    expect(() => agreeOn(speaks(1, 1), hello)).toThrow(WrongProtocolError);
    expect(() => agreeOn(speaks(1, 1), hello)).toThrow(
      'the other side speaks "gossip\\u001b[2J", not parley',
    );
  });
});

describe('a welcome', () => {
  const ours = speaks(2, 3);

  it('carries the version and the greeting', () => {
    const welcome = { version: 3, greeting: { http: 'http://127.0.0.1:7401' }, channel: 'ab' };
    expect(decodeWelcome(ours, encodeWelcome(ours, welcome))).toEqual(welcome);
  });

  it('of a version that was not offered is refused', () => {
    const frame = encodeWelcome(ours, { version: 4, greeting: {}, channel: 'ab' });
    expect(() => decodeWelcome(ours, frame)).toThrow(VersionMismatchError);
  });

  it('that is a refusal is the same error here as there, with the same sentence', () => {
    const mismatch = new VersionMismatchError('upgrade the client');
    expect(() => decodeWelcome(ours, encodeRefusal(ours, mismatch))).toThrow(mismatch);
    const other = new HandshakeError('oldest is above version');
    expect(() => decodeWelcome(ours, encodeRefusal(ours, other))).toThrow(
      new HandshakeRefusedError('MALFORMED_HANDSHAKE', other.message),
    );
  });

  it('cannot put properties where they do not belong', () => {
    const frame = pack(
      new Map<string, unknown>([
        ['protocol', 'parley'],
        ['version', 3],
        ['greeting', new Map([['__proto__', 'x']])],
      ]),
    );
    const { greeting } = decodeWelcome(ours, frame);
    expect(Object.keys(greeting)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(greeting)).toBe(Object.prototype);
  });
});

describe('a first frame that is no handshake', () => {
  const hello = { protocol: 'parley', version: 1, oldest: 1, role: 'owner' };

  it.each<[string, Uint8Array]>([
    ['empty', new Uint8Array(0)],
    ['not msgpack', Buffer.from([0xc1, 0xff])],
    ['cut off', encodeHello(speaks(1, 1), 'owner').subarray(0, 20)],
    ['too long', Buffer.concat([encodeHello(speaks(1, 1), 'owner'), Buffer.from([0])])],
    ['a list', pack([1, 2])],
    ['nothing', pack(null)],
    ['without a role', pack({ ...hello, role: undefined })],
    ['with a number for a name', pack({ ...hello, protocol: 7 })],
    ['with half a version', pack({ ...hello, version: 1.5 })],
    ['with a negative version', pack({ ...hello, oldest: -1 })],
    ['upside down', pack({ ...hello, oldest: 2 })],
    ['with a role of two thousand letters', pack({ ...hello, role: 'x'.repeat(2_000) })],
    ['a list of four thousand million things', Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff])],
    ['a list in a list in a list', Buffer.alloc(4_096, 0x91)],
  ])('is refused when it is %s', (_, frame) => {
    expect(() => decodeHello(frame)).toThrow(HandshakeError);
    expect(() => decodeWelcome(speaks(1, 1), frame)).toThrow(HandshakeError);
  });

  it('may say more than is known today', () => {
    expect(decodeHello(pack({ ...hello, mood: 'good' }))).toEqual({ ...hello, introduction: {} });
  });

  it('may introduce the client in texts, and in nothing else', () => {
    const frame = encodeHello(speaks(1, 1), 'b', { group: 'g' });
    expect(decodeHello(frame).introduction).toEqual({ group: 'g' });
    expect(() => decodeHello(pack({ ...hello, introduction: { group: 1 } }))).toThrow(HandshakeError);
    expect(() => decodeHello(pack({ ...hello, introduction: 'g' }))).toThrow('introduction is not a map');
  });
});
