import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type Certificates,
  hasOpenssl,
  leaveOutWithoutOpenssl,
  makeCertificates,
} from '../../node/http-client/certificates-script.ts';
import { readGrants } from '../../node/identity/grants.ts';
import { newKeyPair } from '../../node/identity/keys.ts';
import { makeToken } from '../../node/identity/token.ts';
import { secureSocketsOf } from '../../node/mesh/tls-option.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { parseAddress } from '../../node/tcp/address.ts';
import { dialTcp } from '../../node/tcp/dial.ts';
import { listenTcp } from '../../node/tcp/listen.ts';
import { lastingAddresses } from '../../node/testing/lasting-port.ts';
import { joinPool } from '../../pool/shell/owner/join-pool.ts';
import { answerCodec, askCodec, LIMIT_PROTOCOL } from '../wire/codec.ts';
import { startManager } from '../../pool/shell/manager/start-manager.ts';
import { type Logger, silent } from '../../runtime/logger.ts';
import type { SharedLimits } from './shared-limits.ts';
import type { Limiter } from './limiter.ts';
import { ratelimit, type RateLimitOptions } from './ratelimit.ts';
import { joinLimits } from './join-limits.ts';
import type { JoinLimitsOnPoolOptions } from './limits-on-pool.ts';

const LONG_MS = 30_000;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(
  names: readonly string[],
  logger: Logger = silent,
  options: Partial<JoinLimitsOnPoolOptions> = {},
  managerTls = options.tls,
): Promise<readonly SharedLimits[]> {
  const manager = await startManager({
    listen: '127.0.0.1:0',
    firstStart: true,
    logger: silent,
    tls: managerTls,
  });
  closing.push(() => manager.close());
  const handles: SharedLimits[] = [];
  for (const name of names) {
    const shared = await joinLimits({ managers: [manager.address], name, logger, ...options });
    closing.push(() => shared.close());
    handles.push(shared);
  }
  return handles;
}

const limitersOf = (handles: readonly SharedLimits[], options: Partial<RateLimitOptions> = {}): Limiter[] =>
  handles.map((shared) => ratelimit({ name: 'api', limit: 20, per: '1h', shared, ...options }));

/** Until every key has an owner that mints: requests for other keys say so. */
async function untilOwned(limiters: readonly Limiter[]): Promise<void> {
  for (const [at, limiter] of limiters.entries()) {
    for (let key = 0; key < 20; key += 1) {
      await vi.waitFor(async () => {
        expect((await limiter.consume(`warm-up ${at} ${key}`)).denied).not.toBe('cut-off');
      }, LONG_MS);
    }
  }
}

