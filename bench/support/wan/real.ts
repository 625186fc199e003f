/**
 * The five sites with real processes: each in a network namespace with a replica, a disk, clients, and links that are delayed in user space (not
 * every kernel can delay packets). The machine is shared by all of them, so latencies are a little longer than the round trips.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { Network } from '../../../e2e/harness/network.ts';
import { missing } from '../../../e2e/harness/tools.ts';
import { objectOf } from '../../../leasehold/src/quorum/core/configuration.ts';
import type { LongestWrites } from '../../../leasehold/src/quorum/simulation/sites/holder-loss.ts';
import {
  LEADER,
  roundTripMs,
  type Site,
  SITES,
} from '../../../leasehold/src/quorum/simulation/sites/round-trips.ts';
import type { SiteSummary } from '../../../leasehold/src/quorum/simulation/sites/summary.ts';
import { nowMs, pause } from '../processes/conversation.ts';
import type { Program } from '../processes/program.ts';
import type { Workshop } from '../processes/workshop.ts';
import { type Load, LOADS, loadWords, MODES, type Played } from './scenarios.ts';
import type { LoadTimes, SiteConfig } from './site-process.ts';

export type RealLoss = 'kill' | 'stop' | 'disk';

export interface Real {
  readonly played: readonly Played[];
  readonly killed: Omit<LongestWrites, 'writes'>;
  readonly stopped: Omit<LongestWrites, 'writes'>;
  /** Undefined without strace, which sticks the disk. */
  readonly stuckDisk: Omit<LongestWrites, 'writes'> | undefined;
}

const GATE_PORT = 7_700;
const PORTS = Object.fromEntries(SITES.map((site, at) => [site, 7_600 + at])) as Record<Site, number>;
const PEERS = Object.fromEntries(SITES.map((site) => [site, `127.0.0.1:${PORTS[site]}`]));
const LOST: Site = 'IRL';
const LOSS_MS = 10_000;
const SETTLES_WITHIN_MS = 60_000;

/** Why real sites are not possible here; undefined if they are. */
export const lacking = (): Promise<string | undefined> => missing('network namespaces');

export class RealSites implements AsyncDisposable {
  readonly #workshop: Workshop;
  readonly #cleanUps: (() => Promise<void> | void)[] = [];
  readonly #sites = new Map<Site, Program>();
  readonly #replicas = new Map<Site, Program>();
  #network!: Network;
  #replicaBundle = '';
  // When the measurement is broken off there is no time to wait for anything.
  readonly #exit = (): void => {
    for (const name of this.#network.namespaces) spawnSync('ip', ['netns', 'delete', name]);
  };

  private constructor(workshop: Workshop) {
    this.#workshop = workshop;
  }

  static async open(workshop: Workshop): Promise<RealSites> {
    const sites = new RealSites(workshop);
    await sites.#open();
    return sites;
  }

