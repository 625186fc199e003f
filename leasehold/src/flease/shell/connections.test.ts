import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../node/tcp/address.ts';
import { HandMovedRuntime, listeningLogger, until } from '../../node/tcp/socket-script.ts';
import type { Packet } from '../messages.ts';
import { GREETING } from '../wire/samples.ts';
import { Connections } from './connections.ts';
import { freePeers } from './testing/groups.ts';

const GROUP = 'default';

/** A member's ways to the others, by a clock that stands still: no pause ever ends. */
async function open(id: string, peers: Readonly<Record<string, string>>) {
  const heard: Packet[] = [];
  const logger = listeningLogger();
  const runtime = new HandMovedRuntime();
  const connections = await Connections.open({
    ...{ id, group: GROUP, listen: parseAddress(peers[id] as string), secure: undefined },
    ...{ runtime, logger },
    receive: (packet) => heard.push(packet),
  });
  connections.know(new Map(Object.entries(peers)));
  const sayTo = (to: string): void => connections.send(to, { ...GREETING, from: id });
  return {
    ...{ connections, heard, runtime, sayTo },
    /** What was said of members. */
    get told() {
      const lines = logger.lines.filter(({ message }) => message.startsWith('member '));
      return lines.map(({ level, message, why }) => [level, message, why]);
    },
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}

describe('the ways to the other members', () => {
  it('are found again at once when somebody who was away comes back', async () => {
    const peers = await freePeers('a', 'b');
    await using a = await open('a', peers);
    a.sayTo('b');
    await until(() => a.connections.problemOf('b') !== undefined);
    await using b = await open('b', peers);
    b.sayTo('a');
    await until(() => a.heard.length === 1);
    await until(() => a.connections.isConnected('b'));
    a.sayTo('b');
    await until(() => b.heard.length === 1);
    expect(b.heard.map(({ from }) => from)).toEqual(['a']);
  });

  it('are one-way if a member is not where the others look for it, and each side says its half of that', async () => {
    const { elsewhere, ...peers } = (await freePeers('a', 'b', 'elsewhere')) as Record<string, string>;
    await using a = await open('a', peers);
    a.sayTo('b');
    await until(() => a.connections.problemOf('b') !== undefined);
    expect(a.connections.problemOf('b')).toBe(
      `cannot reach ${peers['b']}: nobody listens there; is it running, and is the port right?`,
    );
    a.connections.tellWhoIsMissing();
    await using b = await open('b', { ...peers, b: elsewhere as string });
    b.sayTo('a');
    await until(() => b.connections.problemOf('a') !== undefined);
    expect(b.connections.isConnected('a')).toBe(true);
    expect(b.connections.problemOf('a')).toBe(
      `it has never connected to us: is b in its peers, and at ${elsewhere}? Or another process is b, and is there`,
    );
    b.connections.tellWhoIsMissing();
    const words = `it runs, for it is connected to us, but its address in our peers may be wrong: cannot reach ${peers['b']}`;
    await until(() => a.connections.problemOf('b')?.startsWith(words) === true);
    await until(() => a.told.length === 2);
    expect([a.told, b.told]).toEqual([
      [
        ['warn', 'member b cannot be reached', expect.stringMatching(/^cannot reach/)],
        ['warn', 'member b cannot be reached', expect.stringContaining(words)],
      ],
      [['warn', 'member a has never connected to us', b.connections.problemOf('a')]],
    ]);
  });

  it('are not complained of while somebody is about to connect to us, and it is no warning that it has', async () => {
    const peers = await freePeers('a', 'b');
    await using a = await open('a', peers);
    a.connections.tellWhoIsMissing();
    await using b = await open('b', peers);
    a.sayTo('b');
    await until(() => a.connections.isConnected('b'));
    expect([a.told, a.connections.problemOf('b')]).toEqual([
      [],
      expect.stringMatching(/^it has never connected to us/),
    ]);
    a.connections.tellWhoIsMissing();
    b.sayTo('a');
    await until(() => a.heard.length === 1);
    expect(a.connections.problemOf('b')).toBeUndefined();
    expect(a.told.map(([level, message]) => [level, message])).toEqual([
      ['warn', 'member b has never connected to us'],
      ['info', 'member b has connected to us'],
    ]);
  });

  it('are not complained of while the group changes, and somebody may not know yet that we are in it', async () => {
    const { d: ofD, ...old } = (await freePeers('a', 'b', 'd')) as Record<string, string>;
    await using _a = await open('a', old);
    await using b = await open('b', old);
    await using d = await open('d', { d: ofD as string });
    d.connections.know(new Map(Object.entries(old)), true);
    for (const member of ['a', 'b']) d.sayTo(member);
    await until(() => d.connections.isConnected('a') && d.connections.isConnected('b'));
    d.connections.tellWhoIsMissing();
    const why = 'it has never connected to us; it may not have moved to this view of the group yet';
    expect(d.told).toEqual([
      ['info', 'member a has not connected to us yet', why],
      ['info', 'member b has not connected to us yet', why],
    ]);
    b.connections.know(new Map([['d', ofD as string]]), true);
    b.sayTo('d');
    await until(() => d.heard.length === 1);
    expect(d.told.at(-1)).toEqual(['info', 'member b has connected to us', undefined]);
    d.connections.keep(['a', 'b', 'd']);
    expect(d.told.slice(3)).toEqual([
      ['warn', 'member a has never connected to us', d.connections.problemOf('a')],
    ]);
  });

  it('lead to the one who is there, also where another was sought until the group changed', async () => {
    const { a: ofA, b: there } = (await freePeers('a', 'b')) as { a: string; b: string };
    await using a = await open('a', { a: ofA, b: there });
    await using d = await open('d', { a: ofA, d: there });
    a.sayTo('b');
    await until(() => a.connections.problemOf('b')?.startsWith(`at ${there} is d`) === true);
    a.connections.know(new Map([['d', there]]));
    expect([a.connections.isConnected('b'), a.connections.isConnected('d')]).toEqual([false, true]);
    a.sayTo('b');
    a.sayTo('d');
    await until(() => d.heard.length > 1);
    a.connections.keep(['a', 'd']);
    expect([a.connections.problemOf('b'), d.heard.length]).toEqual(['its address is not known', 2]);
  });

  it('are sought for as long as somebody is a member, however seldom there is something to say', async () => {
    const peers = await freePeers('a', 'b');
    await using a = await open('a', peers);
    a.connections.tellWhoIsMissing();
    a.sayTo('b');
    await until(() => a.connections.problemOf('b') !== undefined);
    a.runtime.pass(120_000);
    expect(a.connections.problemOf('b')).toBeDefined();
    expect(a.told.map(([, message]) => message)).toEqual(['member b cannot be reached']);
    a.connections.keep(['a']);
    a.runtime.pass(60_000);
    await until(() => a.runtime.timers === 0);
  });

  it('are not said to be there again before they are', async () => {
    const { elsewhere, ...peers } = (await freePeers('a', 'b', 'elsewhere')) as Record<string, string>;
    await using a = await open('a', peers);
    a.connections.tellWhoIsMissing();
    a.sayTo('b');
    await until(() => a.told.length === 1);
    a.connections.know(new Map([['b', elsewhere as string]]));
    a.connections.tellWhoIsMissing();
    expect(a.told.map(([, message]) => message)).toEqual(['member b cannot be reached']);
    await using b = await open('b', { ...peers, b: elsewhere as string });
    b.sayTo('a');
    a.sayTo('b');
    await until(() => a.connections.isConnected('b') && a.connections.problemOf('b') === undefined);
    expect(a.told.map(([, message]) => message)).toEqual([
      'member b cannot be reached',
      'member b can be reached again',
    ]);
  });

  it('keep nothing of strangers, who may have any name; but one who is there when it is made a member was seen', async () => {
    const { stays, leaves, ...peers } = (await freePeers('a', 'stays', 'leaves')) as Record<string, string>;
    await using a = await open('a', peers as { a: string });
    await using staying = await open('stays', { ...peers, stays: stays as string });
    const leaving = await open('leaves', { ...peers, leaves: leaves as string });
    for (const stranger of [staying, leaving]) stranger.sayTo('a');
    await until(() => a.heard.length === 2);
    await leaving[Symbol.asyncDispose]();
    await using _ = await open('leaves', { leaves: leaves as string });
    a.connections.know(new Map(Object.entries({ stays, leaves }) as [string, string][]));
    for (const member of ['stays', 'leaves']) a.sayTo(member);
    await until(() => a.connections.isConnected('stays') && a.connections.isConnected('leaves'));
    expect([a.connections.problemOf('stays'), a.connections.problemOf('leaves')]).toEqual([
      undefined,
      expect.stringMatching(/^it has never connected to us/),
    ]);
  });
});
