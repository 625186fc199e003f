/** The root, its tokens, and processes that show them: on the command line, as processes of their own. */

import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastingAddresses } from '../../../../leasehold/src/node/testing/lasting-port.ts';
import { joinPool, silent } from 'leasehold/pool';
import { run, start } from '../testing/started.ts';

const TIMEOUT_MS = 120_000;
let home: string;
let ca: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'leasehold-tokens-'));
  ca = join(home, 'ca');
  await run(['ca', 'create', '--root', ca, '--cluster', 'blue']);
}, TIMEOUT_MS);
afterAll(() => rm(home, { recursive: true }));

/** A file with a new token. */
async function tokenFile(name: string, grants: string, ...more: readonly string[]): Promise<string> {
  const file = join(home, name);
  const made = await run(['token', 'create', grants, '--root', ca, '--out', file, ...more]);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(file) });
  return file;
}

const openssl = (...words: string[]): Promise<string> =>
  new Promise((resolve) => execFile('openssl', words, (_, out, err) => resolve(out + err)));

describe('leasehold token', { timeout: TIMEOUT_MS }, () => {
  it('makes a file that its owner alone can read, and shows the token without its secrets', async () => {
    const file = await tokenFile(
      'shown',
      'owner:pool/presence/WEB-*',
      '--days',
      '90',
      '--hosts',
      'm1.corp,::1',
    );
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const { stdout } = await run(['token', 'show', file, '--json']);
    expect(JSON.parse(stdout)).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      cluster: 'blue',
      root: expect.stringMatching(/^[0-9a-f]{16}$/),
      grants: 'owner:pool/presence/%57%45%42-*',
      hosts: ['m1.corp', '::1'],
      endsAt: expect.stringMatching(/^20\d\d-/),
    });
    const text = (await readFile(file, 'utf8')).trim();
    const listed = await run(['token', 'list', '--root', ca]);
    expect(listed.stdout).toContain('owner:pool/presence/%57%45%42-*');
    expect(stdout + listed.stdout).not.toContain(text.slice(60, 90));
  });

  it('makes the root of a new cluster for everything, and for nothing narrower', async () => {
    const other = join(home, 'other');
    const narrow = await run(['token', 'create', 'viewer', '--root', other]);
    expect(narrow).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no root in') });
    const wide = await run(['token', 'create', 'everything', '--root', other]);
    expect(wide.stdout).toMatch(/^lh1\.[A-Za-z0-9_-]+\n$/);
    expect(wide.stderr).toMatch(/Made root [0-9a-f]{16} of cluster/);
  });

  it('signs and lists no token that it cannot write', async () => {
    const file = await tokenFile('kept', 'viewer');
    const before = [await readFile(file, 'utf8'), (await run(['token', 'list', '--root', ca])).stdout];
    const again = await run(['token', 'create', 'viewer', '--root', ca, '--out', file]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is there already') });
    const nowhere = join(home, 'no', 'where');
    const lost = await run(['token', 'create', 'viewer', '--root', ca, '--out', nowhere]);
    expect(lost).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be written: ENOENT') });
    expect([await readFile(file, 'utf8'), (await run(['token', 'list', '--root', ca])).stdout]).toEqual(
      before,
    );
    // Nor does a root that refuses leave an empty file.
    const unmade = join(home, 'unmade');
    await run(['token', 'create', 'viewer', '--root', join(home, 'none'), '--out', unmade]);
    await expect(stat(unmade)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('exports files with which OpenSSL verifies the chain', async () => {
    const file = await tokenFile('exported', 'viewer');
    const directory = join(home, 'files');
    await run(['token', 'export', directory, '--token-file', file]);
    const [cert, caFile] = [join(directory, 'cert.pem'), join(directory, 'ca.pem')];
    expect(
      await openssl('verify', '-purpose', 'sslclient', '-CAfile', caFile, '-untrusted', cert, cert),
    ).toContain(': OK');
    const again = await run(['token', 'export', directory, '--token-file', file]);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('EEXIST') });
  });

  it.each([
    [['token', 'create', 'king:pool'], 2, 'role of server, owner'],
    [['token', 'create', 'viewer', '--days', '0'], 2, 'a number of days above 0'],
    [['token', 'create', 'viewer', '--hosts', '*.corp'], 2, 'host name or an IP address'],
    [['token', 'show', '/nowhere'], 2, 'cannot be read: ENOENT'],
  ])('refuses %j with a reason', async (words, code, reason) => {
    const more = words[1] === 'create' ? ['--root', ca] : [];
    expect(await run([...words, ...more])).toMatchObject({ code, stderr: expect.stringContaining(reason) });
  });

  it('refuses a root that others can read, and a second root in its place', async () => {
    const open = join(home, 'open');
    await run(['ca', 'create', '--root', open]);
    expect((await run(['ca', 'create', '--root', open])).stderr).toContain('ROOT_EXISTS');
    await chmod(join(open, 'root.key'), 0o644);
    expect((await run(['token', 'create', 'viewer', '--root', open])).stderr).toContain('ROOT_EXPOSED');
  });
});

