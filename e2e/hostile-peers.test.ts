import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { dice } from '../leasehold/src/node/tcp/fuzz-script.ts';
import { encodeHello } from '../leasehold/src/node/tcp/handshake.ts';
import { POOL_PROTOCOL } from '../leasehold/src/pool/wire/codec.ts';
import { encodeMessage } from '../leasehold/src/pool/wire/messages.ts';
import { TO_MANAGER } from '../leasehold/src/pool/wire/samples.ts';
import { lostKeys } from './harness/losses.ts';
import { onScene, SHORT } from './harness/scene.ts';
import { pause } from './harness/time.ts';

const CONNECTIONS = 4_000;
const FRAMES_EACH = 5;
const AT_ONCE = 50;
const SEED = 20_261_116;

type Draw = (below: number) => number;

const GOOD: readonly Uint8Array[] = Object.values(TO_MANAGER).map(encodeMessage);

function framed(payload: Uint8Array, announced = payload.length): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(announced);
  return Buffer.concat([length, payload]);
}

const HELLO = framed(encodeHello(POOL_PROTOCOL, 'owner'));

function damaged(good: Uint8Array, draw: Draw): Buffer {
  const bytes = Buffer.from(good);
  for (let changes = 1 + draw(4); changes > 0; changes -= 1) bytes[draw(bytes.length)] = draw(256);
  return bytes;
}

/** What one connection says: good frames that were damaged, cut off, too long, or nothing but noise. */
function speech(draw: Draw): Buffer {
  const noise = (): Buffer => Buffer.from(Array.from({ length: draw(200) }, () => draw(256)));
  const frames = Array.from({ length: FRAMES_EACH }, () => {
    const good = GOOD[draw(GOOD.length)] as Uint8Array;
    switch (draw(6)) {
      case 0:
        return framed(good);
      case 1:
        return framed(good, draw(2) === 0 ? 0xffff_ffff : good.length + draw(1_000));
      case 2:
        return framed(noise());
      default:
        return framed(damaged(good, draw));
    }
  });
  return Buffer.concat(draw(5) === 0 ? [noise(), ...frames] : [HELLO, ...frames]);
}

/** Says it, and is gone when the Manager has had enough or a moment has passed. */
async function speak(port: number, bytes: Buffer): Promise<void> {
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
  socket.on('error', () => socket.destroy());
  socket.resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await Promise.race([closed, pause(30)]);
  socket.resetAndDestroy();
  await closed;
}

describe('peers that say anything at all to a Manager', () => {
  it(
    `${CONNECTIONS * FRAMES_EACH} bad frames on ${CONNECTIONS} connections: it serves on, and its memory stays bounded`,
    onScene(async (scene) => {
      // The frames speak of the pool presence, and some of them are good enough to be let in there.
      const pools = { presence: {}, steady: {} };
      const { manager, managers } = await scene.manager({ createPools: 'declared', pools });
      const port = Number(managers[0]?.split(':')[1]);
      const a = await scene.owner({ name: 'a', managers, pool: 'steady' });
      const lookup = await scene.lookup({ managers, pool: 'steady' });
      await scene.shared(a);
      const before = await scene.numbers(a);
      const draw = dice(SEED);
      const rssBytes = async (): Promise<number> => Number((await manager.ask('memory'))['rssBytes']);
      const most: number[] = [];
      for (let said = 0; said < CONNECTIONS; said += AT_ONCE) {
        await Promise.all(Array.from({ length: AT_ONCE }, () => speak(port, speech(draw))));
        most.push(await rssBytes());
      }

      const quarter = most.length / 4;
      const early = Math.max(...most.slice(quarter, 2 * quarter));
      const late = Math.max(...most.slice(3 * quarter));
      const megabytes = most.map((bytes) => Math.round(bytes / 2 ** 20)).join(' ');
      expect(late - early, `memory in MB: ${megabytes}`).toBeLessThan(64 * 2 ** 20);
      expect(await scene.numbers(a)).toEqual(before);
      expect([...lostKeys(lookup)]).toEqual([]);
      const b = await scene.owner({ name: 'b', managers, pool: 'steady' });
      await scene.shared(a, b);
      const warnings = manager.events.filter(({ event, level }) => event === 'log' && level === 'warn');
      expect(warnings.length, 'it says what is wrong, but not each time').toBeGreaterThan(0);
      expect(warnings.length).toBeLessThan(CONNECTIONS / 10);
    }),
  );

  it(
    'hundreds of connections that say nothing, or half of something: all are closed, and nobody waits for them',
    onScene(async (scene) => {
      const { managers } = await scene.manager();
      const port = Number(managers[0]?.split(':')[1]);
      const idle = Array.from({ length: 300 }, (_, index) => {
        const socket: Socket = connect(port, '127.0.0.1', () => {
          if (index % 2 === 0) socket.write(HELLO.subarray(0, 1 + (index % (HELLO.length - 1))));
        });
        socket.on('error', () => socket.destroy());
        socket.resume();
        return new Promise<void>((resolve) => socket.once('close', () => resolve()));
      });
      const a = await scene.owner({ name: 'a', managers });
      await scene.shared(a);
      await Promise.all(idle);
      expect((await scene.numbers(a)).size).toBe(scene.keys.length);
    }),
  );

  it(
    'more connections than the Manager may open files: it says so, goes on writing its log, and lets owners in',
    onScene(async (scene) => {
      const under = ['sh', '-c', 'ulimit -n 200; exec "$@"', 'sh'];
      const { manager, managers } = await scene.manager(
        { ...SHORT, store: { directory: scene.path('few') } },
        { under },
      );
      const port = Number(managers[0]?.split(':')[1]);
      const sockets = Array.from({ length: 400 }, () => {
        const socket: Socket = connect(port, '127.0.0.1', () => socket.write(HELLO));
        socket.on('error', () => socket.destroy());
        return socket.resume();
      });
      for (const name of ['a', 'b', 'c']) {
        const owner = await scene.owner({ name, managers });
        await owner.ask('leave');
      }
      const a = await scene.owner({ name: 'a', managers });
      await scene.shared(a);
      expect(manager.ending).toBeUndefined();
      const warned = manager.events.filter(({ event, level }) => event === 'log' && level === 'warn');
      expect(warned.map(({ message }) => message)).toContain(
        'the system lets this process open few files: fewer connections are taken',
      );
      for (const socket of sockets) socket.destroy();
    }),
  );
});
