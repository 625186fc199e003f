/** A cell in a simulated world: its replicas, their clocks and disks, the networks, the clients, and the checker that watches. */

import { SimClock } from '../../sim/clock.ts';
import { Network } from '../../sim/network.ts';
import type { Random } from '../../sim/random.ts';
import { World } from '../../sim/world.ts';
import { type Configuration, initialConfiguration, UNKNOWN_CELL } from '../core/configuration.ts';
import type { Message } from '../core/messages.ts';
import { Checker } from './checker.ts';
import { Client } from './client.ts';
import { type DrawnWorld, drawDurations, drawRate, LONGER_LEASE_MS } from './drawn-world.ts';
import { type Call, type NodeOptions, ReplicaNode, type Reply, type Spoken } from './node.ts';
import { Operator } from './operator.ts';

/** What else lives in the processes of the replicas, for other simulations. */
export interface Inhabitants {
  readonly resident?: NodeOptions['resident'];
  /** After every input of a replica. */
  settled?(node: ReplicaNode): void;
}

export class QuorumWorld {
  readonly world: World;
  readonly drawn: DrawnWorld;
  readonly replicas: Network<Spoken>;
  readonly calls: Network<Call | Reply>;
  readonly checker: Checker;
  readonly operator: Operator;
  readonly clients: Client[] = [];
  readonly #random: Random;
  readonly #initial: Configuration;
  readonly #inhabitants: Inhabitants;
  #built = 0;

  constructor(seed: number, trace: boolean, drawn: DrawnWorld, inhabitants: Inhabitants = {}) {
    this.#inhabitants = inhabitants;
    this.world = new World({ seed, trace });
    this.drawn = drawn;
    this.#random = this.world.random.fork('quorum');
    this.replicas = new Network(this.world, {
      name: 'replicas',
      faults: drawn.links,
      describe: ({ message }) => describeMessage(message),
    });
    this.calls = new Network(this.world, { name: 'calls', faults: drawn.links });
    this.checker = new Checker(this.world);
    this.operator = new Operator({
      world: this.world,
      random: this.#random.fork('operator'),
      build: () => this.#build(UNKNOWN_CELL),
    });
    const members = Array.from({ length: drawn.replicas }, (_, seat) => ({ seat, storage: `r${seat + 1}` }));
    this.#initial = initialConfiguration(members, drawn.placement);
    for (const _ of members) this.operator.nodes.push(this.#build(this.#initial));
  }

  get nodes(): readonly ReplicaNode[] {
    return this.operator.nodes;
  }

  start(): void {
    this.operator.startAll();
    const { clients, keys, lanes, thinkMs, durations } = this.drawn;
    for (let number = 1; number <= clients; number += 1) {
      const random = this.#random.fork(`client ${number}`);
      const home = random.integer(0, 6);
      const writeShare = random.chance(this.drawn.oneSidedShare)
        ? random.pick([0, 0.9])
        : this.drawn.writeShare;
      this.clients.push(
        new Client({
          ...{ name: `c${number}`, world: this.world, network: this.calls, random },
          ...{ keys, lanes, thinkMs, writeShare, patienceMs: durations.electionMs * 3 },
          replicas: () => this.#replicasFrom(home),
          operations: this.checker.operations,
        }),
      );
    }
  }

  /** The members as a client would know them, its own replica first. */
  #replicasFrom(home: number): string[] {
    const storages = this.operator.members.map(({ storage }) => storage);
    const at = home % storages.length;
    return [...storages.slice(at), ...storages.slice(0, at)];
  }

  #build(initial: Configuration): ReplicaNode {
    this.#built += 1;
    const storage = `r${this.#built}`;
    const random = this.#random.fork(`node ${storage}`);
    const { durations, limits, lateMs, syncMs } = this.drawn;
    const { checker, operator } = this;
    const clock = new SimClock({ originMs: random.between(0, 1e8), rate: drawRate(random) });
    return new ReplicaNode(this.world, {
      ...{ storage, initial, limits, lateMs, syncMs, random, clock },
      replicas: this.replicas,
      calls: this.calls,
      ...(this.#inhabitants.resident && { resident: this.#inhabitants.resident }),
      durations: () =>
        random.chance(0.8)
          ? durations
          : { ...durations, leaseMs: drawDurations(random).leaseMs + LONGER_LEASE_MS },
      contacts: () => this.operator.members.map((node) => node.storage).filter((each) => each !== storage),
      observer: {
        began: (node) => checker.began(node),
        settled: (node) => {
          checker.settled(node);
          this.#inhabitants.settled?.(node);
        },
        shows: (node, slot, operation) => checker.shows(node, slot, operation),
        reads: (node, call) => checker.reads(node, call),
        answers: (node, call, answer) => checker.answers(node, call, answer),
        traced: (node, what) => checker.traced(node, what),
        changed: (node, change, answer) => {
          checker.changed(node, change, answer);
          operator.heard(change, answer);
        },
      },
    });
  }
}

function describeMessage(message: Message): string {
  const facts = Object.entries(message).flatMap(([name, value]) =>
    name === 'kind' ? [] : typeof value === 'object' ? [`${name} …`] : [`${name} ${value}`],
  );
  return `${message.kind} ${facts.join(' ')}`;
}