describe('processes that share a limit', () => {
  it('allow its burst together, and no more, whichever of them is asked', async () => {
    // As long as a new owner of a key may wait, and a busy machine may let all processes of this test wait.
    const limiters = limitersOf(await start(['ada', 'ben', 'cyd']), { askTimeoutMs: 2_000 });
    await untilOwned(limiters);
    for (const key of ['ann', 'bob', 'eve', 'kim', 'lou']) {
      const answers = [];
      for (let count = 0; count < 30; count += 1) {
        answers.push(await limiters[count % 3]?.consume(key));
      }
      expect(answers.filter((answer) => answer?.allowed)).toHaveLength(20);
      expect(answers.at(-1)).toMatchObject({ allowed: false, denied: 'rate' });
      expect(new Set(answers.map((answer) => answer?.by))).not.toContain('closed');
    }
  }, 60_000);

  it('admit requests that do not wait, whichever of them owns the key', async () => {
    const limiters = limitersOf(await start(['ada', 'ben']), { limit: 1_000, per: '1s' });
    await untilOwned(limiters);
    for (const limiter of limiters) {
      for (const key of ['ann', 'bob', 'eve', 'kim', 'lou', 'max', 'pat', 'sue']) {
        await vi.waitFor(() => expect(limiter.tryConsume(key).allowed).toBe(true), LONG_MS);
      }
    }
  }, 60_000);

  it('go on when one of them leaves', async () => {
    const handles = await start(['ada', 'ben']);
    const limiters = limitersOf(handles, { limit: 1_000, per: '1s', whenCutOff: 'closed' });
    await untilOwned(limiters);
    await handles[0]?.close();
    await untilOwned(limiters.slice(1));
    expect((await limiters[1]?.consume('ann'))?.by).toBe('owner');
    expect(await limiters[0]?.consume('ann')).toMatchObject({ allowed: false, denied: 'closed' });
  }, 60_000);

  it('have no tokens more when a process that leaves hands a key without tokens over', async () => {
    const handles = await start(['ada', 'ben']);
    const limiters = limitersOf(handles);
    await Promise.all(handles.map((handle) => handle.ready()));
    const keys = ['ann', 'bob', 'eve', 'kim', 'lou', 'max', 'pat', 'sue'];
    const owned = keys.filter((key) => limiters[0]?.peek(key).by === 'owner');
    expect(owned).not.toEqual([]);
    for (const key of owned) for (let count = 0; count < 20; count += 1) await limiters[0]?.consume(key);
    await handles[0]?.close();
    for (const key of owned) {
      expect(limiters[1]?.peek(key)).toMatchObject({ by: 'owner', denied: 'rate' });
      expect(await limiters[1]?.consume(key)).toMatchObject({ allowed: false, denied: 'rate' });
    }
    await expect(handles[0]?.ready()).rejects.toMatchObject({ code: 'CLOSED' });
  }, 60_000);

  it('end a request that its caller gives up, and take nothing for it', async () => {
    const handles = await start(['ada', 'ben']);
    const limiters = limitersOf(handles);
    await untilOwned(limiters);
    const keys = Array.from({ length: 20 }, (_, at) => `given up ${at}`);
    const key = keys.find((each) => limiters[0]?.peek(each).by !== 'owner') ?? '';
    const giveUp = new AbortController();
    const given = limiters[0]?.consume(key, { signal: giveUp.signal });
    giveUp.abort(new Error('the client is gone'));
    await expect(given).rejects.toThrow('the client is gone');
    await expect(limiters[0]?.consume(key, { signal: giveUp.signal })).rejects.toThrow('the client is gone');
    await vi.waitFor(() => expect(limiters[1]?.peek(key).remaining).toBe(20), LONG_MS);
    await expect(limiters[0]?.consume(key, { timeoutMs: -1 })).rejects.toMatchObject({
      details: expect.objectContaining({ option: 'timeoutMs' }),
    });
  }, 60_000);

  it('tell by their handles that they are ready, cut off and closed', async () => {
    const life = new AbortController();
    const [ada] = await start(['ada'], silent, { signal: life.signal });
    if (ada === undefined) throw new Error('ada has joined');
    await ada.ready({ timeoutMs: LONG_MS });
    expect(ada.status()).toMatchObject({
      ...{ module: 'ratelimit', role: 'member', instance: 'ratelimit', name: 'ada' },
      ...{ isReady: true, waitsFor: undefined, problems: [], limiters: [], differences: [] },
    });
    const told: string[] = [];
    const listening = (async () => {
      for await (const { kind, limiter } of ada.events()) told.push(`${kind} of ${String(limiter)}`);
    })();
    const limiter = ratelimit({ name: 'api', limit: 20, shared: ada, whenCutOff: 'closed' });
    life.abort();
    expect(await ada.closed).toBeUndefined();
    expect(await limiter.consume('ann', { timeoutMs: 0 })).toMatchObject({ denied: 'closed' });
    expect(ada.status()).toMatchObject({ isReady: false, waitsFor: 'nothing: they were closed' });
    await expect(ada.ready()).rejects.toMatchObject({ code: 'CLOSED', module: 'ratelimit' });
    await listening;
    expect(told).toEqual([]);
  }, 60_000);

  it('find out that their limits differ, and say which', async () => {
    const warnings: string[] = [];
    const handles = await start(['ada', 'ben'], { ...silent, warn: (message) => warnings.push(message) });
    const [ada, ben] = handles;
    const limiters = [
      ratelimit({ name: 'api', limit: 20, shared: ada }),
      ratelimit({ name: 'api', limit: 30, shared: ben }),
    ];
    await untilOwned(limiters);
    const differences = handles.flatMap((handle) => handle.status().differences);
    expect(differences[0]).toMatchObject({
      limiter: 'api',
      ours: expect.stringMatching(/^[23]0 per 1000 ms/),
    });
    expect(warnings).toContain('limiter api has another limit in another process');
    const problems = handles.flatMap((handle) => handle.status().problems);
    expect(problems[0]).toMatchObject({ level: 'warning', what: expect.stringContaining('another limit') });
  }, 60_000);
});

