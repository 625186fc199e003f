import { createServer } from 'node:net';

/**
 * A port that a Manager can have again after a restart. Not one of those that the kernel hands out to
 * clients: while nobody listens there, a client that calls again and again could be given it, and even be
 * connected to itself.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
