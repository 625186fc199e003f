/**
 * One server that asks all five questions, each of its own module, as one program: who owns this key, who leads, what have we
 * agreed, who is with me, and how much may I use.
 *
 * Every handle begins, waits, tells its state and ends in the same way; so one line waits for all of them, one port serves
 * their status, and one list ends them.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  connectLookup,
  connectQuorum,
  httpAnswer,
  joinFlease,
  joinGroup,
  joinLimits,
  joinPool,
  serveStatus,
} from 'leasehold';
import { ratelimit } from 'leasehold/ratelimit';

export interface Place {
  /** This server's name, in all modules. */
  readonly name: string;
  /** The Managers of the pool. */
  readonly managers: readonly string[];
  /** The replicas of the key-value store. */
  readonly replicas: readonly string[];
  /** Where the servers elect a leader: every name with its address. */
  readonly electors: Readonly<Record<string, string>>;
  /** Where the servers meet: every name with its address. */
  readonly servers: Readonly<Record<string, string>>;
  /** The leader says this under its lease. */
  led(name: string, number: number, flag: string | undefined, members: readonly string[]): void;
}

export interface Server extends AsyncDisposable {
  /** Where it takes requests: `POST /<room>` with a line. */
  readonly url: string;
  /** Where the status of its modules is. */
  readonly statusUrl: string;
  /** Resolves when every module is ready. */
  ready(): Promise<void>;
}

export async function startServer(place: Place): Promise<Server> {
  const { name, managers, replicas, electors, servers } = place;
  const http = createServer();
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const ending = new AbortController();

  // Who owns this key? This process keeps the lines of its rooms in memory.
  const owner = await joinPool({ managers, pool: 'rooms', name, url });
  const lookup = await connectLookup({ managers, pool: 'rooms' });
  const rooms = owner.leasedMap<readonly string[]>();
  // Who leads? One server sends the nightly report.
  const flease = await joinFlease({ name, peers: electors });
  // What have we agreed? Flags.
  const flags = await connectQuorum({ servers: replicas });
  // Who is with me?
  const group = await joinGroup({ name, peers: servers, maxServers: Object.keys(servers).length });
  // How much may I use? One limit for all servers of the group.
  const limits = await joinLimits({ group });
  const api = ratelimit({ name: 'api', limit: 100, per: '1s', shared: limits });

  http.on('request', async (request, response) => {
    const room = decodeURIComponent(request.url?.slice(1) ?? '');
    try {
      const { allowed, retryAfterMs } = await api.consume(room, { timeoutMs: 200 });
      if (!allowed) {
        response.writeHead(429, { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) }).end();
        return;
      }
      const count = await owner.guard(room, (held) => {
        const lines = [...(rooms.get(held) ?? []), 'hello'];
        rooms.set(held, lines);
        return lines.length;
      });
      response.end(JSON.stringify({ name, count }));
    } catch (error) {
      const { status, headers, body } = httpAnswer(error) ?? { status: 500, headers: {}, body: '' };
      response.writeHead(status, headers).end(body);
    }
  });

  const handles = [owner, lookup, flease, flags, group, limits];
  const status = await serveStatus(handles, { listen: '127.0.0.1:0' });
  for (const handle of handles)
    void handle.closed.then((why) => why === undefined || console.error(why.code, why.message));

  async function lead(): Promise<void> {
    for await (const term of flease.elect('nightly-report', { signal: ending.signal })) {
      const { value } = await flags.get('report-at', { signal: term.signal });
      const view = await group.acting({ signal: term.signal });
      place.led(name, term.number, value && new TextDecoder().decode(value), view.members);
    }
  }
  const leading = lead().catch((error: unknown) => {
    if (!ending.signal.aborted) console.error(name, error);
  });

  return {
    url,
    statusUrl: status.url,
    ready: async () => {
      await Promise.all(handles.map((handle) => handle.ready({ timeoutMs: 60_000 })));
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await leading;
      for (const handle of [owner, lookup, limits, group, flags, flease, status]) await handle.close();
      http.closeAllConnections();
      http.close();
    },
  };
}
