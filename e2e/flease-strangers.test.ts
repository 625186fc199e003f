/**
 * Strangers at the ports of a group that grants leases, in plaintext and with tokens. The packets are those of `docs/flease-protocol.md`, said by sockets of this test; whether
 * two processes hold a lease is judged by an observer outside.
 */

import type { ConnectionOptions } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { digestOf } from '../leasehold/src/flease/core/view-digest.ts';
import type { Item } from '../leasehold/src/flease/core/messages.ts';
import { FLEASE_PROTOCOL } from '../leasehold/src/flease/wire/codec.ts';
import { encodePacket } from '../leasehold/src/flease/wire/packet.ts';
import { lastingAddresses } from '../leasehold/src/node/testing/lasting-port.ts';
import { KEY } from './harness/flease-group.ts';
import { Observer } from './harness/observer.ts';
import type { Program } from './harness/program.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { Stranger } from './harness/stranger.ts';
import { pause, until } from './harness/time.ts';
import { Tokens } from './harness/tokens.ts';

const NAMES = ['a', 'b', 'c'] as const;
type Name = (typeof NAMES)[number];
const DURATIONS = { leaseMs: 3_000, clockSkewMs: 300 };
const AGAIN_MS = 100;

interface Group {
  readonly peers: Readonly<Record<Name, string>>;
  readonly observer: Observer;
  of(name: Name): Program;
}

/** These of three members, all of which want the key; resolves when one of them has it. */
async function open(
  scene: Scene,
  running: readonly Name[],
  environmentOf: (name: Name) => Readonly<Record<string, string>> = () => ({}),
): Promise<Group> {
  const peers = await lastingAddresses(...NAMES);
  const observer = new Observer([KEY]);
  scene.defer(() => observer.stop());
  const members = new Map<Name, Program>();
  for (const name of running) {
    const member = scene.start({
      ...{ name, program: 'member', environment: environmentOf(name) },
      config: {
        join: { name, peers, ...DURATIONS },
        ...{ keys: [KEY], register: scene.register.path, writeEveryMs: 20 },
      },
    });
    members.set(name, member);
    await member.event('ready');
    observer.watch(member);
  }
  await until('a member has the key', () => (observer.holders(KEY).length > 0 ? true : undefined));
  return {
    ...{ peers, observer },
    of: (name) => members.get(name) ?? expect.fail(`${name} does not run`),
  };
}

/** Bytes of a member that there is not: a process of this name that began just now. */
const packet = (from: Name, incarnation: number, items: readonly Item[] = []): Uint8Array =>
  encodePacket({
    ...{ group: 'default', view: 1, digest: digestOf({ members: NAMES, before: undefined }) },
    ...{ from, incarnation, toIncarnation: 0, sentMs: Date.now(), echo: undefined, takeoverMs: 0 },
    ...{ ...DURATIONS, items },
  })[0] as Uint8Array;

/** Says that a lease is free, in the place of its holder, under a ballot above all others. */
function freed(): readonly Item[] {
  const [askedMs, resource] = [Date.now(), KEY];
  const question = { attempt: 1, resource, askedMs, round: 1_000 };
  const lease = { holder: 'c', incarnation: 1, number: 1, untilMs: askedMs, state: 'free' } as const;
  return [
    { kind: 'read', ...question },
    { kind: 'write', ...question, lease: { ...lease, successor: undefined } },
    { kind: 'notify', resource },
  ];
}

/** Introduces itself at the port of a member; the second answer is the code of a refusal, or `welcome`. */
async function knock(
  scene: Scene,
  address: string,
  as: Name,
  tls?: ConnectionOptions,
): Promise<readonly [Stranger, string]> {
  const stranger = new Stranger(address, tls);
  scene.defer(() => stranger[Symbol.dispose]());
  stranger.hello(FLEASE_PROTOCOL, as, { member: as, group: 'default', incarnation: '1' });
  return [stranger, await stranger.answer()];
}

