/** The commands as processes of their own: two servers of a group on this machine. */

import type { GroupMemberStatus } from 'leasehold/membership';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastingAddresses } from '../../../../leasehold/src/node/testing/lasting-port.ts';
import { run, type Started, start } from '../testing/started.ts';

const TIMEOUT_MS = 120_000;

describe('servers of a group on the command line', { timeout: TIMEOUT_MS }, () => {
  const servers: Started[] = [];
  const https: string[] = [];
  let addresses = '';

  beforeAll(async () => {
    const { a, b } = await lastingAddresses('a', 'b');
    addresses = `${a},${b}`;
    for (const [name, listen, others] of [
      ['a', a, `b=${b}`],
      ['b', b, `a=${a}`],
    ] as const) {
      const argv = ['membership', 'start', '--name', name, '--listen', listen, '--peers', others];
      const server = await start([...argv, '--lease', '3s', '--http', '127.0.0.1:0', '--json']);
      servers.push(server);
      https.push(
        await server.until('its address', () => /"http":"http:\/\/([^"]+)"/.exec(server.stdout)?.[1]),
      );
    }
  }, TIMEOUT_MS);
  afterAll(async () => {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  });

  const statusOf = async (server: number): Promise<GroupMemberStatus> => {
    const { stdout } = await run(['membership', 'status', '--at', https[server] ?? '', '--json']);
    return JSON.parse(stdout) as GroupMemberStatus;
  };

  it('agree on a view, and status shows it with the links', async () => {
    let status = await statusOf(0);
    while (status.view?.members.length !== 2) status = await statusOf(0);
    expect(status.view.members).toEqual(['a', 'b']);
    const { stdout } = await run(['membership', 'status', '--at', https[1] ?? '']);
    expect(stdout).toMatch(/^Server b of group default /);
    expect(stdout).toMatch(/: a, b\n/);
    expect(stdout).toMatch(/^a +127\.0\.0\.1:\d+ +yes +direct/m);
  });

  it('deliver a message, and refuse one to no member with its code', async () => {
    const to = ['--at', https[0] ?? '', '--to'];
    expect(await run(['membership', 'send', 'hello', ...to, 'b'])).toMatchObject({
      code: 0,
      stdout: 'Received by b.\n',
    });
    await servers[1]?.until('the message', () =>
      servers[1]?.stdout.includes('"from":"a","text":"hello"') ? true : undefined,
    );
    const refused = await run(['membership', 'send', 'hello', ...to, 'nobody', '--json']);
    expect(refused.code).toBe(75);
    expect(refused.stderr).toContain('NOT_A_MEMBER');
    const own = await run(['membership', 'send', 'hello', ...to, 'a']);
    expect(own.stderr).toContain('a cannot send to itself: the others are b');
  });

  it('take a client into their view, and let it go', async () => {
    const client = await start([
      'membership',
      'connect',
      '--name',
      'x',
      '--at',
      addresses,
      '--lease',
      '3s',
      '--json',
    ]);
    servers.push(client);
    await client.until('a view', () => (client.stdout.includes('"clients":["x"]') ? true : undefined));
    let status = await statusOf(1);
    while (status.view?.clients.length !== 1) status = await statusOf(1);
    expect(status.view.clients).toEqual(['x']);
    const { stdout } = await run(['membership', 'status', '--at', https[0] ?? '']);
    expect(stdout).toMatch(/^ {2}clients +1 in the view, [01] attached here$/m);
    const sent = await run(['membership', 'send', 'hello', '--at', https[0] ?? '', '--to', 'x']);
    expect(sent).toMatchObject({ code: 0, stdout: 'Received by x.\n' });
    await client.until('the message', () =>
      client.stdout.includes('"from":"a","text":"hello"') ? true : undefined,
    );
    client.child.kill('SIGTERM');
    while (status.view?.clients.length !== 0) status = await statusOf(1);
    const refused = await run(['membership', 'connect', '--name', 'a', '--at', addresses, '--lease', '3s']);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('NAME_IN_USE') });
    const nowhere = await run(['membership', 'connect', '--name', 'a', '--at', 'nowhere']);
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('--at is nowhere') });
  });

  it('say what is wrong with their options, in the words of the command line', async () => {
    const serve = ['membership', 'start', '--listen', '127.0.0.1:1', '--no-http'];
    expect(await run([...serve])).toMatchObject({ code: 2, stderr: expect.stringContaining('Give --name') });
    const small = await run([...serve, '--name', 'a', '--peers', 'b=127.0.0.1:2', '--max-servers', '1']);
    expect(small).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        '--max-servers is 1, but peers and this server are 2: raise --max-servers',
      ),
    });
    const both = await run([...serve, '--name', 'a', '--peers', 'b=127.0.0.1:2', '--etcd', 'etcd://h/x']);
    expect(both).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--peers and --etcd cannot be given together'),
    });
    const open = await run(['membership', 'start', '--name', 'a', '--listen', '0.0.0.0:7700', '--no-http']);
    expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('--listen is 0.0.0.0:7700') });
  });

  it('leave when they are told to end', async () => {
    servers[1]?.child.kill('SIGTERM');
    let status = await statusOf(0);
    while (status.view?.members.length !== 1) status = await statusOf(0);
    expect(status.graph.find(({ name }) => name === 'b')?.hasLeft ?? true).toBe(true);
  });
});
