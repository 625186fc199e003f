import { createServer } from 'node:net';
import { worker, WORKERS_MAX } from './worker.ts';

const FIRST = 20_000;
const PORTS_EACH = 10_000 / WORKERS_MAX;

/**
 * A port that a Manager can have again after a restart. Not one of those that the kernel hands out to
 * clients: while no process listens there, a client that calls again and again could be given it, and even be
 * connected to itself.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = FIRST + worker * PORTS_EACH + Math.floor(Math.random() * PORTS_EACH);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

/** None is given twice: the first to have it may not listen yet. */
const given = new Set<number>();

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