describe('processes that share a limit, with TLS', () => {
  let directory: string;
  let certificates: Certificates;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'leasehold-ratelimit-'));
    if (hasOpenssl()) certificates = makeCertificates(directory);
  }, LONG_MS);
  afterAll(() => rmSync(directory, { recursive: true }));

  it('answer each other', async (context) => {
    leaveOutWithoutOpenssl(context);
    const tls = { ca: certificates.ca, ...certificates.server };
    const limiters = limitersOf(await start(['ada', 'ben'], silent, { tls }));
    await untilOwned(limiters);
    for (const limiter of limiters) expect((await limiter.consume('ann')).denied).not.toBe('cut-off');
  }, 60_000);
});

describe('processes that share a limit, with tokens', () => {
  const cluster = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
  const token = (grants: string): string => makeToken({ ...cluster, grants: readGrants(grants) });
  const socketsFor = (grants: string) =>
    secureSocketsOf({ tls: token(grants), logger: silent }, 0) ?? expect.fail('no sockets');
  const COMMON = { protocol: LIMIT_PROTOCOL, runtime: nodeRuntime(), logger: silent };

  async function startPool(tls: string): Promise<string> {
    const manager = await startManager({ listen: '127.0.0.1:0', firstStart: true, logger: silent, tls });
    closing.push(() => manager.close());
    return manager.address;
  }

  async function joinWith(managers: readonly string[], name: string, tls: string): Promise<SharedLimits> {
    const shared = await joinLimits({ managers, name, tls, logger: silent });
    closing.push(() => shared.close());
    return shared;
  }

  it('answer each other, each with a token for its own name', async () => {
    const managers = [await startPool(token('server:pool/ratelimit'))];
    const handles: SharedLimits[] = [];
    for (const name of ['ada#1', 'ben'])
      handles.push(await joinWith(managers, name, token(`owner:pool/ratelimit/${name.replace('#', '%23')}`)));
    const limiters = limitersOf(handles);
    await untilOwned(limiters);
    for (const limiter of limiters) expect((await limiter.consume('ann')).denied).not.toBe('cut-off');
  }, 60_000);

  it.each([
    ['the name of another', 'owner:pool/ratelimit/eve', 'ada#x'],
    ['a name that only begins like its own', 'owner:pool/ratelimit/ada', 'ada#1#x'],
    ['another pool', 'owner:pool/other/ada', 'ada#x'],
    ['a client of the pool', 'client:pool/ratelimit/ada', 'ada#x'],
    ['no name', 'owner:pool/ratelimit/ada', 'ada'],
  ])('take no ask of a process with %s', async (_, grants, role) => {
    const managers = [await startPool(token('server:pool/ratelimit'))];
    const ada = await joinWith(managers, 'ada', token('owner:pool/ratelimit/ada'));
    const at = ada.status().address;
    const dialer = dialTcp({ ...COMMON, codec: askCodec, role, secure: socketsFor(grants) });
    closing.push(async () => await dialer[Symbol.asyncDispose]());
    dialer.connect(at);
    await vi.waitFor(() => expect(dialer.problems().has(at) || dialer.welcome(at)).toBeTruthy(), LONG_MS);
    expect([dialer.welcome(at), dialer.problems().get(at)]).toMatchObject([
      undefined,
      { reason: 'NOT_ALLOWED' },
    ]);
  });

  it.each([
    ['nothing', 'to another owner', 'owner:pool/ratelimit/eve|owner:pool/ratelimit/dea|server:*'],
    ['asks', 'to the owner', 'owner:pool/ratelimit/dead'],
  ])(
    'say %s %s at the address of an owner',
    async (said, _, grants) => {
      const managers = [await startPool(token('server:pool/ratelimit'))];
      const { place } = await lastingAddresses('place');
      // An owner by the table, whose process shares no limit any more.
      const dead = await joinPool({
        ...{ managers, pool: 'ratelimit', name: 'dead', url: `leasehold-limit://${place}` },
        ...{ tls: token('owner:pool/ratelimit/dead'), logger: silent },
      });
      closing.push(() => dead.close());
      const hellos: string[] = [];
      const listener = await listenTcp({
        ...{ ...COMMON, ...parseAddress(place), codec: answerCodec, secure: socketsFor(grants) },
        refuses: ({ role }) => {
          hellos.push(role);
          return undefined;
        },
      });
      closing.push(async () => await listener[Symbol.asyncDispose]());
      const heard: unknown[] = [];
      listener.listen((_from, ask) => heard.push(ask));
      const ada = await joinWith(managers, 'ada', token('owner:pool/ratelimit/ada'));
      const [limiter] = limitersOf([ada], { askTimeoutMs: 100 }) as [Limiter];
      await vi.waitFor(() => expect(dead.ranges()).not.toEqual([]), LONG_MS);
      await vi.waitFor(async () => {
        const uses = Array.from({ length: 40 }, (_each, key) => limiter.consume(`key ${key}`));
        const kinds = new Set((await Promise.all(uses)).map(({ by }) => by));
        expect(kinds.has('owner') && kinds.size > 1).toBe(true);
      }, LONG_MS);
      if (said === 'asks') await vi.waitFor(() => expect(heard).not.toEqual([]), LONG_MS);
      else expect([hellos, heard]).toEqual([[], []]);
    },
    60_000,
  );
});

