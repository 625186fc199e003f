/** Asks three Redis for locks, by redlock. */

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { obey, say, told } from '../processes/conversation.ts';
import { askingCommands } from './asking.ts';

export interface RedlockConfig {
  readonly ports: readonly number[];
  /** Whether the commands of a moment go out as one. */
  readonly isPipelined: boolean;
}

/** What is used of it: its package does not tell a compiler where its types are. */
interface Redlock {
  acquire(resources: string[], durationMs: number): Promise<{ release(): Promise<unknown> }>;
}

interface RedlockModule {
  readonly default: new (clients: readonly Redis[]) => Redlock;
}

/** None is to end while it is measured how fast they can be taken. */
const LOCK_MS = 900_000;

const load = createRequire(import.meta.url);
const { default: Class } = load('redlock') as RedlockModule;
// It does not export what it says of itself.
const about = join(dirname(load.resolve('redlock')), '..', '..', 'package.json');
const { version } = load(about) as { readonly version: string };

const { ports, isPipelined } = told<RedlockConfig>();
const clients = ports.map(
  (port) => new Redis({ host: '127.0.0.1', port, enableAutoPipelining: isPipelined }),
);
for (const client of clients) await client.ping();
const locks = new Class(clients);
obey(
  askingCommands(
    (resource) => locks.acquire([resource], LOCK_MS),
    (lock) => lock.release(),
  ),
);
say('ready', { version });
