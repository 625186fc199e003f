/** One API process of the demonstration: a server of a group, with a limit that the group shares. The process ends with its input. */

import { createServer } from 'node:http';
import process from 'node:process';
import { joinGroup, silent } from 'leasehold/membership';
import { joinLimits, nodeLimit, ratelimit } from 'leasehold/ratelimit';

export interface ServerConfig {
  readonly name: string;
  readonly listen: string;
  readonly peers: Readonly<Record<string, string>>;
  readonly httpPort: number;
  readonly limit: number;
  readonly burst: number;
}

const { name, listen, peers, httpPort, limit, burst } = JSON.parse(process.argv[2] ?? '{}') as ServerConfig;
const maxServers = Object.keys(peers).length + 1;
const group = await joinGroup({ name, listen, peers, maxServers, logger: silent });
const shared = await joinLimits({ group });
const limiter = ratelimit({ name: 'api', limit, burst, shared, whenCutOff: 'closed' });
const check = nodeLimit(limiter, { key: () => 'everybody' });

await shared.ready();
createServer(async (request, response) => {
  if (await check(request, response)) response.end(name);
}).listen(httpPort, '127.0.0.1', () => process.stdout.write('ready\n'));
process.stdin.on('end', () => process.exit()).resume();
