import { describe, expect, it, vi } from 'vitest';
import { noCounts } from '../../../node/tcp/counters.ts';
import { HandMovedRuntime } from '../../../node/tcp/socket-script.ts';
import type { AppendOutcome, LogBatch, LogStart } from '../../../log/log.ts';
import { digest } from '../../../runtime/digest.ts';
import { type Logger, silent } from '../../../runtime/logger.ts';
import { SuspensionGuard } from '../../../runtime/suspension.ts';
import { later } from '../../../runtime/time.ts';
import { ManagerDriver } from '../../core/manager/driver.ts';
import { Manager } from '../../core/manager/manager.ts';
import { evenShares } from '../../core/manager/manager-script.ts';
import type { Report, ToManager } from '../../core/messages.ts';
import { resolveDurations } from '../../core/options.ts';
import { encodeBatch } from '../../core/state.ts';
import { resolveConfiguration } from './configuration.ts';
import { ManagerWatch } from './manager-watch.ts';
import { PoolManager } from './pool-manager.ts';
import { openStore } from './store.ts';

/** A machine that can be suspended: then the clock that leases are counted on stands still. */
class SleepyRuntime extends HandMovedRuntime {
  asleepMs = 0;

  override wallMs(): number {
    return super.wallMs() + this.asleepMs;
  }

  override uptimeMs(): number {
    return super.uptimeMs() + this.asleepMs;
  }
}

async function bench() {
  const runtime = new SleepyRuntime();
  const store = await openStore(
    { kind: 'memory' },
    {
      ...{ runtime, logger: silent, leaderLeaseMs: 2_000, leaderChangeMs: 5_000, about: {} },
      onChange: () => {},
      onFatal: (error) => expect.fail(error.message),
    },
  );
  const listener = {
    ...{ host: '127.0.0.1', port: 1, counters: noCounts(), send: () => {} },
    listen: () => ({ [Symbol.dispose]: () => {} }),
    ...{ peers: new Map(), admit: () => {} },
  };
  const configuration = resolveConfiguration({});
  const manager = new PoolManager({
    ...{ name: 'm', configuration, store, advertised: 'here:1', listener, runtime, logger: silent },
  });
  const close = async (): Promise<void> => {
    manager.stop();
    await store[Symbol.asyncDispose]();
  };
  return { runtime, manager, [Symbol.asyncDispose]: close };
}

describe('a suspension as a Manager counts it', () => {
  it('is every one, whether it led or not', async () => {
    await using standby = await bench();
    const { runtime, manager } = standby;
    const { counters } = manager.source;
    expect(manager.observe().role).toBe('standby');
    runtime.asleepMs += 60_000;
    manager.configure({});
    expect(counters.suspensions).toBe(1);
    await manager.serving();
    expect(counters.suspensions).toBe(1);
    runtime.asleepMs += 60_000;
    manager.configure({});
    expect(manager.observe().role).toBe('standby');
    expect(counters.suspensions).toBe(2);
  });

  it('is not that it stood again for other reasons, nor that it was set right', async () => {
    await using leading = await bench();
    const { runtime, manager } = leading;
    await vi.waitUntil(() => manager.observe().role === 'leading', { timeout: 60_000 });
    runtime.leap(60_000);
    manager.configure({});
    expect(manager.source.counters.suspensions).toBe(0);
  });
});

/** A Manager that leads, with members `a` and `b` and a log whose appends end when they are told to. */
function leading({ floor = 0, logger = silent }: { floor?: number; logger?: Logger } = {}) {
  const core = new Manager({
    ...{ id: 'm', durations: resolveDurations(), policy: evenShares },
    ...{ maxSpansPerBatch: 100, compactEveryBatches: 100 },
  });
  const runtime = new HandMovedRuntime();
  const watch = new ManagerWatch({
    ...{ id: 'm', core, runtime, logger },
    ...{ admits: () => {}, halted: () => {}, cannotGoOn: () => {}, afterInput: () => {} },
  });
  const outcomes: ((outcome: AppendOutcome) => void)[] = [];
  let hear: ((from: string, message: ToManager) => void) | undefined;
  const noFollowing = { askHead: () => {}, [Symbol.dispose]: () => {} };
  const driver = new ManagerDriver({
    ...{ core, clock: runtime, guard: new SuspensionGuard(runtime, 1_000), watcher: watch },
    alarm: () => ({ set: () => {} }),
    transport: { send: () => {}, listen: (on) => ((hear = on), { [Symbol.dispose]: () => {} }) },
    candidate: String,
    log: {
      maxBatchBytes: 1_000_000,
      follow: () => noFollowing,
      campaign: (_, events) => {
        const leadership = {
          ...{ term: 2, start: { ...logOf('a', 'b'), floor }, compact: () => {}, resign: () => {} },
          append: (_batch: LogBatch, done: (outcome: AppendOutcome) => void) => outcomes.push(done),
        };
        events.elected(leadership, later(runtime.now(), 1_000_000));
        return { [Symbol.dispose]: () => {} };
      },
    },
  });
  return {
    ...{ core, watch, runtime },
    hears: (message: ToManager, from = 'somebody') => hear?.(from, message),
    isWritten: () => outcomes.shift()?.('appended'),
    wakes: () => driver.input((now) => core.wake(now)),
    [Symbol.dispose]: () => (driver[Symbol.dispose](), watch[Symbol.dispose]()),
  };
}

