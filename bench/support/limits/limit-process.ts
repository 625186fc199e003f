/** One of the processes that have one limit together, and requests for it. */

import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { obey, pause, say, told } from '../processes/conversation.ts';
import { percentile } from '../processes/statistics.ts';
import { type LimitConfig, makeLimiter } from './limiters.ts';

const LANES = 64;
/** A decision without a message takes no turn of the event loop. A server that reads requests takes one every few requests. */
const CALLS_A_TURN = 64;

export interface Throughput {
  /** Requests that were decided. */
  readonly calls: number;
  readonly perSecond: number;
  readonly denied: number;
  /** Requests without a decision: no answer came in time. */
  readonly failed: number;
  /** Questions to another process. */
  readonly asks: number;
}

export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  readonly failed: number;
  readonly denied: number;
}

const config = told<LimitConfig>();
const { consume, asks } = await makeLimiter(config);

/** As many requests as can be decided, with so many under way at once. */
async function hot({ keys, ms }: { keys: number; ms: number }): Promise<Throughput> {
  const names = Array.from({ length: keys }, (_, at) => `hot-${at}`);
  let [calls, denied, failed] = [0, 0, 0];
  const askedBefore = asks();
  const startedMs = performance.now();
  const untilMs = startedMs + ms;
  const lane = async (_: unknown, from: number): Promise<void> => {
    for (let call = 0; performance.now() < untilMs; call += 1) {
      try {
        if (!(await consume(names[(from + call * LANES) % keys] as string))) denied += 1;
        calls += 1;
      } catch {
        failed += 1;
      }
      if (call % CALLS_A_TURN === 0) await nextTurn();
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const perSecond = (1_000 * calls) / (performance.now() - startedMs);
  return { calls, perSecond, denied, failed, asks: asks() - askedBefore };
}

/** Requests for keys that were never used, one after the other. */
async function cold({ count, mark }: { count: number; mark: string }): Promise<Latencies> {
  const watch = new Watch();
  for (let at = 0; at < count; at += 1) {
    await watch.request(`cold-${mark}-${config.name}-${at}`);
    await pause(1);
  }
  return watch.latencies();
}

/** Requests at a steady pace, whether or not those before are decided. */
async function steady({ keys, ms }: { keys: number; ms: number }): Promise<Latencies> {
  const watch = new Watch();
  const all: Promise<void>[] = [];
  const startedMs = performance.now();
  for (let at = 0; performance.now() < startedMs + ms; at += 1) {
    all.push(watch.request(`steady-${at % keys}`));
    await pause(2);
  }
  await Promise.all(all);
  return watch.latencies();
}

class Watch {
  readonly #latencies: number[] = [];
  #failed = 0;
  #denied = 0;

  async request(key: string): Promise<void> {
    const askedMs = performance.now();
    try {
      if (!(await consume(key))) this.#denied += 1;
    } catch {
      this.#failed += 1;
    }
    this.#latencies.push(performance.now() - askedMs);
  }

  latencies(): Latencies {
    const at = (share: number): number => percentile(this.#latencies, share);
    return { p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1), failed: this.#failed, denied: this.#denied };
  }
}

obey({
  hot: async (facts) => ({ ...(await hot(facts)) }),
  cold: async (facts) => ({ ...(await cold(facts)) }),
  steady: async (facts) => ({ ...(await steady(facts)) }),
});
say('ready');
