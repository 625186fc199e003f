/** What replicas and clients have in common with the handles of other modules, on real sockets. */

import { describe, expect, it } from 'vitest';
import { nodeRuntime } from '../../node/runtime.ts';
import { silent } from '../../runtime/logger.ts';
import type { Event } from '../../runtime/handle.ts';
import { connectQuorum } from './connect-quorum.ts';
import { startReplica } from './start-replica.ts';
import { TestCell } from './testing/cells.ts';

const NOWHERE = { servers: ['127.0.0.1:1'], logger: silent };
const TIMEOUT = { name: 'UnavailableError', code: 'TIMEOUT', retryable: true };

/** All events until one of this kind. */
async function until(kind: string, events: AsyncIterable<Event>): Promise<readonly Event[]> {
  const heard: Event[] = [];
  for await (const event of events) {
    heard.push(event);
    if (event.kind === kind) break;
  }
  return heard;
}

describe('a replica', () => {
  it('says which cell it waits for, how to mend that, and that it is ready when it serves', async () => {
    await using cell = await TestCell.of('a', 'b');
    const a = await cell.start('a');
    expect(a.status()).toMatchObject({
      ...{ module: 'quorum', role: 'gathering', instance: 'default', name: 'a', isReady: false },
      waitsFor: 'the cell is not founded: b have not been heard',
      problems: [{ id: 'cell', level: 'failing', command: 'leasehold quorum status' }],
    });
    await expect(a.ready({ timeoutMs: 20 })).rejects.toMatchObject(TIMEOUT);
    await cell.start('b');
    await a.ready();
    expect(a.status()).toMatchObject({ waitsFor: undefined, problems: [] });
  });

  it('tells of its role, its leader and the members as events that can be resumed', async () => {
    await using cell = await TestCell.of('a');
    const a = await cell.start('a');
    const heard = await until('quorum.leader', a.events({ after: 'x-0' }));
    expect(heard.at(-1)).toMatchObject({ instance: 'default', leader: 'a' });
    const kinds = heard.map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['gap', 'quorum.role', 'quorum.members']));
    const again = await until('quorum.leader', a.events({ after: heard[1]?.id }));
    expect(again).toEqual(heard.slice(2));
  });

  it('is advertised at the address that the others are to dial', async () => {
    await using cell = await TestCell.started('a');
    const listen = await cell.freeAddress();
    const advertise = listen.replace('127.0.0.1', 'localhost');
    const newcomer = await cell.start('d', { listen, advertise, newcomer: true });
    await (await cell.connect('a')).addReplica('d', { timeoutMs: 20_000 });
    expect(newcomer.address).toBe(advertise);
    const members = cell.replicas.get('a')?.status().members ?? [];
    expect(members.map(({ address }) => address)).toEqual([cell.peers['a'], advertise]);
  });

  it('is closed by the signal of its beginning, and refuses calls with CLOSED', async () => {
    await using cell = await TestCell.of('a');
    const life = new AbortController();
    const a = await cell.start('a', { signal: life.signal });
    await a.ready();
    life.abort();
    expect(await a.closed).toBeUndefined();
    expect(a.status()).toMatchObject({ isReady: false, waitsFor: 'nothing: it has ended' });
    await expect(a.ready()).rejects.toMatchObject({ code: 'CLOSED' });
    await a.close();
  });

  it('is not started with a signal that has aborted, and leaves its directory alone', async () => {
    await using cell = await TestCell.of('a');
    const why = new Error('no more');
    await expect(cell.start('a', { signal: AbortSignal.abort(why) })).rejects.toBe(why);
    await cell.serves('a');
  });

  it('whose start takes too long gives its directory back when the disk answers', async () => {
    await using cell = await TestCell.of('a');
    const options = { name: 'a', directory: cell.directory('a'), peers: cell.peers, logger: silent };
    const started = await startReplica({ ...options, timeoutMs: 0.001 }).catch((error: unknown) => error);
    expect(started).toMatchObject(TIMEOUT);
    const runtime = nodeRuntime();
    for (;;) {
      const replica = await cell.start('a').catch((error: { code?: string }) => {
        if (error.code !== 'LOCKED' && error.code !== 'PORT_IN_USE') throw error;
      });
      if (replica !== undefined) break;
      await new Promise<void>((resolve) => {
        runtime.wakeAt(runtime.now(), resolve);
      });
    }
    await cell.ready();
  });
});

describe('a client', () => {
  it('is ready while nothing waits, and not while a call waits for a server', async () => {
    await using client = await connectQuorum({ ...NOWHERE, timeoutMs: 300 });
    const idle = { module: 'quorum', role: 'client', instance: 'default', isReady: true, waiting: 0 };
    expect(client.status()).toMatchObject({ ...idle, server: '127.0.0.1:1', isConnected: false });
    const asked = client.get('k');
    expect(client.status()).toMatchObject({ isReady: false, waiting: 1 });
    expect(client.status().waitsFor).toContain('a replica that answers');
    await expect(asked).rejects.toMatchObject({ ...TIMEOUT, details: { timeoutMs: 300 } });
    await expect(client.ready({ timeoutMs: 20 })).rejects.toMatchObject(TIMEOUT);
  });

  it('connects when it is asked to be ready, and tells of its connections', async () => {
    await using cell = await TestCell.started('a');
    const client = await cell.connect('a');
    const following = until('quorum.connected', client.events());
    await client.ready();
    expect((await following).at(-1)).toMatchObject({ instance: 'default', server: cell.peers['a'] });
    expect(client.status()).toMatchObject({ isReady: true, isConnected: true });
  });

  it('waits for servers for as long as it takes, unless it is closed', async () => {
    const client = await connectQuorum(NOWHERE);
    const waiting = client.ready().catch((error: unknown) => error);
    await client.close();
    expect(await waiting).toMatchObject({ name: 'ClosedError', code: 'CLOSED' });
    expect(await client.closed).toBeUndefined();
    expect(client.status()).toMatchObject({ isReady: false, waitsFor: 'nothing: it was closed' });
  });

  it('is closed by the signal of its beginning', async () => {
    const life = new AbortController();
    const client = await connectQuorum({ ...NOWHERE, signal: life.signal });
    life.abort();
    expect(await client.closed).toBeUndefined();
    await expect(client.get('k')).rejects.toMatchObject({ code: 'CLOSED' });
    const why = new Error('no more');
    await expect(connectQuorum({ ...NOWHERE, signal: AbortSignal.abort(why) })).rejects.toBe(why);
  });

  it.each([0, -1, Number.NaN])('refuses a time limit of %s', async (timeoutMs) => {
    const wrong = { name: 'InvalidArgumentError', code: 'INVALID_OPTION' };
    await expect(connectQuorum({ ...NOWHERE, timeoutMs })).rejects.toMatchObject(wrong);
  });
});