const secretOf = (name: string): string => `the secret of ${name}`;

/** Each has an even share of the keys, and a death that can be proved. */
function logOf(...names: readonly string[]): LogStart {
  const members = names.map((name) => ({
    ...{ incarnation: name, name, url: `http://${name}`, proof: digest(secretOf(name)) },
  }));
  const joins = members.map((member) => ({ kind: 'join', member }) as const);
  const placements = evenShares.place({ rows: [], members: members.map((one) => ({ ...one, load: 0 })) });
  const grants = placements.map(({ incarnation, start, end }) => ({
    ...({ kind: 'grant', incarnation, spans: [{ start, end }] } as const),
  }));
  const pools = [{ pool: 'p', records: [...joins, ...grants] }];
  const bytes = encodeBatch({ term: 1, leader: 'm0', address: 'm0:1', takeoverMs: 0, pools });
  const batches = [{ position: 1, bytes }];
  return { history: 'h', key: digest('the key of h'), snapshot: undefined, batches, floor: 0 };
}

describe('the log of a Manager about owners that go one right after the other', () => {
  it('is why each of them is gone, although the next batch is on its way by then', () => {
    using manager = leading();
    const { watch, hears, isWritten } = manager;
    isWritten();
    hears({ kind: 'certificate', secret: secretOf('a') });
    hears({ kind: 'certificate', secret: secretOf('b') });
    isWritten();
    isWritten();
    const left = watch.events.recent(100).flatMap((event) => (event.kind === 'pool.left' ? [event] : []));
    expect(left.map(({ owner, why }) => `${owner.name} ${why}`)).toEqual(['a certified', 'b certified']);
  });

  it('counts the time that each batch took', () => {
    using manager = leading();
    const { watch, runtime, hears, isWritten } = manager;
    isWritten();
    const before = watch.counters.commitSeconds.sum;
    hears({ kind: 'certificate', secret: secretOf('a') });
    hears({ kind: 'certificate', secret: secretOf('b') });
    for (let batch = 0; batch < 2; batch += 1) {
      runtime.pass(500);
      isWritten();
    }
    expect(watch.counters.commitSeconds.sum - before).toBeCloseTo(1);
  });
});

describe('a leader that waits for leases of an earlier log', () => {
  const reportOf = (name: string): Report => ({
    ...{ kind: 'report', pool: 'p', incarnation: `${name}.1`, name, url: `http://${name}`, proof: undefined },
    ...{ sequence: 1, wantsAnswer: true, heard: undefined, seen: undefined, held: [], letGo: [] },
    ...{ leaving: false, load: 0 },
  });

  // Each of 400 waiting owners reports twice a second. If the Manager looked at all of them at each report, it would have no
  // time left to extend its leader lease.
  it('does not look at every owner for each message, and says when the wait is over', () => {
    const info = vi.fn();
    using manager = leading({ floor: 10, logger: { ...silent, info } });
    const { core, runtime, hears, wakes, isWritten } = manager;
    const said = (): string[] => info.mock.calls.map(([message]) => message);
    expect(said().at(-1)).toMatch(/^waiting \d+ s for leases of an earlier log/);
    const observe = vi.spyOn(core, 'observe');
    for (let owner = 0; owner < 100; owner += 1) hears(reportOf(`o${owner}`), `peer ${owner}`);
    expect(observe).not.toHaveBeenCalled();
    expect(core.observe().owners).toHaveLength(102);
    expect(said().at(-1)).toMatch(/^waiting/);
    runtime.pass((core.waitsUntil ?? runtime.now()) - runtime.now());
    wakes();
    isWritten();
    expect(core.waitsUntil).toBeUndefined();
    expect(said().at(-1)).toBe('leases of an earlier log have expired; granting keys');
  });
});

describe('the log of a Manager about refusals', () => {
  it('is one line for each code, however many incarnations are refused', () => {
    const warn = vi.fn();
    const core = new Manager({
      ...{ id: 'm', durations: resolveDurations(), policy: evenShares },
      ...{ maxSpansPerBatch: 100, compactEveryBatches: 100 },
    });
    using watch = new ManagerWatch({
      ...{ id: 'm', core, runtime: new HandMovedRuntime() },
      logger: { ...silent, warn },
      ...{ admits: () => {}, halted: () => {}, cannotGoOn: () => {}, afterInput: () => {} },
    });
    const refuse = (asker: string, code: string): void =>
      watch.sends('peer', { kind: 'refused', pool: 'p', asker, code, message: 'no', retryable: true });
    for (let index = 0; index < 100; index += 1) refuse(`a.${index}`, 'NAME_IN_USE');
    refuse('b.1', 'URL_IN_USE');
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      'a client was refused with NAME_IN_USE',
      'a client was refused with URL_IN_USE',
    ]);
  });
});
