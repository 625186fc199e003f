/**
 * Ports for servers that cannot choose one themselves. They are taken from below the range from which the
 * kernel picks ports for outgoing connections: a member that is restarted must find its port still free.
 */

import { createServer } from 'node:net';

const LOWEST = 15_000;
const HIGHEST = 30_000;
const TRIES_MAX = 200;

const taken = new Set<number>();

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (taken.has(port) || !(await isFree(port))) continue;
    taken.add(port);
    return port;
  }
  throw new Error(`no free port in ${TRIES_MAX} tries`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
