/** The commands as processes of their own, against a Manager that is one too. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinPool, type PoolOwner } from 'leasehold/pool';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ManagerPlace, run, type Started, start, startManager } from '../testing/started.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TIMEOUT_MS = 60_000;

/** Where nobody listens: somebody just did, and does no more. */
async function freeAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}

/** The status of an HTTP server for a request with that host name. */
const statusFor = (url: string, host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(`${url}/healthz`, { headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).on('error', reject);
  });

const json = (text: string): unknown => JSON.parse(text);

describe('commands that ask a Manager', { timeout: TIMEOUT_MS }, () => {
  let manager: Started;
  let place: ManagerPlace;
  let owner: PoolOwner;

  beforeAll(async () => {
    ({ manager, place } = await startManager());
    owner = await joinPool({
      ...{ managers: [place.address], pool: 'presence', name: 'ada', url: 'http://ada:8080' },
    });
    await owner.whenOwned('alice');
  }, TIMEOUT_MS);

  afterAll(async () => {
    await owner.close();
    expect(await manager.stop()).toBe(0);
  }, TIMEOUT_MS);

  const ask = (...argv: string[]) => run([...argv, '--at', place.http]);

  it('list the pools', async () => {
    const { code, stdout } = await ask('pool', 'list');
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toMatch(/^POOL +OWNERS +LOOK-UPS +RANGES/);
    expect(stdout.split('\n')[1]).toMatch(/^presence +1 +0 /);
    expect(json((await ask('pool', 'list', '--json')).stdout)).toMatchObject({
      pools: [{ name: 'presence', owners: 1 }],
    });
  });

  it('tell how the Manager is, and how a pool is', async () => {
    const { stdout } = await ask('status');
    expect(stdout).toMatch(/^Manager \w+ is leading, up .* s, version /);
    expect(stdout).toContain('kept in memory');
    const { stdout: ofPool } = await ask('pool', 'status', 'presence');
    expect(ofPool).toMatch(/ LOAD +PROOF +URL\n/);
    expect(ofPool).toMatch(/\nada +100 % .* no +http:\/\/ada:8080\n/);
    const [status, pool] = [await ask('status', '--json'), await ask('pool', 'status', 'presence', '--json')];
    expect(json(status.stdout)).toMatchObject({ role: 'leading', owners: 1 });
    expect(json(pool.stdout)).toMatchObject({
      name: 'presence',
      members: [{ name: 'ada', sharePercent: 100 }],
    });
  });

  it('find keys, whatever is in them', async () => {
    const { code, stdout } = await ask('pool', 'find', 'presence', 'alice', 'a key/with {tag} ?&%');
    expect(code).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(3);
    expect(stdout).toMatch(/\nalice +ada +http:\/\/ada:8080 +\d+\n/);
    const answer = json((await ask('pool', 'find', 'presence', 'a key/with {tag} ?&%', '--json')).stdout);
    expect(answer).toMatchObject({
      keys: [{ key: 'a key/with {tag} ?&%', tag: 'tag', owner: { name: 'ada' } }],
    });
  });

  it('explain why a key is where it is', async () => {
    const { code, stdout } = await ask('pool', 'explain', 'presence', 'alice');
    expect(code).toBe(0);
    expect(stdout).toContain('Its owner is ada at http://ada:8080');
    expect(json((await ask('pool', 'explain', 'presence', 'alice', '--json')).stdout)).toMatchObject({
      key: 'alice',
    });
  });

  it('find the Manager by the environment', async () => {
    const { code } = await run(['pool', 'list'], { environment: { LEASEHOLD_MANAGER_AT: place.http } });
    expect(code).toBe(0);
  });

  it.each([
    ['pool', 'find', 'nowhere', 'alice'],
    ['pool', 'explain', 'nowhere', 'alice'],
    ['pool', 'status', 'nowhere'],
    ['pool', 'watch', 'nowhere'],
  ])('say that there is no such pool, and which there are: %s', async (...argv) => {
    const { code, stderr, stdout } = await ask(...argv);
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toBe('leasehold: there is no pool "nowhere"; there are presence (UNKNOWN_POOL)\n');
    const inJson = await ask(...argv, '--json');
    expect(json(inJson.stderr)).toMatchObject({ error: { code: 'UNKNOWN_POOL' } });
  });

  it('watch who comes and goes', async () => {
    await using people = await start(['watch', '--at', place.http]);
    await using program = await start(['pool', 'watch', 'presence', '--json', '--at', place.http]);
    await people.until('saying that it watches', () => people.stderr.includes('Ctrl-C') || undefined);
    const found = program.json<{ kind: string; owner: { name: string } }>(
      'ben',
      ({ kind }) => kind === 'pool.left',
    );
    let isOver = false;
    // The watcher does not say when watching began, so an owner joins and leaves until the watcher has seen that.
    const coming = (async () => {
      while (!isOver) {
        const ben = await joinPool({
          managers: [place.address],
          pool: 'presence',
          name: 'ben',
          url: 'http://ben',
        });
        await ben.close();
      }
    })();
    expect((await found).owner.name).toBe('ben');
    await people.until('seeing ben leave', () => people.stdout.includes('ben is gone: it left') || undefined);
    isOver = true;
    await coming;
    expect(people.stdout).toContain('ben joined, at http://ben');
    expect(await Promise.all([people.stop('SIGINT'), program.stop()])).toEqual([0, 0]);
  });
});

