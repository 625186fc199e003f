/**
 * A server with counters in memory: `GET /<key>` reads one, `POST /<key>` adds one, both within `guard`. It answers the number of the lease beside the count. It stops as a server should: SIGTERM
 * hands its keys over, if they can move, and ends the process.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { httpAnswer, joinPool, stopOnSignals } from 'leasehold';
import { type Key, type LeasedMap, silent } from 'leasehold/pool';
import { cpu, nowMs, obey, say, told } from '../processes/conversation.ts';

export interface RollingOwnerConfig {
  readonly name: string;
  readonly managers: readonly string[];
  /** Whether keys are handed over with their state, and how fast. */
  readonly moves: boolean | { readonly bytesPerSecond?: number; readonly drainTimeoutMs?: number };
}

/** What the server answers. */
export interface Counted {
  readonly count: number;
  readonly number: number;
}

const MEMORY_EVERY_MS = 20;

const { name, managers, moves } = told<RollingOwnerConfig>();
let counts: LeasedMap<number> | undefined;
let values: LeasedMap<Uint8Array> | undefined;

const server = createServer(async (request, response) => {
  const key = (request.url ?? '/').slice(1);
  try {
    const counted = await owner.guard(key, (held): Counted => {
      const before = counts?.get(held) ?? 0;
      const isWrite = request.method === 'POST';
      return { count: isWrite ? (counts?.set(held, before + 1) ?? 0) : before, number: held.number };
    });
    response.setHeader('content-type', 'application/json').end(JSON.stringify(counted));
  } catch (error) {
    const answer = httpAnswer(error) ?? { status: 500, headers: {}, body: String(error) };
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const logger = { ...silent, warn: (message: string) => say('warned', { message }) };
const owner = await joinPool({ managers, pool: 'rolling', name, url, moves, logger });
counts = owner.leasedMap<number>('counts');
values = owner.leasedMap<Uint8Array>('values');
stopOnSignals(owner, server);

let mostMemory = 0;
setInterval(() => {
  mostMemory = Math.max(mostMemory, process.memoryUsage.rss());
}, MEMORY_EVERY_MS).unref();

obey({
  /** Sets the counters of these keys to 1 where they are served here. */
  fill: ({ from, to }: { from: number; to: number }) => {
    let filled = 0;
    for (let index = from; index < to; index += 1) {
      using held = owner.hold(`item-${index}` satisfies Key);
      if (held === undefined) continue;
      counts?.set(held, 1);
      filled += 1;
    }
    return { filled };
  },
  /** Sets values of so many bytes where they are served here. */
  fillValues: ({ count, bytes }: { count: number; bytes: number }) => {
    let filled = 0;
    for (let index = 0; index < count; index += 1) {
      using held = owner.hold(`value-${index}`);
      if (held === undefined) continue;
      values?.set(held, new Uint8Array(bytes).fill(index % 251));
      filled += 1;
    }
    return { filled };
  },
  size: () => ({ size: counts?.size ?? 0, values: values?.size ?? 0 }),
  drain: async () => {
    const begunMs = nowMs();
    const { moved, lost } = await owner.drain({ timeoutMs: 300_000 });
    return { moved, lost, ms: nowMs() - begunMs };
  },
  /** The memory of the process now, and the most since the last such question. */
  memory: () => {
    globalThis.gc?.();
    const now = process.memoryUsage.rss();
    const answer = { now, most: Math.max(now, mostMemory) };
    mostMemory = 0;
    return answer;
  },
  cpu,
});
say('ready', { pid: process.pid, url });
