import { describe, expect, it, vi } from 'vitest';
import { noCounts } from '../../node/tcp/counters.ts';
import { HandMovedRuntime } from '../../node/tcp/socket-script.ts';
import type { FencedLog, Leadership } from '../../log/log.ts';
import { silent } from '../../runtime/logger.ts';
import { resolveConfiguration } from './manager/configuration.ts';
import { PoolManager } from './manager/pool-manager.ts';
import { openStore } from './manager/store.ts';
import type { Store } from './manager/store-shape.ts';

/** A log whose disk can hang: then a commit is answered only once the disk is well again. */
class HangingDisk {
  #isHanging = false;
  #waiting: (() => void)[] = [];

  hang(): void {
    this.#isHanging = true;
  }

  mend(): void {
    this.#isHanging = false;
    for (const answer of this.#waiting.splice(0)) answer();
  }

  around(log: FencedLog): FencedLog {
    return {
      maxBatchBytes: log.maxBatchBytes,
      follow: (events) => log.follow(events),
      campaign: (candidate, { elected, extended, deposed }) =>
        log.campaign(candidate, {
          ...{ extended, deposed },
          elected: (leadership, until) => elected(this.#slow(leadership), until),
        }),
    };
  }

  #slow(real: Leadership): Leadership {
    return {
      ...{ term: real.term, start: real.start, resign: () => real.resign() },
      compact: (snapshot, upTo) => real.compact(snapshot, upTo),
      append: (batch, done) =>
        real.append(batch, (outcome) => {
          if (this.#isHanging) this.#waiting.push(() => done(outcome));
          else done(outcome);
        }),
    };
  }
}

async function bench() {
  const runtime = new HandMovedRuntime();
  const disk = new HangingDisk();
  const real = await openStore(
    { kind: 'memory' },
    {
      ...{ runtime, logger: silent, leaderLeaseMs: 2_000, leaderChangeMs: 5_000, about: {} },
      onChange: () => {},
      onFatal: (error) => expect.fail(error.message),
    },
  );
  const log = disk.around(real.log);
  const store: Store = new Proxy(real, {
    get: (target, name) => {
      if (name === 'log') return log;
      const value: unknown = target[name as keyof Store];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const listener = {
    ...{ host: '127.0.0.1', port: 1, counters: noCounts(), send: () => {} },
    listen: () => ({ [Symbol.dispose]: () => {} }),
    ...{ peers: new Map(), admit: () => {} },
  };
  const configuration = resolveConfiguration({});
  const manager = new PoolManager({
    ...{ name: 'm', configuration, store, advertised: 'here:1', listener, runtime, logger: silent },
    ...{ firstStart: true, isAddressNew: true },
  });
  const close = async (): Promise<void> => {
    disk.mend();
    manager.stop();
    await real[Symbol.asyncDispose]();
  };
  return { runtime, disk, manager, [Symbol.asyncDispose]: close };
}

describe('the readiness of a Manager', () => {
  it('is red while its log does not answer a commit, and green once it does', async () => {
    await using started = await bench();
    const { runtime, disk, manager } = started;
    const { source } = manager;
    disk.hang();
    await vi.waitUntil(() => manager.observe().isWriting, { timeout: 60_000 });
    expect(source.whyNotReady()).toBeUndefined();
    runtime.pass(6_000);
    expect(source.whyNotReady()).toMatch(/^the log has not answered a commit for 5 s/);
    expect(source.stalls()).toMatchObject([{ check: 'log' }]);
    disk.mend();
    await vi.waitUntil(() => !manager.observe().isWriting, { timeout: 60_000 });
    expect(source.whyNotReady()).toBeUndefined();
  });

  it('is red after its event loop stood still, and green when it has turned for a while', async () => {
    await using started = await bench();
    const { runtime, manager } = started;
    await vi.waitUntil(() => manager.observe().role === 'leading' && !manager.observe().isWriting, {
      timeout: 60_000,
    });
    expect(manager.source.whyNotReady()).toBeUndefined();
    runtime.leap(3_000);
    expect(manager.source.whyNotReady()).toMatch(/^the event loop stood still/);
    runtime.pass(11_000);
    expect(manager.source.whyNotReady()).toBeUndefined();
  });
});
