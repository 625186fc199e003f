import { lastingAddresses } from '../testing/lasting-port.ts';
import { describe, expect, it } from 'vitest';
import { parseAddress } from '../tcp/address.ts';
import { dialTcp } from '../tcp/dial.ts';
import { HandMovedRuntime, listeningLogger, PROTOCOL, RawPeer, texts, until } from '../tcp/socket-script.ts';
import { framed } from '../tcp/frame-writer.ts';
import { encodeHello } from '../tcp/handshake.ts';
import { clientTexts } from './introduction.ts';
import { type MeshOptions, openMesh, type PeerState } from './mesh.ts';

/** A member's links, by a clock that stands still: no pause ever ends. */
async function open(
  name: string,
  peers: Readonly<Record<string, string>>,
  options: Partial<MeshOptions<string, string>> = {},
) {
  const heard: string[] = [];
  const states: (readonly [string, PeerState])[] = [];
  const logger = listeningLogger();
  const runtime = new HandMovedRuntime();
  const mesh = await openMesh<string, string>({
    ...{ codec: texts, protocol: PROTOCOL, name, incarnation: 'first', group: 'default' },
    ...{ listen: parseAddress(peers[name] as string), secure: undefined, runtime, logger },
    receive: (from, message) => heard.push(`${from}: ${message}`),
    onPeer: (peer, state) => states.push([peer, state]),
    ...options,
  });
  mesh.setPeers(new Map(Object.entries(peers)));
  return {
    ...{ mesh, heard, runtime, states, logger },
    sayTo: (to: string): void => mesh.send(to, 'hello'),
    /** As a group does that changes. */
    learn: (more: Readonly<Record<string, string>>, state: 'settled' | 'changing' = 'settled'): void =>
      mesh.setPeers(new Map([...mesh.peers, ...Object.entries(more)]), state),
    keep: (...names: string[]): void =>
      mesh.setPeers(new Map([...mesh.peers].filter(([peer]) => names.includes(peer)))),
    /** The log lines about members. */
    get told() {
      const lines = logger.lines.filter(({ message }) => message.startsWith('member '));
      return lines.map(({ level, message, why }) => [level, message, why]);
    },
    [Symbol.asyncDispose]: () => mesh[Symbol.asyncDispose](),
  };
}

