import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import { newSigner } from '../../node/signer.ts';
import { framed } from '../../node/tcp/frame-writer.ts';
import { decodeWelcome } from '../../node/tcp/handshake.ts';
import { listeningLogger, RawPeer, until } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import { prove } from '../core/incarnation.ts';
import type { Report } from '../core/messages.ts';
import { POOL_PROTOCOL } from '../wire/codec.ts';
import { encodeMessage } from '../wire/messages.ts';
import { joinPool } from './owner/join-pool.ts';
import { connectLookup } from './lookup/connect-lookup.ts';
import { type StartManagerOptions, startManager } from './manager/start-manager.ts';

const MIB = 1024 * 1024;
const pool = 'presence';
const portOf = (address: string): number => Number(address.split(':')[1]);

/** Renewals come as often as by default, but no lease runs out because this machine is slow. */
const PATIENT = { leaseMs: 60_000, renewEveryMs: 1_500, retryMs: 500 };

/** A Manager with one honest owner, which has all keys. */
async function opened(options: StartManagerOptions = {}) {
  const logger = listeningLogger();
  const manager = await startManager({
    ...{ listen: '127.0.0.1:0', firstStart: true, logger, defaults: PATIENT, ...options },
  });
  const managers = [manager.address];
  const join = (name: string) =>
    joinPool({ managers, pool, name, url: `http://${name}`, logger: silent, timeoutMs: 60_000 });
  /** Resolves when the honest owner was heard, and so renewed, after this call. */
  const renewed = async (): Promise<void> => {
    const now = manager.source.now();
    const heardAt = () => manager.observe().owners.find(({ name }) => name === 'honest')?.lastHeardAt ?? 0;
    await vi.waitUntil(() => heardAt() > now, { timeout: 60_000 });
    expect(owner.ranges().length).toBeGreaterThan(0);
  };
  const owner = await join('honest');
  await owner.whenOwned('alice');
  const warned = (message: string, limit?: string): number =>
    logger.lines.filter((line) => line.message === message && line['limit'] === limit).length;
  const close = async (): Promise<void> => {
    await owner.close();
    await manager.close();
  };
  return { manager, managers, join, warned, renewed, [Symbol.asyncDispose]: close };
}

/** Connections that have introduced themselves as owners, and then do as they like. */
async function strangers(address: string, count: number): Promise<readonly RawPeer[]> {
  const peers = Array.from({ length: count }, () => new RawPeer(portOf(address)));
  for (const peer of peers) peer.introduce('owner', POOL_PROTOCOL);
  await until(() => peers.every((peer) => peer.isClosed || peer.heard.length > 0));
  return peers;
}

const reportOf = (incarnation: string): Report => ({
  ...{ kind: 'report', pool, incarnation, name: incarnation, url: `http://${incarnation}`, proof: undefined },
  ...{ sequence: 1, wantsAnswer: true, heard: undefined, seen: undefined },
  ...{ held: [], letGo: [], leaving: false, load: 0 },
});

