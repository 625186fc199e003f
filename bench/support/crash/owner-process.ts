/** An owner that answers whether it may act for a key, and can be killed. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { joinPool, type PoolOwner, silent } from 'leasehold/pool';
import { obey, say, told } from '../processes/conversation.ts';

export interface OwnerConfig {
  readonly name: string;
  readonly managers: readonly string[];
  readonly lockFile?: string | undefined;
}

/** What it says once it is in the pool. */
export interface OwnerReady {
  readonly pid: number;
  readonly incarnation: string;
  readonly url: string;
}

say('started');
obey();
const { name, managers, lockFile } = told<OwnerConfig>();

let owner: PoolOwner | undefined;
const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  request.on('end', () => {
    const keys = JSON.parse(text) as readonly string[];
    response.end(JSON.stringify(keys.map((key) => owner?.check(key) ?? null)));
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
owner = await joinPool({
  ...{ pool: 'crash', name, url, managers, lockFile },
  // Asked just before every report, so that one can be killed at a chosen time after it.
  load: () => (say('reporting'), 0),
  // Nobody takes a lease from these owners: one that runs out was let go of without need.
  logger: { ...silent, warn: (message) => say('warned', { message }) },
});
say('ready', { pid: process.pid, incarnation: owner.incarnation, url });
