/** Many clients of a group in one process, each as if in a process of its own: with a connection, a name and a view. */

import { connectGroup, type GroupClient } from 'leasehold/membership';
import { errorFacts, fail, logger, nowMs, obey, say, told } from './conversation.ts';

interface Config {
  readonly names: readonly string[];
  readonly servers: readonly string[];
  readonly leaseMs: number;
}

const { names, servers, leaseMs } = told<Config>();
const clients: GroupClient[] = [];
/** For each name that is waited for: when the clients here saw the name in a view. */
const seenAt = new Map<string, number[]>();
/** A warning of each of hundreds of clients would hide all else. */
const quiet = { ...logger, debug: () => {}, info: () => {}, warn: () => {} };

const join = async (name: string): Promise<GroupClient> => {
  const client = await connectGroup({
    ...{ name, servers, leaseMs, logger: quiet },
    onMessage: (from, bytes) => say('message', { to: name, from, text: new TextDecoder().decode(bytes) }),
    onView: (view) => {
      for (const [wanted, instants] of seenAt) if (view.clients.includes(wanted)) instants.push(nowMs());
    },
  });
  clients.push(client);
  return client;
};

try {
  await Promise.all(names.map(join));
  say('ready', { pid: process.pid });
  obey({
    /** One line for all: how many act, in which views, and the servers and clients of one of these. */
    state: () => {
      const acting = clients.filter((client) => client.standing() === 'acts');
      const [first] = acting;
      return {
        acting: acting.length,
        ids: [...new Set(acting.map(({ view }) => view?.id))],
        members: first?.view?.members.join(),
        clients: first?.view?.clients.length,
        servers: [...new Set(clients.map((client) => client.status().server))].sort(),
      };
    },
    expect: ({ name }: { name: string }) => {
      seenAt.set(name, []);
      return {};
    },
    seen: ({ name }: { name: string }) => {
      const instants = seenAt.get(name) ?? [];
      return { count: instants.length, lastMs: Math.max(...instants) };
    },
    join: async ({ name }: { name: string }) => {
      const atMs = nowMs();
      await join(name);
      return { atMs };
    },
    send: async ({ from, to, text }: { from: string; to: string; text: string }) => {
      try {
        await clients.find((client) => client.name === from)?.send(to, new TextEncoder().encode(text));
        return { isAcknowledged: true };
      } catch (error) {
        return { isAcknowledged: false, ...errorFacts(error) };
      }
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
      return {};
    },
  });
} catch (error) {
  fail(error);
}
