import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { readGrants } from '../../../node/identity/grants.ts';
import { newKeyPair } from '../../../node/identity/keys.ts';
import { printIdentity } from '../../../node/identity/peer-identity.ts';
import { makeToken, readToken, type Token } from '../../../node/identity/token.ts';
import { newSigner, nodeVerifier } from '../../../node/signer.ts';
import { framed } from '../../../node/tcp/frame-writer.ts';
import { decodeWelcome } from '../../../node/tcp/handshake.ts';
import { socketsOfTokens } from '../../../node/tcp/secure-sockets.ts';
import { plainDialSockets, plainListenSockets } from '../../../node/tcp/sockets.ts';
import { HandMovedRuntime, listeningLogger, RawPeer, until } from '../../../node/tcp/socket-script.ts';
import { RefusedError } from '../../../runtime/errors.ts';
import { silent } from '../../../runtime/logger.ts';
import { proveTransfer, isTransferProof } from '../../core/moves/proof.ts';
import type { MoveInput } from '../../core/moves/seam.ts';
import { MapState, NAMED, plainCodec, TICKET, WHOLE } from '../../simulation/moves/carrier-bench.ts';
import {
  decodeFromTarget,
  encodeFromSource,
  type FromTarget,
  ITEM_BYTES_MAX,
  TRANSFER_PROTOCOL,
} from '../../wire/transfer.ts';
import { startManager } from '../manager/start-manager.ts';
import { type MoveCarrierOptions, openMoveCarrier, type SecureMoves } from './open-move-carrier.ts';

const LONG_MS = 30_000;
const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]();
});

async function owner(options: Partial<MoveCarrierOptions> = {}, state: MapState = new MapState()) {
  const signer = newSigner();
  const runtime = new HandMovedRuntime();
  const inputs: MoveInput[] = [];
  const logger = listeningLogger();
  const carrier = await openMoveCarrier({
    ...{ pool: 'presence', signer, runtime, logger, listen: { host: '127.0.0.1', port: 0 } },
    ...{ stallTimeoutMs: 10_000, defaultCodec: plainCodec, say: (input) => void inputs.push(input) },
    ...options,
  });
  open.push(carrier);
  carrier.movable('rooms', state);
  const heard = (is: MoveInput['is']): Promise<void> => until(() => inputs.some((input) => input.is === is));
  const why = (): string => {
    const failed = inputs.find(({ is }) => is === 'failed');
    return failed?.is === 'failed' ? failed.why : '';
  };
  return { carrier, signer, runtime, inputs, logger, state, heard, why };
}

type Owner = Awaited<ReturnType<typeof owner>>;

function begin(source: Owner, target: Owner, address: string = target.carrier.address): void {
  const [from, to] = [source.signer.incarnation, target.signer.incarnation];
  target.carrier.execute({ do: 'receive', ticket: TICKET, span: WHOLE, number: 7, from, ...NAMED });
  source.carrier.execute({ do: 'stream', ticket: TICKET, span: WHOLE, number: 7, to, address, ...NAMED });
}

async function finish(source: Owner, target: Owner): Promise<void> {
  await source.heard('caughtUp');
  source.carrier.execute({ do: 'freeze', ticket: TICKET });
  await source.heard('acknowledged');
  await target.heard('staged');
  source.carrier.execute({ do: 'handed', ticket: TICKET });
  target.carrier.execute({ do: 'commit', ticket: TICKET, spans: [{ ...WHOLE, number: 8 }] });
  source.carrier.execute({ do: 'departed', spans: [{ ...WHOLE, number: 7 }] });
}

const portOf = ({ carrier }: Owner): number => Number(carrier.address.split(':').at(-1));

