/** Many clients of the group that is measured, in one process, each with an own connection, name and view. */

import process from 'node:process';
import { connectGroup, type GroupClient, silent } from 'leasehold/membership';
import { nowMs, obey, say, told } from '../processes/conversation.ts';

export interface ClientsConfig {
  readonly names: readonly string[];
  readonly servers: readonly string[];
}

const { names, servers } = told<ClientsConfig>();
const clients = new Map<string, GroupClient>();
/** The client that is waited for, and when the clients here saw that client in a view. */
let wanted = '';
const seenAt: number[] = [];

const join = async (name: string): Promise<void> => {
  const client = await connectGroup({
    ...{ name, servers, logger: silent },
    onView: (view) => {
      if (wanted !== '' && view.clients.includes(wanted)) seenAt.push(nowMs());
    },
  });
  clients.set(name, client);
};

await Promise.all(names.map(join));
obey({
  /** How many clients act, and in which views. */
  state: () => {
    const acting = [...clients.values()].filter((client) => client.standing() === 'acts');
    return {
      acting: acting.length,
      ids: [...new Set(acting.map(({ view }) => view?.id))],
      clients: acting[0]?.view?.clients.length ?? 0,
    };
  },
  expect: ({ name }: { name: string }) => {
    wanted = name;
    seenAt.length = 0;
    return {};
  },
  seen: () => ({ count: seenAt.length, lastMs: Math.max(...seenAt) }),
  join: async ({ name }: { name: string }) => {
    const atMs = nowMs();
    await join(name);
    return { atMs };
  },
  leave: async ({ name }: { name: string }) => {
    await clients.get(name)?.close();
    clients.delete(name);
    return {};
  },
});
say('ready', { pid: process.pid });
