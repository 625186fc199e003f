/**
 * The paper's five sites in simulated time: replicas as they ship, links with the paper's delays, clients in a closed loop. Nothing goes
 * wrong here: the questions are how long reads and writes take, and where reads are served.
 *
 * The clients of a site share a session, and each has one call under way: the next call leaves when the answer arrives.
 */

import { SimClock } from '../../../sim/clock.ts';
import { Network } from '../../../sim/network.ts';
import { Random } from '../../../sim/random.ts';
import { World } from '../../../sim/world.ts';
import type { Answer, Served } from '../../core/answer.ts';
import { initialConfiguration, type ReaderMap } from '../../core/configuration.ts';
import { put } from '../../core/operation.ts';
import { DEFAULT_LIMITS, resolveQuorumDurations } from '../../core/options.ts';
import { type Call, type Observer, ReplicaNode, type Reply, type Spoken } from '../node.ts';
import { LEADER, LOCAL_MS, roundTripMs, type Site, SITES } from './round-trips.ts';
import { type SiteSummary, summaryOf } from './summary.ts';
import { type Distribution, type Draw, Workload } from './workload.ts';

export interface FiveSitesOptions {
  readonly seed: number;
  readonly placement: ReaderMap;
  readonly distribution: Distribution;
  readonly writeShare: number;
  readonly keys: number;
  readonly clientsPerSite: number;
  readonly requestsPerClient: number;
  /** The first requests of each client, which are not counted. */
  readonly warmUp: number;
  /** How often holders are chosen anew. @default 10_000 */
  readonly reportEveryMs?: number | undefined;
}

/** Latencies that the clients of one site saw, in milliseconds. */
export interface SiteFindings {
  readonly reads: number[];
  readonly writes: number[];
  readonly served: Record<Served, number>;
}

/** How long a frame takes to be durable. */
const SYNC_MS = [0.2, 0.4] as const;

const VALUE = new Uint8Array(16);

export class FiveSites {
  readonly world: World;
  readonly nodes: ReadonlyMap<Site, ReplicaNode>;
  readonly findings: ReadonlyMap<Site, SiteFindings>;
  readonly #options: FiveSitesOptions;
  readonly #replicas: Network<Spoken>;
  readonly calls: Network<Call | Reply>;
  #open = 0;

