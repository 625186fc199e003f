import { beforeEach, describe, expect, it } from 'vitest';
import { type LogFacts, type Logger, silent } from '../../runtime/logger.ts';
import { SimProcess, type SimRuntime } from '../../sim/process.ts';
import { World } from '../../sim/world.ts';
import type { EtcdAnswer, EtcdOperation } from '../../etcd/client.ts';
import { beginEtcdLog } from './etcd-log.ts';
import { resolveEtcdLogOptions } from './options.ts';
import { ManagerRegistry, type ManagerEntry } from './manager-registry.ts';
import { noFaults, SimulatedEtcdClient } from '../../etcd/simulation/simulated-client.ts';
import { SimulatedEtcd } from '../../etcd/simulation/simulated-etcd.ts';

const PREFIX = 'p/';
/** A little more than a look takes. */
const LOOK_MS = 3_100;
/** As long as an entry can outlast the Manager: the lease, half a second of etcd's, and a look. */
const GONE_MS = 10_000 + 500 + LOOK_MS;

let world: World;
let etcd: SimulatedEtcd;
let said: { message: string; facts: LogFacts | undefined }[];

const logger: Logger = { ...silent, warn: (message, facts) => void said.push({ message, facts }) };
const pass = (ms: number): void => world.run({ untilMs: world.trueMs + ms });

const entryOf = (id: string, address = `${id}:7400`): ManagerEntry => ({
  ...{ id, address, http: `http://${id}:7401`, version: '0.1.0', sinceMs: 1_790_000_000_000 },
});

function writeDirectly(...success: EtcdOperation[]): void {
  const answer: EtcdAnswer<unknown> = etcd.transact({ compare: [], success, failure: [] }, 'a person');
  expect(answer.kind).toBe('done');
}

/** A process with a log and a registry entry, which is made at once. */
class Clerk {
  readonly process: SimProcess;
  readonly faults = noFaults();
  resets = 0;
  registry: ManagerRegistry | undefined;

