/**
 * An HTTP server with a limit that is shared with others, as `docs/ratelimit.md` shows it: it listens when it is ready, and stops on SIGTERM. The program says what let each request
 * through, when it becomes the owner of a key, and when it waited for a processor.
 */

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { joinGroup, type JoinGroupOptions } from 'leasehold/membership';
import { stopOnSignals } from 'leasehold';
import { joinLimits, nodeLimit, ratelimit, type RateLimitOptions } from 'leasehold/ratelimit';
import { watchStalls } from '../../leasehold/src/node/testing/undisturbed-time.ts';
import { fail, logger, nowMs, obey, say, told } from './conversation.ts';

interface Config {
  readonly name: string;
  readonly limit: Omit<RateLimitOptions, 'shared'>;
  /** On a pool. */
  readonly managers?: readonly string[];
  /** In a group. */
  readonly group?: JoinGroupOptions;
  /** The keys whose owners the test wants to know. */
  readonly watched: readonly string[];
}

const LOOK_EVERY_MS = 20;

watchStalls(nowMs, (fromMs, toMs) => say('stalled', { fromMs, toMs }));
const { name, limit, managers, group, watched } = told<Config>();
try {
  const joined = group === undefined ? undefined : await joinGroup({ ...group, logger });
  const shared = await joinLimits(
    joined === undefined ? { managers, name, logger } : { group: joined, logger },
  );
  const limiter = ratelimit({ ...limit, shared });
  const consume = limiter.consume.bind(limiter);
  limiter.consume = async (key, options) => {
    const result = await consume(key, options);
    if (result.allowed) say('admitted', { key, by: result.by });
    return result;
  };
  const check = nodeLimit(limiter, {
    key: ({ headers }: IncomingMessage) => headers['x-api-key']?.toString(),
  });
  const owned = new Set<string>();
  setInterval(() => {
    for (const key of watched) {
      const isOwner = limiter.peek(key).by === 'owner';
      if (isOwner === owned.has(key)) continue;
      if (isOwner) owned.add(key);
      else owned.delete(key);
      say(isOwner ? 'owns' : 'disowns', { key });
    }
  }, LOOK_EVERY_MS).unref();
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
