/** Asks ZooKeeper for nodes that go when this session does. */

import { createRequire } from 'node:module';
import { obey, say, told } from '../processes/conversation.ts';
import { askingCommands } from './asking.ts';

export interface ZooKeeperConfig {
  readonly port: number;
}

/** What is used of it: it has no types. */
interface Client {
  once(event: 'connected', act: () => void): void;
  connect(): void;
  create(path: string, data: Buffer | null, mode: number, done: (error: Error | null) => void): void;
  remove(path: string, done: (error: Error | null) => void): void;
}

interface ClientModule {
  readonly CreateMode: { readonly PERSISTENT: number; readonly EPHEMERAL: number };
  createClient(servers: string, options: { readonly sessionTimeout: number }): Client;
}

const SESSION_MS = 30_000;
const PARENT = '/leases';

const load = createRequire(import.meta.url);
const { createClient, CreateMode } = load('node-zookeeper-client') as ClientModule;
const { version } = load('node-zookeeper-client/package.json') as { readonly version: string };

const { port } = told<ZooKeeperConfig>();
const client = createClient(`127.0.0.1:${port}`, { sessionTimeout: SESSION_MS });
const holder = Buffer.from('holder');

const create = (path: string, data: Buffer | null, mode: number): Promise<void> =>
  new Promise((resolve, reject) =>
    client.create(path, data, mode, (error) => (error === null ? resolve() : reject(error))),
  );

const take = async (resource: string): Promise<string> => {
  const path = `${PARENT}/${resource}`;
  await create(path, holder, CreateMode.EPHEMERAL);
  return path;
};

const remove = (path: string): Promise<void> =>
  new Promise((resolve, reject) =>
    client.remove(path, (error) => (error === null || error === undefined ? resolve() : reject(error))),
  );

await new Promise<void>((resolve) => {
  client.once('connected', resolve);
  client.connect();
});
await create(PARENT, null, CreateMode.PERSISTENT);
obey(askingCommands(take, remove));
say('ready', { version });
