/**
 * What it costs to keep one lease for each key: in Redis with `SET NX PX` and `PEXPIRE`, in etcd with a
 * lease and a transaction that puts the key only if nobody has it, and a keep-alive for each lease.
 *
 * Measured with some thousand keys from one process, many requests in flight. The bytes are those that
 * the server itself counts, without the headers of TCP and, for etcd, as it speaks with its gRPC
 * clients: JSON is how we ask, and others would not.
 */

import type { Redis } from 'ioredis';
import { nowMs } from '../processes/conversation.ts';

export interface LeasePerKey {
  readonly name: string;
  readonly keys: number;
  readonly takenPerSecond: number;
  readonly renewedPerSecond: number;
  /** Of one renewal and its answer. */
  readonly bytesPerRenewal: number;
}

interface Server {
  readonly name: string;
  take(index: number): Promise<void>;
  renew(index: number): Promise<void>;
  /** All that it has received and sent so far. */
  bytes(): Promise<number>;
}

export interface Load {
  readonly keys: number;
  readonly inFlight: number;
}

export async function measureLeases(server: Server, { keys, inFlight }: Load): Promise<LeasePerKey> {
  const takenMs = await each(keys, inFlight, (index) => server.take(index));
  const before = await server.bytes();
  const renewedMs = await each(keys, inFlight, (index) => server.renew(index));
  const after = await server.bytes();
  return {
    ...{ name: server.name, keys },
    takenPerSecond: (keys / takenMs) * 1_000,
    renewedPerSecond: (keys / renewedMs) * 1_000,
    bytesPerRenewal: (after - before) / keys,
  };
}

/** Does it for each, never more than so many at a time; says how long that took, in milliseconds. */
async function each(count: number, inFlight: number, act: (index: number) => Promise<void>): Promise<number> {
  const startedMs = nowMs();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return nowMs() - startedMs;
}

const key = (index: number): string => `item-${index}`;
const OWNER = 'owner-3';

export const inRedis = (redis: Redis, leaseMs: number): Server => ({
  name: 'Redis',
  take: async (index) => {
    const answer = await redis.set(key(index), OWNER, 'PX', leaseMs, 'NX');
    if (answer !== 'OK') throw new Error(`Redis would not let us have ${key(index)}`);
  },
  renew: async (index) => {
    if ((await redis.pexpire(key(index), leaseMs)) !== 1) throw new Error(`Redis has lost ${key(index)}`);
  },
  bytes: async () => {
    const text = await redis.info('stats');
    return sum(text, /^total_net_(?:input|output)_bytes:(\d+)/gm);
  },
});

export function inEtcd(url: string, leaseMs: number): Server {
  const leases: string[] = [];
  const post = async <Answer>(path: string, body: object): Promise<Answer> => {
    const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok)
      throw new Error(`etcd answered ${response.status} to ${path}: ${await response.text()}`);
    return (await response.json()) as Answer;
  };
  return {
    name: 'etcd',
    take: async (index) => {
      const { ID } = await post<{ ID: string }>('/v3/lease/grant', { TTL: String(leaseMs / 1_000) });
      const name = btoa(key(index));
      const { succeeded } = await post<{ succeeded?: boolean }>('/v3/kv/txn', {
        compare: [{ key: name, target: 'CREATE', result: 'EQUAL', create_revision: '0' }],
        success: [{ request_put: { key: name, value: btoa(OWNER), lease: ID } }],
      });
      if (succeeded !== true) throw new Error(`etcd would not let us have ${key(index)}`);
      leases[index] = ID;
    },
    renew: async (index) => {
      const { result } = await post<{ result: { TTL?: string } }>('/v3/lease/keepalive', {
        ID: leases[index],
      });
      if (Number(result.TTL ?? 0) <= 0) throw new Error(`etcd has lost the lease of ${key(index)}`);
    },
    bytes: async () => {
      const text = await (await fetch(`${url}/metrics`)).text();
      return sum(text, /^etcd_network_client_grpc_(?:received|sent)_bytes_total (\S+)/gm);
    },
  };
}

const sum = (text: string, pattern: RegExp): number =>
  [...text.matchAll(pattern)].reduce((total, [, number]) => total + Number(number), 0);
