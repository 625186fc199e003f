/**
 * Ports that stay free until a server listens there. The kernel gives ports of the ephemeral range to the ends of connections, of which a large group has
 * thousands, so a port of that range may be taken before the server starts. These lie below the range.
 */

import { createServer } from 'node:net';

const FIRST = 20_000;
const LAST = 32_000;

export async function quietPorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  const start = FIRST + Math.floor(Math.random() * (LAST - FIRST - 4 * count));
  for (let port = start; port < LAST && ports.length < count; port += 1)
    if (await isFree(port)) ports.push(port);
  if (ports.length < count) throw new Error(`fewer than ${count} ports are free from ${start} to ${LAST}`);
  return ports;
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
