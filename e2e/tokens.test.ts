/**
 * A pool and its limits with tokens, as processes that read them from a file that the environment names. The attackers are sockets of this test with certificates of
 * `token export`: they speak as `docs/protocol.md` says, and ask no code of ours whether they may. What an attack brings without tokens is played beside it.
 */

import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { describe, expect, inject, it } from 'vitest';
import { lastingAddresses } from '../leasehold/src/node/testing/lasting-port.ts';
import type { ToGate } from '../leasehold/src/pool/core/messages.ts';
import { encodeMessage } from '../leasehold/src/pool/wire/messages.ts';
import { certificate, report, sync } from '../leasehold/src/pool/wire/samples.ts';
import type { Program } from './harness/program.ts';
import { onScene, SHORT } from './harness/scene.ts';
import { until } from './harness/time.ts';
import { FalseListener, framed, Stranger } from './harness/stranger.ts';
import { Tokens } from './harness/tokens.ts';
import { POOL_PROTOCOL } from '../leasehold/src/pool/wire/codec.ts';
import { LIMIT_PROTOCOL } from '../leasehold/src/ratelimit/wire/codec.ts';

/** A peer of the pool's protocol, of which nothing is ours but the bytes of messages. */
class PoolStranger extends Stranger {
  /** What the Manager says to this message: its kind, or the code of its refusal. */
  async ask(message: ToGate): Promise<unknown> {
    const before = this.frames.length;
    this.say(encodeMessage(message));
    const said = await until(
      'what the Manager says',
      () =>
        this.heard.slice(before).find(({ k }) => k !== undefined && k !== 'role') ??
        (this.isOver ? {} : undefined),
    );
    return said['k'] === 'refused' ? said['c'] : said['k'];
  }

  /** As an owner: proves a new incarnation for the pool, and reports under this name. */
  async report(pool: string, name: string): Promise<unknown> {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const key = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
    const incarnation = createHash('sha256').update(key).digest('hex').slice(0, 32);
    const channel = String(this.heard[0]?.['channel']);
    const texts = [channel, pool, incarnation].map((text) => framed(Buffer.from(text)));
    const signed = Buffer.concat([Buffer.from('leasehold-incarnation-1\0'), ...texts]);
    const signature = sign(null, signed, privateKey).toString('hex');
    const proof = { kind: 'prove', pool, incarnation, key: key.toString('hex'), signature } as const;
    this.say(encodeMessage(proof));
    const { seen: _seen, heard: _heard, proof: _proof, ...plain } = report;
    return this.ask({
      ...plain,
      ...{ pool, name, incarnation, url: `http://${incarnation}`, held: [], letGo: [], sequence: 1 },
      ...{ seen: undefined, heard: undefined, proof: undefined, wantsAnswer: true, leaving: false },
    });
  }
}

async function failure(program: Program): Promise<unknown> {
  return (await program.event('failed'))['code'];
}

/** What runs in front of a program, and tells the Managers of its death. */
const supervisor = (managers: readonly string[]): readonly string[] => [
  ...[process.execPath, inject('programs')['cli'] as string],
  JSON.stringify({ argv: ['run', '--managers', managers.join(), '--'] }),
];

/** Of each role; a role without one has a token for everything. */
const GRANTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'for everything': {},
  'for what each is': {
    manager: 'server:pool',
    ann: 'owner:pool/presence/ann',
    ben: 'owner:pool/presence/b*',
    lookup: 'reader:pool/presence',
    limits: 'owner:pool/ratelimit/limit-*',
  },
};

