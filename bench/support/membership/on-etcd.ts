/**
 * How soon a group that is registered in etcd goes on without a server that has crashed silently (SIGSTOP): three members of etcd and each server in a process of its own, on this
 * machine. A crashed server is gone when etcd ends its lease, so most of the time is `ttlMs`; there is no peer to compare with, because a detector promises no single view.
 */

import { EtcdCluster } from '../../../leasehold/src/etcd/testing/etcd-cluster.ts';
import type { Figure } from '../../../scripts/bench/bench.ts';
import { nowMs, pause } from '../processes/conversation.ts';
import { installed, leftOut } from '../processes/peers.ts';
import type { Program, Said } from '../processes/program.ts';
import { median } from '../processes/statistics.ts';
import type { Workshop } from '../processes/workshop.ts';
import { quietPorts } from './quiet-ports.ts';

/** The default for the default `leaseMs`. */
const TTL_MS = 3_000;
const BATCH = 4;
const LOOK_EVERY_MS = 50;
const PATIENCE_MS = 60_000;
/** Reads and heartbeats are where they are in a group that was left alone for a while. */
const SETTLE_MS = 2_000;

class Registered {
  readonly #start: (name: string) => Program;
  readonly #servers = new Map<string, Program>();
  #next = 0;

  private constructor(start: (name: string) => Program) {
    this.#start = start;
  }

  /** Resolves when all of them act in one view. */
  static async open(workshop: Workshop, size: number, etcd: string): Promise<Registered> {
    const bundle = await workshop.bundle('membership/server-process');
    const names = Array.from({ length: size }, (_, index) => `server-${index + 10}`);
    const ports = await quietPorts(size);
    const group = new Registered((name) => {
      const listen = `127.0.0.1:${ports[names.indexOf(name)]}`;
      return workshop.start(name, bundle, { servers: [{ name, listen, etcd }], swim: {} });
    });
    for (const [index, name] of names.entries()) {
      const server = group.#start(name);
      group.#servers.set(name, server);
      if (index % BATCH === BATCH - 1) await server.heard('ready');
    }
    await group.#allAct();
    return group;
  }

  /** From the stop of a server to the last view without that server, and to the last of the others that acts. */
  async stopOne(): Promise<{ readonly viewMs: number; readonly actsMs: number }> {
    await pause(SETTLE_MS);
    const names = [...this.#servers.keys()];
    this.#next = (this.#next + 1) % names.length;
    const name = names[this.#next] ?? '';
    const stopped = this.#servers.get(name) as Program;
    const others = [...this.#servers.values()].filter((server) => server !== stopped);
    const marks = others.map(({ said }) => said.length);
    const stoppedMs = nowMs();
    stopped.signal('SIGSTOP');
    const last = (event: string): (Said | undefined)[] =>
      others.map(({ said }, index) =>
        said.slice(marks[index]).findLast((each) => each.event === event && each['size'] === others.length),
      );
    await until('all others act', () => last('acts').every((said) => said !== undefined));
    const since = (said: readonly (Said | undefined)[]): number =>
      Math.max(...said.map((each) => each?.atMs ?? Number.NaN)) - stoppedMs;
    const [viewMs, actsMs] = [since(last('view')), since(last('acts'))];
    stopped.signal('SIGKILL');
    await stopped.ended;
    this.#servers.set(name, this.#start(name));
    await this.#allAct();
    return { viewMs, actsMs };
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.values()) server.kill();
    await Promise.all([...this.#servers.values()].map(({ ended }) => ended));
  }

  async #allAct(): Promise<void> {
    const acts = ({ said }: Program): boolean => {
      const last = said.findLast(({ event }) => event === 'view' || event === 'acts');
      return last?.event === 'acts' && last['size'] === this.#servers.size;
    };
    await until('all servers act in one view', () => [...this.#servers.values()].every(acts));
  }
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const deadline = nowMs() + PATIENCE_MS;
  while (!isSo()) {
    if (nowMs() > deadline) throw new Error(`not within ${PATIENCE_MS / 1_000} s: ${what}`);
    await pause(LOOK_EVERY_MS);
  }
}

/** None for no sizes, or without an etcd; the report says so. */
export async function measureOnEtcd(
  { sizes, crashes }: { readonly sizes: readonly number[]; readonly crashes: number },
  workshop: Workshop,
  report: (line: string) => void,
): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  if (sizes.length === 0) return figures;
  if (installed('etcd') === undefined) {
    report(leftOut('etcd'));
    return figures;
  }
  await using cluster = await EtcdCluster.start();
  const hosts = cluster.endpoints.map((endpoint) => new URL(endpoint).host);
  for (const size of sizes) {
    report(`${size} servers on etcd: starting …`);
    const group = await Registered.open(workshop, size, `etcd://${hosts.join()}/bench-${size}`);
    const [views, acts]: [number[], number[]] = [[], []];
    try {
      for (let crash = 1; crash <= crashes; crash += 1) {
        const { viewMs, actsMs } = await group.stopOne();
        views.push(viewMs);
        acts.push(actsMs);
        report(
          `${size} servers on etcd, crash ${crash} of ${crashes}: view ${viewMs.toFixed(0)}, acts ${actsMs.toFixed(0)} ms`,
        );
      }
    } finally {
      await group.stop();
    }
    const figure = (what: string, values: readonly number[]): Figure => ({
      metric: `${size} servers on etcd (ttlMs ${TTL_MS}): silent crash to ${what}`,
      ...{ unit: 'ms', ours: median(values), peers: [] },
    });
    figures.push(figure('the new view at all others', views), figure('all others acting', acts));
  }
  return figures;
}
