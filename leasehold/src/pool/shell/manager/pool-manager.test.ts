import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listeningLogger, RawPeer, until } from '../../../node/tcp/socket-script.ts';
import { framed } from '../../../node/tcp/frame-writer.ts';
import { POOL_PROTOCOL } from '../../wire/codec.ts';
import { joinPool } from '../owner/join-pool.ts';
import { connectLookup } from '../lookup/connect-lookup.ts';
import { startManager } from './start-manager.ts';

const pool = 'presence';
const portOf = (address: string): number => Number(address.split(':')[1]);

describe('a Manager whose directory was replaced by an older copy', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'leasehold-manager-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('halts, says what can be done, and still shows what it knows', async () => {
    const directory = join(folder, 'data');
    const options = { defaults: { leaseMs: 1_500 } } as const;
    const first = await startManager({
      ...options,
      store: { directory },
      listen: '127.0.0.1:0',
      firstStart: true,
    });
    const port = portOf(first.address);
    const managers = [first.address];
    await using one = await joinPool({ managers, pool, name: 'a', url: 'http://a' });
    await one.whenOwned('alice');
    await first.close();
    cpSync(directory, join(folder, 'old'), { recursive: true });

    const second = await startManager({ ...options, store: { directory }, listen: `127.0.0.1:${port}` });
    await using two = await joinPool({ managers, pool, name: 'b', url: 'http://b' });
    await two.close();
    const { position } = second.observe().state;
    await using lookup = await connectLookup({ managers, pool });
    await vi.waitUntil(() => (lookup.position?.position ?? 0) >= position, { timeout: 10_000 });
    await second.close();

    const logger = listeningLogger();
    await using third = await startManager({
      ...options,
      store: { directory: join(folder, 'old') },
      listen: `127.0.0.1:${port}`,
      logger,
    });
    await vi.waitUntil(() => third.observe().role === 'halted', { timeout: 20_000 });
    const { state, term, history, haltedBecause } = third.observe();
    expect(haltedBecause).toContain('the store went back in time');
    expect([state.position > 0, term > 0, history === lookup.position?.history]).toEqual([true, true, true]);
    expect([...state.pool(pool).members.values()].map(({ name }) => name)).toEqual(['a']);
    const line = logger.lines.find(({ level, message }) => level === 'error' && message === 'halted');
    expect(line).toMatchObject({ why: haltedBecause });
    expect(line?.['next']).toMatch(/leasehold manager recover --data .* look-ups report everything as lost/);
    const events = third.source.events.recent(100).map(({ kind }) => kind);
    expect(events).toContain('manager.halted');
    expect(events).not.toContain('pool.left');
  }, 60_000);
});

describe('the counters of a Manager', () => {
  it('are messages that were none', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    expect(manager.source.traffic().messagesMalformed).toBe(0);
    using peer = new RawPeer(portOf(manager.address)).introduce('raw', POOL_PROTOCOL);
    peer.say(framed(Buffer.from('nonsense')));
    await until(() => peer.isClosed);
    expect(manager.source.traffic().messagesMalformed).toBe(1);
  });

  it('are snapshots, of which there is one after a thousand commits', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    const managers = [manager.address];
    const { counters } = manager.source;
    while (counters.commits <= 1_000) {
      expect(counters.compactions).toBe(0);
      await using _ = await joinPool({ managers, pool, name: 'a', url: 'http://a' });
    }
    await vi.waitUntil(() => counters.compactions === 1, { timeout: 10_000 });
  }, 60_000);
});

describe('two living owners with one name', () => {
  it('are never both members: the later is told who has the name, and joins when that one has left', async () => {
    const logger = listeningLogger();
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    const managers = [manager.address];
    const one = await joinPool({ managers, pool, name: 'a', url: 'http://one' });
    const number = await one.whenOwned('alice');
    const joining = joinPool({ managers, pool, name: 'a', url: 'http://two', logger });
    const refusals = () => logger.lines.filter(({ code }) => code === 'NAME_IN_USE');
    await until(() => refusals().length > 0);
    expect(refusals()[0]).toMatchObject({
      ...{ level: 'warn', message: 'a Manager refuses this owner', code: 'NAME_IN_USE' },
      why: expect.stringMatching(
        /is a member at http:\/\/one, heard \d\.\d s ago.*free in at most \d+\.\d s/,
      ),
    });
    expect(one.check('alice')).toBe(number);
    await one.close();
    await using two = await joining;
    await two.whenOwned('alice');
    expect(refusals()).toHaveLength(2); // And that it is over.
  });

  it('are not what a restart is', async () => {
    const logger = listeningLogger();
    await using manager = await startManager({
      listen: '127.0.0.1:0',
      firstStart: true,
      logger,
    });
    const managers = [manager.address];
    const one = await joinPool({ managers, pool, name: 'a', url: 'http://a' });
    await one.close();
    await using two = await joinPool({ managers, pool, name: 'a', url: 'http://a' });
    await two.whenOwned('alice');
    expect(logger.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});
