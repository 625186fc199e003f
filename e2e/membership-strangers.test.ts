/**
 * Strangers at the ports of servers of a group, and at the address of one that is dead, in plaintext and with tokens. What an attack brings in plaintext is seen first.
 */

import { describe, expect, it } from 'vitest';
import { encodeMessage, MEMBERSHIP_PROTOCOL } from '../leasehold/src/membership/wire/codec.ts';
import { GroupServers } from './harness/group-servers.ts';
import type { Program, ProgramEvent } from './harness/program.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { FalseListener, Stranger } from './harness/stranger.ts';
import { pause, until } from './harness/time.ts';
import { Tokens } from './harness/tokens.ts';

const NAMES = ['a', 'b', 'c'] as const;
type Name = (typeof NAMES)[number];
const LEASE_MS = 3_000;
const AGAIN_MS = 100;

const plainGroup = (scene: Scene): Promise<GroupServers<Name>> =>
  GroupServers.open(scene, NAMES, { leaseMs: LEASE_MS });

/** Each server has a token for itself alone. */
async function secureGroup(scene: Scene, tokens: Tokens): Promise<GroupServers<Name>> {
  const environments = new Map<string, Readonly<Record<string, string>>>();
  for (const name of NAMES) environments.set(name, await tokens.for(`server:membership/default/${name}`));
  const environmentOf = (name: string) => environments.get(name) ?? {};
  return await GroupServers.open(scene, NAMES, { leaseMs: LEASE_MS, environmentOf });
}

const asServer = (member: string) => ({ member, group: 'default', incarnation: '1.1' });
const asClient = { client: 'yes', group: 'default' };

/** What processes are told that have no token for this name and role. */
async function refusals(
  [tokens, foreign]: readonly [Tokens, Tokens],
  address: string,
  role: string,
  introduction: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const shown = [
    undefined,
    {},
    await tokens.files('server:membership/default/z'),
    await tokens.files(`server:membership/other/${role}`),
    await tokens.files(`client:membership/default/z|reader:membership/default/${role}`),
    await foreign.files('everything'),
  ];
  const answers: string[] = [];
  for (const tls of shown) {
    using stranger = new Stranger(address, tls);
    stranger.hello(MEMBERSHIP_PROTOCOL, role, introduction);
    stranger.say(detach(role));
    answers.push(await stranger.answer());
  }
  return answers;
}

const REFUSED = [
  'TLS_REQUIRED',
  'NOT_ALLOWED',
  'NOT_ALLOWED',
  'NOT_ALLOWED',
  'NOT_ALLOWED',
  'WRONG_CLUSTER',
] as const;

/** In a client's name, as a later process than every other of this name. */
function detach(name: string): Uint8Array {
  const incarnation = { startedMs: Date.now() + 3_600_000, nonce: 1 };
  return encodeMessage({ kind: 'detach', client: { name, incarnation, count: 1 } })[0] as Uint8Array;
}

