import { describe, expect, it } from 'vitest';
import { silent } from '../../runtime/logger.ts';
import { nodeRuntime } from '../runtime.ts';
import { dialTcp } from './dial.ts';
import { listenTcp } from './listen.ts';
import type { TcpLimits } from './limits.ts';
import { bytes, HandMovedRuntime, PROTOCOL, RawPeer, until } from './socket-script.ts';

const MIB = 1024 * 1024;

async function bench(limits: Partial<TcpLimits> = {}) {
  const runtime = new HandMovedRuntime();
  const listener = await listenTcp<Uint8Array, Uint8Array>({
    ...{ host: '127.0.0.1', port: 0, codec: bytes, protocol: PROTOCOL, runtime, logger: silent },
    limits: { queueBytesOut: MIB, frameMs: 1_000, heartbeatEveryMs: 1_000, silentAfterMs: 60_000, ...limits },
  });
  return { runtime, listener };
}

/** Introduces itself, and then reads nothing. */
async function deafPeer(port: number): Promise<RawPeer> {
  const peer = new RawPeer(port).introduce();
  await until(() => peer.heard.length > 0);
  peer.socket.pause();
  return peer;
}

describe('the queue for a peer that does not read', () => {
  it('is bounded; the rest is dropped, and at last the peer', async () => {
    const { runtime, listener } = await bench();
    await using _ = listener;
    using peer = await deafPeer(listener.port);
    const message = new Uint8Array(100_000);
    let most = 0;
    for (let turn = 0; turn < 200; turn += 1) {
      listener.send('p1', message);
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, listener.peers.get('p1')?.queuedBytes ?? 0);
    }
    expect(listener.counters.dropped).toBeGreaterThan(50);
    expect(most).toBeLessThanOrEqual(MIB);
    runtime.pass(900);
    expect(listener.peers.size).toBe(1);
    runtime.pass(1_000);
    expect(listener.peers.size).toBe(0);
    expect(peer.isClosed).toBe(false); // It has not even read that.
  });

  it('may be one message of any size, since that could never be sent otherwise', async () => {
    const { listener } = await bench();
    await using _ = listener;
    using peer = new RawPeer(listener.port).introduce();
    await until(() => listener.peers.size === 1);
    listener.send('p1', new Uint8Array(8 * MIB));
    listener.send('p1', new Uint8Array(1));
    expect(listener.counters.dropped).toBe(1);
    await until(() => peer.heard.length >= 8 * MIB + 4);
    await until(() => listener.peers.get('p1')?.queuedBytes === 0);
    listener.send('p1', new Uint8Array(1));
    expect(listener.counters.dropped).toBe(1);
  });

  it('is bounded for all of them together; who has nothing waiting still gets something', async () => {
    const { listener } = await bench({ queueBytesOut: 100 * MIB, queueBytesOutTotal: 12 * MIB });
    await using _ = listener;
    using deaf = await deafPeer(listener.port);
    using other = new RawPeer(listener.port).introduce();
    await until(() => listener.peers.size === 2);
    for (let message = 0; message < 40; message += 1) listener.send('p1', new Uint8Array(MIB));
    expect(listener.counters.dropped).toBeGreaterThanOrEqual(28);
    const before = other.heard.length;
    listener.send('p2', new Uint8Array(2 * MIB));
    await until(() => other.heard.length >= before + 2 * MIB);
    expect(deaf.isClosed).toBe(false);
  });
});

describe('a message sent in one turn of the event loop with others', () => {
  it('leaves in one write, in its order', async () => {
    const { listener } = await bench();
    await using _ = listener;
    const runtime = nodeRuntime();
    await using dialer = dialTcp<Uint8Array, Uint8Array>({
      ...{ codec: bytes, protocol: PROTOCOL, role: 'x', runtime, logger: silent },
    });
    const heard: number[] = [];
    listener.listen((_from, message) => heard.push(Buffer.from(message).readUInt32BE()));
    const address = `127.0.0.1:${listener.port}`;
    const message = (number: number): Uint8Array => {
      const text = Buffer.alloc(50);
      text.writeUInt32BE(number);
      return text;
    };
    dialer.send(address, message(0));
    await until(() => heard.length === 1);
    const before = dialer.counters.writes;
    for (let number = 1; number <= 1_000; number += 1) dialer.send(address, message(number));
    await until(() => heard.length === 1_001);
    expect(heard).toEqual(Array.from({ length: 1_001 }, (_each, index) => index));
    expect(dialer.counters.writes - before).toBe(1);
  });

  it('need not wait for its end', async () => {
    const { listener } = await bench();
    await using _ = listener;
    await using dialer = dialTcp<Uint8Array, Uint8Array>({
      ...{ codec: bytes, protocol: PROTOCOL, role: 'x', runtime: nodeRuntime(), logger: silent },
    });
    const heard: number[] = [];
    listener.listen((_from, message) => heard.push(message[0] ?? 0));
    const address = `127.0.0.1:${listener.port}`;
    dialer.flush(address); // Nobody is there yet, and nothing was said.
    dialer.send(address, Uint8Array.of(0));
    dialer.flush(address);
    await until(() => heard.length === 1);
    const before = dialer.counters.writes;
    dialer.send(address, Uint8Array.of(1));
    dialer.send(address, Uint8Array.of(2));
    dialer.flush(address);
    expect(dialer.counters.writes - before).toBe(1);
    dialer.send(address, Uint8Array.of(3));
    expect(dialer.counters.writes - before).toBe(1);
    await until(() => heard.length === 4);
    expect(heard).toEqual([0, 1, 2, 3]);
    expect(dialer.counters.writes - before).toBe(2);
  });

  it('is not copied for each of many peers when it is large', async () => {
    const { listener } = await bench();
    await using _ = listener;
    const peers = Array.from({ length: 20 }, () => new RawPeer(listener.port).introduce());
    await until(() => listener.peers.size === 20 && peers.every(({ heard }) => heard.length > 0));
    for (const peer of peers) peer.socket.pause();
    const push = new Uint8Array(16 * MIB);
    const before = process.memoryUsage();
    for (const id of listener.peers.keys()) listener.send(id, push);
    await new Promise((resolve) => setImmediate(resolve));
    const { arrayBuffers } = process.memoryUsage();
    expect(arrayBuffers - before.arrayBuffers).toBeLessThan(16 * MIB);
    for (const peer of peers) peer[Symbol.dispose]();
  });
});