  constructor(id: string, own: ManagerEntry = entryOf(id), process = id) {
    this.process = new SimProcess(world, { name: process, start: (runtime) => this.#start(runtime, own) });
    this.process.start();
  }

  #start(runtime: SimRuntime, own: ManagerEntry): void {
    const client = new SimulatedEtcdClient(etcd, this.process, runtime, this.faults);
    const options = resolveEtcdLogOptions({
      ...{ client, runtime, logger: silent, prefix: PREFIX, cluster: 'c', leaderLeaseMs: 2_000 },
      randomId: () => 'h',
      onFatal: (error) => {
        throw error;
      },
    });
    beginEtcdLog(options, (log) => {
      log?.follow({ reset: () => void (this.resets += 1), batch: () => {}, head: () => {} });
      this.registry = new ManagerRegistry({ client, runtime, logger, prefix: PREFIX });
      this.registry.enter(own);
    });
  }

  get seen(): readonly string[] {
    return this.registry?.entries.map(({ id }) => id) ?? [];
  }
}

beforeEach(() => {
  world = new World({ seed: 1 });
  etcd = new SimulatedEtcd(world);
  said = [];
});

describe('the registry of Managers', () => {
  it('shows everybody to everybody, as they said of themselves', () => {
    const [a, b] = [new Clerk('a'), new Clerk('b')];
    pass(2 * LOOK_MS);
    expect(a.registry?.entries).toEqual([entryOf('a'), entryOf('b')]);
    expect(b.registry?.entries).toEqual(a.registry?.entries);
  });

  it('keeps those who live, however long', () => {
    const [a] = [new Clerk('a'), new Clerk('b')];
    for (let minute = 0; minute < 5; minute += 1) {
      pass(60_000);
      expect(a.seen).toEqual(['a', 'b']);
    }
  });

  it('loses one that has crashed when its lease is over, and one that closes at once', () => {
    const [a, b, c] = [new Clerk('a'), new Clerk('b'), new Clerk('c')];
    pass(2 * LOOK_MS);
    let isClosed = false;
    b.process.crash();
    c.process.perform(() => c.registry?.close(() => (isClosed = true)));
    pass(LOOK_MS);
    expect(isClosed).toBe(true);
    expect(a.seen).toEqual(['a', 'b']);
    pass(GONE_MS);
    expect(a.seen).toEqual(['a']);
  });

  it('has one back whose lease etcd has ended too early', () => {
    const [a] = [new Clerk('a'), new Clerk('b')];
    pass(2 * LOOK_MS);
    etcd.changeLeader(1);
    pass(2 * LOOK_MS);
    expect(a.seen).toEqual(['a', 'b']);
  });

  it('stays as it was while etcd does not answer, and goes on when it does', () => {
    const [a, b] = [new Clerk('a'), new Clerk('b')];
    pass(2 * LOOK_MS);
    etcd.isDown = true;
    b.process.crash();
    pass(60_000);
    expect(a.seen).toEqual(['a', 'b']);
    etcd.isDown = false;
    pass(GONE_MS);
    expect(a.seen).toEqual(['a']);
  });

  it('comes back by itself after one was cut off for longer than its entry lasts', () => {
    const [a, b] = [new Clerk('a'), new Clerk('b')];
    pass(2 * LOOK_MS);
    b.faults.isCut = true;
    pass(2 * GONE_MS);
    expect(a.seen).toEqual(['a']);
    b.faults.isCut = false;
    pass(3 * LOOK_MS);
    expect(a.seen).toEqual(['a', 'b']);
  });

  it('takes over the entry of a predecessor at the same address', () => {
    const [a, b] = [new Clerk('a'), new Clerk('b')];
    pass(2 * LOOK_MS);
    b.process.crash();
    new Clerk('b', { ...entryOf('b'), version: '0.2.0' }, 'b again');
    pass(LOOK_MS);
    expect(a.registry?.entries[1]?.version).toBe('0.2.0');
    pass(2 * GONE_MS);
    expect(a.seen).toEqual(['a', 'b']);
    expect(said).toEqual([]);
  });

  it('does not overwrite another that has the same id, and says so once', () => {
    const a = new Clerk('a');
    pass(LOOK_MS);
    new Clerk('a', entryOf('a', 'elsewhere:7400'), 'the other a');
    pass(30_000);
    expect(a.registry?.entries).toEqual([entryOf('a')]);
    expect(said).toEqual([
      {
        message: 'another Manager has the same id: give each its own',
        facts: { id: 'a', address: 'elsewhere:7400', other: 'a:7400', leftOut: undefined },
      },
    ]);
    a.process.crash();
    pass(GONE_MS);
    expect(etcd.store.range({ key: 'p/managers/a' })).toMatchObject({
      value: { keyValues: [{ value: expect.anything() }] },
    });
  });

  it('says as soon as somebody else is there, and after a while that nobody is', () => {
    const a = new Clerk('a');
    pass(LOOK_MS);
    const heard: string[] = [];
    const wait = (withinMs: number): void =>
      a.process.perform(() =>
        a.registry?.whenOther(withinMs, (isThere) => heard.push(`${world.trueMs} ${isThere}`)),
      );
    wait(2_000);
    pass(3_000);
    expect(heard).toEqual([expect.stringMatching(/ false$/)]);
    wait(60_000);
    pass(10_000);
    expect(heard).toHaveLength(1);
    const comesAtMs = world.trueMs;
    new Clerk('b');
    pass(1_000);
    expect(heard[1]).toMatch(/ true$/);
    expect(Number(heard[1]?.split(' ')[0]) - comesAtMs).toBeLessThan(1_000);
  });

  it('enters nobody where the log is gone, so that another can begin there', () => {
    const a = new Clerk('a');
    pass(2 * LOOK_MS);
    writeDirectly({ do: 'delete', key: PREFIX, end: 'p0' });
    pass(GONE_MS);
    expect(etcd.store.range({ key: PREFIX, end: 'p0' })).toMatchObject({ value: { keyValues: [] } });
    a.process.crash();
    const b = new Clerk('b');
    pass(2 * LOOK_MS);
    expect(b.seen).toEqual(['b']);
  });

  it('has room for ids with anything in them', () => {
    const id = 'eins/zwei%2F drei';
    const a = new Clerk('a', entryOf(id));
    pass(2 * LOOK_MS);
    expect(a.seen).toEqual([id]);
    expect(etcd.store.range({ key: `p/managers/${encodeURIComponent(id)}` })).toMatchObject({
      value: { keyValues: [{ lease: expect.stringMatching(/^\d+$/) }] },
    });
  });

  it('takes no notice of what is no entry', () => {
    const a = new Clerk('a');
    pass(LOOK_MS);
    const values = ['', 'null', '7', '{"id":7}', '{"id":"x","address":"x:1","version":"1"}'];
    for (const [index, value] of values.entries())
      writeDirectly({ do: 'put', key: `p/managers/x${index}`, value: new TextEncoder().encode(value) });
    pass(LOOK_MS);
    expect(a.seen).toEqual(['a']);
  });

  it('is nothing that those who follow the log would notice', () => {
    const a = new Clerk('a');
    for (const id of ['b', 'c', 'd']) {
      new Clerk(id);
      pass(LOOK_MS);
    }
    expect(a.seen).toEqual(['a', 'b', 'c', 'd']);
    expect(a.resets).toBe(1);
  });
});