describe('a mesh', () => {
  it('connects at once to a peer that was away and comes back', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await open('a', peers);
    a.sayTo('b');
    await until(() => a.mesh.problemOf('b') !== undefined);
    await using b = await open('b', peers);
    b.sayTo('a');
    await until(() => a.heard.length === 1);
    await until(() => a.mesh.isConnected('b'));
    a.sayTo('b');
    await until(() => b.heard.length === 1);
    expect(b.heard).toEqual(['a: hello']);
  });

  it('says on each side which half is missing if a peer is not at the address in the lists of the others', async () => {
    const { elsewhere, ...peers } = await lastingAddresses('a', 'b', 'elsewhere');
    await using a = await open('a', peers);
    a.sayTo('b');
    await until(() => a.mesh.problemOf('b') !== undefined);
    expect(a.mesh.problemOf('b')).toBe(
      `cannot reach ${peers['b']}: no process listens there; is it running, and is the port right?`,
    );
    a.mesh.logProblems();
    await using b = await open('b', { ...peers, b: elsewhere });
    b.sayTo('a');
    await until(() => b.mesh.problemOf('a') !== undefined);
    expect(b.mesh.isConnected('a')).toBe(true);
    expect(b.mesh.problemOf('a')).toBe(
      `it has never connected to us: is b in its peers, and at ${elsewhere}? Or another process is b, and is there`,
    );
    b.mesh.logProblems();
    const words = `it runs, for it is connected to us, but its address in our peers may be wrong: cannot reach ${peers['b']}`;
    await until(() => a.mesh.problemOf('b')?.startsWith(words) === true);
    await until(() => a.told.length === 2);
    expect([a.told, b.told]).toEqual([
      [
        ['warn', 'member b cannot be reached', expect.stringMatching(/^cannot reach/)],
        ['warn', 'member b cannot be reached', expect.stringContaining(words)],
      ],
      [['warn', 'member a has never connected to us', b.mesh.problemOf('a')]],
    ]);
  });

  it('does not warn of a peer that is about to connect, and does not warn when the peer has connected', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await open('a', peers);
    a.mesh.logProblems();
    await using b = await open('b', peers);
    a.sayTo('b');
    await until(() => a.mesh.isConnected('b'));
    expect([a.told, a.mesh.problemOf('b')]).toEqual([
      [],
      expect.stringMatching(/^it has never connected to us/),
    ]);
    a.mesh.logProblems();
    b.sayTo('a');
    await until(() => a.heard.length === 1);
    expect(a.mesh.problemOf('b')).toBeUndefined();
    expect(a.told.map(([level, message]) => [level, message])).toEqual([
      ['warn', 'member b has never connected to us'],
      ['info', 'member b has connected to us'],
    ]);
  });

  it('does not warn of peers that may not know this member yet, while the group changes', async () => {
    const { d: ofD, ...old } = await lastingAddresses('a', 'b', 'd');
    await using _a = await open('a', old);
    await using b = await open('b', old);
    await using d = await open('d', { d: ofD });
    d.learn(old, 'changing');
    for (const member of ['a', 'b']) d.sayTo(member);
    await until(() => d.mesh.isConnected('a') && d.mesh.isConnected('b'));
    d.mesh.logProblems();
    const why = 'it has never connected to us; it may not have moved to this view of the group yet';
    expect(d.told).toEqual([
      ['info', 'member a has not connected to us yet', why],
      ['info', 'member b has not connected to us yet', why],
    ]);
    b.learn({ d: ofD }, 'changing');
    b.sayTo('d');
    await until(() => d.heard.length === 1);
    expect(d.told.at(-1)).toEqual(['info', 'member b has connected to us', undefined]);
    d.keep('a', 'b', 'd');
    expect(d.told.slice(3)).toEqual([['warn', 'member a has never connected to us', d.mesh.problemOf('a')]]);
  });

  it('sends to the peer that is at an address, also if another peer was expected there until the group changed', async () => {
    const { a: ofA, b: there } = await lastingAddresses('a', 'b');
    await using a = await open('a', { a: ofA, b: there });
    await using d = await open('d', { a: ofA, d: there });
    a.sayTo('b');
    await until(() => a.mesh.problemOf('b')?.startsWith(`at ${there} is d`) === true);
    a.learn({ d: there });
    expect([a.mesh.isConnected('b'), a.mesh.isConnected('d')]).toEqual([false, true]);
    a.sayTo('b');
    a.sayTo('d');
    await until(() => d.heard.length > 1);
    a.keep('a', 'd');
    expect([a.mesh.problemOf('b'), d.heard.length]).toEqual(['its address is not known', 2]);
  });

  it('tries to reach a peer for as long as it is one, however rarely messages are sent', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await open('a', peers);
    a.mesh.logProblems();
    a.sayTo('b');
    await until(() => a.mesh.problemOf('b') !== undefined);
    a.runtime.pass(120_000);
    expect(a.mesh.problemOf('b')).toBeDefined();
    expect(a.told.map(([, message]) => message)).toEqual(['member b cannot be reached']);
    a.keep('a');
    a.runtime.pass(60_000);
    await until(() => a.runtime.timers === 0);
  });

  it('logs that a peer can be reached again only once it can', async () => {
    const { elsewhere, ...peers } = await lastingAddresses('a', 'b', 'elsewhere');
    await using a = await open('a', peers);
    a.mesh.logProblems();
    a.sayTo('b');
    await until(() => a.told.length === 1);
    a.learn({ b: elsewhere });
    a.mesh.logProblems();
    expect(a.told.map(([, message]) => message)).toEqual(['member b cannot be reached']);
    await using b = await open('b', { ...peers, b: elsewhere });
    b.sayTo('a');
    a.sayTo('b');
    await until(() => a.mesh.isConnected('b') && a.mesh.problemOf('b') === undefined);
    expect(a.told.map(([, message]) => message)).toEqual([
      'member b cannot be reached',
      'member b can be reached again',
    ]);
  });

  it('keeps nothing of processes that are no peers, but knows that a new peer is already connected', async () => {
    const { stays, leaves, ...peers } = await lastingAddresses('a', 'stays', 'leaves');
    await using a = await open('a', peers);
    await using staying = await open('stays', { ...peers, stays: stays });
    const leaving = await open('leaves', { ...peers, leaves: leaves });
    for (const stranger of [staying, leaving]) stranger.sayTo('a');
    await until(() => a.heard.length === 2);
    await leaving[Symbol.asyncDispose]();
    await using _ = await open('leaves', { leaves: leaves });
    a.learn({ stays, leaves });
    for (const member of ['stays', 'leaves']) a.sayTo(member);
    await until(() => a.mesh.isConnected('stays') && a.mesh.isConnected('leaves'));
    expect([a.mesh.problemOf('stays'), a.mesh.problemOf('leaves')]).toEqual([
      undefined,
      expect.stringMatching(/^it has never connected to us/),
    ]);
  });

  it('tells when a peer is connected and when a connection to it ends', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await open('a', peers);
    const b = await open('b', peers);
    a.sayTo('b');
    await until(() => a.states.length === 1);
    await b[Symbol.asyncDispose]();
    await until(() => a.states.length > 1);
    expect(a.states.slice(0, 2)).toEqual([
      ['b', 'connected'],
      ['b', 'disconnected'],
    ]);
  });

  it('tells when the connection that a peer made to us ends, although the own connection still stands', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await open('a', peers);
    const raw = new RawPeer(a.mesh.port).say(framed(encodeHello(PROTOCOL, 'b')));
    await until(() => a.logger.lines.some(({ message }) => message === 'peer connected'));
    raw[Symbol.dispose]();
    await until(() => a.states.length === 1);
    expect(a.states).toEqual([['b', 'disconnected']]);
  });
});

