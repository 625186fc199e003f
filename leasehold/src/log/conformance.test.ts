import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { nodeRuntime } from '../node/runtime.ts';
import { openDirectory } from '../node/storage.ts';
import { silent } from '../runtime/logger.ts';
import type { Runtime, Storage } from '../runtime/runtime.ts';
import { SimDisk } from '../sim/disk.ts';
import { SimProcess, type SimRuntime } from '../sim/process.ts';
import { World } from '../sim/world.ts';
import { type ConformanceBench, describeFencedLog } from './conformance.ts';
import { QuietEtcd } from './etcd/simulation/quiet-etcd.ts';
import { inMemory } from './file/fence.ts';
import { openFileLog } from './file/file-log.ts';
import type { FileLog } from './file/file-log-options.ts';
import { memoryStorage } from './memory/memory-storage.ts';

const CLIENTS = ['a', 'b', 'c'] as const;

const open = (storage: Storage, runtime: Runtime): Promise<FileLog> =>
  openFileLog({
    storage,
    runtime,
    lock: async () => inMemory,
    logger: silent,
    onFatal: (error) => {
      throw error;
    },
    randomId: () => 'h',
    beginAbove: () => 0,
    maxBatchBytes: 10_000,
    preallocateBytes: 4_096,
  });

/** The same storage, with the number of operations under way: a busy disk may take long. */
function countedStorage(storage: Storage): { readonly storage: Storage; readonly underWay: () => number } {
  let underWay = 0;
  const isPart = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !Array.isArray(value);
  const counted = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get: (_, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...parameters: unknown[]): unknown => {
          const result: unknown = member.apply(target, parameters);
          if (!(result instanceof Promise)) return result;
          underWay += 1;
          const done = result.then((value) => (isPart(value) ? counted(value) : value));
          return done.finally(() => {
            underWay -= 1;
          });
        };
      },
    });
  return { storage: counted(storage), underWay: () => underWay };
}

const QUIET_TURNS = 5;

async function onStorage(given: Storage, turnMs: number): Promise<ConformanceBench> {
  const runtime = nodeRuntime();
  const { storage, underWay } = countedStorage(given);
  let log = await open(storage, runtime);
  return {
    client: () => log,
    now: () => runtime.now(),
    step: () => pause(0),
    settle: async () => {
      for (let quiet = 0; quiet < QUIET_TURNS; quiet = underWay() === 0 ? quiet + 1 : 0) await pause(turnMs);
    },
    restart: async () => {
      await log[Symbol.asyncDispose]();
      log = await open(storage, runtime);
    },
    [Symbol.asyncDispose]: () => log[Symbol.asyncDispose](),
  };
}

async function onRealDisk(): Promise<ConformanceBench> {
  const path = await mkdtemp(join(tmpdir(), 'leasehold-log-'));
  const bench = await onStorage(await openDirectory(path), 8);
  return {
    ...bench,
    [Symbol.asyncDispose]: async () => {
      await bench[Symbol.asyncDispose]();
      await rm(path, { recursive: true });
    },
  };
}

async function onSimulatedDisk(): Promise<ConformanceBench> {
  const world = new World({ seed: 1 });
  const disk = new SimDisk(world, { name: 'disk' });
  let log: FileLog | undefined;
  const process = new SimProcess(world, { name: 'manager', start: (runtime) => void start(runtime) });
  const start = async (runtime: SimRuntime): Promise<void> => {
    log = await open(runtime.storage(disk), runtime);
  };
  const drain = async (): Promise<void> => {
    for (let i = 0; i < 40; i++) await Promise.resolve();
  };
  const run = (ms: number): Promise<void> => world.runAsync({ untilMs: world.trueMs + ms, drain });
  process.start();
  await run(100);
  return {
    client: () => log as FileLog,
    now: () => process.now(),
    step: () => run(2),
    settle: () => run(500),
    restart: async () => {
      const disposed = log?.[Symbol.asyncDispose]();
      await run(100);
      await disposed;
      process.restart();
      await run(100);
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

async function onSimulatedEtcd(): Promise<ConformanceBench> {
  const bench = new QuietEtcd();
  const open = () =>
    CLIENTS.map((name) => {
      const machine = bench.machine(name);
      return { name, process: machine.process, log: bench.open(machine) };
    });
  let clients = open();
  const client = (name: string) => clients.find((each) => each.name === name) as (typeof clients)[number];
  return {
    client: (name) => client(name).log,
    now: (name) => client(name).process.now(),
    step: async () => bench.pass(5),
    settle: async () => bench.pass(2_000),
    restart: async () => {
      for (const { log } of clients) log.close(() => {});
      bench.pass(100);
      for (const { process } of clients) process.crash();
      clients = open();
    },
    supersede: () => bench.etcd.changeLeader(1),
    [Symbol.asyncDispose]: async () => {},
  };
}

describeFencedLog('the log on a simulated etcd', onSimulatedEtcd);
describeFencedLog('the file log in memory', () => onStorage(memoryStorage(), 0));
describeFencedLog('the file log on a real disk', onRealDisk);
describeFencedLog('the file log on a simulated disk', onSimulatedDisk);
