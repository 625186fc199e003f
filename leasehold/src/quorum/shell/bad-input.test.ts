/** Replicas over real sockets, and peers and clients that say what they should not. */

import { describe, expect, it, vi } from 'vitest';
import { nodeRuntime } from '../../node/runtime.ts';
import { dialTcp } from '../../node/tcp/dial.ts';
import { silent } from '../../runtime/logger.ts';
import { BALLOT_MAX } from '../core/ballot.ts';
import type { Message } from '../core/messages.ts';
import { clientCodec, QUORUM_PROTOCOL, replicaCodec } from '../wire/codec.ts';
import type { Hello } from '../core/founding.ts';
import { TestCell } from './testing/cells.ts';

const eventually = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 });

/** A process that speaks the protocol of replicas, with a directory that nobody has seated. */
function strangerTo(address: string) {
  const hello: Hello = {
    ...{ kind: 'hello', cell: 'default', storage: 'x~1', life: 2 ** 40, process: 'p' },
    ...{ address: '127.0.0.1:1', initial: undefined, isJoining: true, cluster: undefined },
  };
  const dialer = dialTcp({
    ...{ codec: replicaCodec, protocol: QUORUM_PROTOCOL, role: 'replica' },
    ...{ runtime: nodeRuntime(), logger: silent, preface: () => [hello] },
  });
  dialer.send(address, hello);
  return { say: (message: Message) => dialer.send(address, message), dialer };
}

describe('a stranger', () => {
  it('changes nothing with ballots, slots and counts, however large', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect();
    await client.put('k', 'before');
    const { leader } = cell;
    const strangers = Object.values(cell.peers).map(strangerTo);
    await eventually(() => {
      for (const replica of cell.replicas.values()) expect(replica.status().others).toEqual(['x~1']);
    });
    const slot = 2 ** 40;
    for (const ballot of [64_000, BALLOT_MAX]) {
      for (const { say } of strangers) {
        say({ kind: 'prepare', ballot, chosen: slot });
        say({ kind: 'accept', ballot, merged: 0, first: 1, operations: [], chosen: slot, committed: slot });
        say({ kind: 'refused', ballot, promised: ballot });
        say({ kind: 'lead-now', ballot });
        const sequence = { life: slot, number: Number.MAX_SAFE_INTEGER };
        say({
          kind: 'accepted',
          ballot,
          upTo: slot,
          committed: slot,
          settled: slot,
          mask: 0,
          votes: slot,
          ...sequence,
        });
        say({ kind: 'ask', leaseMs: 86_400_000, ballot, upTo: slot, ...sequence });
        say({ kind: 'join' });
      }
    }
    for (let times = 0; times < 20; times += 1) await client.put('k', `${times}`, { timeoutMs: 5_000 });
    expect(cell.leader, 'nobody was deposed').toBe(leader);
    for (const { dialer } of strangers) await dialer[Symbol.asyncDispose]();
  });
});

describe('a client', () => {
  it('of another version is told so, and which side to upgrade', async () => {
    await using cell = await TestCell.started('a');
    const address = cell.peers['a'] ?? '';
    const protocol = { ...QUORUM_PROTOCOL, version: 1, oldest: 1 };
    const dialer = dialTcp({
      ...{ codec: clientCodec, protocol, role: 'client', runtime: nodeRuntime(), logger: silent },
    });
    dialer.send(address, []);
    await eventually(() => expect(dialer.problems().get(address)?.message).toContain('upgrade the client'));
    await dialer[Symbol.asyncDispose]();
  });
});

describe('a replica', () => {
  it('of another cluster is refused, and both go on', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const warn = vi.fn();
    const listen = await cell.freeAddress();
    const peers = { ...cell.peers, d: listen };
    await cell.start('d', { peers, cell: 'another', logger: { ...silent, warn } });
    await eventually(() => expect(warn.mock.calls.flat().join()).toContain('it is of another cell'));
    await (await cell.connect('a')).put('k', 'v');
    await cell.stop('d');
  });
});
