/**
 * A member of a group with something to do: it asks for its keys, over and over, and while it has one it writes to the
 * register, each write under the number of the check before it, as a careful application would.
 */

import { randomUUID } from 'node:crypto';
import { type Lease, type JoinFleaseOptions, joinFlease, type Peers } from 'leasehold/flease';
import { errorFacts, fail, logger, obey, say, told } from './conversation.ts';
import { RegisterClient } from './register-client.ts';

interface Config {
  readonly join: JoinFleaseOptions;
  /** What it wants. */
  readonly keys: readonly string[];
  readonly register: string;
  readonly writeEveryMs: number;
}

interface Request {
  readonly key: string;
  readonly number: number;
  readonly keys: readonly string[];
  readonly timeoutMs?: number;
  readonly peers: Peers;
}

const { join, keys, register: path, writeEveryMs } = told<Config>();
const register = new RegisterClient(path);
const incarnation = randomUUID();
/** The last lease on each key, held or not. */
const leases = new Map<string, Lease>();

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function workUnder(lease: Lease): Promise<void> {
  const { resource: key, number, signal } = lease;
  leases.set(key, lease);
  signal.addEventListener('abort', () => say('aborted', { key, number, ...errorFacts(signal.reason) }));
  say('acquired', { key, number });
  while (lease.isHeld()) {
    await register.write([{ key, number, incarnation }]);
    await pause(writeEveryMs);
  }
  say('ended', { key, number });
}

try {
  const group = await joinFlease({ ...join, logger });

  const campaign = async (key: string): Promise<never> => {
    for (;;) await workUnder(await group.acquire(key));
  };

  obey({
    /** What is held, in one turn of the event loop. */
    check: ({ keys: asked }: Request) => ({
      held: [
        {
          incarnation,
          numbers: asked.map((key) => {
            const lease = leases.get(key);
            return lease?.isHeld() ? lease.number : null;
          }),
        },
      ],
    }),
    /** The first look at a lease after whatever happened. */
    look: ({ key }: Request) => {
      const lease = leases.get(key);
      const [isHeld, isAborted] = [lease?.isHeld(), lease?.signal.aborted];
      return { number: lease?.number, isHeld, isAborted, validUntil: lease?.validUntil };
    },
    /** A write under a number that was good at some time. */
    write: async ({ key, number }: Request) => ({
      isAccepted: (await register.write([{ key, number, incarnation, isUnchecked: true }]))[0],
    }),
    acquire: async ({ key, timeoutMs }: Request) => {
      const lease = await group.acquire(key, { timeoutMs });
      leases.set(key, lease);
      return { number: lease.number };
    },
    release: async ({ key }: Request) => {
      await leases.get(key)?.release();
      return {};
    },
    change: async ({ peers }: Request) => {
      await group.changePeers({ peers });
      return {};
    },
    settled: async () => {
      await group.settled();
      return {};
    },
    status: () => ({ ...group.status() }),
    ready: async () => {
      await group.ready();
      return {};
    },
  });
  say('ready', { pid: process.pid, incarnation });
  for (const key of keys) void campaign(key);
} catch (error) {
  fail(error);
  process.exit();
}
