import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectLookup, connectQuorum, silent, startManager, startReplica } from 'leasehold';
import { expect, it } from 'vitest';
import { complaintsAbout } from '../../leasehold/src/node/testing/exposition.ts';
import { AsyncDisposableStack } from '../../leasehold/src/runtime/async-disposable-stack.ts';
import { freePort } from '../free-port.ts';
import { type Server, startServer } from './server.ts';

const NAMES = ['web-1', 'web-2', 'web-3'] as const;

/** Each name with an address of its own. */
async function addresses(): Promise<Record<string, string>> {
  const entries = NAMES.map(async (name) => [name, `127.0.0.1:${await freePort()}`] as const);
  return Object.fromEntries(await Promise.all(entries));
}

it('three servers share keys, a leader, flags, a view and a limit, all by one library', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-all-five-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const manager = await startManager({ listen: '127.0.0.1:0', firstStart: true, logger: silent });
  stack.use(manager);
  const managers = [manager.address];
  const replicaAddresses = await addresses();
  const replicas = await Promise.all(
    NAMES.map((name) =>
      startReplica({ name, directory: join(folder, name), peers: replicaAddresses, logger: silent }),
    ),
  );
  for (const replica of replicas) stack.use(replica);
  const flags = await connectQuorum({ servers: Object.values(replicaAddresses) });
  stack.use(flags);
  await flags.put('report-at', '02:00', { timeoutMs: 60_000 });

  const [electors, meeting] = [await addresses(), await addresses()];
  const terms: {
    readonly number: number;
    readonly flag: string | undefined;
    readonly members: readonly string[];
  }[] = [];
  let told = (): void => {};
  const isLed = new Promise<void>((resolve) => (told = resolve));
  const servers: Server[] = await Promise.all(
    NAMES.map((name) =>
      startServer({
        ...{ name, managers, electors, servers: meeting, replicas: Object.values(replicaAddresses) },
        led: (_leader, number, flag, members) => {
          terms.push({ number, flag, members });
          told();
        },
      }),
    ),
  );
  for (const server of servers) stack.use(server);
  await Promise.all(servers.map((server) => server.ready()));

  // A leader, under a number of its own, which read what was agreed, and saw a view.
  await isLed;
  expect(new Set(terms.map(({ number }) => number)).size).toBe(terms.length);
  expect(terms[0]?.flag).toBe('02:00');
  expect(terms[0]?.members.length).toBeGreaterThan(0);

  // A request goes to the owner of its key, which counts the lines in its own memory.
  const lookup = await connectLookup({ managers, pool: 'rooms' });
  stack.use(lookup);
  const { url, name } = await lookup.whenFound('kitchen', { timeoutMs: 60_000 });
  const say = async (): Promise<unknown> => (await fetch(`${url}/kitchen`, { method: 'POST' })).json();
  expect(await say()).toEqual({ name, count: 1 });
  expect(await say()).toEqual({ name, count: 2 });

  // One port tells of all modules.
  const status: unknown = await (await fetch(`${servers[0]?.statusUrl}/v1/status`)).json();
  const text = JSON.stringify(status);
  for (const module of ['pool', 'flease', 'quorum', 'membership', 'ratelimit'])
    expect(text).toContain(`"module":"${module}"`);
  const metrics = await (await fetch(`${servers[0]?.statusUrl}/metrics`)).text();
  expect(complaintsAbout(metrics)).toEqual([]);
  for (const role of ['owner', 'lookup']) expect(text).toContain(`"role":"${role}"`);
});
