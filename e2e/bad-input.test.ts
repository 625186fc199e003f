import { appendFileSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { HEAD_BYTES } from '../leasehold/src/log/file/format.ts';
import { lastingPort } from '../leasehold/src/node/testing/lasting-port.ts';
import type { Program } from './harness/program.ts';
import { onScene, type Scene, SHORT } from './harness/scene.ts';
import { nowMs } from './harness/time.ts';

const said = async (program: Program): Promise<string> => String((await program.event('failed'))['message']);

/** A data directory with something in it, that nobody uses. */
async function usedDirectory(scene: Scene): Promise<{ directory: string; segment: string }> {
  const directory = scene.path('data');
  const { manager, managers } = await scene.manager({ ...SHORT, store: { directory } });
  const a = await scene.owner({ name: 'a', managers });
  const b = await scene.owner({ name: 'b', managers });
  await scene.shared(a, b);
  await Promise.all([a.kill(), b.kill()]);
  manager.signal('SIGKILL');
  await manager.ended;
  const name = readdirSync(directory).find((each) => statSync(`${directory}/${each}`).size > 1_000) ?? '';
  return { directory, segment: `${directory}/${name}` };
}

/** The end of what was written; the rest is room made ahead. */
const endOf = (bytes: Buffer): number => bytes.findLastIndex((byte) => byte !== 0) + 1;

describe('a Manager that cannot start', () => {
  it(
    'says that another one has its data directory',
    onScene(async (scene) => {
      const { manager } = await scene.manager({ store: { directory: scene.path('data') } });
      const second = scene.startManager({ store: { directory: scene.path('data') } });
      expect(await second.event('failed')).toMatchObject({ code: 'LOCKED', retryable: true });
      expect(await said(second)).toContain(`is locked by pid ${manager.pid} on `);
      expect(await said(second)).toContain('stop that one, or use another path');
      expect(await second.ended).toMatchObject({ code: 1 });
    }),
  );

  it(
    'says that the port is in use',
    onScene(async (scene) => {
      const { managers } = await scene.manager();
      const port = Number(managers[0]?.split(':')[1]);
      const second = scene.startManager({ listen: `127.0.0.1:${port}` });
      expect(await second.event('failed')).toMatchObject({ code: 'PORT_IN_USE', retryable: true });
      expect(await said(second)).toContain(`port ${port} on 127.0.0.1 is in use; stop who listens there`);
    }),
  );

  it(
    'names the file and the place where its log is damaged, and changes nothing',
    onScene(async (scene) => {
      const { directory, segment } = await usedDirectory(scene);
      const bytes = readFileSync(segment);
      const inTheFirstFrame = HEAD_BYTES + 20;
      bytes[inTheFirstFrame] = (bytes[inTheFirstFrame] ?? 0) ^ 0xff;
      writeFileSync(segment, bytes);
      const manager = scene.startManager({ store: { directory } });
      expect(await manager.event('failed')).toMatchObject({ code: 'DAMAGED_LOG', retryable: false });
      const name = segment.split('/').at(-1) ?? '';
      expect(await said(manager)).toMatch(
        new RegExp(`the log is damaged in ".*${name}" at offset ${HEAD_BYTES}: `),
      );
      expect(await said(manager)).toMatch(/backup/);
      expect(readFileSync(segment).equals(bytes)).toBe(true);
    }),
  );

  it(
    'names an option that does not exist, and those that do',
    onScene(async (scene) => {
      const manager = scene.startManager({ directroy: scene.path('data') } as object);
      expect(await manager.event('failed')).toMatchObject({ code: 'INVALID_OPTION', retryable: false });
      expect(await said(manager)).toMatch(/directroy.*there is no such option.*store/);
      const pool = scene.startManager({ defaults: { leaseMs: 1_000, holdMs: 900 } });
      expect(await said(pool)).toMatch(/defaults\.holdMs is 900, but it must be longer than leaseMs = 1000/);
      const open = scene.startManager({ listen: '0.0.0.0:7400' });
      expect(await said(open)).toMatch(/listen is 0\.0\.0\.0.*insecure: true/);
    }),
  );
});

describe('a Manager whose log was torn at the end', () => {
  it(
    'repairs it, says so, and goes on',
    onScene(async (scene) => {
      const { directory, segment } = await usedDirectory(scene);
      truncateSync(segment, endOf(readFileSync(segment)));
      appendFileSync(segment, Buffer.from('half of a frame that was being written'));
      const { manager, managers } = await scene.manager({ ...SHORT, store: { directory } });
      const warning = manager.events.find(({ event, level }) => event === 'log' && level === 'warn');
      expect(String(warning?.['message'])).toMatch(/cut/);
      expect(JSON.stringify(warning?.['facts'])).toContain(segment.split('/').at(-1));
      const c = await scene.owner({ name: 'c', managers });
      await scene.shared(c);
    }),
  );
});

describe('a client that finds no Manager', () => {
  it(
    'says that it tries, and in the end names the addresses and what each of them did',
    onScene(async (scene) => {
      const nobody = `127.0.0.1:${await lastingPort()}`;
      const http = createServer((_, response) => response.end('hello'));
      await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
      scene.defer(() => void http.close());
      const address = http.address();
      const web = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
      const startedMs = nowMs();
      const owner = scene.startOwner({ name: 'a', managers: [nobody, web], timeoutMs: 3_000 });
      const lookup = scene.startLookup({ managers: [nobody, web], timeoutMs: 3_000 });
      for (const client of [owner, lookup]) {
        const isProgress = ({ event, level, message }: { event: string; [fact: string]: unknown }): boolean =>
          event === 'log' && level !== 'debug' && /not connected|no Manager/.test(String(message));
        await client.event(isProgress, { called: 'that it tries' });
        expect(await client.event('failed')).toMatchObject({ code: 'MANAGERS_UNREACHABLE', retryable: true });
        expect(await said(client)).toMatch(/no Manager answered within 3000 ms/);
        expect(await said(client)).toContain(nobody);
        expect(await said(client)).toContain(web);
        expect(await said(client)).toContain('Is one running (leasehold manager start)');
      }
      expect(nowMs() - startedMs).toBeGreaterThan(3_000);
    }),
  );

  it(
    'names an option that does not exist',
    onScene(async (scene) => {
      const { managers } = await scene.manager();
      const owner = scene.startOwner({ name: 'a', managers, lockfile: 'x' } as Parameters<
        Scene['startOwner']
      >[0]);
      expect(await owner.event('failed')).toMatchObject({ code: 'INVALID_OPTION' });
      expect(await said(owner)).toMatch(/lockfile.*lockFile/);
      const lookup = scene.startLookup({ managers, resume: 'x' } as Parameters<Scene['startLookup']>[0]);
      expect(await said(lookup)).toMatch(/resume.*resumeFrom/);
    }),
  );
});

describe('somebody who speaks something else to a Manager', () => {
  const portOf = (managers: readonly string[]): number => Number(managers[0]?.split(':')[1]);

  it(
    'over HTTP is told where HTTP is spoken',
    onScene(async (scene) => {
      const { manager, managers } = await scene.manager({ ...SHORT, http: true });
      const response = await fetch(`http://${managers[0]}/status`);
      expect(response.status).toBe(400);
      const text = await response.text();
      expect(text).toContain(`This is port ${portOf(managers)}, which speaks`);
      expect(text).toContain(`HTTP is at ${manager.ready['httpUrl']}`);
      await manager.event(({ level, facts }) => level === 'warn' && JSON.stringify(facts).includes('HTTP'));
    }),
  );

  it(
    'over TLS gets an alert',
    onScene(async (scene) => {
      const { managers } = await scene.manager();
      const error = await new Promise<Error>((resolve) => {
        const socket = connectTls({ port: portOf(managers), host: '127.0.0.1', rejectUnauthorized: false });
        socket.once('error', resolve);
      });
      expect(error.message).toMatch(/alert protocol version|version/i);
    }),
  );

  it(
    'in a version that it does not know is told which ones it knows',
    onScene(async (scene) => {
      const { managers } = await scene.manager();
      const answer = await new Promise<string>((resolve) => {
        const socket = connect(portOf(managers), '127.0.0.1', () => socket.write(helloOfVersion(99)));
        let heard = '';
        socket.setEncoding('latin1').on('data', (text: string) => (heard += text));
        socket.once('close', () => resolve(heard));
      });
      expect(answer).toContain('VERSION_MISMATCH');
      expect(answer).toMatch(/99/);
      expect(answer).toMatch(/upgrade/i);
    }),
  );
});

/** A client's first frame, in msgpack by hand: `{protocol, version, oldest, role}`. */
function helloOfVersion(version: number): Buffer {
  const text = (value: string): Buffer =>
    Buffer.concat([Buffer.from([0xa0 | value.length]), Buffer.from(value)]);
  const number = Buffer.from([version]);
  const payload = Buffer.concat([
    Buffer.from([0x84]),
    ...[text('protocol'), text('leasehold-pool'), text('version'), number, text('oldest'), number],
    ...[text('role'), text('owner')],
  ]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

describe('an owner that a Manager will not have', () => {
  it(
    'because another one has its url: it waits for as long as it was told to, and says which one that is',
    onScene(async (scene) => {
      const { managers } = await scene.manager();
      const url = 'http://10.0.0.5:8080';
      const a = await scene.owner({ name: 'a', url, managers });
      const twin = scene.startOwner({ name: 'twin', url, managers, timeoutMs: 2_000 });
      expect(await twin.event('failed')).toMatchObject({ code: 'URL_IN_USE', retryable: true });
      expect(await said(twin)).toContain(url);

      const patient = scene.startOwner({ name: 'twin', url, managers });
      await patient.logged('refuses this owner');
      await a.ask('leave');
      await patient.event('ready');
    }),
  );

  it(
    'because its pool is not declared is told so at once, and so is a look-up',
    onScene(async (scene) => {
      const { managers } = await scene.manager({ createPools: 'declared', pools: { presence: {} } });
      await scene.owner({ name: 'a', managers });
      const lost = scene.startOwner({ name: 'b', managers, pool: 'presense' });
      expect(await lost.event('failed')).toMatchObject({ code: 'UNKNOWN_POOL', retryable: false });
      expect(await said(lost)).toContain('presense');
      const lookup = scene.startLookup({ managers, pool: 'presense' });
      expect(await lookup.event('failed')).toMatchObject({ code: 'UNKNOWN_POOL', retryable: false });
    }),
  );
});
