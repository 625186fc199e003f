/**
 * Four API processes, one limit, a partition and a crash: what is admitted in each second, beside the limit.
 *
 *     npm start -- limits
 *
 * The processes are a group (`leasehold/membership`) and need no server beside them. They reach each other through relays in this process, which cut
 * the group in two halves for a while: then each half uses half of the limit. All processes end with this one, however it ends.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { legend, plotLine } from './plot.ts';
import { Relay } from './relay.ts';
import type { ServerConfig } from './server.ts';

const NAMES = ['api-1', 'api-2', 'api-3', 'api-4'] as const;
const LIMIT = 1_000;
const BURST = 100;
/** The bound on the rates of two clocks. */
const CLOCK_RATE = 1.2;
/** Requests for each token. */
const DEMAND = 1.3;

export interface DemoOptions {
  /** The program of an API process, as JavaScript. */
  readonly server: string;
  write(line: string): void;
  readonly signal: AbortSignal;
}

interface ApiProcess {
  readonly name: string;
  readonly httpPort: number;
  readonly child: ChildProcess;
}

/** Resolves after about half a minute, or when the signal aborts; nothing is left running. */
export async function playLimits({ server, write, signal }: DemoOptions): Promise<readonly number[][]> {
  const relays = new Map<string, Relay>();
  const processes: ApiProcess[] = [];
  const admitted = new Map<string, number>();
  const seconds: number[][] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  let event = '';
  const cut = (isCut: boolean, between: (one: string, other: string) => boolean): void => {
    for (const [pair, relay] of relays) {
      const [one = '', other = ''] = pair.split(' ');
      if (between(one, other)) relay.isCut = isCut;
    }
  };
  const half = (name: string): boolean => name === 'api-1' || name === 'api-2';
  const acts: Readonly<Record<number, () => void>> = {
    8: () => {
      event = 'cut into two halves: each may use half of the limit';
      cut(true, (one, other) => half(one) !== half(other));
    },
    18: () => {
      event = 'one network again';
      cut(false, () => true);
    },
    26: () => {
      event = 'api-4 is killed: three quarters of the limit are left';
      processes.at(-1)?.child.kill('SIGKILL');
    },
  };

  try {
    write(
      `four API processes start; together they may admit ${LIMIT} requests a second, and get ${DEMAND * LIMIT}; Ctrl-C ends them …`,
    );
    await startAll(server, relays, processes, signal);
    const client = runClient(processes, agent, admitted, signal);
    await pause(3_000, undefined, { signal });
    write(legend(NAMES, LIMIT));
    admitted.clear();
    for (let second = 1; second <= 34; second += 1) {
      await pause(1_000, undefined, { signal });
      const counts = NAMES.map((name) => admitted.get(name) ?? 0);
      admitted.clear();
      seconds.push(counts);
      write(plotLine({ second, admitted: counts, limit: LIMIT, event }));
      event = '';
      acts[second]?.();
    }
    client[Symbol.dispose]();
    for (const line of closing(seconds)) write(line);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    agent.destroy();
    const running = processes.filter(({ child }) => child.exitCode === null && child.signalCode === null);
    await Promise.all(
      running.map(({ child }) => {
        child.kill('SIGKILL');
        return once(child, 'exit');
      }),
    );
    for (const relay of relays.values()) relay.close();
  }
  return seconds;
}

/** The last lines of the demonstration: the use of the limit, and where to read on. */
export function closing(seconds: readonly (readonly number[])[]): readonly string[] {
  const totals = seconds.map((counts) => counts.reduce((sum, count) => sum + count, 0));
  const used = Math.round(
    (100 * totals.reduce((sum, total) => sum + total, 0)) / Math.max(1, LIMIT * totals.length),
  );
  return [
    '',
    `Used ${used} % of the limit; at most ${Math.max(0, ...totals)} in one second. Promised: at most ${CLOCK_RATE * LIMIT + BURST} (the limit, times ${CLOCK_RATE} for clocks that differ, and the burst of ${BURST}), and a burst more if another process becomes the owner of the limit in that second.`,
    'After the cut, one half went on at once with half of the limit. The other half waited about 2 s, until no process could still count on it; then it used its own.',
    'The program of a process: examples/limits/server.ts. The guide, with all that is promised: docs/ratelimit.md.',
  ];
}

async function startAll(
  server: string,
  relays: Map<string, Relay>,
  processes: ApiProcess[],
  signal: AbortSignal,
): Promise<void> {
  const ports = new Map<string, number>();
  for (const name of NAMES) ports.set(name, await freePort());
  for (const name of NAMES) {
    const peers: Record<string, string> = {};
    for (const other of NAMES) {
      if (other === name) continue;
      const relay = await Relay.open(ports.get(other) ?? 0);
      relays.set(`${name} ${other}`, relay);
      peers[other] = relay.address;
    }
    const httpPort = await freePort();
    const listen = `127.0.0.1:${ports.get(name)}`;
    const config: ServerConfig = { name, listen, peers, httpPort, limit: LIMIT, burst: BURST };
    const child = spawn(process.execPath, [server, JSON.stringify(config)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    processes.push({ name, httpPort, child });
  }
  for (const { name, child } of processes) {
    const ready = new AbortController();
    const started = once(child.stdout ?? child, 'data', { signal: AbortSignal.any([signal, ready.signal]) });
    const ended = once(child, 'exit').then(() => {
      ready.abort();
      throw new Error(`${name} ended before it was ready`);
    });
    ended.catch(() => undefined); // Only the first of the two counts.
    await Promise.race([started, ended]);
  }
}

/** Asks the processes in turn, more often than the limit allows. */
function runClient(
  processes: readonly ApiProcess[],
  agent: Agent,
  admitted: Map<string, number>,
  signal: AbortSignal,
): Disposable {
  const startedMs = performance.now();
  let asked = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedMs) / 1_000) * DEMAND * LIMIT;
    for (; asked < due; asked += 1) {
      const running = processes.filter(({ child }) => child.exitCode === null && child.signalCode === null);
      const one = running[asked % running.length];
      if (one === undefined) return;
      get({ agent, host: '127.0.0.1', port: one.httpPort }, (response) => {
        if (response.statusCode === 200) admitted.set(one.name, (admitted.get(one.name) ?? 0) + 1);
        response.resume();
      }).on('error', () => {}); // The process was killed.
    }
  }, 5);
  const stop = (): void => clearInterval(timer);
  signal.addEventListener('abort', stop, { once: true });
  return { [Symbol.dispose]: stop };
}