describe('processes that the environment gives a token', () => {
  for (const [words, narrow] of Object.entries(GRANTS)) {
    it(
      `own, find, certify and limit with a token ${words}`,
      onScene(async (scene) => {
        const tokens = new Tokens(scene);
        const everything = await tokens.for('everything');
        const of = async (role: string) => {
          const grants = narrow[role];
          return { environment: grants === undefined ? everything : await tokens.for(grants) };
        };
        const { managers } = await scene.manager(SHORT, await of('manager'));
        const ann = await scene.owner({ name: 'ann', managers, ...(await of('ann')) });
        const ben = await scene.owner({
          ...{ name: 'ben', managers, under: supervisor(managers) },
          ...(await of('ben')),
        });
        await scene.shared(ann, ben);
        const lookup = await scene.lookup({ managers, ...(await of('lookup')) });
        const { owners } = await lookup.ask('find', { keys: scene.keys });
        expect(new Set((owners as { name: string }[]).map(({ name }) => name))).toEqual(
          new Set(['ann', 'ben']),
        );

        ben.signal('SIGKILL');
        await scene.shared(ann);
        expect((await ben.ended).code).toBe(128 + 9);
        expect(ben.stderr).not.toContain('no Manager');

        const limited = await Promise.all(
          ['limit-1', 'limit-2'].map(async (name) =>
            scene.start({
              ...{ name, program: 'limited-server', ...(await of('limits')) },
              config: { managers, name, limit: { name: 'api', limit: 100, per: '1h' }, watched: 'ann' },
            }),
          ),
        );
        for (const each of limited) await each.event('ready');
        await until('one of them owns the key', async () => {
          const answers = await Promise.all(limited.map((each) => each.ask('isOwner')));
          return answers.filter(({ isOwner }) => isOwner === true).length === 1 ? true : undefined;
        });
      }),
    );
  }

  it(
    'that do not fit are told why, at once, on either side',
    onScene(async (scene) => {
      const [tokens, other] = [new Tokens(scene), new Tokens(scene, 'other')];
      const everything = await tokens.for('everything');
      const foreign = await other.for('everything');
      const secure = await scene.manager(SHORT, { environment: everything });
      const plain = await scene.manager(SHORT);
      // Beyond the time that a test has: nobody waits for it.
      const timeoutMs = 3_600_000;
      const owner = (managers: readonly string[], environment: Record<string, string> = {}) =>
        failure(scene.startOwner({ name: 'ann', managers, timeoutMs, environment }));
      const lookup = (managers: readonly string[], environment: Record<string, string> = {}) =>
        failure(scene.startLookup({ managers, timeoutMs, environment }));
      expect(await owner(secure.managers)).toBe('TLS_REQUIRED');
      expect(await lookup(secure.managers)).toBe('TLS_REQUIRED');
      expect(await owner(plain.managers, everything)).toBe('TLS_NOT_SPOKEN');
      expect(await lookup(plain.managers, everything)).toBe('TLS_NOT_SPOKEN');
      expect(await owner(secure.managers, foreign)).toBe('WRONG_CLUSTER');
      expect(await lookup(secure.managers, foreign)).toBe('WRONG_CLUSTER');
      expect(await owner(secure.managers, await tokens.for('owner:pool/presence/ben'))).toBe('NOT_ALLOWED');
      expect(await lookup(secure.managers, await tokens.for('reader:pool/other'))).toBe('NOT_ALLOWED');
      const both = { ...everything, LEASEHOLD_TOKEN: 'lh1.x' };
      expect(await owner(secure.managers, both)).toBe('INVALID_OPTION');
    }),
  );
});

