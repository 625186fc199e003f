/** The events for a program that watches while the watched server goes away, and comes back. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { start } from '../testing/started.ts';

const TIMEOUT_MS = 30_000;

const HANDLES = [
  { module: 'manager', instance: 'memory', latestEventId: 'e-0' },
  { module: 'flease', instance: 'g' },
];

/** Breaks off the first stream that is asked for, after something was said. */
async function breaking(event: object) {
  let streams = 0;
  const server = createServer(({ url }, response) => {
    const isStatus = url === '/v1/status';
    response.writeHead(200, { 'content-type': isStatus ? 'application/json' : 'text/event-stream' });
    if (isStatus) response.end(JSON.stringify({ version: '1', handles: HANDLES }));
    else response.write(`data: ${JSON.stringify(event)}\n\n`);
    if (isStatus) return;
    streams += 1;
    if (streams === 1) response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('a program that watches', { timeout: TIMEOUT_MS }, () => {
  it.each([
    ['a member', ['flease', 'watch', 'backup', '--at'], { resource: 'backup', holder: null }],
    ['a Manager', ['watch', '--at'], { kind: 'manager.elected' }],
  ])('is told that the connection to %s is lost, and that it is back', async (_, words, event) => {
    await using served = await breaking(event);
    await using watching = await start([...words, served.address, '--json']);
    const told = (): readonly Record<string, unknown>[] =>
      watching.stderr
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await watching.until('that it is back', () => (told().length > 1 ? true : undefined));
    const about = 'resource' in event ? { resource: 'backup' } : {};
    expect(told()).toEqual([
      { atMs: expect.any(Number), ...about, connection: 'lost', why: 'the other side closed the stream' },
      { atMs: expect.any(Number), ...about, connection: 'back' },
    ]);
    await watching.until('the same again', () => (watching.lines.length > 1 ? true : undefined));
    for (const line of watching.lines) expect(JSON.parse(line)).toMatchObject(event);
  });
});
