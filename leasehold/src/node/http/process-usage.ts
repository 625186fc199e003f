/**
 * The resources of the machine that this process uses.
 *
 * The delay of the event loop is the longest of the present minute and the one before. To start over with every
 * reading would let a frequent reader hide a stall from a rare reader.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface ProcessUsage {
  readonly residentBytes: number;
  readonly cpuSeconds: number;
  readonly eventLoopDelaySeconds: number;
}

const WINDOW_MS = 60_000;
const RESOLUTION_MS = 100;

export class ProcessMonitor implements Disposable {
  readonly #delays: ReturnType<typeof monitorEventLoopDelay> = monitorEventLoopDelay({
    resolution: RESOLUTION_MS,
  });
  readonly #turn: NodeJS.Timeout;
  #before = 0;

  constructor() {
    this.#delays.enable();
    this.#turn = setInterval(() => {
      this.#before = this.#longest();
      this.#delays.reset();
    }, WINDOW_MS).unref();
  }

  usage(): ProcessUsage {
    const { user, system } = process.cpuUsage();
    return {
      residentBytes: process.memoryUsage.rss(),
      cpuSeconds: (user + system) / 1e6,
      eventLoopDelaySeconds: Math.max(this.#before, this.#longest()),
    };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#turn);
    this.#delays.disable();
  }

  /** The monitor's own timer comes every so often even when nothing is late. */
  #longest(): number {
    return Math.max(0, this.#delays.max / 1e9 - RESOLUTION_MS / 1_000);
  }
}
