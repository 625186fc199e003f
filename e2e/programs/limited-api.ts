/** An HTTP server with a limit that is shared with others, as `docs/ratelimit.md` shows it: it listens when it is ready, and stops on SIGTERM. */

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { joinGroup, type JoinGroupOptions } from 'leasehold/membership';
import { stopOnSignals } from 'leasehold';
import { joinLimits, nodeLimit, ratelimit, type RateLimitOptions } from 'leasehold/ratelimit';
import { fail, logger, obey, say, told } from './conversation.ts';

interface Config {
  readonly name: string;
  readonly limit: Omit<RateLimitOptions, 'shared'>;
  /** On a pool. */
  readonly managers?: readonly string[];
  /** In a group. */
  readonly group?: JoinGroupOptions;
}

const { name, limit, managers, group } = told<Config>();
try {
  const joined = group === undefined ? undefined : await joinGroup({ ...group, logger });
  const shared = await joinLimits(
    joined === undefined ? { managers, name, logger } : { group: joined, logger },
  );
  const limiter = ratelimit({ ...limit, shared });
  const check = nodeLimit(limiter, {
    key: ({ headers }: IncomingMessage) => headers['x-api-key']?.toString(),
  });
  const server = createServer(async (request, response) => {
    if (await check(request, response)) response.end('done');
  });
  await shared.ready();
  server.listen(0, '127.0.0.1', () =>
    say('ready', { pid: process.pid, port: (server.address() as AddressInfo).port }),
  );
  stopOnSignals(...[server, shared, ...(joined === undefined ? [] : [joined])]);
  obey({ decisions: () => ({ decisions: shared.status().limiters[0]?.decisions }) });
} catch (error) {
  fail(error);
  process.exit();
}