  constructor(options: FiveSitesOptions) {
    const world = new World({ seed: options.seed });
    this.world = world;
    this.#options = options;
    this.#replicas = new Network(world, { name: 'replicas' });
    const local = LOCAL_MS / 2;
    this.calls = new Network(world, { name: 'calls', faults: { delayMs: [local, local] } });
    for (const from of SITES)
      for (const to of SITES) {
        const delayMs = roundTripMs(from, to) / 2;
        this.#replicas.setFaults({ delayMs: [delayMs, delayMs], inOrder: true }, from, to);
      }
    this.nodes = new Map(SITES.map((site) => [site, this.#build(site)]));
    this.findings = new Map(SITES.map((site) => [site, nothingFound()]));
  }

  /** The findings of a site in a few numbers. */
  summary(site: Site): SiteSummary {
    const { reads, writes, served } = this.findings.get(site) as SiteFindings;
    return summaryOf(site, { reads, writes, localReads: served.local });
  }

  /** The node of a site. */
  node(site: Site): ReplicaNode {
    return this.nodes.get(site) as ReplicaNode;
  }

  /** Founds the cell and hands the leadership to California. */
  found(): void {
    const { world } = this;
    for (const node of this.nodes.values()) node.start();
    for (let tries = 0; !this.node(LEADER).isLeader || !this.#isCalm(); tries += 1) {
      if (tries > 100) throw new Error(`${LEADER} does not lead`);
      world.run({ untilMs: world.trueMs + 1_000 });
      for (const node of this.nodes.values())
        if (node.isLeader && node.storage !== LEADER) node.transfer(LEADER);
    }
  }

  /** Lets every client make its requests; returns how long that took, in simulated milliseconds. */
  run(): number {
    const { world } = this;
    const from = world.trueMs;
    this.load();
    while (this.#open > 0) world.run({ untilMs: world.trueMs + 1_000, maxEvents: 1e9 });
    return world.trueMs - from;
  }

  /** Every client begins with its requests. */
  load(): void {
    const { clientsPerSite, distribution, keys, seed } = this.#options;
    const workload = new Workload(distribution, keys);
    for (const site of SITES) {
      const random = new Random(seed).fork(`load of ${site}`);
      const draw = workload.site(random);
      for (let client = 0; client < clientsPerSite; client += 1) {
        this.#open += 1;
        const name = `${site}/${client}`;
        const own = { sites: this, site, name, calls: this.calls, draw, random };
        new LoopedClient({ ...this.#options, ...own }).start();
      }
    }
  }

  /** @internal */
  clientIsDone(): void {
    this.#open -= 1;
  }

  #isCalm(): boolean {
    return SITES.every((site) => {
      const { replica, process } = this.node(site);
      return replica?.leader === LEADER && replica.isLeased([], process.now());
    });
  }

  #build(site: Site): ReplicaNode {
    const members = SITES.map((storage, seat) => ({ storage, seat }));
    const random = this.world.random.fork(`node ${site}`);
    return new ReplicaNode(this.world, {
      ...{ storage: site, random, limits: DEFAULT_LIMITS, lateMs: 0, syncMs: SYNC_MS },
      initial: initialConfiguration(members, this.#options.placement),
      clock: new SimClock({ originMs: random.between(0, 1e8) }),
      replicas: this.#replicas,
      calls: this.calls,
      durations: () => resolveQuorumDurations({ reportEveryMs: this.#options.reportEveryMs }),
      contacts: () => SITES.filter((each) => each !== site),
      observer: NOBODY,
    });
  }
}

interface LoopedClientOptions extends FiveSitesOptions {
  readonly sites: FiveSites;
  readonly site: Site;
  readonly name: string;
  readonly calls: Network<Call | Reply>;
  readonly draw: Draw;
  readonly random: Random;
}

/** One client: the next call follows the answer to the last. */
class LoopedClient {
  readonly #options: LoopedClientOptions;
  #session = 0;
  #number = 0;
  #made = 0;
  #askedMs = 0;
  #isRead = false;

  constructor(options: LoopedClientOptions) {
    this.#options = options;
  }

  start(): void {
    const { calls, name, site } = this.#options;
    calls.attach(name, (_, reply) => {
      if (reply.kind === 'reply') this.#answered(reply.answer);
    });
    const submission = {
      session: 0,
      number: 0,
      answeredBelow: 0,
      command: { kind: 'open-session' },
    } as const;
    calls.send(name, site, { kind: 'submit', id: 0, client: name, submission });
  }

  #answered(answer: Answer): void {
    const { site, name, sites, warmUp, requestsPerClient } = this.#options;
    if (answer.kind === 'refused') throw new Error(`${name} was refused: ${answer.why}`);
    if (answer.kind === 'result' && answer.result.kind === 'opened') this.#session = answer.result.session;
    else if (this.#made > warmUp) {
      const found = sites.findings.get(site) as SiteFindings;
      const ms = sites.world.trueMs - this.#askedMs;
      if (this.#isRead) found.reads.push(ms);
      else found.writes.push(ms);
      if (answer.kind === 'read') found.served[answer.served] += 1;
    }
    if (this.#made === requestsPerClient) sites.clientIsDone();
    else this.#call();
  }

  #call(): void {
    this.#made += 1;
    const { sites, site, name, calls, draw, random, writeShare } = this.#options;
    this.#askedMs = sites.world.trueMs;
    const key = draw();
    this.#isRead = !random.chance(writeShare);
    const call = { id: this.#made, client: name };
    if (this.#isRead) calls.send(name, site, { ...call, kind: 'read', keys: [key], mode: 'best' });
    else {
      this.#number += 1;
      const number = this.#number;
      const submission = { session: this.#session, number, answeredBelow: number, command: put(key, VALUE) };
      calls.send(name, site, { ...call, kind: 'submit', submission });
    }
  }
}

const nothingFound = (): SiteFindings => ({
  reads: [],
  writes: [],
  served: { local: 0, held: 0, leader: 0, quorum: 0, log: 0, weak: 0 },
});

const nothing = (): void => {};
const NOBODY: Observer = {
  ...{ began: nothing, settled: nothing, shows: nothing, reads: nothing },
  ...{ answers: nothing, traced: nothing, changed: nothing },
};
