import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../node/tcp/address.ts';
import { HandMovedRuntime, until } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import type { Packet } from '../messages.ts';
import { GREETING } from '../wire/samples.ts';
import { Connections } from './connections.ts';
import { freePeers } from './testing/groups.ts';

const GROUP = 'default';

/** A member's ways to the others, by a clock that stands still: no pause ever ends. */
async function open(id: string, peers: Readonly<Record<string, string>>) {
  const heard: Packet[] = [];
  const connections = await Connections.open({
    ...{ id, group: GROUP, listen: parseAddress(peers[id] as string), secure: undefined },
    ...{ runtime: new HandMovedRuntime(), logger: silent },
    receive: (packet) => heard.push(packet),
  });
  connections.addresses = new Map(Object.entries(peers));
  const sayTo = (to: string): void => connections.send(to, { ...GREETING, from: id });
  return { connections, heard, sayTo, [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose]() };
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
});
