/**
 * The paper's figures 3 and 5: how many leases a second each process gets, as processes and as groups grow.
 *
 * One machine cannot show thirty, so this is a simulation with a measured cost: all members live in one process and
 * take turns, their packets are really encoded and decoded, and the processor time of each turn is charged to whom it
 * belongs. A process with a core of its own would get as many leases a second as it gets in a second of that time.
 * What is left out is the network, and the system's calls for it.
 *
 * As in the paper each process asks for leases in a group of its own, which it makes up with its neighbours; so in groups of three
 * each is in three. Beside it stands the central service: three processes that give leases to all, and share out what
 * those three can do.
 */

import { decodePacket } from '../leasehold/src/flease/wire/decode.ts';
import { encodePacket } from '../leasehold/src/flease/wire/encode.ts';
import { Member } from '../leasehold/src/flease/member.ts';
import { resolveFleaseDurations } from '../leasehold/src/flease/options.ts';
import { instant } from '../leasehold/src/runtime/time.ts';
import type { Bench, BenchResult, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';
import { median } from './support/processes/statistics.ts';

const PROCESSES = [3, 5, 10, 20, 30];
const GROUP_SIZES = [4, 5, 6, 7, 8, 9, 10, 15];
const LEASES_EACH = 3_000;
const IN_FLIGHT = 256;
const ROUNDS = 3;
/** Constant, but for what a larger heap costs. */
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
          life: place + 1,
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
    for (const process of this.#processes) Object.assign(process, { cpuUs: 0, asked: 0, granted: 0 });
    while (this.#processes.some(({ granted }) => granted < LEASES_EACH)) {
      for (const [index, process] of this.#processes.entries())
        this.#charge(process, () => this.#ask(index, process));
      this.#exchange();
    }
    return median(this.#processes.map(({ granted, cpuUs }) => (granted / cpuUs) * 1e6));
  }

  #ask(index: number, process: Process): void {
    const member = process.members.get(index);
    while (process.asked < LEASES_EACH && process.asked - process.granted < IN_FLIGHT) {
      process.asked += 1;
      const resource = `process ${index}, resource ${this.#nowMs} ${process.asked}`;
      member?.request(resource, { kind: 'acquire', id: process.asked }, this.#reading());
    }
  }

  /** Passes on what everybody has to say, until nobody has. */
  #exchange(): void {
    this.#nowMs += 1;
    for (let said = this.#gather(); said.length > 0; said = this.#gather()) {
      for (const { to, group, frame } of said) {
        const process = this.#of(Number(to));
        this.#charge(process, () =>
          process.members.get(group)?.receive(decodePacket(frame), this.#reading()),
        );
      }
    }
  }

  #gather(): { to: string; group: number; frame: Uint8Array }[] {
    const said: { to: string; group: number; frame: Uint8Array }[] = [];
    for (const process of this.#processes) {
      this.#charge(process, () => {
        for (const [group, member] of process.members) {
          const { packets, events } = member.take();
          for (const { kind } of events) if (kind === 'granted') process.granted += 1;
          for (const { to, packet } of packets) {
            for (const frame of encodePacket(packet)) said.push({ to, group, frame });
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

function measured(processes: number, size: number): number {
  const cluster = new Cluster(processes, size);
  cluster.measure(); // Practice.
  return median(Array.from({ length: ROUNDS }, () => cluster.measure()));
}

export const bench: Bench = {
  name: 'leases-scale',
  describe:
    'Leases a second and process, for 3 to 30 processes and groups of 3 to 15: simulated, with the measured cost of each message',
  run(report): BenchResult {
    const figures: Figure[] = [];
    measured(10, 3); // Until the code is as fast as it gets.
    const three = measured(3, 3);
    for (const processes of PROCESSES) {
      const ours = processes === 3 ? three : measured(processes, 3);
      const central = (three * 3) / processes;
      report(`${processes} processes in groups of three: ${Math.round(ours)} leases a second each`);
      figures.push({
        metric: `each of ${processes} processes, in groups of three`,
        unit: 'leases/s',
        ours,
        peers: [{ name: 'three that serve all', value: central }],
        ratio: ours / central,
        goal: `at least ${CONSTANT} of what each of three gets`,
        met: ours >= CONSTANT * three,
      });
    }
    const inThrees = measured(30, 3);
    for (const size of GROUP_SIZES) {
      const ours = measured(30, size);
      report(`30 processes in groups of ${size}: ${Math.round(ours)} leases a second each`);
      figures.push({
        metric: `each of 30 processes, in groups of ${size}`,
        unit: 'leases/s',
        ours,
        peers: [{ name: 'groups of three', value: inThrees }],
        ratio: ours / inThrees,
        goal: 'falls as the messages grow: to be known',
        met: true,
      });
    }
    return {
      name: 'leases-scale',
      conditions: {
        ...machineConditions(),
        simulated:
          'all members in one process; packets encoded and decoded; the processor time of each turn charged to whom it belongs; no network',
        leases: `${LEASES_EACH} a process and round, ${IN_FLIGHT} in flight, the median of ${ROUNDS} rounds`,
        'three that serve all': 'three times what each of three gets, shared among the processes',
      },
      figures,
    };
  },
};
