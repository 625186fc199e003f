import { describe, expect, it, vi } from 'vitest';
import { noCounts } from '../../node/tcp/counters.ts';
import { HandMovedRuntime } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import { resolveConfiguration } from './configuration.ts';
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
  };
  const configuration = resolveConfiguration({});
  const manager = new PoolManager({
    ...{ id: 'm', configuration, store, advertised: 'here:1', listener, runtime, logger: silent },
  });
  const close = async (): Promise<void> => {
    manager.stop();
    await store[Symbol.asyncDispose]();
  };
  return { runtime, manager, [Symbol.asyncDispose]: close };
}

describe('what a Manager counts as a suspension', () => {
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
    await vi.waitUntil(() => manager.observe().role === 'leading');
    runtime.leap(60_000);
    manager.configure({});
    expect(manager.source.counters.suspensions).toBe(0);
  });
});
