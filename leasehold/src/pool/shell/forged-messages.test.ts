/**
 * A stranger with a socket: the stranger reaches the port, was never admitted, and knows all that is public.
 */

import { describe, expect, it } from 'vitest';
import { framed } from '../../node/tcp/frame-writer.ts';
import { listeningLogger, RawPeer, until } from '../../node/tcp/socket-script.ts';
import { newSigner } from '../../node/signer.ts';
import { decodeWelcome } from '../../node/tcp/handshake.ts';
import { prove } from '../core/incarnation.ts';
import type { FromManager, Prove, Report, ToManager } from '../core/messages.ts';
import { clientCodec, POOL_PROTOCOL } from '../wire/codec.ts';
import { encodeMessage } from '../wire/messages.ts';
import { joinPool } from './owner/join-pool.ts';
import type { PoolManager } from './manager/pool-manager.ts';
import type { PoolOwner } from './owner/pool-owner.ts';
import { startManager } from './manager/start-manager.ts';

const pool = 'presence';
const portOf = (address: string): number => Number(address.split(':')[1]);

/** A report that everybody could write after reading the status and some messages. */
function forgedReport(
  manager: PoolManager,
  { incarnation, name, url }: PoolOwner,
  what: { readonly sequence: number; readonly leaving: boolean },
): Report {
  const rows = manager.observe().state.pool(pool).rowsOf(incarnation);
  const letGo = rows.map(({ start, end, number }) => ({ start, end, number, how: 'released' as const }));
  return {
    ...{ kind: 'report', pool, incarnation, name, url, proof: undefined, wantsAnswer: true, ...what },
    ...{ heard: undefined, seen: undefined, held: [], letGo: what.leaving ? letGo : [], load: 0 },
  };
}

/** The last thing that the Manager said. */
function lastFrame({ heard }: RawPeer): FromManager {
  let at = 0;
  let frame = heard.subarray(0, 0);
  while (at < heard.length) {
    const length = heard.readUInt32BE(at);
    frame = heard.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
  return clientCodec.decode(frame);
}

describe('a stranger at the port of a Manager', () => {
  it('cannot halt it by claiming a far position of its log', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    const managers = [manager.address];
    await using owner = await joinPool({ managers, pool, name: 'a', url: 'http://a' });
    await owner.whenOwned('alice');
    const { history = '', term } = manager.observe();
    using stranger = new RawPeer(portOf(manager.address)).introduce('lookup', POOL_PROTOCOL);
    await until(() => stranger.heard.length > 0);
    const claims = [undefined, 'f'.repeat(32)].map((stamp, index): ToManager => {
      const seen = { history, term, position: 2 ** 51, stamp };
      return { kind: 'sync', pool, lookup: 'stranger', sequence: index + 1, seen };
    });
    for (const claim of claims) stranger.say(framed(encodeMessage(claim)));
    const before = stranger.heard.length;
    // A sync without a claim is answered, so by then the others were heard.
    stranger.say(
      framed(encodeMessage({ kind: 'sync', pool, lookup: 'stranger', sequence: 3, seen: undefined })),
    );
    await until(() => stranger.heard.length > before || manager.observe().role === 'halted');
    expect(manager.observe().role).toBe('leading');
  });

  it.each([
    ['says that it released everything and leaves', 100, true],
    ['has the last sequence there is', Number.MAX_SAFE_INTEGER, false],
  ])('cannot forge a report of an owner: one that %s', async (_, sequence, leaving) => {
    const logger = listeningLogger();
    await using manager = await startManager({
      listen: '127.0.0.1:0',
      firstStart: true,
      logger,
    });
    await using owner = await joinPool({ managers: [manager.address], pool, name: 'a', url: 'http://a' });
    const number = await owner.whenOwned('alice');
    using stranger = new RawPeer(portOf(manager.address)).introduce('owner', POOL_PROTOCOL);
    await until(() => stranger.heard.length > 0);
    stranger.say(framed(encodeMessage(forgedReport(manager, owner, { sequence, leaving }))));
    await until(() => stranger.isClosed);
    expect(lastFrame(stranger)).toMatchObject({ kind: 'refused', code: 'NOT_ALLOWED', retryable: false });
    expect(manager.source.traffic().messagesNotAllowed).toBe(1);
    const warnings = logger.lines.filter(({ level }) => level === 'warn');
    expect(warnings).toMatchObject([{ message: 'peer dropped', code: 'NOT_ALLOWED' }]);
    // The owner still gets renewals and keeps the keys.
    const heard = (): number => manager.observe().owners[0]?.lastHeardAt ?? 0;
    const before = heard();
    await until(() => heard() > before);
    expect(manager.observe().owners).toMatchObject([{ incarnation: owner.incarnation, isLeaving: false }]);
    expect(owner.check('alice')).toBe(number);
  });

  it('cannot use the proof of another connection, nor a key of its own for the incarnation of another', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    await using owner = await joinPool({ managers: [manager.address], pool, name: 'a', url: 'http://a' });
    await owner.whenOwned('alice');
    const signer = newSigner();
    const { incarnation } = owner;
    const forgeries: ((channel: string) => Prove)[] = [
      () => prove(signer, pool, 'ab'.repeat(16)),
      (channel) => ({ ...prove(signer, pool, channel), pool: 'another' }),
      (channel) => prove({ ...signer, incarnation }, pool, channel),
      (channel) => ({ ...prove(signer, pool, channel), incarnation }),
    ];
    for (const forgery of forgeries) {
      using stranger = new RawPeer(portOf(manager.address)).introduce('owner', POOL_PROTOCOL);
      await until(() => stranger.heard.length > 0);
      const { channel } = decodeWelcome(POOL_PROTOCOL, stranger.heard.subarray(4));
      stranger.say(framed(encodeMessage(forgery(channel))));
      await until(() => stranger.isClosed);
      expect(lastFrame(stranger)).toMatchObject({ kind: 'refused', code: 'NOT_ALLOWED' });
    }
  });

  it('of version 1, which knows no proofs, reads that it is too old', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    using client = new RawPeer(portOf(manager.address));
    client.introduce('owner', { name: 'leasehold-pool', version: 1, oldest: 1 });
    await until(() => client.isClosed);
    const versions = 'this server speaks leasehold-pool version 3, the client version 1; upgrade the client';
    expect(() => decodeWelcome(POOL_PROTOCOL, client.heard.subarray(4))).toThrow(versions);
  });
});
