/**
 * Strangers at the ports of replicas, and at the address of one that is dead, in plaintext and with tokens. What an attack brings in plaintext is seen first.
 */

import type { ConnectionOptions } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { connectQuorum, type QuorumClient, silent } from '../leasehold/src/quorum/index.ts';
import { encodeReplies } from '../leasehold/src/quorum/wire/calls.ts';
import { QUORUM_PROTOCOL } from '../leasehold/src/quorum/wire/codec.ts';
import { encodeMessage } from '../leasehold/src/quorum/wire/messages.ts';
import type { Program } from './harness/program.ts';
import { QuorumCell } from './harness/quorum-cell.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { FalseListener, Stranger } from './harness/stranger.ts';
import { until } from './harness/time.ts';
import { Tokens } from './harness/tokens.ts';

const NAMES = ['a', 'b', 'c'] as const;
/** Above every life that a directory will ever have. */
const FALSE_LIFE = 2 ** 40;

type Shown = string | false | undefined;

/** @param tls the file of a token; false for plaintext */
async function client(scene: Scene, cell: QuorumCell, tls: Shown): Promise<QuorumClient> {
  const servers = NAMES.map((name) => cell.peers[name] as string);
  const shown = typeof tls === 'string' ? { file: tls } : tls;
  const connected = await connectQuorum({ servers, tls: shown, logger: silent });
  scene.defer(() => connected[Symbol.asyncDispose]());
  return connected;
}

const plainCell = (scene: Scene): Promise<QuorumCell> =>
  QuorumCell.running(scene, NAMES, {}, (name) => scene.path(`plain-${name}`));

/** Each replica has a token for itself alone. */
async function secureCell(scene: Scene, tokens: Tokens) {
  const environments = new Map<string, Readonly<Record<string, string>>>();
  for (const name of NAMES) environments.set(name, await tokens.for(`server:quorum/default/${name}`));
  const environmentOf = (name: string) => environments.get(name) ?? {};
  const cell = await QuorumCell.running(scene, NAMES, {}, (name) => scene.path(`tls-${name}`), environmentOf);
  const { LEASEHOLD_TOKEN_FILE: honest } = await tokens.for('client:quorum/default');
  return {
    cell,
    honest: await client(scene, cell, honest),
    restart: async (name: string) => {
      const program = cell.start(name, {}, environmentOf(name));
      await program.event('ready');
    },
  };
}

/** What the port of a replica says of its directory, in its welcome. */
async function greetingOf(
  address: string,
  tls?: ConnectionOptions,
): Promise<Readonly<Record<string, string>>> {
  using stranger = new Stranger(address, tls);
  stranger.hello(QUORUM_PROTOCOL, 'replica');
  return (await stranger.welcome())['greeting'] as Readonly<Record<string, string>>;
}

/** Says at these replicas that a directory has lived often, as its replica would; the codes of what is answered. */
async function sayLife(
  scene: Scene,
  cell: QuorumCell,
  at: readonly string[],
  { storage = '', cluster }: Readonly<Record<string, string>>,
  tls?: ConnectionOptions,
): Promise<readonly string[]> {
  const hello = {
    kind: 'hello',
    cell: 'default',
    storage,
    life: FALSE_LIFE,
    process: 'false',
    cluster,
  } as const;
  const address = cell.peers[storage.slice(0, 1)] ?? '';
  const said = encodeMessage({ ...hello, address, initial: undefined, isJoining: false });
  return await Promise.all(
    at.map(async (name) => {
      const stranger = new Stranger(cell.peers[name] ?? '', tls);
      scene.defer(() => stranger[Symbol.dispose]());
      stranger.hello(QUORUM_PROTOCOL, 'replica');
      const answer = await stranger.answer();
      if (answer !== 'welcome') return answer;
      stranger.say(Buffer.concat([Uint8Array.of(0), said]));
      return tls === undefined
        ? 'heard'
        : await until('it is dismissed', () => (stranger.isOver ? 'dismissed' : undefined));
    }),
  );
}

const removal = ({
  name = '',
  storage = '',
  cell = 'default',
  cluster = '',
}: Readonly<Record<string, string>>) => {
  const { name: protocol, version } = QUORUM_PROTOCOL;
  const greeting = { name, storage, cell, cluster, sessionMs: '10000' };
  return {
    hello: () => ({ protocol, version, channel: '', greeting }),
    frame: () => encodeReplies([{ kind: 'failed', id: 0, code: 'removed', message: 'go' }]),
  };
};

/** With which code a replica ends. */
const ending = async (replica: Program): Promise<unknown> =>
  (await replica.event(({ event }) => event === 'ended' || event === 'failed'))['code'];

