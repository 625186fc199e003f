/**
 * One or two cells of one name, founded by real replicas while machines crash, disks are emptied and put back, and connections break.
 *
 * The second list may have an address of the first in the place of one of its own, and one machine may be started with a list in which a
 * name is missing. When nothing goes wrong any more, the operator corrects the lists, and a cell that lost a founder's directory begins again with empty ones, as decision 0042 says.
 */

import type { Random } from '../../../sim/random.ts';
import type { ReplicaFacts } from '../../shell/replica-status.ts';
import { World } from '../../../sim/world.ts';
import { FoundingChecker } from './checker.ts';
import { Machine } from './machine.ts';
import { Wires } from './wires.ts';

const CHAOS_MS = 15_000;
const CALM_MS = 60_000;

/** What happens to a directory that was not copied yet, and to one that was; as often as listed. */
const COPIED = ['empty', 'back up', 'back up'] as const;
const LOST = ['empty', 'back up', 'restore', 'restore'] as const;

export class FoundingWorld {
  readonly world: World;
  readonly #random: Random;
  readonly #wires: Wires;
  readonly #machines: Machine[] = [];
  readonly #checker: FoundingChecker;
  /** How often a disk is lost or put back, among all troubles. */
  readonly #lossChance: number;
  #broken: unknown;
  #isCalm = false;
  /** Its list lacks a name at some of its starts. */
  readonly #careless: Machine | undefined;