const clientOf = async (
  scene: Scene,
  group: GroupServers<Name>,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> => {
  const config = { names: ['x'], servers: [group.addressOf('a')], leaseMs: LEASE_MS };
  const clients = scene.start({ name: 'x', program: 'group-clients', config, environment });
  await clients.event('ready');
  await until('the client acts', async () =>
    (await clients.ask('state'))['acting'] === 1 ? true : undefined,
  );
};

/** A process that says that it is c. */
const stranger = (
  scene: Scene,
  group: GroupServers<Name>,
  environment: Readonly<Record<string, string>> = {},
): Program => {
  const peers = Object.fromEntries(NAMES.map((name) => [name, group.addressOf(name)]));
  const config = { name: 'c', listen: peers['c'], peers, leaseMs: LEASE_MS };
  return scene.start({ name: 'false c', program: 'group-server', config, environment });
};

const inUse = {
  hello: () => ({ protocol: MEMBERSHIP_PROTOCOL.name, error: { code: 'NAME_IN_USE', message: 'go' } }),
};

describe('a stranger at the ports of servers', () => {
  it(
    'is a server of the view in plaintext, at the address of a dead one; with tokens it is refused, and the view stays',
    onScene(async (scene) => {
      const plain = await plainGroup(scene);
      await plain.at('c').kill();
      await plain.act(['a', 'b']);
      stranger(scene, plain);
      await plain.see(NAMES, ['a', 'b']);

      const pair = [new Tokens(scene), new Tokens(scene, 'foreign')] as const;
      const secure = await secureGroup(scene, pair[0]);
      await secure.at('c').kill();
      await secure.act(['a', 'b']);
      const before = await secure.state('a');
      for (const name of ['a', 'b'] as const) {
        expect(await refusals(pair, secure.addressOf(name), 'c', asServer('c'))).toEqual(REFUSED);
        expect(await refusals(pair, secure.addressOf(name), 'd', asServer('d'))).toEqual(REFUSED);
      }
      const told =
        (code: string) =>
        ({ facts }: ProgramEvent) =>
          JSON.stringify(facts ?? '').includes(code);
      const inPlaintext = stranger(scene, secure);
      await inPlaintext.event(told('speaks TLS alone'));
      await inPlaintext.kill();
      const foreign = stranger(scene, secure, await pair[1].for('everything'));
      await foreign.event(told('is of another'));
      await secure.act(['a', 'b']);
      expect(await secure.state('a')).toMatchObject({ id: before['id'], members: 'a,b' });
    }),
  );

  it(
    'ends the lease of a client in plaintext, in its name; with tokens the view stays',
    onScene(async (scene) => {
      const plain = await plainGroup(scene);
      await clientOf(scene, plain);
      const { id } = await plain.state('a');
      using other = new Stranger(plain.addressOf('a'));
      other.hello(MEMBERSHIP_PROTOCOL, 'x', asClient);
      expect(await other.answer()).toBe('welcome');
      await until('the client is not in the view', async () => {
        other.say(detach('x'));
        await pause(AGAIN_MS);
        return (await plain.state('a'))['id'] === id ? undefined : true;
      });

      const pair = [new Tokens(scene), new Tokens(scene, 'foreign')] as const;
      const [tokens] = pair;
      const secure = await secureGroup(scene, tokens);
      await clientOf(scene, secure, await tokens.for('client:membership/default/x'));
      const before = await secure.state('a');
      expect(await refusals(pair, secure.addressOf('a'), 'x', asClient)).toEqual(REFUSED);
      await secure.act(NAMES);
      expect((await secure.state('a'))['id']).toBe(before['id']);
    }),
  );

  it(
    'ends the other servers from the address of a dead one, in plaintext, by one refusal; with tokens it is not heard',
    onScene(async (scene) => {
      const plain = await plainGroup(scene);
      await plain.at('b').kill();
      const thief = await FalseListener.open(plain.addressOf('b'), inUse);
      scene.defer(() => thief.close());
      for (const name of ['a', 'c'] as const)
        expect((await plain.at(name).event('ended'))['code'], name).toBe('NAME_IN_USE');

      const tokens = new Tokens(scene);
      const secure = await secureGroup(scene, tokens);
      await secure.at('b').kill();
      const shown = await tokens.files('server:membership/default/z|server:flease/default/b|owner:pool');
      const refused = await FalseListener.open(secure.addressOf('b'), inUse, shown);
      for (const name of ['a', 'c'] as const)
        await secure.at(name).event(({ facts }) => JSON.stringify(facts ?? '').includes('NOT_A_SERVER'));
      expect(refused.bytes).toBe(0);
      await secure.act(['a', 'c']);
      await refused.close();
      secure.start('b');
      await secure.act(NAMES);
      expect(await secure.overlaps()).toEqual([]);
    }),
  );
});
