/**
 * Which ports the demo takes. They are looked at before anything is started: a demo that fails with half of
 * its processes running says less about the cause than a sentence that names the port and the option.
 *
 * A port that was asked for is taken at its word, or refused. The usual ones are a convenience: if somebody
 * has them, another demo perhaps, any other will do.
 */

import { type AddressInfo, createServer, type Server } from 'node:net';
import { STATUS_PORTS, DEFAULT_PORT } from 'leasehold/internal';
import { UsageError } from '../failure.ts';
import { DemoError } from './demo-error.ts';

export interface Ports {
  readonly port: number;
  readonly httpPort: number;
}

const HOST = '127.0.0.1';
const USUAL: Ports = { port: DEFAULT_PORT, httpPort: STATUS_PORTS.manager };

/**
 * @param say told of a port that is not the usual one
 * @throws {DemoError} if one that was asked for cannot be had
 * @throws {UsageError} if both are the same
 */
export async function choosePorts(
  asked: Partial<Ports>,
  say: (text: string) => void,
  usual: Ports = USUAL,
): Promise<Ports> {
  const { port, httpPort } = asked;
  if (port !== undefined && port !== 0 && port === httpPort) {
    throw new UsageError(`--port and --http are both ${port}, but each needs a port of its own`);
  }
  return {
    port: await choose('--port', port, usual.port, httpPort, say),
    httpPort: await choose('--http', httpPort, usual.httpPort, port, say),
  };
}

async function choose(
  option: string,
  asked: number | undefined,
  usual: number,
  promised: number | undefined,
  say: (text: string) => void,
): Promise<number> {
  const why = await whyNotFree(asked ?? usual);
  if (asked !== undefined) {
    if (why === undefined) return asked;
    throw new DemoError(
      `port ${asked} on ${HOST} ${why}; choose another with ${option} (0 for any that is free)`,
      'PORT_IN_USE',
    );
  }
  if (why === undefined && usual !== promised) return usual;
  say(`Port ${usual} ${why ?? 'is taken'}, so the demo takes another one (${option} chooses which).`);
  return 0;
}

/** Undefined: it is free. */
function whyNotFree(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
      .once('error', (error: NodeJS.ErrnoException) =>
        resolve(error.code === 'EADDRINUSE' ? 'is in use' : `cannot be listened on (${error.code})`),
      )
      .listen(port, HOST, () => server.close(() => resolve(undefined)));
  });
}

/** So many ports that nobody has at present. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listening));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return ports;
}

const listening = (): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, HOST, () => resolve(server));
  });