describe('a Manager with a token', { timeout: TIMEOUT_MS }, () => {
  const MANAGER = ['manager', 'start', '--memory', '--first-start', '--json'];

  it('takes the one of its flag or of the environment, and is told to others by no plain HTTP', async () => {
    const file = await tokenFile('manager', 'server:pool');
    const { place } = await lastingAddresses('place');
    for (const [flags, environment] of [
      [['--token-file', file], {}],
      [[], { LEASEHOLD_TOKEN_FILE: file }],
    ] as const) {
      await using manager = await start([...MANAGER, '--listen', place, '--http', '0', ...flags], {
        environment,
      });
      const { address, http } = await manager.json<{ address?: string; http: string }>(
        'where it listens',
        (said) => said.address !== undefined,
      );
      expect([address, http]).toEqual([place, expect.stringMatching(/^http:\/\/127\.0\.0\.1:/)]);
      const owner = joinPool({
        managers: [place],
        pool: 'p',
        name: 'a',
        url: 'u',
        tls: false,
        logger: silent,
      });
      await expect(owner).rejects.toMatchObject({ code: 'TLS_REQUIRED' });
    }
  });

  it.each([
    ['TLS, and the id of its token', true, /^ {2}connections +TLS, with token [0-9a-f]{16}$/m],
    ['plaintext without one', false, /^ {2}connections +plaintext; no token is given$/m],
  ])('says that its connections are %s, and never the token', async (words, isSecure, line) => {
    const file = await tokenFile(`manager that says ${isSecure}`, 'server:pool');
    const said = (await readFile(file, 'utf8')).trim();
    const flags = isSecure ? ['--token-file', file] : [];
    const plain = MANAGER.filter((word) => word !== '--json');
    await using manager = await start([...plain, '--listen', '127.0.0.1:0', '--http', '0', ...flags]);
    const banner = await manager.until(words, () => line.exec(manager.stdout)?.input);
    expect(banner).not.toContain(said.slice(10, 30));
  });

  it.each([
    ['with leave to speak plaintext', ['--insecure'], 2, 'speaks no plaintext'],
    ['and certificates', ['--ca', 'x'], 2, 'and not both'],
    ['and plain HTTP beyond this machine', ['--http', '10.0.0.1:0'], 2, 'in plaintext'],
  ])('does not start %s', async (_, flags, code, words) => {
    const file = await tokenFile(`manager ${words}`, 'server:pool');
    const ended = await run([...MANAGER, '--listen', '127.0.0.1:0', '--token-file', file, ...flags]);
    expect(ended).toMatchObject({ code, stderr: expect.stringContaining(words) });
  });

  it('does not start with a token for something else, or none beyond this machine', async () => {
    const file = await tokenFile('owner', 'owner:pool');
    const wrong = await run([...MANAGER, '--listen', '127.0.0.1:0', '--token-file', file]);
    expect(wrong).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('may not be a server of any pool'),
    });
    const none = await run([...MANAGER, '--listen', '10.0.0.1:0', '--no-http']);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('LEASEHOLD_TOKEN_FILE') });
  });

  it('cannot be told of a death by a supervisor without one', async () => {
    const file = await tokenFile('of a look-up', 'reader:pool');
    const ended = await run(['run', '--token-file', file, '--', 'true']);
    expect(ended).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('may not be an owner of any pool'),
    });
  });
});

describe('replicas with token files', { timeout: TIMEOUT_MS }, () => {
  it('serve clients with a token, and say why they serve no others', async () => {
    const peers = await lastingAddresses('a', 'b', 'c');
    const list = Object.entries(peers).map(([name, address]) => `${name}=${address}`);
    const replicas = await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const file = await tokenFile(`replica-${name}`, `server:quorum/default/${name}`);
        const words = ['quorum', 'start', '--name', name, '--data', join(home, name), '--no-http'];
        return start([...words, '--peers', list.join(','), '--token-file', file]);
      }),
    );
    try {
      const client = await tokenFile('client', 'client:quorum/default');
      const at = ['--at', Object.values(peers).join(','), '--timeout', '60s'];
      expect(await run(['quorum', 'put', 'flag', 'on', ...at, '--token-file', client])).toMatchObject({
        code: 0,
      });
      const reader = await tokenFile('reader', 'reader:quorum/default');
      const refused = await run(['quorum', 'put', 'flag', 'off', ...at, '--token-file', reader]);
      expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('NOT_ALLOWED') });
      const plain = await run(['quorum', 'get', 'flag', '--at', peers['a'] ?? '', '--timeout', '1h']);
      expect(plain).toMatchObject({ code: 5, stderr: expect.stringContaining('TLS_REQUIRED') });
      const read = await run(['quorum', 'get', 'flag', ...at, '--token-file', reader]);
      expect(read).toMatchObject({ code: 0, stdout: expect.stringContaining('on') });
    } finally {
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    }
  });

  it('do not start with both a token and files, nor with a token that is cut', async () => {
    const cut = join(home, 'cut');
    await writeFile(cut, (await readFile(await tokenFile('whole', 'everything'), 'utf8')).slice(0, 100));
    const words = [
      'quorum',
      'start',
      '--name',
      'x',
      '--data',
      join(home, 'x'),
      '--peers',
      'x=127.0.0.1:7600',
    ];
    const both = await run([...words, '--token-file', cut, '--ca', cut]);
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('and not both') });
    const swapped = await run([...words, '--token-file', 'lh1.A-secret']);
    expect(swapped).toMatchObject({ code: 2, stderr: expect.not.stringContaining('secret') });
    const broken = await run([...words, '--token-file', cut]);
    expect(broken).toMatchObject({ code: 5, stderr: expect.stringContaining('the token is not whole') });
  });
});