describe('settings on which members must agree', () => {
  it('are compared by both sides, and each names the setting and both values', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await open('a', peers, { agreed: { leaseMs: '1500', driftPercent: '20' } });
    await using b = await open('b', peers, { agreed: { leaseMs: '2000', driftPercent: '20' } });
    a.sayTo('b');
    b.sayTo('a');
    await until(() => a.mesh.problemOf('b') !== undefined && b.mesh.problemOf('a') !== undefined);
    const words = (one: string, other: string) =>
      `the other side refused the connection (CONFIG_MISMATCH): leaseMs is ${one} and ${other}, and must be equal at all members of group default: restart one of the two with the value of the other`;
    expect(a.mesh.problemOf('b')).toBe(words('2000 at b', '1500 at a'));
    expect(b.mesh.problemOf('a')).toBe(words('1500 at a', '2000 at b'));
    expect([a.mesh.isConnected('b'), b.mesh.isConnected('a'), a.heard, b.heard]).toEqual([
      false,
      false,
      [],
      [],
    ]);
    for (const { logger } of [a, b]) {
      const refused = logger.lines.find(({ message }) => message === 'connection refused');
      expect(refused).toMatchObject({ level: 'warn', code: 'CONFIG_MISMATCH' });
    }
  });

  it('are also refused if the listening side compares nothing', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await open('a', peers, { agreed: { leaseMs: '1500' } });
    await using _ = await open('b', peers);
    a.sayTo('b');
    await until(() => a.mesh.problemOf('b') !== undefined);
    expect(a.mesh.problemOf('b')).toMatch(/^leaseMs is 1500 at a and not given at b,/);
  });

  it('include the group', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await open('a', peers, { agreed: {} });
    await using _ = await open('b', peers, { agreed: {}, group: 'other' });
    a.sayTo('b');
    await until(() => a.mesh.problemOf('b') !== undefined);
    expect(a.mesh.problemOf('b')).toContain('group is other at b and default at a');
  });
});