  constructor(seed: number, trace: boolean) {
    this.world = new World({ seed, trace });
    this.#random = this.world.random.fork('founding');
    this.#wires = new Wires(this.world, this.#random.fork('wires'), {
      hears: (to, from) => this.#checker.hears(to, from),
      dismissed: (from, by, wereApart) => this.#checker.dismissed(from, by, wereApart),
    });
    this.#checker = new FoundingChecker(this.world, this.#machines, () => this.#careless?.label);
    this.#lossChance = this.#random.pick([0, 0.4, 0.7]);
    const names = ['a', 'b', 'c', 'd', 'e'].slice(0, this.#random.pick([3, 3, 3, 5]));
    for (const label of this.#random.chance(0.5) ? ['A', 'B'] : ['A'])
      for (const name of names)
        this.#machines.push(
          new Machine(this.#wires, label, name, (machine, error) => this.#ended(machine, error)),
        );
    this.#careless = this.#random.chance(0.4) ? this.#random.pick(this.#machines) : undefined;
    this.#giveLists();
    this.world.afterEach(() => {
      if (this.#broken !== undefined) throw this.#broken;
    });
  }

  async run(): Promise<void> {
    const { world } = this;
    for (const machine of this.#machines) {
      if (machine.label === 'B') this.#mistake(machine);
      this.#startWithin(machine, this.#random.pick([10, 1_000, 12_000]));
    }
    const troubles = world.every([50, 3_000], () => this.#trouble(this.#random.pick(this.#machines)));
    await world.runAsync({ untilMs: CHAOS_MS, drain });
    troubles[Symbol.dispose]();
    await this.#calm();
  }

  #giveLists(): void {
    for (const machine of this.#machines) {
      const own = this.#machines.filter(({ label }) => label === machine.label);
      machine.list = new Map(own.map(({ name, address }) => [name, address]));
    }
  }

  /** An address of the first list stands in the second. */
  #mistake(machine: Machine): void {
    const { name } = this.#random.pick(this.#machines);
    if (name === machine.name || this.#random.chance(0.3)) return;
    machine.list = new Map([...machine.list, [name, `A.${name}`]]);
    this.world.count('wrong lists');
  }

  #startWithin(machine: Machine, ms: number): void {
    this.world.after(this.#random.between(0, ms), () => {
      if (machine === this.#careless && !this.#isCalm) this.#forget(machine);
      machine.start();
    });
  }

  /** A name is missing in the list, or is there again. */
  #forget(machine: Machine): void {
    const own = this.#machines.filter(({ label }) => label === machine.label);
    const missing = this.#random.pick([undefined, ...own.filter((each) => each !== machine)]);
    if (machine.process.alive) return;
    if (missing !== undefined) this.world.count('names missing');
    machine.list = new Map(
      own.filter((each) => each !== missing).map(({ name, address }) => [name, address]),
    );
  }

  #ended(machine: Machine, error: unknown): void {
    try {
      this.#checker.ended(machine, error);
    } catch (broken) {
      this.#broken ??= broken;
    }
    machine.crash(false);
    if (!this.#isCalm) this.#startWithin(machine, 8_000);
  }

  #trouble(machine: Machine): void {
    const random = this.#random;
    if (machine.isBusy) return;
    const trouble = random.chance(this.#lossChance)
      ? random.pick(machine.copy === undefined ? COPIED : LOST)
      : random.pick(['kill', 'power cut'] as const);
    this.world.count(trouble);
    if (this.world.tracing) this.world.note(machine.address, { what: trouble, facts: {} });
    if (trouble === 'empty') machine.empty();
    else if (trouble === 'back up') void machine.backUp();
    else if (trouble === 'restore' && machine.copy !== undefined) void machine.restore(machine.copy);
    else machine.crash(trouble === 'power cut');
    if (random.chance(0.3)) this.#cut(machine.address);
    this.#startWithin(machine, random.pick([50, 5_000]));
  }

  /** For a while the machine reaches nobody. */
  #cut(address: string): void {
    this.world.count('cut');
    this.#wires.cut.add(address);
    this.world.after(this.#random.between(1_000, 10_000), () => this.#wires.cut.delete(address));
  }

  async #calm(): Promise<void> {
    const { world } = this;
    this.#isCalm = true;
    this.#wires.breakChance = 0;
    this.#wires.slowChance = 0;
    this.#wires.cut.clear();
    this.#giveLists();
    // The second cell and the careless machine are started again, with the corrected lists; the others go on as they are.
    for (const machine of this.#machines)
      if (machine.label === 'B' || machine === this.#careless) machine.crash(false);
    await world.runAsync({ untilMs: world.trueMs + 5_000, drain });
    for (const machine of this.#machines) machine.start();
    await world.runAsync({ untilMs: world.trueMs + 200, drain });
    for (const label of ['A', 'B'])
      this.#beginAgainIfLost(this.#machines.filter((each) => each.label === label));
    const endMs = world.trueMs + CALM_MS;
    for (;;) {
      const waiting = this.#machines.filter(
        ({ replica }) => replica === undefined || !isServing(replica.facts()),
      );
      if (waiting.length === 0) return;
      if (world.trueMs > endMs) {
        const states = waiting.map(({ address, replica }) => {
          const facts = replica?.facts();
          return `${address} is ${facts?.role ?? 'down'} and awaits ${facts?.awaited.join(' ')}`;
        });
        throw world.broken('founded-at-last', states.join('; '));
      }
      await world.runAsync({ untilMs: world.trueMs + 500, drain });
    }
  }

  /** Without the directory of a founder, or with one that has forgotten, a cell may wait for ever: all begin with empty directories. */
  #beginAgainIfLost(machines: readonly Machine[]): void {
    const storages = new Set(machines.map(({ end }) => end?.greeting['storage']));
    const isLost = machines.some(
      ({ directory: { founders, wasRestored }, end }) =>
        wasRestored ||
        end === undefined ||
        founders?.split(' ').every((each) => storages.has(each)) === false,
    );
    if (!isLost) return;
    this.world.count('begun again');
    for (const machine of machines) machine.empty();
    for (const machine of machines) machine.start();
  }
}

/** Does what it should: a member that knows a leader, and has room. */
const isServing = ({ role, leader, isDiskFull }: ReplicaFacts): boolean =>
  !isDiskFull && leader !== undefined && !['gathering', 'checking-in', 'repairing'].includes(role);

/** As many turns as the longest chain of promises in a replica needs, and some. */
async function drain(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await undefined;
}
