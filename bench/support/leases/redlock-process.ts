/** Asks three Redis for locks, by the fork of redlock that is maintained; the original had its last release in 2022. */

import { createRequire } from 'node:module';
import { Redlock } from '@sesamecare-oss/redlock';
import { Redis } from 'ioredis';
import { obey, say, told } from '../processes/conversation.ts';
import { askingCommands } from './asking.ts';

export interface RedlockConfig {
  readonly ports: readonly number[];
  /** Whether the commands of a moment go out as one. */
  readonly isPipelined: boolean;
}

/** None is to end while it is measured how fast they can be taken. */
const LOCK_MS = 900_000;

const { version } = createRequire(import.meta.url)('@sesamecare-oss/redlock/package.json') as {
  readonly version: string;
};

const { ports, isPipelined } = told<RedlockConfig>();
const clients = ports.map(
  (port) => new Redis({ host: '127.0.0.1', port, enableAutoPipelining: isPipelined }),
);
for (const client of clients) await client.ping();
const locks = new Redlock(clients);
obey(
  askingCommands(
    (resource) => locks.acquire([resource], LOCK_MS),
    (lock) => lock.release(),
  ),
);
say('ready', { version });
