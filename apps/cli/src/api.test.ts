import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveStatus, type StatusServer } from 'leasehold';
import { joinFlease, type FleaseMember, silent } from 'leasehold/flease';
import { type PoolManager, startManager } from 'leasehold/manager';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePeers } from '../../../leasehold/src/flease/shell/testing/groups.ts';
import { parseApi } from './api.ts';
import { runCli } from './cli.ts';
import { MEMBER } from './respondents.ts';
import { recordedContext } from './testing/recorded-context.ts';

let manager: PoolManager;
let group: FleaseMember;
let server: StatusServer;
let page: StatusServer;

beforeAll(async () => {
  manager = await startManager({ listen: '127.0.0.1:0', logger: silent, firstStart: true });
  page = await serveStatus(manager, { listen: '127.0.0.1:0', logger: silent });
  // Two of three never run.
  group = await joinFlease({
    name: 'a',
    peers: await freePeers('a', 'b', 'c'),
    leaseMs: 200,
    logger: silent,
  });
  server = await serveStatus(group, { listen: '127.0.0.1:0', logger: silent });
  await group.ready();
});
afterAll(async () => {
  await server.close();
  await page.close();
  await group.close();
  await manager.close();
});

async function run(...argv: readonly string[]) {
  const context = recordedContext();
  const code = await runCli(argv, context);
  return { code, printed: context.printed(), complained: context.complained() };
}

describe('a Manager that is taken for a member', () => {
  it.each([
    ['flease', 'status'],
    ['flease', 'status', '--json'],
    ['flease', 'status', 'backup'],
    ['flease', 'watch', 'backup'],
  ])('is said to be one, with the words that ask it: %s %s %s', async (...words) => {
    const url = page.url;
    const { code, printed, complained } = await run(...words, '--at', url);
    expect([code, printed]).toEqual([1, '']);
    expect(complained).toContain('WRONG_PEER');
    expect(complained).toContain(`${url} answers, but not as a member does: it is a Manager. Ask it with `);
    expect(complained).toContain(`leasehold status --at ${url}`);
  });
});

describe('a member that is taken for a Manager', () => {
  it.each([
    ['status'],
    ['status', '--json'],
    ['pool', 'status', 'presence'],
    ['pool', 'list'],
    ['watch'],
    ['manager', 'step-down'],
  ])('is said to be one, with the words that ask it: %s %s', async (...words) => {
    const { code, printed, complained } = await run(...words, '--at', server.url);
    expect([code, printed]).toEqual([1, '']);
    expect(complained).toContain('WRONG_PEER');
    expect(complained).toContain(`${server.url} answers, but not as a Manager does: it is a member. Ask it `);
    expect(complained).toContain(`leasehold flease status --at ${server.url.replace('http://', '')}`);
  });
});

describe('somebody else who says that it is JSON', () => {
  it('is said to be somebody else', async () => {
    const other = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('<html>');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const { code, complained } = await run('status', '--at', `127.0.0.1:${port}`);
    other.close();
    expect(code).toBe(1);
    expect(complained).toContain('WRONG_PEER');
    expect(complained).toContain('is no JSON, although it says so');
  });
});

describe('a program that asks who has a resource', () => {
  it('is told why each member did not answer, if too few did', async () => {
    const { code, complained } = await run('flease', 'status', 'backup', '--json', '--at', server.url);
    expect(code).toBe(75);
    const { error } = JSON.parse(complained) as { error: { code: string; reasons: Record<string, string> } };
    expect(error.code).toBe('NO_MAJORITY');
    expect(Object.keys(error.reasons)).toEqual(['b', 'c']);
    expect(error.reasons['b']).toMatch(/^not connected: /);
  });
});

describe('where to ask', () => {
  it.each([
    ['10.0.0.1', 'http://10.0.0.1:7501'],
    ['[::1]', 'http://[::1]:7501'],
    ['10.0.0.1:80', 'http://10.0.0.1'],
    ['http://members.internal/', 'http://members.internal'],
    ['members.internal/flease', 'http://members.internal/flease'],
  ])('is the usual port if a host alone is said: %s', (text, url) => {
    expect(parseApi(text, MEMBER)).toBe(url);
  });
});
