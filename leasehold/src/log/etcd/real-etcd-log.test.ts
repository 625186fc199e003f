import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { nodeRuntime, randomId } from '../../node/runtime.ts';
import { silent } from '../../runtime/logger.ts';
import { type ConformanceBench, describeFencedLog } from '../conformance.ts';
import type { Leadership, LogStart } from '../log.ts';
import { type EtcdLog, openEtcdLog } from './etcd-log.ts';
import { encodeMeta } from './layout.ts';
import { PromiseClient, done } from '../../etcd/testing/promise-client.ts';
import { type EtcdCluster, installed } from '../../etcd/testing/etcd-cluster.ts';
import { LONG_MS, leaveOutWithoutEtcd, sharedEtcd } from '../../etcd/testing/on-etcd.ts';
import { realClient } from '../../etcd/testing/real-client.ts';

const CLIENTS = ['a', 'b', 'c'] as const;

const open = (cluster: EtcdCluster, prefix: string, index: number): Promise<EtcdLog> =>
  openEtcdLog({
    client: realClient(cluster, { random: index / CLIENTS.length }),
    runtime: nodeRuntime(),
    logger: silent,
    prefix,
    cluster: 'c',
    leaderLeaseMs: 3_000,
    pollMs: 300,
    chunkBytes: 5,
    randomId,
    onFatal: (error) => {
      throw error;
    },
  });

/** A log without a floor, so that positions begin with 1; a new log takes the floor from the clock. */
async function begin(cluster: EtcdCluster, prefix: string): Promise<void> {
  const meta = encodeMeta({ cluster: 'c', history: randomId(), termBase: 0, floor: 0 });
  done(await new PromiseClient(realClient(cluster)).put(`${prefix}meta`, meta));
}

async function conformanceBench(cluster: EtcdCluster, prefix: string): Promise<ConformanceBench> {
  const runtime = nodeRuntime();
  const start = (): Promise<EtcdLog[]> =>
    Promise.all(CLIENTS.map((_, index) => open(cluster, prefix, index)));
  const stop = async (logs: readonly EtcdLog[]): Promise<void> => {
    await Promise.all(logs.map((log) => log[Symbol.asyncDispose]()));
  };
  await begin(cluster, prefix);
  let logs = await start();
  const asking = new PromiseClient(realClient(cluster));
  const dropLeader = async (): Promise<void> => {
    const [leader] = done(await asking.range({ key: `${prefix}leader` })).keyValues;
    done(await asking.revoke(leader?.lease ?? ''));
  };
  return {
    client: (name) => logs[CLIENTS.indexOf(name)] as EtcdLog,
    now: () => runtime.now(),
    step: () => pause(5),
    settle: () => pause(500),
    restart: async () => {
      await stop(logs);
      logs = await start();
    },
    supersede: () => void dropLeader(),
    [Symbol.asyncDispose]: () => stop(logs),
  };
}

const isInstalled = installed('etcd') !== undefined && installed('openssl') !== undefined;

describe('the log on a real etcd', () => {
  it('has one to be tried on', (context) => leaveOutWithoutEtcd(context));
});

describe.skipIf(!isInstalled)('on a real etcd of three members', { timeout: LONG_MS }, () => {
  const onEtcd = sharedEtcd();
  describeFencedLog('the log', async () => {
    const { cluster, prefix } = await onEtcd.scene();
    return await conformanceBench(cluster, prefix);
  });

  it(
    'keeps what it acknowledged, in order, while members are killed and stopped',
    onEtcd(async ({ cluster, prefix }) => {
      await begin(cluster, prefix);
      await using log = await open(cluster, prefix, 0);
      const appending = new Appending(log);
      for (let round = 0; round < 4; round += 1) {
        const leader = await cluster.whenLed();
        await appending.goesOn();
        if (round % 2 === 0) await leader.kill();
        else leader.pause();
        await appending.goesOn();
        await cluster.heal();
      }
      const { acknowledged } = appending;
      while (acknowledged.length <= 50) await appending.goesOn();
      appending[Symbol.dispose]();
      const { batches } = await read(log);
      const found = new Map(batches.map(({ position, bytes }) => [position, Buffer.from(bytes).toString()]));
      expect(acknowledged.length).toBeGreaterThan(50);
      expect(acknowledged.filter(({ position, text }) => found.get(position) !== text)).toEqual([]);
      const positions = batches.map(({ position }) => position);
      expect(positions).toEqual(positions.map((_, index) => index + 1));
    }),
  );
});

/** Stands, appends one batch after the other while leading, and stands again. */
class Appending implements Disposable {
  readonly acknowledged: { readonly position: number; readonly text: string }[] = [];
  readonly #log: EtcdLog;
  #campaign: Disposable | undefined;
  #lives = 0;
  #onAppended: () => void = () => {};

  constructor(log: EtcdLog) {
    this.#log = log;
    this.#stand();
  }

  /** Until three more are acknowledged. */
  async goesOn(): Promise<void> {
    const enough = this.acknowledged.length + 3;
    while (this.acknowledged.length < enough) {
      await new Promise<void>((resolve) => (this.#onAppended = resolve));
    }
  }

  [Symbol.dispose](): void {
    this.#campaign?.[Symbol.dispose]();
  }

  #stand(): void {
    this.#lives += 1;
    const name = `appending.${this.#lives}`;
    this.#campaign = this.#log.campaign(name, {
      elected: (leadership) =>
        this.#append(leadership, name, (leadership.start.batches.at(-1)?.position ?? 0) + 1),
      extended: () => {},
      deposed: () => this.#stand(),
    });
  }

  #append(leadership: Leadership, name: string, position: number): void {
    const text = `${name} ${position}`;
    leadership.append({ position, bytes: Buffer.from(text) }, (outcome) => {
      expect(outcome).toBe('appended');
      this.acknowledged.push({ position, text });
      this.#onAppended();
      this.#append(leadership, name, position + 1);
    });
  }
}

/** The start of a leader elected now. */
async function read(log: EtcdLog): Promise<LogStart> {
  return await new Promise((resolve) => {
    log.campaign('reader', {
      elected: ({ start }) => resolve(start),
      extended: () => {},
      deposed: () => {},
    });
  });
}