describe('the options of a shared limit', () => {
  it.each([
    [{ whenLost: 'empty' as const }, 'whenLost'],
    [{ whenCutOff: 'share' as const }, 'whenCutOff'],
    [{ askTimeoutMs: 10 }, 'askTimeoutMs'],
    [{ maxServers: 4 }, 'maxServers'],
    [{ shareForMs: 4 }, 'shareForMs'],
  ])('%j are refused for a limit of one process', (options, option) => {
    expect(() => ratelimit({ limit: 5, ...options })).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ option }) }),
    );
  });

  const shared = { add: () => ({}) } as unknown as SharedLimits;
  it.each([
    [{}, 'name'],
    [{ name: 'api', whenLost: 'half' as 'full' }, 'whenLost'],
    [{ name: 'api', whenCutOff: 'share' as const, maxServers: 0 }, 'maxServers'],
    [{ name: 'api', whenCutOff: 'closed' as const, maxServers: 4 }, 'maxServers'],
    [{ name: 'api', whenCutOff: 'closed' as const, shareForMs: 4 }, 'shareForMs'],
    [{ name: 'api', shareForMs: 0 }, 'shareForMs'],
    [{ name: 'api', whenCutOff: { open: 0, forMs: 5 } }, 'whenCutOff'],
    [{ name: 'api', whenCutOff: 'ajar' as 'closed' }, 'whenCutOff'],
    [{ name: 'api', askTimeoutMs: -1 }, 'askTimeoutMs'],
    [{ name: 'api', limit: 0 }, 'limit'],
  ])('%j are refused for a shared limit', (options, option) => {
    expect(() => ratelimit({ limit: 5, shared, ...options })).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ option }) }),
    );
  });

  it.each([
    [{ name: '' }, 'name'],
    [{ name: 'ada', listen: '0.0.0.0:0', insecure: true }, 'advertise'],
    [{ name: 'ada', listen: '0.0.0.0:0', insecure: true, advertise: '0.0.0.0:7800' }, 'advertise'],
    [{ name: 'ada', listen: '127.0.0.1:0', advertise: '10.0.0.1' }, 'advertise'],
    [{ name: 'ada', listen: '0.0.0.0:0', advertise: '10.0.0.1:7800' }, 'listen', 'NO_TOKEN'],
    [{ name: 'ada', listen: '10.255.255.1:0' }, 'listen', 'NO_TOKEN'],
    [{ name: 'ada', listen: '127.0.0.1' }, 'listen'],
    [{ name: 'ada', timeoutMs: 0 }, 'timeoutMs'],
    [{ name: 'ada', tls: { ca: 'x', cert: 'y' } as never }, 'tls.key'],
    [{ name: 'ada', prot: 5 } as { name: string }, 'prot'],
    [undefined as never, 'options'],
    [null as never, 'options'],
    ['ada' as never, 'options'],
  ])('joinLimits(%j) is refused', async (options, option, code = 'INVALID_OPTION') => {
    await expect(joinLimits(options)).rejects.toMatchObject({
      code,
      details: expect.objectContaining({ option }),
    });
  });
});
