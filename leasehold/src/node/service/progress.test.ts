import { describe, expect, it } from 'vitest';
import { type LogFacts, silent } from '../../runtime/logger.ts';
import { later } from '../../runtime/time.ts';
import { HandMovedRuntime } from '../tcp/socket-script.ts';
import {
  advancing,
  BEAT_MS,
  LOOP_LATE_MS,
  LOOP_RECENT_MS,
  type ProgressCheck,
  ProgressMonitor,
} from './progress.ts';

const LIMIT_MS = 5_000;

/** A process whose event loop stands still: time passes, and no timer goes off. */
class StuckRuntime extends HandMovedRuntime {
  stuckMs = 0;

  override now() {
    return later(super.now(), this.stuckMs);
  }
}

function monitored(...checks: readonly ProgressCheck[]) {
  const runtime = new StuckRuntime();
  const lines: string[] = [];
  const warn = (message: string, _facts?: LogFacts): void => void lines.push(message);
  const monitor = new ProgressMonitor({ runtime, logger: { ...silent, warn }, checks });
  return { runtime, monitor, lines };
}

/** A log that commits the batches handed over, or does not. */
function aLog() {
  const log = { handed: 0, committed: 0 };
  const check = advancing({
    ...{ name: 'log', afterMs: LIMIT_MS, why: 'the log does not advance' },
    isDue: () => log.handed > log.committed,
    mark: () => log.committed,
  });
  return { log, check };
}

describe('a progress monitor', () => {
  it('is green while there is no work to do, for however long', () => {
    const { check } = aLog();
    const { runtime, monitor } = monitored(check);
    runtime.pass(10 * LIMIT_MS);
    expect(monitor.stalls()).toEqual([]);
    expect(monitor.whyNotReady()).toBeUndefined();
  });

  it('turns red when a log does not advance for longer than its limit, and green when it does again', () => {
    const { log, check } = aLog();
    const { runtime, monitor, lines } = monitored(check);
    log.handed = 1;
    runtime.pass(LIMIT_MS - BEAT_MS);
    expect(monitor.stalls()).toEqual([]);
    runtime.pass(3 * BEAT_MS);
    expect(monitor.stalls()).toMatchObject([{ check: 'log', why: 'the log does not advance' }]);
    expect(monitor.whyNotReady()).toBe('the log does not advance');
    expect(lines).toEqual(['not ready: the log does not advance']);
    log.committed = 1;
    expect(monitor.whyNotReady()).toBeUndefined();
  });

  it('stays green while a log advances, although there is always more to write', () => {
    const { log, check } = aLog();
    const { runtime, monitor } = monitored(check);
    for (let batch = 0; batch < 20; batch += 1) {
      log.handed = batch + 2;
      log.committed = batch;
      runtime.pass(LIMIT_MS - 3 * BEAT_MS);
      expect(monitor.stalls()).toEqual([]);
    }
  });

  it('does not count the time in which there was no work', () => {
    const { log, check } = aLog();
    const { runtime, monitor } = monitored(check);
    log.handed = 1;
    runtime.pass(LIMIT_MS - BEAT_MS);
    log.handed = 0;
    runtime.pass(BEAT_MS);
    log.handed = 1;
    runtime.pass(LIMIT_MS - BEAT_MS);
    expect(monitor.stalls()).toEqual([]);
  });

  it('reports a check without a limit at once', () => {
    let why: string | undefined = 'it does not lead';
    const { monitor } = monitored({ name: 'leader', afterMs: 0, standsStill: () => why });
    expect(monitor.whyNotReady()).toBe('it does not lead');
    why = undefined;
    expect(monitor.whyNotReady()).toBeUndefined();
  });

  it('reports a check that throws, with its message', () => {
    const standsStill = () => {
      throw new Error('no such table');
    };
    const { monitor } = monitored({ name: 'table', afterMs: 0, standsStill });
    expect(monitor.whyNotReady()).toBe('table could not be checked: no such table');
  });

  it('joins the reasons of several stalls, and names the checks', () => {
    const { monitor } = monitored(
      { name: 'one', afterMs: 0, standsStill: () => 'one stands still' },
      { name: 'two', afterMs: 0, standsStill: () => undefined },
      { name: 'three', afterMs: 0, standsStill: () => 'three stands still' },
    );
    expect(monitor.whyNotReady()).toBe('one stands still; three stands still');
    expect(monitor.names).toEqual(['one', 'two', 'three', 'event-loop']);
  });
});

describe('the event loop', () => {
  it('is red when it was late, also to a request that comes before the overdue timer', () => {
    const { runtime, monitor } = monitored();
    runtime.stuckMs = BEAT_MS + LOOP_LATE_MS;
    expect(monitor.stalls()).toMatchObject([{ check: 'event-loop', forMs: LOOP_LATE_MS }]);
  });

  it('is red for a while after it turns again, and then green', () => {
    const { runtime, monitor, lines } = monitored();
    runtime.pass(BEAT_MS);
    runtime.leap(BEAT_MS + LOOP_LATE_MS);
    runtime.pass(LOOP_RECENT_MS - BEAT_MS);
    expect(monitor.whyNotReady()).toMatch(/^the event loop stood still for 2\.0 s/);
    expect(lines).toHaveLength(1);
    runtime.pass(BEAT_MS);
    expect(monitor.whyNotReady()).toBeUndefined();
  });

  it('is green when it is late by less', () => {
    const { runtime, monitor } = monitored();
    runtime.leap(BEAT_MS + LOOP_LATE_MS - 1);
    expect(monitor.stalls()).toEqual([]);
  });

  it('is not watched any more once the monitor is disposed of', () => {
    const { runtime, monitor } = monitored();
    monitor[Symbol.dispose]();
    expect(runtime.timers).toBe(0);
  });
});