describe('a stranger at the port of a Manager', () => {
  it(
    'takes part in a pool without tokens; with the token of another pool, name or role it is refused',
    onScene(async (scene) => {
      const tokens = new Tokens(scene);
      const environment = await tokens.for('everything');
      const places = { plain: (await scene.manager(SHORT)).managers[0] ?? '', secure: '' };
      const { managers } = await scene.manager(SHORT, { environment });
      places.secure = managers[0] ?? '';
      const ann = await scene.owner({ name: 'ann', managers, environment });
      await scene.shared(ann);
      const begin = async (role: string, tls?: ConnectionOptions): Promise<PoolStranger> => {
        const stranger = new PoolStranger(tls === undefined ? places.plain : places.secure, tls);
        scene.defer(() => stranger[Symbol.dispose]());
        stranger.hello(POOL_PROTOCOL, role);
        expect(await stranger.answer()).toBe('welcome');
        return stranger;
      };
      const honest = await tokens.files('owner:pool/presence/eve');
      const elsewhere = await tokens.files('owner:pool/other');
      const reader = await tokens.files('reader:pool/other');
      const table: ToGate = { ...sync, pool: 'presence', seen: undefined };

      // What reaching the port was enough for.
      expect(await (await begin('owner')).report('presence', 'ann')).toBe('update');
      expect(await (await begin('lookup')).ask(table)).toBe('changes');
      expect(await (await begin('lookup')).report('presence', 'mallory')).toBe('update');

      expect(await (await begin('owner', honest)).report('presence', 'eve')).toBe('update');
      for (const tls of [honest, elsewhere])
        expect(await (await begin('owner', tls)).report('presence', 'ann')).toBe('NOT_ALLOWED');
      expect(await (await begin('owner', honest)).report('third', 'eve')).toBe('NOT_ALLOWED');
      expect(await (await begin('owner', elsewhere)).ask(table)).toBe('NOT_ALLOWED');
      expect(await (await begin('lookup', reader)).ask(table)).toBe('NOT_ALLOWED');
      expect(await (await begin('lookup', reader)).report('other', 'eve')).toBe('NOT_ALLOWED');
      expect(await (await begin('lookup', reader)).ask(certificate)).toBe('NOT_ALLOWED');
    }),
  );

  it(
    'is refused in a sentence without a certificate, with another, or in plaintext',
    onScene(async (scene) => {
      const [tokens, other] = [new Tokens(scene), new Tokens(scene, 'other')];
      const { managers } = await scene.manager(SHORT, { environment: await tokens.for('everything') });
      const address = managers[0] ?? '';
      const honest = await tokens.files('owner:pool');
      const answer = async (tls: ConnectionOptions | undefined, role = 'owner'): Promise<string> => {
        using stranger = new PoolStranger(address, tls);
        stranger.hello(POOL_PROTOCOL, role);
        return await stranger.answer();
      };
      expect(await answer(honest)).toBe('welcome');
      expect(await answer(undefined)).toBe('TLS_REQUIRED');
      expect(await answer({})).toBe('NOT_ALLOWED');
      expect(await answer({ ...honest, ALPNProtocols: undefined as never })).toBe('NOT_ALLOWED');
      expect(await answer({ ...honest, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' })).toBe('closed');
      expect(await answer(await other.files('everything'))).toBe('WRONG_CLUSTER');
      expect(await answer(await tokens.files('reader:pool'))).toBe('NOT_ALLOWED');
      expect(await answer(await tokens.files('server:flease|server:quorum'), 'lookup')).toBe('NOT_ALLOWED');
    }),
  );

  it(
    'says nothing in the name of a dead Manager, whose owners come back to it',
    onScene(async (scene) => {
      const tokens = new Tokens(scene);
      const everything = await tokens.for('everything');
      const { place } = await lastingAddresses('place');
      const options = { ...SHORT, listen: place, store: { directory: scene.path('log') } };
      const { manager, managers } = await scene.manager(options, { environment: everything });
      const ann = await scene.owner({ name: 'ann', managers, environment: everything });
      await scene.shared(ann);
      await manager.kill();

      const thief = await FalseListener.open(
        place,
        { hello: () => ({ protocol: POOL_PROTOCOL.name, version: POOL_PROTOCOL.version, greeting: {} }) },
        await tokens.files('owner:pool|server:quorum|server:flease'),
      );
      await ann.event(({ facts }) => JSON.stringify(facts ?? '').includes('NOT_A_SERVER'));
      expect(thief.bytes).toBe(0);
      await thief.close();

      await scene.manager(options, { environment: everything });
      await scene.shared(ann);
    }),
  );
});

describe('a stranger at the port of a process that shares limits', () => {
  it(
    'asks for the keys of others without tokens; with the token of another name or pool it is refused',
    onScene(async (scene) => {
      const tokens = new Tokens(scene);
      const environment = await tokens.for('everything');
      const limited = async (managers: readonly string[], token: Record<string, string>): Promise<string> => {
        const server = scene.start({
          ...{ name: 'ada', program: 'limited-server', environment: token },
          config: { managers, name: 'ada', limit: { name: 'api', limit: 100, per: '1h' }, watched: 'ann' },
        });
        return String((await server.event('ready'))['address']);
      };
      const plain = await limited((await scene.manager(SHORT)).managers, {});
      const secure = await limited((await scene.manager(SHORT, { environment })).managers, environment);
      const answer = async (address: string, role: string, tls?: ConnectionOptions): Promise<string> => {
        using stranger = new PoolStranger(address, tls);
        stranger.hello(LIMIT_PROTOCOL, role);
        return await stranger.answer();
      };
      expect(await answer(plain, 'mallory#1')).toBe('welcome');
      const eve = await tokens.files('owner:pool/ratelimit/eve');
      expect(await answer(secure, 'eve#1', eve)).toBe('welcome');
      for (const role of ['ada#1', 'eve', 'ev#1', 'eve#1#2'])
        expect(await answer(secure, role, eve), role).toBe('NOT_ALLOWED');
      expect(await answer(secure, 'eve#1', await tokens.files('owner:pool/other/eve'))).toBe('NOT_ALLOWED');
      expect(await answer(secure, 'eve#1', await tokens.files('client:pool/ratelimit/eve'))).toBe(
        'NOT_ALLOWED',
      );
      expect(await answer(secure, 'eve#1')).toBe('TLS_REQUIRED');
    }),
  );
});
