/** Processes that a group must not believe: another version, and a peer that floods. */

import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { instant } from '../leasehold/src/runtime/time.ts';
import { textsOf } from '../leasehold/src/node/mesh/introduction.ts';
import { encodeHello } from '../leasehold/src/node/tcp/handshake.ts';
import { encodeMessage, MEMBERSHIP_PROTOCOL } from '../leasehold/src/membership/wire/codec.ts';
import { GroupServers } from './harness/group-servers.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { until } from './harness/time.ts';

const NAMES = ['a', 'b', 'c'] as const;
const LEASE_MS = 3_000;
const FLOOD_FRAMES = 60_000;
const FLOOD_ROUNDS = 8;

function framed(payload: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

/** A hello such as a server of the group would say, under a name that nobody knows. */
const helloOf = (protocol: typeof MEMBERSHIP_PROTOCOL): Buffer => {
  const agreed = {
    leaseMs: String(LEASE_MS),
    suspensionToleranceMs: String(LEASE_MS / 15),
    clockRateBound: '1.2',
    viewsFrom: 'peers',
  };
  const introduction = { name: 'z', group: 'default', incarnation: '1.1', address: '127.0.0.1:9', agreed };
  return framed(encodeHello(protocol, 'z', textsOf(introduction)));
};

function dial(scene: Scene, address: string): { readonly socket: Socket; heard(): string } {
  const [host = '', port] = address.split(':');
  const socket = connect(Number(port), host);
  scene.defer(() => void socket.destroy());
  const heard: Buffer[] = [];
  socket.on('data', (bytes) => heard.push(bytes));
  socket.on('error', () => socket.destroy());
  return { socket, heard: () => Buffer.concat(heard).toString('latin1') };
}

describe('a group that is told nonsense', () => {
  it(
    'refuses a peer of another protocol version, and names the versions',
    onScene(async (scene) => {
      const group = await GroupServers.open(scene, ['a'], { leaseMs: LEASE_MS });
      const { socket, heard } = dial(scene, group.addressOf('a'));
      socket.write(helloOf({ ...MEMBERSHIP_PROTOCOL, version: 99, oldest: 99 }));
      await until('the connection is closed', () => socket.closed || undefined);
      expect(heard()).toMatch(/version/i);
      await group.act(['a']);
    }),
  );

  it(
    `outlives a peer that sends ${FLOOD_FRAMES} heartbeats as fast as it can, and does not take it in`,
    onScene(async (scene) => {
      const group = await GroupServers.open(scene, NAMES, { leaseMs: LEASE_MS });
      const views = NAMES.map((name) => group.viewsOf(name));
      const { socket } = dial(scene, group.addressOf('a'));
      socket.write(helloOf(MEMBERSHIP_PROTOCOL));
      const heartbeat = (stamp: number) =>
        encodeMessage({
          kind: 'heartbeat',
          word: {
            incarnation: { startedMs: 1, nonce: 1 },
            stamp: instant(stamp),
            echo: undefined,
            viewId: undefined,
          },
          ...{ linkEcho: undefined, digest: 'x', versions: [] },
        }).map(framed);
      for (let sent = 0; sent < FLOOD_FRAMES && !socket.destroyed; sent += 1_000) {
        const frames = Array.from({ length: 1_000 }, (_, index) => heartbeat(sent + index)).flat();
        await new Promise<void>((resolve) => {
          socket.once('close', resolve);
          socket.write(Buffer.concat(frames), () => resolve());
        });
      }
      const { error } = await group.at('b').ask('send', { to: 'a', text: 'still there' });
      expect(error).toBeUndefined();
      expect(NAMES.map((name) => group.viewsOf(name))).toEqual(views);
      for (const name of NAMES)
        expect(
          group
            .at(name)
            .events.some(({ event, members }) => event === 'view' && String(members).includes('z')),
        ).toBe(false);
    }),
  );

  it(
    'keeps its view while all servers send as much as may wait, again and again',
    onScene(async (scene) => {
      const group = await GroupServers.open(scene, NAMES, { leaseMs: LEASE_MS });
      const views = NAMES.map((name) => group.viewsOf(name));
      const floods = await Promise.all(
        NAMES.map((name, index) =>
          group.at(name).ask('flood', { to: NAMES[(index + 1) % NAMES.length], rounds: FLOOD_ROUNDS }),
        ),
      );
      expect(floods.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
      expect(NAMES.map((name) => group.viewsOf(name))).toEqual(views);
    }),
  );
});