describe('commands that find no Manager', { timeout: TIMEOUT_MS }, () => {
  it.each(['pool list', 'status', 'watch'])('say where they looked and what to do: %s', async (command) => {
    const address = await freeAddress();
    const { code, stderr } = await run([...command.split(' '), '--at', `http://${address}`]);
    expect(code).toBe(3);
    expect(stderr).toContain(`no Manager answers at http://${address}: nothing listens there`);
    expect(stderr).toContain('"leasehold manager start"');
    expect(stderr).not.toContain('    at ');
    const inJson = await run([...command.split(' '), '--json', '--at', address]);
    expect(inJson).toMatchObject({ code: 3, stdout: '' });
    expect(json(inJson.stderr)).toMatchObject({ error: { code: 'UNREACHABLE' } });
  });

  it('say that there is no demo to add an owner to, in one sentence', async () => {
    const address = await freeAddress();
    const { code, stdout, stderr } = await run(['demo', 'add-owner', '--managers', address]);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toBe(
      `leasehold: no demo answers at ${address}: start one with \`leasehold demo\`, or say where its Manager is with --managers (MANAGERS_UNREACHABLE)\n`,
    );
  });

  it('say that somebody else is there', async () => {
    const server = createServer((_, response) => response.end('<html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await run(['pool', 'list', '--at', `127.0.0.1:${port}`]);
    expect(code).toBe(1);
    expect(stderr).toContain('answers, but not as a Manager does');
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('leasehold manager start', { timeout: TIMEOUT_MS }, () => {
  const started: Started[] = [];
  afterEach(async () => {
    for (const each of started.splice(0)) await each[Symbol.asyncDispose]();
  });
  const manage = async (...argv: string[]) => {
    const { manager, place } = await startManager(argv);
    started.push(manager);
    return { manager, place };
  };

  it('says where it listens, where its data is, and what to try', async () => {
    const manager = await start(['manager', 'start', '--listen', '127.0.0.1:0', '--http', '0'], {
      cwd: folder,
    });
    started.push(manager);
    await manager.until('its last line', () => manager.stdout.includes('Ctrl-C ends it') || undefined);
    expect(manager.stdout).toMatch(/Its data is in \/.*\/leasehold-data \(--data DIRECTORY/);
    expect(manager.stdout).toMatch(/owners and look-ups {3}127\.0\.0\.1:\d+\n/);
    expect(manager.stdout).toMatch(/leasehold watch --at http:\/\/127\.0\.0\.1:\d+\n/);
    expect(manager.stdout).not.toContain('\u001b');
    expect(existsSync(join(folder, 'leasehold-data'))).toBe(true);
    expect(await manager.stop('SIGINT')).toBe(0);
  });

  it('refuses a port that is in use, and a directory that another Manager has', async () => {
    const directory = join(folder, 'locked');
    const { place } = await manage('--data', directory);
    const samePort = await run(['manager', 'start', '--memory', '--listen', place.address, '--no-http']);
    expect(samePort).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is in use; stop who listens there'),
    });
    expect(samePort.stderr).toContain('(PORT_IN_USE)');
    const sameData = await run([
      'manager',
      'start',
      '--data',
      directory,
      '--listen',
      '127.0.0.1:0',
      '--no-http',
      '--json',
    ]);
    expect(sameData.code).toBe(1);
    expect(sameData.stderr).toContain('"code":"LOCKED"');
    expect(sameData.stderr).not.toContain('    at ');
  });

  it('does not listen to the world unless told to', async () => {
    const { code, stderr } = await run([
      'manager',
      'start',
      '--memory',
      '--listen',
      '0.0.0.0:0',
      '--no-http',
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain('--insecure');
  });

  it('answers to the names that it was given, and to no other', async () => {
    const { place } = await manage('--memory', '--allowed-hosts', 'metrics.internal, other.internal');
    expect(await statusFor(place.http, 'metrics.internal')).toBe(200);
    expect(await statusFor(place.http, 'other.internal:7401')).toBe(200);
    expect(await statusFor(place.http, 'localhost')).toBe(200);
    expect(await statusFor(place.http, 'elsewhere.internal')).toBe(403);
  });

  it('shows where an error came from when it is asked to', async () => {
    const argv = ['manager', 'start', '--memory', '--listen', '0.0.0.0:0', '--no-http'];
    const { stderr } = await run(argv, { environment: { LEASEHOLD_DEBUG: '1' } });
    expect(stderr).toContain('    at ');
  });

  it('does as its configuration says, also when that changes; a bad one changes nothing', async () => {
    const file = join(folder, 'pools.json');
    writeFileSync(file, '{ "pools": { "presence": { "leaseMs": 5000 } } }');
    const { manager, place } = await manage('--memory', '--config', file);
    const leaseMs = async (): Promise<number> => {
      const { stdout } = await run(['pool', 'status', 'presence', '--json', '--at', place.http]);
      return (json(stdout) as { durations: { leaseMs: number } }).durations.leaseMs;
    };
    expect(await leaseMs()).toBe(5_000);

    writeFileSync(file, '{ "pools": { "presence": { "leaseMs": -1 } } }');
    const complaint = await manager.until(
      'a complaint',
      () => /^.*stays in force.*$/m.exec(manager.stderr)?.[0],
    );
    expect(complaint).toContain('pools.presence.leaseMs');
    expect(await leaseMs()).toBe(5_000);

    manager.child.kill('SIGHUP'); // SIGHUP is no reason to end.
    writeFileSync(file, '{ "pools": { "presence": { "leaseMs": 7000 } } }');
    await manager.until(
      'the change',
      () => manager.stderr.includes('the configuration was changed') || undefined,
    );
    expect(await leaseMs()).toBe(7_000);
    expect(await manager.stop()).toBe(0);
  });

  it('does not start with a configuration that makes no sense', async () => {
    const file = join(folder, 'bad.json');
    writeFileSync(file, '{ "pols": {} }');
    const bad = await run([
      'manager',
      'start',
      '--memory',
      '--listen',
      '127.0.0.1:0',
      '--no-http',
      '--config',
      file,
    ]);
    expect(bad).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no such option; there are'),
    });
    writeFileSync(file, '{ "pools": ');
    const torn = await run([
      'manager',
      'start',
      '--memory',
      '--listen',
      '127.0.0.1:0',
      '--no-http',
      '--config',
      file,
    ]);
    expect(torn).toMatchObject({ code: 2, stderr: expect.stringContaining('it is not JSON') });
    const missing = await run([
      'manager',
      'start',
      '--memory',
      '--listen',
      '127.0.0.1:0',
      '--no-http',
      '--config',
      join(folder, 'none'),
    ]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be read') });
  });
});

describe('leasehold run', { timeout: TIMEOUT_MS }, () => {
  it('ends as its command does', async () => {
    const { code, stdout } = await run([
      'run',
      '--',
      process.execPath,
      '-e',
      'console.log("hello"); process.exit(7)',
    ]);
    expect({ code, stdout }).toEqual({ code: 7, stdout: 'hello\n' });
  });

  it('needs no dashes, and leaves the options of the command alone', async () => {
    const { code, stdout } = await run([
      'run',
      process.execPath,
      '-p',
      'process.argv.length',
      '--',
      '--json',
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '2\n' });
  });

  it('ends like a shell if its command was killed, and its last line says so', async () => {
    const argv = ['run', '--json', '--managers', await freeAddress(), '--', 'sh', '-c', 'kill -KILL $$'];
    const { code, stderr } = await run(argv);
    expect(code).toBe(137);
    expect(json(stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
      message: 'killed by a signal; it had joined no pool',
      ...{ command: 'sh', signal: 'SIGKILL', exitCode: 137 },
    });
  });
});