  async #open(): Promise<void> {
    const workshop = this.#workshop;
    const defer = (cleanUp: () => Promise<void> | void): number => this.#cleanUps.push(cleanUp);
    this.#network = await Network.open({ defer }, ...SITES);
    process.on('exit', this.#exit);
    this.#replicaBundle = await workshop.bundle('quorum/replica-process');
    const siteBundle = await workshop.bundle('wan/site-process');
    for (const site of SITES) {
      const others = SITES.filter((other) => other !== site).map((other) => ({
        site: other,
        host: this.#network.address(other),
        delayMs: roundTripMs(site, other) / 2,
      }));
      const gate = { host: this.#network.address(site), port: GATE_PORT };
      const config: SiteConfig = { site, ports: PORTS, gate, others };
      this.#sites.set(site, workshop.start(`site ${site}`, siteBundle, config, this.#network.on(site)));
    }
    await Promise.all([...this.#sites.values()].map((program) => program.heard('ready')));
    await Promise.all(SITES.map((site) => this.#start(site)));
    await this.#settle();
  }

  async #start(site: Site): Promise<void> {
    const config = { name: site, directory: this.#workshop.folder(site), peers: PEERS, readers: 'leader' };
    const under = this.#network.on(site);
    const program = this.#workshop.start(`replica ${site}`, this.#replicaBundle, config, under);
    this.#replicas.set(site, program);
    await program.heard('ready');
  }

  #site(site: Site): Program {
    return this.#sites.get(site) as Program;
  }

  /** Waits until California leads and every site may read. */
  async #settle(): Promise<void> {
    const until = nowMs() + SETTLES_WITHIN_MS;
    for (;;) {
      const statuses = await Promise.all(
        SITES.map((site) => this.#site(site).ask<{ leader?: string; isLeased: boolean }>('status')),
      );
      if (statuses.every(({ leader, isLeased }) => leader === LEADER && isLeased)) return;
      if (nowMs() > until) throw new Error(`${LEADER} does not lead: ${JSON.stringify(statuses)}`);
      const isLed = statuses.every(({ leader }) => leader === statuses[0]?.leader);
      if (isLed && statuses[0]?.leader !== LEADER) await this.#site(LEADER).ask('transfer', { to: LEADER });
      await pause(500);
    }
  }

  /** Runs a load at all sites at once. */
  async play(
    mode: Played['mode'],
    load: Load,
    times: Pick<LoadTimes, 'warmUpMs' | 'ms'>,
    least: (site: Site) => Pick<LoadTimes, 'least' | 'of'>,
  ): Promise<Played> {
    await this.#site(LEADER).ask('place', { readers: mode });
    if (mode === 'automatic') await this.#site(LEADER).ask('placeUnread');
    await this.#settle();
    const found = await Promise.all(
      SITES.map((site) => {
        const facts = { ...load, ...times, ...least(site) };
        return this.#site(site).ask<{ summary: SiteSummary }>('load', facts);
      }),
    );
    return { ...load, mode, summaries: found.map(({ summary }) => summary) };
  }

  /** Ireland holds half of the keys and is lost in the middle of writes of both halves. */
  async lose(how: RealLoss): Promise<Omit<LongestWrites, 'writes'>> {
    await this.#site(LEADER).ask('placeHalves', { without: LOST });
    await this.#settle();
    const keys = Array.from({ length: 400 }, (_, at) => `key-${at}`);
    const isHeld = (key: string): boolean => (objectOf(key) & 1) === 0;
    const [held, other] = [keys.filter(isHeld), keys.filter((key) => !isHeld(key))];
    const writing = this.#site(LEADER).ask<Omit<LongestWrites, 'writes'>>('writeBoth', {
      ...{ held, other, ms: LOSS_MS },
    });
    await pause(LOSS_MS / 4);
    const replica = this.#replicas.get(LOST) as Program;
    const strace = how === 'disk' ? await stickDisk(replica.pid) : undefined;
    if (how === 'kill') replica.signal('SIGKILL');
    if (how === 'stop') replica.signal('SIGSTOP');
    const found = await writing;
    strace?.kill('SIGTERM'); // Lets go of the replica.
    if (how === 'stop') replica.signal('SIGCONT');
    if (how === 'kill') await this.#start(LOST);
    await this.#settle();
    return { heldMs: found.heldMs, otherMs: found.otherMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of [...this.#replicas.values(), ...this.#sites.values()]) {
      program.kill();
      await program.ended;
    }
    for (const cleanUp of this.#cleanUps.reverse()) await cleanUp();
    process.off('exit', this.#exit);
  }
}

/** From here on no sync of that process ends, while the process answers as before. */
async function stickDisk(pid: number): Promise<ChildProcess> {
  const inject = [
    '-e',
    'trace=fdatasync,fsync',
    '-e',
    `inject=fdatasync,fsync:delay_enter=${60 * LOSS_MS}ms`,
  ];
  const strace = spawn('strace', ['-f', '-q', '-o', '/dev/null', ...inject, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await new Promise<void>((resolve, reject) => {
    strace.once('error', reject);
    strace.once('close', () => reject(new Error('strace did not attach')));
    const isAttached = (): boolean => /TracerPid:\s+[1-9]/.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    const look = (): void => void (isAttached() ? resolve() : setTimeout(look, 5));
    look();
  });
  return strace;
}

/** The paper's main load with each kind of lease, and the loss of a holder. */
export async function playReal(
  workshop: Workshop,
  share: number,
  report: (line: string) => void,
): Promise<Real> {
  report('real processes: founding a group over five sites');
  await using sites = await RealSites.open(workshop);
  const played: Played[] = [];
  const load = LOADS[0] as Load;
  for (const mode of MODES) {
    // Disks and processes take time, too, and how much depends on the machine: the leader's lease shows it, which comes first.
    const least = (site: Site): Pick<LoadTimes, 'least' | 'of'> =>
      mode === 'automatic'
        ? { of: 'unread' }
        : { of: 'all', least: played[0]?.summaries.find((each) => each.site === site)?.leastMs };
    const [warmUpMs, ms] = mode === 'automatic' ? [180_000 * share, 60_000 * share] : [5_000, 15_000];
    report(`real processes: ${mode}, ${loadWords(load)}, ${Math.round((warmUpMs + ms) / 1_000)} s`);
    played.push(await sites.play(mode, load, { warmUpMs, ms }, least));
  }
  const canStick = (await missing('strace')) === undefined;
  report(
    `real processes: a holder is killed, stopped${canStick ? ', and its disk hangs' : '; no strace, so no disk hangs'}`,
  );
  return {
    ...{ played, killed: await sites.lose('kill'), stopped: await sites.lose('stop') },
    stuckDisk: canStick ? await sites.lose('disk') : undefined,
  };
}
