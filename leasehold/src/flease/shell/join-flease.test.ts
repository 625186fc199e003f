import { describe, expect, it, vi } from 'vitest';
import { framed } from '../../node/tcp/frame-writer.ts';
import { listeningLogger, RawPeer } from '../../node/tcp/socket-script.ts';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import { RESOURCE_BYTES_MAX } from '../core/messages.ts';
import { FLEASE_PROTOCOL } from '../wire/codec.ts';
import { encodePacket } from '../wire/packet.ts';
import { GREETING } from '../wire/samples.ts';
import type { CallOptions } from '../../runtime/handle.ts';
import { type JoinFleaseOptions, joinFlease } from './join-flease.ts';
import { PortInUseError } from '../../node/tcp/errors.ts';
import { freePeers, join, LEASE_MS, SKEW_MS, TestGroup } from './testing/groups.ts';

const LONG_MS = 30_000;

const until = (isSo: () => unknown): Promise<unknown> =>
  vi.waitUntil(isSo, { timeout: LONG_MS, interval: 2 });

const PEERS = { a: '127.0.0.1:7500', b: '127.0.0.1:7501' };

describe('joining a group', { timeout: LONG_MS }, () => {
  it.each<[string, object, string]>([
    ['without a name', { peers: PEERS }, 'option name is undefined'],
    ['without peers', { name: 'a' }, 'option peers is undefined, but it must name the members'],
    ['with no peers', { name: 'a', peers: {} }, 'a group needs a member'],
    [
      'with peers that it is not among',
      { name: 'c', peers: PEERS },
      'c, which is this member, must be among them',
    ],
    [
      'with two members at one address',
      { name: 'a', peers: { ...PEERS, c: PEERS.a } },
      'a and c cannot both be there',
    ],
    [
      'with an address that is none',
      { name: 'a', peers: { a: 'here' } },
      'option peers.a is here, but it must be host:port',
    ],
    ['with a misspelt option', { name: 'a', peers: PEERS, leaseSeconds: 3 }, 'there is no such option'],
    [
      'with clocks too far apart',
      { name: 'a', peers: PEERS, leaseMs: 100, clockSkewMs: 100 },
      'option clockSkewMs',
    ],
    ['with a version that is none', { name: 'a', peers: PEERS, peersVersion: 0 }, 'option peersVersion'],
    [
      'with members before the first version',
      { name: 'a', peers: PEERS, peersBefore: { a: PEERS.a } },
      'option peersVersion is 1, but it must be at least 2 where peersBefore is given',
    ],
    ['on an open address', { name: 'a', peers: { a: '0.0.0.0:7500' } }, 'or say insecure: true'],
    [
      'listening on one',
      { name: 'a', peers: PEERS, listen: '10.0.0.1:7500' },
      'option listen is 10.0.0.1:7500',
    ],
    [
      'with another address than that in its peers',
      { name: 'a', peers: PEERS, advertise: '10.0.0.1:7500' },
      'option advertise is 10.0.0.1:7500, but it must be 127.0.0.1:7500, as in peers',
    ],
    ['with no time', { name: 'a', peers: PEERS, timeoutMs: 0 }, 'option timeoutMs is 0'],
    ['with a signal that is none', { name: 'a', peers: PEERS, signal: 'stop' }, 'option signal is'],
  ])('%s is refused', async (_, options, why) => {
    const joining = joinFlease(options as JoinFleaseOptions);
    await expect(joining).rejects.toThrow(InvalidArgumentError);
    await expect(joining).rejects.toThrow(why);
  });

  it('where somebody listens already is refused', async () => {
    const peers = await freePeers('a');
    await using _ = await join('a', peers);
    const second = join('a', peers);
    await expect(second).rejects.toThrow(PortInUseError);
    await expect(second).rejects.toThrow('is in use; another process may be a already');
  });

  it('is given up with the reason of its signal, and nothing listens then', async () => {
    const peers = await freePeers('a');
    const stop = new AbortController();
    const reason = new Error('stop');
    const joining = join('a', peers, { signal: stop.signal });
    stop.abort(reason);
    await expect(joining).rejects.toBe(reason);
    await expect(join('a', peers, { signal: stop.signal })).rejects.toBe(reason);
    await until(async () => {
      const next = await join('a', peers).catch(() => undefined);
      await next?.close();
      return next !== undefined;
    });
  });

  it('gives a member that its signal closes', async () => {
    const stop = new AbortController();
    await using group = await TestGroup.start(['a'], { signal: stop.signal });
    const lease = await group.of('a').acquire('r');
    stop.abort();
    expect(await group.of('a').closed).toBeUndefined();
    expect([lease.isHeld(), lease.how]).toEqual([false, 'closed']);
  });

  it('says once that strangers can speak for members, if it is to listen beyond loopback without TLS', async () => {
    const logger = listeningLogger();
    // An address that no machine has: the line is written before the failure to listen is known.
    const peers = { a: '192.0.2.1:7500' };
    await expect(joinFlease({ name: 'a', peers, insecure: true, logger })).rejects.toThrow('cannot listen');
    const warnings = logger.lines.filter(({ level }) => level === 'warn');
    expect(warnings).toMatchObject([
      { message: expect.stringContaining('listens beyond loopback in plaintext'), listen: '192.0.2.1:7500' },
    ]);
  });

  it('says that it recovers, for how long and why; and what a small group does not tolerate', async () => {
    const logger = listeningLogger();
    await using group = await TestGroup.start(['a', 'b'], { logger });
    const said = logger.lines.filter(({ level }) => level === 'info').map(({ message }) => message);
    expect(said).toContain(
      'recovers for 1.1 s: it may have forgotten what it promised before it was started',
    );
    expect(said).toContain('ready: this member can acquire leases');
    const warned = logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    expect([...new Set(warned)]).toEqual([
      'a cell of two: while either is down, no lease can be held; three tolerate one',
    ]);
    expect(group.members).toHaveLength(2);
  });

  it('says by name who cannot be reached, once, and that it can be again', async () => {
    const logger = listeningLogger();
    await using group = await TestGroup.start(['a', 'b'], { logger }, 1);
    const warned = (): string[] =>
      logger.lines.map(({ message }) => message).filter((message) => message.startsWith('member '));
    expect(warned()).toEqual(['member b cannot be reached']);
    await using _ = await join('b', group.peers);
    await until(() => warned().length > 1);
    expect(warned()).toEqual(['member b cannot be reached', 'member b can be reached again']);
  });

  it('finds out that another member is at an address than was said', async () => {
    const { a = '', b = '', c = '' } = await freePeers('a', 'b', 'c');
    await using wrong = await join('a', { a, b: c, c: b });
    await using _ = await join('b', { a, b, c });
    await wrong.ready();
    await until(() => wrong.status().peers.some(({ problem }) => problem?.includes('is b of group')));
    const why = await wrong.acquire('r', { timeoutMs: 100 }).catch((error: Error) => error.message);
    expect(why).toContain(`at ${b} is b of group default, not c of default: mend the addresses in peers`);
  });

  it('finds out that a member is of another group', async () => {
    const peers = await freePeers('a', 'b');
    await using wrong = await join('a', peers, { cell: 'night' });
    await using _ = await join('b', peers);
    await until(() => wrong.status().peers[0]?.problem?.includes('is b of group'));
    expect(wrong.status().peers[0]?.problem).toBe(
      `at ${peers['b']} is b of group default, and we are of group night: start both with the same group`,
    );
  });

  it('says by name who has other durations, and when it has gone that it cannot be reached', async () => {
    const logger = listeningLogger();
    const peers = await freePeers('a', 'b');
    await using a = await join('a', peers, { logger });
    const b = await join('b', peers, { leaseMs: 2 * LEASE_MS });
    await until(() => logger.lines.some(({ message }) => message.startsWith('trouble with member b')));
    const [line] = logger.lines.filter(({ message }) => message.startsWith('trouble with member b'));
    const words = `it was started with a lease of ${2 * LEASE_MS} ms and a skew of ${SKEW_MS} ms; both must be the same everywhere`;
    expect(line?.message).toBe(`trouble with member b: ${words}`);
    const [peer] = a.status().peers;
    expect(peer).toMatchObject({
      trouble: { why: 'other-durations', words },
      otherDurations: { leaseMs: 2 * LEASE_MS, clockSkewMs: SKEW_MS },
    });
    await b.close();
    await until(() => a.status().peers[0]?.problem?.includes('no process listens there') === true);
    expect(a.status().peers[0]?.trouble).toEqual({ why: 'other-durations', words });
  });
});