describe('a move over sockets', { timeout: LONG_MS }, () => {
  it('brings everything, in chunks and with an item of 16 MiB', async () => {
    const [source, target] = [await owner(), await owner()];
    for (let index = 0; index < 20_000; index += 1) source.state.entries.set(`k${index}`, { index });
    source.state.entries.set('large', 'x'.repeat(ITEM_BYTES_MAX - 20));
    const expected = new Map(source.state.entries);
    begin(source, target);
    await source.heard('caughtUp');
    source.state.set('k1', 'changed');
    expected.set('k1', 'changed');
    await finish(source, target);
    expect(target.state.entries).toEqual(expected);
    expect(source.state.entries.size).toBe(0);
    expect(source.carrier.sent).toEqual(target.carrier.received);
    expect([source.why(), target.logger.lines.filter(({ level }) => level === 'warn')]).toEqual(['', []]);
  });

  it('goes through an address that is advertised, and survives a line that is cut', async () => {
    const [source, target] = [await owner(), await owner()];
    for (let index = 0; index < 5_000; index += 1) source.state.entries.set(`k${index}`, 'x'.repeat(1_000));
    const expected = new Map(source.state.entries);
    const sockets: Socket[] = [];
    let connections = 0;
    const relay: Server = createServer((near) => {
      connections += 1;
      const far = connect(portOf(target), '127.0.0.1');
      for (const socket of [near, far]) socket.on('error', () => socket.destroy());
      near.pipe(far);
      far.pipe(near);
      sockets.push(near, far);
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    const { port } = relay.address() as { port: number };
    begin(source, target, `127.0.0.1:${port}`);
    await until(() => target.state.staged > 0);
    for (const socket of sockets) socket.destroy();
    await until(() => source.state.ends.length === 1);
    source.runtime.pass(1_000);
    await finish(source, target);
    expect(target.state.entries).toEqual(expected);
    expect(connections).toBe(2);
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => relay.close(resolve));
  });

  it('is encrypted with tokens, whose grants the caller judges at both ends', async () => {
    const cluster = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
    const tokenFor = (grants: string): Token =>
      readToken(makeToken({ ...cluster, grants: readGrants(grants) }));
    const told: string[] = [];
    const secureWith = (grants: string): SecureMoves => {
      const sockets = socketsOfTokens([tokenFor(grants)]);
      return {
        ...{ listen: sockets, dial: sockets },
        refusesTarget: (_, identity) => void told.push(`to ${printIdentity(identity)}`),
        refusesStranger: () => undefined,
        refusesSource: (identity) => void told.push(`from ${printIdentity(identity)}`),
      };
    };
    const source = await owner({ secure: secureWith('server:flease/default/a') });
    const target = await owner({ secure: secureWith('server:flease/default/b') });
    source.state.entries.set('a', 1);
    begin(source, target);
    await finish(source, target);
    expect(target.state.entries).toEqual(new Map([['a', 1]]));
    expect(told[0]).toMatch(/^to token \w+ \(server:flease\/default\/b\)$/);
    expect(told[1]).toMatch(/^from token \w+ \(server:flease\/default\/a\)$/);
    const plain = await owner();
    begin(plain, target);
    let isOver = false;
    void plain.heard('failed').then(() => (isOver = true));
    await until(() => {
      plain.runtime.pass(10);
      return isOver;
    });
    expect(plain.why()).not.toBe('');
  });

  it('asks the caller whether the target may be there, by its certificate and its name', async () => {
    const asked: unknown[] = [];
    const secure = {
      ...{ listen: plainListenSockets, dial: plainDialSockets },
      refusesTarget: (address: string, identity: unknown, toName: string | undefined) => {
        asked.push([address, identity, toName]);
        return new RefusedError('NOT_ALLOWED', 'that is no token of an owner');
      },
      refusesStranger: () => undefined,
      refusesSource: () => undefined,
    };
    const [source, target] = [await owner({ secure }), await owner()];
    const { address } = target.carrier;
    const stream = { do: 'stream', ticket: TICKET, span: WHOLE, number: 7, address, ...NAMED } as const;
    source.carrier.execute({ ...stream, to: target.signer.incarnation });
    await source.heard('failed');
    expect(source.why()).toContain('no token of an owner');
    expect(asked).toEqual([[address, 'unrestricted', 'web-3']]);
  });

  it('asks the caller whether the source may be that owner, before anything is signed', async () => {
    const asked: unknown[] = [];
    const secure = {
      ...{ listen: plainListenSockets, dial: plainDialSockets, refusesTarget: () => undefined },
      refusesStranger: () => undefined,
      refusesSource: (identity: unknown, fromName: string | undefined) => {
        asked.push([identity, fromName]);
        return new RefusedError('NOT_ALLOWED', 'that is no token of web-1');
      },
    };
    const [source, target] = [await owner(), await owner({ secure })];
    begin(source, target);
    await source.heard('failed');
    expect(source.why()).toContain('no token of web-1');
    expect(asked).toEqual([['unrestricted', 'web-1']]);
  });

  it('ends at once at an address that leads to a Manager', async () => {
    const manager = await startManager({ listen: '127.0.0.1:0', firstStart: true, logger: silent });
    const [source, target] = [await owner(), await owner()];
    begin(source, target, manager.address);
    await source.heard('failed');
    expect(source.why()).toContain(manager.address);
    expect(source.logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    await manager.close();
  });

  it('ends after three attempts at an address where nobody listens', async () => {
    const [source, target] = [await owner(), await owner()];
    const nobody = createServer();
    await new Promise<void>((resolve) => nobody.listen(0, '127.0.0.1', resolve));
    const { port } = nobody.address() as { port: number };
    await new Promise((resolve) => nobody.close(resolve));
    begin(source, target, `127.0.0.1:${port}`);
    let isOver = false;
    void source.heard('failed').then(() => (isOver = true));
    await until(() => {
      source.runtime.pass(10);
      return isOver;
    });
    expect(source.why()).toContain('no process listens there');
  });

  it('ends at an address that is none', async () => {
    const [source, target] = [await owner(), await owner()];
    begin(source, target, 'nowhere');
    await source.heard('failed');
    expect(source.why()).toContain('host:port');
  });
});

describe('the port of an owner', { timeout: LONG_MS }, () => {
  /** The frames that were heard so far. */
  const framesOf = (heard: Buffer): Buffer[] => {
    const frames: Buffer[] = [];
    for (let at = 0; at + 4 <= heard.length; ) {
      const end = at + 4 + heard.readUInt32BE(at);
      if (end > heard.length) break;
      if (end > at + 4) frames.push(heard.subarray(at + 4, end));
      at = end;
    }
    return frames;
  };
  const answers = (peer: RawPeer): readonly FromTarget[] =>
    framesOf(peer.heard)
      .slice(1)
      .map((frame) => decodeFromTarget(frame));
  const introduced = async (target: Owner): Promise<RawPeer> => {
    const peer = new RawPeer(portOf(target)).introduce('source', TRANSFER_PROTOCOL);
    await until(() => framesOf(peer.heard).length > 0 || peer.isClosed);
    return peer;
  };

  it('proves the target on the channel of the connection, and takes the proof of the source there', async () => {
    const [source, target] = [newSigner(), await owner()];
    const { incarnation: to } = target.signer;
    const { incarnation: from } = source;
    target.carrier.execute({ do: 'receive', ticket: TICKET, span: WHOLE, number: 7, from, ...NAMED });
    using peer = await introduced(target);
    const { channel } = decodeWelcome(TRANSFER_PROTOCOL, framesOf(peer.heard)[0] as Buffer);
    expect(channel).toMatch(/^[0-9a-f]{32}$/);
    const nonce = '5a'.repeat(16);
    peer.say(framed(encodeFromSource({ kind: 'hello', ticket: TICKET, from, to, nonce, attempt: 1 })));
    await until(() => answers(peer).length === 1);
    const facts = { nonce, channel, pool: 'presence', ticket: TICKET, from, to };
    const [proof] = answers(peer);
    expect(proof?.kind === 'proof' && isTransferProof(proof, 'target', facts, nodeVerifier)).toBe(true);
    peer.say(framed(encodeFromSource({ kind: 'proof', ...proveTransfer(source, 'source', facts) })));
    await until(() => answers(peer).length === 2);
    expect(answers(peer)[1]).toEqual({ kind: 'ready' });
  });

  it('takes no frame above 1 KiB from a peer that is not proved', async () => {
    const target = await owner();
    using peer = await introduced(target);
    peer.say(Buffer.from([0, 0, 4, 1])).say(Buffer.alloc(100));
    await until(() => peer.isClosed);
    expect(answers(peer)).toEqual([]);
  });

  it('is open to an honest source while strangers open more connections than it has room for', async () => {
    const [source, target] = [await owner(), await owner()];
    source.state.entries.set('a', 1);
    const strangers = Array.from({ length: 300 }, () => new RawPeer(portOf(target)));
    for (const [index, stranger] of strangers.entries())
      if (index % 2 === 0) stranger.introduce('source', TRANSFER_PROTOCOL);
    await until(() => strangers.filter(({ isClosed }) => isClosed).length >= 300 - 64);
    begin(source, target);
    let isOver = false;
    void finish(source, target).then(() => (isOver = true));
    await until(() => {
      if (source.why() !== '') throw new Error(source.why());
      source.runtime.pass(1);
      return isOver;
    });
    expect(target.state.entries).toEqual(new Map([['a', 1]]));
    for (const stranger of strangers) stranger[Symbol.dispose]();
  });
});
