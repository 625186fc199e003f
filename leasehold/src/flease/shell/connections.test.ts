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
  const connections = await Connections.open({
    ...{ id, group: GROUP, listen: parseAddress(peers[id] as string), secure: undefined },
    ...{ runtime: new HandMovedRuntime(), logger },
    receive: (packet) => heard.push(packet),
  });
  connections.know(new Map(Object.entries(peers)));
  const sayTo = (to: string): void => connections.send(to, { ...GREETING, from: id });
  return {
    ...{ connections, heard, sayTo },
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
      `it has never connected to us: is b in its peers, and at ${elsewhere}?`,
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
      [['warn', 'member a cannot be reached', b.connections.problemOf('a')]],
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
      ['warn', 'member b cannot be reached'],
      ['info', 'member b can be reached again'],
    ]);
  });
});
