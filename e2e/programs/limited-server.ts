/** An HTTP server with a limit that is shared with others. The program says when each request was let through, when it becomes the owner of a key, and when it waited for a processor. */

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { joinGroup, type JoinGroupOptions } from 'leasehold/membership';
import { joinLimits, nodeLimit, ratelimit, type RateLimitOptions } from 'leasehold/ratelimit';
import { watchStalls } from '../../leasehold/src/node/testing/undisturbed-time.ts';
import { fail, logger, nowMs, obey, say, told } from './conversation.ts';

interface Config {
  readonly managers: readonly string[];
  /** In place of the Managers: the server of a group. */
  readonly group?: JoinGroupOptions;
  readonly name: string;
  readonly limit: Omit<RateLimitOptions, 'shared'>;
  /** The address of the machine, if it is on a network with others. */
  readonly host?: string;
  /** The key whose owner the test wants to know. */
  readonly watched: string;
}

const LOOK_EVERY_MS = 20;

watchStalls(nowMs, (fromMs, toMs) => say('stalled', { fromMs, toMs }));
const { managers, group, name, limit, host = '127.0.0.1', watched } = told<Config>();
try {
  const shared = await joinLimits(
    group === undefined
      ? { managers, name, listen: `${host}:0`, insecure: host !== '127.0.0.1', logger }
      : { group: await joinGroup({ ...group, insecure: true, logger }) },
  );
  const limiter = ratelimit({ ...limit, shared });
  const key = ({ headers }: IncomingMessage): string | undefined => headers['x-api-key']?.toString();
  const check = nodeLimit(limiter, { key });
  const server = createServer(async (request, response) => {
    if (!(await check(request, response))) return;
    say('admitted', { key: key(request) });
    response.end('done');
  });
  const isOwner = (): boolean => limiter.peek(watched).by === 'owner';
  let wasOwner = false;
  setInterval(() => {
    if (isOwner() !== wasOwner) say((wasOwner = !wasOwner) ? 'owns' : 'disowns', { key: watched });
  }, LOOK_EVERY_MS);
  server.listen(0, host, () => {
    const { port } = server.address() as AddressInfo;
    say('ready', { pid: process.pid, port, address: shared.status().address });
  });
  obey({ isOwner: () => ({ isOwner: isOwner() }) });
} catch (error) {
  fail(error);
  process.exit();
}
