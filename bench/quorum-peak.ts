/**
 * How many reads and writes can a cluster of five replicas take with the leader's lease, with Megastore's leases and with quorum
 * leases? (Figure 8 of the quorum-leases paper, by the same code with other holders.)
 *
 * The paper has a machine for each replica, so the busiest replica is the limit. Here all replicas and the clients share one machine: the
 * calls of a second depend on the cost of a call altogether, and hide how the calls are spread. So two figures are told:
 *
 *     measured   calls a second on this machine, everything at once; no goal
 *     derived    1 / (processor time of the busiest replica for one call of the cell): calls a second with a processor for each
 *                replica, if clients, disks and the network are no limit
 *
 * The cost of a read depends on how many arrive together. Five replicas that share two cores get fewer together than one that has a core, so the
 * processor time of reads is measured with one client at work after the other, and without the little that a replica uses when nobody asks; that of writes, which meet at the leader, with all at once.
 *
 * As in the paper there is one client for each replica. With the leader's lease reads go to the leader, which is best for that lease; with quorum
 * leases they go where the key is held, or anywhere. Writes enter at every replica. Every write is synced to disk, and the writes that
 * arrive during a sync are one batch; the paper says nothing of a disk here, and batches up to 5,000 updates.
 *
 * To try it out: `QUORUM_PEAK_TURN_MS=500`.
 */

import process from 'node:process';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';
import { median } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';
import { type Calls, type Lease, LeaseCluster, type Turn } from './support/quorum/lease-cluster.ts';

const TURN_MS = Number(process.env['QUORUM_PEAK_TURN_MS'] ?? 1_500);
const ROUNDS = 3;
const REPLICAS = 5;

type Kinds = readonly (readonly [Lease, Calls])[];

const READS: Kinds = [
  ['leader', 'reads where they are held'],
  ['megastore', 'reads where they are held'],
  ['quorum', 'reads where they are held'],
  ['quorum', 'reads anywhere'],
];

const WRITES: Kinds = [
  ['leader', 'writes'],
  ['megastore', 'writes'],
  ['quorum', 'writes'],
];

const WORDS: Readonly<Record<Lease, string>> = {
  leader: 'leader lease',
  megastore: 'Megastore lease',
  quorum: 'quorum leases',
};

/** The turns of each kind of lease and call. */
class Turns {
  readonly #turns = new Map<string, Turn[]>();

  add(lease: Lease, calls: Calls, turn: Turn): void {
    const name = `${lease} ${calls}`;
    this.#turns.set(name, [...(this.#turns.get(name) ?? []), turn]);
  }

  #median(lease: Lease, calls: Calls, of: (turn: Turn) => number): number {
    return median((this.#turns.get(`${lease} ${calls}`) ?? []).map(of));
  }

  measured(lease: Lease, calls: Calls): number {
    return this.#median(lease, calls, ({ perSecond }) => perSecond);
  }

  derived(lease: Lease, calls: Calls): number {
    return 1e6 / Math.max(...this.#cpuMicros(lease, calls));
  }

  /** Of the leader, and of the busiest of the others. */
  cpu(lease: Lease, calls: Calls): readonly [number, number] {
    const [leader = Number.NaN, ...others] = this.#cpuMicros(lease, calls);
    return [leader, Math.max(...others)];
  }

  /** The median of each replica. The largest of single measurements would be the one that was disturbed most. */
  #cpuMicros(lease: Lease, calls: Calls): readonly number[] {
    return Array.from({ length: REPLICAS }, (_, at) =>
      this.#median(lease, calls, ({ cpuMicros }) => cpuMicros[at] as number),
    );
  }

  localShare(lease: Lease, calls: Calls): number {
    return this.#median(lease, calls, ({ localShare }) => localShare);
  }
}

/** One row of the paper's figure 8: a lease beside the leader's, as derived and as measured. */
function throughput(turns: Turns, lease: Lease, calls: Calls, paper: number): Figure[] {
  const peer: Calls = calls === 'writes' ? 'writes' : 'reads where they are held';
  const figure = (how: string, ours: number, leader: number, least?: number): Figure => ({
    ...{ metric: `${WORDS[lease]}, ${calls}, ${how}`, unit: '/s', ours },
    ...{ peers: [{ name: WORDS.leader, value: leader }], ratio: ours / leader },
    goal: least === undefined ? undefined : `at least ${least} times the leader lease, as in the paper`,
    met: least === undefined ? undefined : ours / leader >= least,
  });
  return [
    figure('derived', turns.derived(lease, calls), turns.derived('leader', peer), paper),
    figure('measured', turns.measured(lease, calls), turns.measured('leader', peer)),
  ];
}

function costs(turns: Turns): Figure[] {
  return [...READS, ...WRITES].flatMap(([lease, calls]) =>
    (['the leader', 'the busiest other replica'] as const).map((which, at) => ({
      ...{ metric: `CPU of ${which} for one call: ${WORDS[lease]}, ${calls}`, unit: 'µs' },
      ...{ ours: turns.cpu(lease, calls)[at] as number, peers: [] },
    })),
  );
}

async function run(report: (line: string) => void, tools: BenchTools): Promise<BenchResult> {
  const turns = new Turns();
  await using workshop = new Workshop(tools);
  await using cluster = await LeaseCluster.start(workshop);
  // Reads first: after many writes replicas write snapshots for a while. The first round of each is for practice.
  for (const calls of [READS, WRITES])
    for (let round = 0; round <= ROUNDS; round += 1) {
      report(
        `${calls === WRITES ? 'writes' : 'reads'}, ${round === 0 ? 'practice' : `round ${round} of ${ROUNDS}`}`,
      );
      let placed: Lease | undefined;
      for (const [lease, which] of calls) {
        if (lease !== placed) await cluster.lease(lease);
        placed = lease;
        const turn = await cluster.measure(lease, which, TURN_MS);
        if (round > 0) turns.add(lease, which, turn);
      }
    }
  return {
    name: 'quorum-peak',
    conditions: {
      ...machineConditions(),
      ...{ replicas: REPLICAS, rounds: ROUNDS, 'ms a turn': TURN_MS, 'client processes': 1 },
      files: 'on disk, every write synced',
      'read by the replica that was asked': READS.map(
        ([lease, calls]) =>
          `${WORDS[lease]}, ${calls}: ${Math.round(100 * turns.localShare(lease, calls))} %`,
      ).join('; '),
    },
    figures: [
      ...throughput(turns, 'quorum', 'reads where they are held', 3.9),
      ...throughput(turns, 'quorum', 'reads anywhere', 1.4),
      ...throughput(turns, 'megastore', 'reads where they are held', 4.1),
      ...throughput(turns, 'quorum', 'writes', 0.87),
      ...throughput(turns, 'megastore', 'writes', 0.87),
      ...costs(turns),
    ],
  };
}

export const bench: Bench = {
  name: 'quorum-peak',
  describe:
    'Peak reads and writes of five replicas in a cluster: quorum and Megastore leases beside the leader’s.',
  run,
};