/** What processes are told that have no token for this name. */
async function refusals(
  scene: Scene,
  [tokens, foreign]: readonly [Tokens, Tokens],
  address: string,
  as: Name,
): Promise<readonly string[]> {
  const shown = [
    undefined,
    {},
    await tokens.files('server:flease/default/z'),
    await tokens.files(`server:flease/other/${as}`),
    await tokens.files(`server:membership/default/${as}|client:flease/default/${as}`),
    await foreign.files('everything'),
  ];
  const answers: string[] = [];
  for (const tls of shown) {
    const [stranger, answer] = await knock(scene, address, as, tls);
    // What it says all the same is said to nobody.
    stranger.say(packet(as, 7, freed()));
    answers.push(answer);
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

/** One process has held the key under one number for two leases, and no other has. */
async function holdsOn({ observer }: Group): Promise<void> {
  await until('one member holds the key over two leases', () => {
    const [tenure, ...others] = observer.tenures(KEY);
    if (tenure === undefined || others.length > 0) throw new Error('the key has changed its holder');
    return tenure.lastAfterMs - tenure.firstBeforeMs > 2 * DURATIONS.leaseMs ? true : undefined;
  });
  expect(observer.violations()).toEqual([]);
}

describe('a stranger at the ports of members', () => {
  it(
    'makes two holders with two packets in plaintext, in the name of a member that is not there; with tokens it is refused',
    onScene(
      async (scene) => {
        const plain = await open(scene, ['a', 'b']);
        expect(plain.observer.violations()).toEqual([]);
        const [[toA, atA], [toB, atB]] = [
          await knock(scene, plain.peers.a, 'c'),
          await knock(scene, plain.peers.b, 'c'),
        ];
        expect([atA, atB]).toEqual(['welcome', 'welcome']);
        await until('two members hold the key at once', async () => {
          for (const stranger of [toA, toB]) stranger.say(packet('c', 7, freed()));
          await pause(AGAIN_MS);
          return plain.observer.violations().length > 0 ? true : undefined;
        });

        const [tokens, foreign] = [new Tokens(scene), new Tokens(scene, 'foreign')];
        const [a, b] = [
          await tokens.for('server:flease/default/a'),
          await tokens.for('server:flease/default/b'),
        ];
        const secure = await open(scene, ['a', 'b'], (name) => (name === 'a' ? a : b));
        const [, trueC] = await knock(
          scene,
          secure.peers.a,
          'c',
          await tokens.files('server:flease/default/c'),
        );
        expect(trueC).toBe('welcome');
        expect(await refusals(scene, [tokens, foreign], secure.peers.a, 'c')).toEqual(REFUSED);
        expect(await refusals(scene, [tokens, foreign], secure.peers.b, 'c')).toEqual(REFUSED);
        await holdsOn(secure);
      },
      { clocks: 'false' },
    ),
  );

  it(
    'silences a group in plaintext with false lives of its members; with tokens the holder keeps the lease',
    onScene(
      async (scene) => {
        const plain = await open(scene, NAMES);
        const doubles = await Promise.all(
          NAMES.flatMap((as) =>
            NAMES.filter((at) => at !== as).map(async (at) => {
              const [stranger, answer] = await knock(scene, plain.peers[at], as);
              expect(answer).toBe('welcome');
              return [stranger, as] as const;
            }),
          ),
        );
        await until('no member holds the key', async () => {
          for (const [stranger, as] of doubles) stranger.say(packet(as, 7));
          await pause(AGAIN_MS);
          return plain.observer.holders(KEY).length === 0 ? true : undefined;
        });

        const [tokens, foreign] = [new Tokens(scene), new Tokens(scene, 'foreign')];
        const group = await tokens.for('server:flease/default');
        const secure = await open(scene, NAMES, () => group);
        for (const as of ['b', 'c'] as const)
          expect(await refusals(scene, [tokens, foreign], secure.peers.a, as)).toEqual(REFUSED);
        await holdsOn(secure);
      },
      { clocks: 'false' },
    ),
  );
});
