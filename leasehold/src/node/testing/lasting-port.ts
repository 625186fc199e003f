/**
 * For tests only: ports that stay free until a test listens there, and while the server of a test is down.
 *
 * A port that the kernel picks does not: the kernel also picks ports for outgoing connections from that range, so a client of
 * another test may get the port in between, or a client that calls a dead server again and again may be connected to itself. Ports
 * here are below that range, each worker of the tests has a part of its own, and none is given twice.
 */

import { createServer } from 'node:net';
import { worker, WORKERS_MAX } from './worker.ts';

const FIRST = 12_000;
const PORTS_EACH = 20_000 / WORKERS_MAX;

/** The first test to have a port may not listen yet. */
const given = new Set<number>();

export async function lastingPort(): Promise<number> {
  while (given.size < PORTS_EACH) {
    const port = FIRST + worker * PORTS_EACH + Math.floor(Math.random() * PORTS_EACH);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error('every port of this worker was given to a test');
}

/** One address on loopback for each name. */
export async function lastingAddresses<Name extends string>(...names: Name[]): Promise<Record<Name, string>> {
  const addresses: [Name, string][] = [];
  for (const name of names) addresses.push([name, `127.0.0.1:${await lastingPort()}`]);
  return Object.fromEntries(addresses) as Record<Name, string>;
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
