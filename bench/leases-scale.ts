/**
 * The paper's figures 3 and 5: how many leases a second each process gets, as processes and as groups grow.
 *
 * One machine cannot show thirty, so this is a simulation with a measured cost: all members live in one process and
 * take turns, their packets are really encoded and decoded, and the processor time of each turn is charged to whom it
 * belongs. A process with a core of its own would get as many leases a second as it gets in a second of that time.
 * What is left out is the network, and the system's calls for it.
 *
 * All of them share one heap, and the machine is not equally quick for long. So each is measured in turn with what it is compared to,
 * which gets as many leases in all; and ratios are those of two turns that follow each other.
 *
 * As in the paper each process asks for leases in a group of its own, which it makes up with its neighbours; so in groups of three
 * each is in three. Beside it stands the central service: three processes that give leases to all, and share out what
 * those three can do.
 */

import { decodePacket, encodePacket } from '../leasehold/src/flease/wire/packet.ts';
import { Member, type MemberEffect } from '../leasehold/src/flease/core/member.ts';
import { resolveFleaseDurations } from '../leasehold/src/flease/core/options.ts';
import { instant } from '../leasehold/src/runtime/time.ts';
import type { Bench, BenchResult, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';
import { median } from './support/processes/statistics.ts';

const PROCESSES = [5, 10, 20, 30];
const GROUP_SIZES = [4, 5, 6, 7, 8, 9, 10, 15];
/** Of all processes together, in a turn. */
const LEASES = 30_000;
const IN_FLIGHT = 256;
const ROUNDS = 5;
/** Constant, but for noise and for what a smaller packet costs. */
const CONSTANT = 0.8;

const DURATIONS = resolveFleaseDurations({ leaseMs: 600_000, clockSkewMs: 500 });

/** One process of many: a member of several groups, and the time it has used. */
interface Process {
  readonly members: Map<number, Member>;
  cpuUs: number;
  asked: number;
  granted: number;
}

class Cluster {
  readonly #processes: Process[];
  readonly #size: number;
  readonly #wallMs = Date.UTC(2026, 0, 1);
  #nowMs = 1_000;

  /** So many processes; each makes up a group with those that come after it. */
  constructor(processes: number, size: number) {
    this.#size = size;
    this.#processes = Array.from({ length: processes }, () => ({
      ...{ members: new Map<number, Member>(), cpuUs: 0, asked: 0, granted: 0 },
    }));
    for (let group = 0; group < processes; group += 1) {
      const members = this.#membersOf(group);
      for (const [place, index] of members.entries()) {
        const view = { number: 1, members: members.map(String), before: undefined };
        const settings = {
          group: `g${group}`,
          id: String(index),
          incarnation: place + 1,
          view,
          durations: DURATIONS,
        };
        this.#of(index).members.set(group, new Member({ ...settings, random: () => 0.5 }, this.#reading()));
      }
    }
    this.#nowMs += DURATIONS.recoveryMs + 1; // They have been silent for long enough.
    for (const { members } of this.#processes)
      for (const member of members.values()) member.wake(this.#reading());
    this.#exchange();
  }

  /** Has every process get its leases, and says how many each got in a second of its own time. */
  measure(): number {
    const leases = LEASES / this.#processes.length;
    for (const process of this.#processes) Object.assign(process, { cpuUs: 0, asked: 0, granted: 0 });
    while (this.#processes.some(({ granted }) => granted < leases)) {
      for (const [index, process] of this.#processes.entries())
        this.#charge(process, () => this.#ask(index, process, leases));
      this.#exchange();
    }
    // Of all together: the collector, which works for all of them, comes in whoever's turn it pleases.
    const cpuUs = this.#processes.reduce((sum, process) => sum + process.cpuUs, 0);
    return (LEASES / cpuUs) * 1e6;
  }

  #ask(index: number, process: Process, leases: number): void {
    const member = process.members.get(index);
    while (process.asked < leases && process.asked - process.granted < IN_FLIGHT) {
      process.asked += 1;
      const resource = `process ${index}, resource ${this.#nowMs} ${process.asked}`;
      countGrants(
        process,
        member?.request(resource, { kind: 'acquire', id: process.asked }, this.#reading()) ?? [],
      );
    }
  }

  /** Passes on what everybody has to say, until nobody has. */
  #exchange(): void {
    this.#nowMs += 1;
    for (let said = this.#gather(); said.length > 0; said = this.#gather()) {
      for (const { to, group, frame } of said) {
        const process = this.#of(Number(to));
        this.#charge(process, () =>
          countGrants(
            process,
            process.members.get(group)?.receive(decodePacket(frame), this.#reading()) ?? [],
          ),
        );
      }
    }
  }

  #gather(): { to: string; group: number; frame: Uint8Array }[] {
    const said: { to: string; group: number; frame: Uint8Array }[] = [];
    for (const process of this.#processes) {
      this.#charge(process, () => {
        for (const [group, member] of process.members) {
          for (const effect of member.endTurn()) {
            if (effect.do === 'send')
              for (const frame of encodePacket(effect.packet)) said.push({ to: effect.to, group, frame });
          }
        }
      });
    }
    return said;
  }

  #charge(to: Process, act: () => void): void {
    const before = process.cpuUsage();
    act();
    const { user, system } = process.cpuUsage(before);
    to.cpuUs += user + system;
  }

  #of(index: number): Process {
    return this.#processes[index] as Process;
  }

  #membersOf(group: number): number[] {
    return Array.from({ length: this.#size }, (_, place) => (group + place) % this.#processes.length);
  }

  #reading(): { now: ReturnType<typeof instant>; wallMs: number } {
    return { now: instant(this.#nowMs), wallMs: this.#wallMs + this.#nowMs };
  }
}

function countGrants(process: Process, effects: readonly MemberEffect[]): void {
  for (const effect of effects)
    if (effect.do === 'tell' && effect.event.kind === 'granted') process.granted += 1;
}

interface Compared {
  /** Leases a second and process. */
  readonly ours: number;
  readonly reference: number;
  readonly ratio: number;
}

/** So many processes in groups of that size, in turn with those that they are compared to. */
function compared([processes, size]: Shape, [referenceProcesses, referenceSize]: Shape): Compared {
  const cluster = new Cluster(processes, size);
  const reference = new Cluster(referenceProcesses, referenceSize);
  const turns = Array.from({ length: ROUNDS + 1 }, () => [cluster.measure(), reference.measure()] as const);
  const counted = turns.slice(1); // The first was practice.
  return {
    ours: median(counted.map(([ours]) => ours)),
    reference: median(counted.map(([, theirs]) => theirs)),
    ratio: median(counted.map(([ours, theirs]) => ours / theirs)),
  };
}

/** How many processes, and of how many a group is. */
type Shape = readonly [processes: number, size: number];
const THREE: Shape = [3, 3];
const THIRTY: Shape = [30, 3];

/** Figure 3. */
function withProcesses(processes: number): Figure {
  const { ours, reference, ratio } = compared([processes, 3], THREE);
  return {
    metric: `each of ${processes} processes, in groups of three`,
    unit: 'leases/s',
    ours,
    peers: [
      { name: 'each of three', value: reference },
      { name: 'three that serve all', value: (reference * 3) / processes },
    ],
    ratio,
    goal: `at least ${CONSTANT} of what each of three gets`,
    met: ratio >= CONSTANT,
  };
}

/** Figure 5. */
function inGroupsOf(size: number): Figure {
  const { ours, reference, ratio } = compared([30, size], THIRTY);
  return {
    metric: `each of 30 processes, in groups of ${size}`,
    unit: 'leases/s',
    ours,
    peers: [{ name: 'groups of three', value: reference }],
    ratio,
  };
}

export const bench: Bench = {
  name: 'leases-scale',
  describe:
    'Leases a second and process, for 3 to 30 processes and groups of 3 to 15: simulated, with the measured cost of each message',
  run(report): BenchResult {
    compared(THREE, THIRTY); // Until the code is as fast as it gets.
    const told = (figure: Figure): Figure => {
      report(`${figure.metric}: ${Math.round(figure.ours)} leases a second`);
      return figure;
    };
    const figures = [
      ...PROCESSES.map((processes) => told(withProcesses(processes))),
      ...GROUP_SIZES.map((size) => told(inGroupsOf(size))),
    ];
    return {
      name: 'leases-scale',
      conditions: {
        ...machineConditions(),
        simulated:
          'all members in one process; packets encoded and decoded; the processor time of each turn charged to whom it belongs; no network',
        leases: `${LEASES} a turn, by all together, ${IN_FLIGHT} in flight each; ${ROUNDS} turns, each followed by one of those compared to, which gets as many; medians, and the median of the ratios`,
        'three that serve all': 'three times what each of three gets, shared among the processes',
      },
      figures,
    };
  },
};