describe('two processes under one name', () => {
  it('are noticed once both are connected for longer than a dead connection lasts, and not at a restart', async () => {
    const peers = await lastingAddresses('a', 'b', 'c');
    await using a = await open('a', { a: peers.a, b: peers.b });
    await using one = await open('b', { a: peers.a, b: peers.b });
    await using other = await open('b', { a: peers.a, b: peers.c }, { incarnation: 'second' });
    for (const each of [one, other]) each.sayTo('a');
    await until(() => a.heard.length === 2);
    expect([a.mesh.problemOf('b'), a.states]).toEqual([undefined, []]);
    // Heartbeats keep both connections open, by the clocks of all three.
    for (let second = 0; second < 21; second += 1) {
      for (const each of [a, one, other]) each.runtime.pass(1_000);
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    for (const each of [one, other]) each.sayTo('a');
    await until(() => a.heard.length === 4);
    expect(a.states).toEqual([['b', 'duplicated']]);
    expect(a.mesh.problemOf('b')).toBe('two processes run under this name: stop one of them');
    expect(a.logger.lines.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      'two processes run as member b: stop one of them',
    ]);
  });
});

describe('the later one of two processes under one name', () => {
  it('is refused by a peer that sees both, and is told so', async () => {
    const peers = await lastingAddresses('a', 'b', 'c');
    const agreed = {};
    await using a = await open('a', { a: peers.a, b: peers.b }, { agreed });
    await using one = await open('b', { a: peers.a, b: peers.b }, { agreed });
    one.sayTo('a');
    await until(() => a.heard.length === 1);
    await using other = await open('b', { a: peers.a, b: peers.c }, { agreed, incarnation: 'second' });
    other.sayTo('a');
    await until(() => a.heard.length === 2);
    while (!other.states.some(([, state]) => state === 'duplicated')) {
      for (const each of [a, one, other]) each.runtime.pass(1_000);
      for (const each of [one, other]) each.sayTo('a');
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(other.states).toContainEqual(['b', 'duplicated']);
    expect(other.mesh.problemOf('a')).toContain('another running process is b');
    expect([one.mesh.isConnected('a'), one.states.filter(([, state]) => state === 'duplicated')]).toEqual([
      true,
      [],
    ]);
  });
});

describe('clients of a mesh', () => {
  const client = (runtime: HandMovedRuntime, group = 'default') => {
    const heard: string[] = [];
    const dialer = dialTcp<string, string>({
      ...{ codec: texts, protocol: PROTOCOL, role: 'b', introduction: clientTexts(group), runtime },
      logger: listeningLogger(),
    });
    dialer.listen((_, message) => heard.push(message));
    return { dialer, heard, [Symbol.asyncDispose]: () => dialer[Symbol.asyncDispose]() };
  };

  it('are answered over their own connection, and are never taken for the peer whose name they have', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await open('a', peers, {
      clients: { receive: (id, message) => a.mesh.sendToClient(id, message.toUpperCase()) },
    });
    await using one = client(a.runtime);
    one.dialer.send(peers.a, 'ping');
    await until(() => one.heard.length === 1);
    expect([one.heard, a.heard]).toEqual([['PING'], []]);
  });

  it('are refused where none are served', async () => {
    const peers = await lastingAddresses('a');
    await using a = await open('a', peers);
    await using one = client(a.runtime);
    one.dialer.send(peers.a, 'ping');
    await until(() => one.dialer.problems().size === 1);
    expect(one.dialer.problems().get(peers.a)?.message).toContain('takes members only');
  });
});