describe('a stranger at the ports of replicas', () => {
  it(
    'writes, and makes a replica step down, in plaintext; with tokens it does what its own grants',
    onScene(async (scene) => {
      const plain = await plainCell(scene);
      const anybody = await client(scene, plain, false);
      await anybody.put('key', 'stranger');
      await anybody.stepDown();

      const tokens = new Tokens(scene);
      const { cell, honest } = await secureCell(scene, tokens);
      await honest.put('key', 'honest');
      const fileOf = async (grants: string): Promise<string> =>
        (await tokens.for(grants)).LEASEHOLD_TOKEN_FILE;
      const reader = await client(scene, cell, await fileOf('reader:quorum/default'));
      const refused = (code: string) => ({ code, retryable: false });
      await expect(reader.put('key', 'false')).rejects.toMatchObject(refused('NOT_ALLOWED'));
      await expect(reader.delete('key')).rejects.toMatchObject(refused('NOT_ALLOWED'));
      await expect(reader.stepDown()).rejects.toMatchObject(refused('NOT_ALLOWED'));
      await expect(honest.stepDown()).rejects.toMatchObject(refused('NOT_ALLOWED'));
      await expect(honest.removeReplica('b')).rejects.toMatchObject(refused('NOT_ALLOWED'));
      const strangers = [
        [undefined, 'TLS_REQUIRED'],
        [{}, 'NOT_ALLOWED'],
        [await tokens.files('client:quorum/other'), 'NOT_ALLOWED'],
        [await tokens.files('server:flease|owner:pool'), 'NOT_ALLOWED'],
        [await new Tokens(scene, 'foreign').files('everything'), 'WRONG_CLUSTER'],
      ] as const;
      for (const [tls, code] of strangers) {
        using stranger = new Stranger(cell.peers['a'] ?? '', tls);
        stranger.hello(QUORUM_PROTOCOL, 'client');
        expect(await stranger.answer()).toBe(code);
      }
      expect(await reader.get('key')).toMatchObject({ value: new TextEncoder().encode('honest') });
    }),
  );

  it(
    'retires the directory of a replica that restarts, in plaintext, by one hello; with tokens all three serve',
    onScene(async (scene) => {
      const plain = await plainCell(scene);
      const ofB = await greetingOf(plain.peers['b'] ?? '');
      await plain.kill('b');
      expect(await sayLife(scene, plain, ['a', 'c'], ofB)).toEqual(['heard', 'heard']);
      expect(await ending(plain.start('b'))).toBe('DATA_LOST');

      const tokens = new Tokens(scene);
      const { cell, honest, restart } = await secureCell(scene, tokens);
      const another = await tokens.files('server:quorum/default/z');
      for (const name of ['b', 'c']) {
        const others = NAMES.filter((each) => each !== name);
        const its = await greetingOf(cell.peers[name] ?? '', another);
        await cell.kill(name);
        expect(await sayLife(scene, cell, others, its)).toEqual(['TLS_REQUIRED', 'TLS_REQUIRED']);
        expect(await sayLife(scene, cell, others, its, another)).toEqual(['dismissed', 'dismissed']);
        const client = await tokens.files('client:quorum/default/b');
        expect(await sayLife(scene, cell, others, its, client)).toEqual(['NOT_ALLOWED', 'NOT_ALLOWED']);
        await restart(name);
        await honest.put('after', name);
      }
      for (const name of NAMES) expect(cell.program(name).ending, name).toBeUndefined();
    }),
  );

  it(
    'ends the other replicas from the address of a dead one, in plaintext, by one reply; with tokens it is not heard',
    onScene(async (scene) => {
      const plain = await plainCell(scene);
      const ofB = await greetingOf(plain.peers['b'] ?? '');
      await plain.kill('b');
      const thief = await FalseListener.open(plain.peers['b'] ?? '', removal(ofB));
      scene.defer(() => thief.close());
      for (const name of ['a', 'c']) expect(await ending(plain.program(name)), name).toBe('REMOVED');

      const tokens = new Tokens(scene);
      const { cell, honest, restart } = await secureCell(scene, tokens);
      const another = await tokens.files('server:quorum/default/z|owner:pool|server:quorum/other/b');
      const itsGreeting = await greetingOf(cell.peers['b'] ?? '', another);
      await cell.kill('b');
      const refused = await FalseListener.open(cell.peers['b'] ?? '', removal(itsGreeting), another);
      for (const name of ['a', 'c'])
        await cell.program(name).event(({ facts }) => JSON.stringify(facts ?? '').includes('NOT_A_SERVER'));
      expect(refused.connections).toBeGreaterThan(1);
      expect(refused.bytes).toBe(0);
      await refused.close();
      await honest.put('while', 'b was dead');
      await restart('b');
      await honest.put('after', 'b');
      for (const name of NAMES) expect(cell.program(name).ending, name).toBeUndefined();
    }),
  );
});
