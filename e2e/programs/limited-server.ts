/** An HTTP server with a limit that is shared with others. The program says when each request was let through. */

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nodeLimit, ratelimit, type RateLimitOptions, shareLimits } from 'leasehold/ratelimit';
import { fail, logger, obey, say, told } from './conversation.ts';

interface Config {
  readonly managers: readonly string[];
  readonly name: string;
  readonly limit: Omit<RateLimitOptions, 'sharing'>;
}

const { managers, name, limit } = told<Config>();
try {
  const sharing = await shareLimits({ managers, name, logger });
  const limiter = ratelimit({ ...limit, sharing });
  const key = ({ headers }: IncomingMessage): string | undefined => headers['x-api-key']?.toString();
  const check = nodeLimit(limiter, { key });
  const server = createServer(async (request, response) => {
    if (!(await check(request, response))) return;
    say('admitted', { key: key(request) });
    response.end('done');
  });
  server.listen(0, '127.0.0.1', () => {
    say('ready', { pid: process.pid, port: (server.address() as AddressInfo).port });
  });
  obey({ peek: ({ key: asked }: { key: string }) => ({ ...limiter.peek(asked) }) });
} catch (error) {
  fail(error);
  process.exit();
}