describe('a member that recovers after its start', { timeout: LONG_MS }, () => {
  const linesOf = async (options: Partial<JoinFleaseOptions>): Promise<readonly string[]> => {
    const written: string[] = [];
    const write = vi.spyOn(process.stderr, 'write');
    write.mockImplementation((text) => written.push(String(text)) > 0);
    try {
      const peers = await freePeers('a');
      await using _ = await joinFlease({ name: 'a', peers, ...options });
    } finally {
      write.mockRestore();
    }
    return written.filter((line) => /recovers|silent/.test(line));
  };

  it('says so in one line, and for how long, if it was given no logger', async () => {
    expect(await linesOf({})).toEqual([
      'leasehold: member a recovers for 11 s, because it may have forgotten what it promised before it was started; acquire and ready() wait until then\n',
    ]);
  });

  it('says nothing of a moment', async () => {
    expect(await linesOf({ leaseMs: LEASE_MS, clockSkewMs: SKEW_MS })).toEqual([]);
  });
});

describe('a member', { timeout: LONG_MS }, () => {
  it('passes over what is said in the name of another, and says so once', async () => {
    const logger = listeningLogger();
    const peers = await freePeers('a', 'b', 'c');
    await using member = await join('a', peers, { logger });
    using peer = new RawPeer(Number(peers['a']?.split(':')[1])).introduce('b', FLEASE_PROTOCOL);
    const say = (from: string): void => {
      const packet = { ...GREETING, from, sentMs: Date.now(), leaseMs: LEASE_MS, clockSkewMs: SKEW_MS };
      for (const frame of encodePacket(packet)) peer.say(framed(frame));
    };
    await until(() => peer.heard.length > 0);
    say('c');
    say('c');
    say('b');
    await until(() => member.status().peers[0]?.heardAgoMs !== undefined);
    expect(member.status().peers.map(({ heardAgoMs }) => heardAgoMs === undefined)).toEqual([false, true]);
    const warned = logger.lines.filter(({ message }) => message.includes("another member's name"));
    expect(warned).toMatchObject([{ peer: 'b', speaksAs: 'c' }]);
  });

  it('hangs up on one who sends nonsense', async () => {
    const peers = await freePeers('a', 'b');
    await using _ = await join('a', peers);
    using peer = new RawPeer(Number(peers['a']?.split(':')[1])).introduce('b', FLEASE_PROTOCOL);
    await until(() => peer.heard.length > 0);
    peer.say(framed(Uint8Array.of(1, 2, 3)));
    await until(() => peer.isClosed);
  });

  it.each<[unknown, string]>([
    ['', 'it must be a text that names something'],
    [7, 'it must be a text that names something'],
    ['x'.repeat(RESOURCE_BYTES_MAX + 1), 'at most 1024 bytes in UTF-8, and has 1025'],
    ['é'.repeat(RESOURCE_BYTES_MAX / 2 + 1), 'at most 1024 bytes in UTF-8, and has 1026'],
    ['\ud800', 'well-formed Unicode'],
  ])('does not take %j for a resource', async (resource, why) => {
    await using a = await join('a', await freePeers('a'));
    const name = resource as string;
    for (const ask of [() => a.acquire(name), () => a.acquireIfFree(name), () => a.holder(name)]) {
      await expect(ask()).rejects.toThrow(InvalidArgumentError);
      await expect(ask()).rejects.toThrow(why);
    }
  });

  it.each([null, 'a signal', { throwIfAborted: () => {} }])(
    'does not take %j for a signal',
    async (signal) => {
      await using a = await join('a', await freePeers('a'));
      await expect(a.acquire('r', { signal: signal as unknown as AbortSignal })).rejects.toMatchObject({
        ...{ code: 'INVALID_OPTION', details: { option: 'signal', rule: 'it must be an AbortSignal' } },
      });
      expect(a.status().waiting).toBe(0);
    },
  );

  it('takes the longest name that there is', async () => {
    await using group = await TestGroup.start(['a', 'b']);
    const longest = `é${'x'.repeat(RESOURCE_BYTES_MAX - 2)}`;
    expect((await group.of('a').acquire(longest)).resource).toBe(longest);
  });

  it('that is alone in its cell has nobody to hand over to', async () => {
    await using a = await join('a', await freePeers('a'));
    await a.ready();
    const lease = await a.acquire('r');
    await expect(lease.handover('b')).rejects.toThrow(
      'option to is b, but it must be another member of the cell, and there is none',
    );
  });

  it('refuses to wait in a way that makes no sense', async () => {
    await using a = await join('a', await freePeers('a'));
    for (const timeoutMs of [-1, 0, Number.NaN, '500' as unknown as number]) {
      await expect(a.acquire('r', { timeoutMs })).rejects.toThrow(
        `option timeoutMs is ${timeoutMs}, but it must be a number of milliseconds above 0; a caller that does not want to wait uses acquireIfFree`,
      );
    }
    await expect(a.acquire('r', { timeout: 3 } as CallOptions)).rejects.toThrow('there is no such option');
  });
});