/** Asks to join as an owner that never was, and says no more of it. */
function askToJoin(peer: RawPeer): void {
  const welcome = peer.heard.subarray(4, 4 + peer.heard.readUInt32BE(0));
  const { channel = '' } = decodeWelcome(POOL_PROTOCOL, welcome);
  const signer = newSigner();
  peer.say(framed(encodeMessage(prove(signer, pool, channel)) as Uint8Array));
  peer.say(framed(encodeMessage(reportOf(signer.incarnation)) as Uint8Array));
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Without garbage, because the collector may leave any amount of that until it runs. */
function bufferBytesInUse(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

describe('strangers that begin large frames and do not end them', () => {
  const PEERS = 100;
  const SENT_BYTES = MIB;
  /** The limit for strangers in sum is 32 MiB; what they send is three times that. */
  const GROWTH_BYTES_MAX = 64 * MIB;

  it('cost a bounded amount of memory, the honest owner no key and a newcomer no join', async () => {
    await using scene = await opened();
    const { manager, join } = scene;
    const peers = await strangers(manager.address, PEERS);
    const before = bufferBytesInUse();
    const begun = Buffer.alloc(4 + SENT_BYTES);
    begun.writeUInt32BE(8 * MIB);
    for (const peer of peers) peer.say(begun);
    await vi.waitUntil(() => peers.every((peer) => peer.isClosed || peer.socket.writableLength === 0), {
      timeout: 60_000,
    });
    // The least of several readings is kept; beyond that, chunks that are just being read come and go.
    let kept = Number.POSITIVE_INFINITY;
    const newcomer = await join('newcomer');
    for (let turn = 0; turn < 20; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      kept = Math.min(kept, bufferBytesInUse() - before);
    }
    expect(kept).toBeLessThan(GROWTH_BYTES_MAX);
    expect(manager.source.traffic().limited['unfinishedBytesBeforeAdmission']).toBeGreaterThan(0);
    expect(scene.warned('peers send too much, and are held back', 'unfinishedBytesBeforeAdmission')).toBe(1);
    await scene.renewed();
    for (const peer of peers) peer[Symbol.dispose]();
    await newcomer.close();
  }, 120_000);
});

describe('a stranger that asks to join as one owner after the other', () => {
  const PEERS = 50;
  const OWNERS_EACH = 4;
  const CANDIDATES = 20;

  it('displaces its own, keeps no newcomer out, and is one line in the log', async () => {
    await using scene = await opened({ limits: { candidatesPerAddress: CANDIDATES } });
    const { manager, join } = scene;
    const peers = await strangers(manager.address, PEERS);
    for (let time = 0; time < OWNERS_EACH; time += 1) for (const peer of peers) askToJoin(peer);
    await vi.waitUntil(() => manager.source.counters.reports > PEERS, { timeout: 60_000 });
    const newcomer = await join('newcomer');
    await vi.waitUntil(() => manager.source.counters.reports >= PEERS * OWNERS_EACH, { timeout: 60_000 });
    const candidates = manager.observe().owners.filter(({ isMember }) => !isMember);
    expect(candidates.length).toBeLessThanOrEqual(CANDIDATES);
    expect(manager.source.traffic().limited['candidates']).toBeGreaterThan(CANDIDATES);
    expect(scene.warned('more owners want to join than there is room for')).toBe(1);
    await scene.renewed();
    for (const peer of peers) peer[Symbol.dispose]();
    await newcomer.close();
  }, 120_000);
});

describe('strangers that flood a Manager with messages and leave', () => {
  const PEERS = 60;
  const FLOOD = Buffer.alloc(60_000); // 15,000 empty frames

  it('keep neither a newcomer nor a look-up out afterwards', async () => {
    await using scene = await opened();
    const { manager, managers, join } = scene;
    const peers = await strangers(manager.address, PEERS);
    for (const peer of peers) peer.say(FLOOD);
    await until(() => peers.every((peer) => peer.isClosed || peer.socket.writableLength === 0));
    for (const peer of peers) peer[Symbol.dispose]();
    await using lookup = await connectLookup({ managers, pool, logger: silent });
    expect((await lookup.whenFound('alice')).name).toBe('honest');
    const newcomer = await join('newcomer');
    await newcomer.close();
  }, 120_000);
});

describe('strangers that connect and say nothing', () => {
  it('make room for a newcomer, and are closed', async () => {
    await using scene = await opened({ limits: { connectionsPending: 20 } });
    const { manager, join } = scene;
    const peers = Array.from({ length: 200 }, () => new RawPeer(portOf(manager.address)));
    await until(() => peers.filter(({ isClosed }) => isClosed).length >= 100);
    const newcomer = await join('newcomer');
    expect(manager.source.traffic().limited['connectionsPending']).toBeGreaterThan(0);
    for (const peer of peers) peer[Symbol.dispose]();
    await newcomer.close();
  }, 120_000);
});

describe('a Manager that has as many connections as it may', () => {
  it('says so to a joiner, whose error says it too', async () => {
    await using scene = await opened({ limits: { connections: 1 } });
    const joining = joinPool({
      ...{ managers: scene.managers, pool, name: 'b', url: 'http://b', logger: silent, timeoutMs: 2_000 },
    });
    await expect(joining).rejects.toMatchObject({ code: 'FULL', retryable: true });
    await expect(joining).rejects.toThrow('is full');
  }, 60_000);
});
