/**
 * A group in a simulated world: members, clocks, network, the operator that starts and replaces members, the
 * applications that use leases, and the checker.
 */

import { SimClock } from '../../sim/clock.ts';
import { Network } from '../../sim/network.ts';
import type { Random } from '../../sim/random.ts';
import { World } from '../../sim/world.ts';
import type { MemberEvent } from '../core/member.ts';
import type { Item, Packet } from '../core/messages.ts';
import { BulkCaller } from './bulk-caller.ts';
import { Caller, type Mood, type Occupied } from './callers.ts';
import { Checker } from './checker.ts';
import type { DrawnWorld } from './drawn-world.ts';
import { FleaseNode } from './node.ts';
import { Operator } from './operator.ts';
import { EPOCH_MS, Timekeeping } from './timekeeping.ts';

export interface FleaseWorldOptions {
  readonly seed: number;
  readonly trace: boolean;
  readonly drawn: DrawnWorld;
  /** If false, no member notices a wrong clock. @default true */
  readonly comparesClocks?: boolean;
  /** How far the clocks of these members are from true time; others are exact. @default drawn, and wandering */
  readonly deviationsMs?: Readonly<Record<string, number>>;
}

export class FleaseWorld {
  readonly world: World;
  readonly drawn: DrawnWorld;
  readonly network: Network<Packet>;
  readonly checker: Checker;
  readonly timekeeping: Timekeeping;
  readonly operator: Operator;
  mood: Mood = 'as-they-like';
  readonly callers: Occupied[] = [];
  readonly #random: Random;
  readonly #comparesClocks: boolean;

  readonly #deviationsMs: Readonly<Record<string, number>> | undefined;

  constructor(options: FleaseWorldOptions) {
    const { seed, trace, drawn, comparesClocks = true } = options;
    this.#deviationsMs = options.deviationsMs;
    this.world = new World({ seed, trace });
    this.drawn = drawn;
    this.#comparesClocks = comparesClocks;
    const { durations, lateMs, turnMs } = drawn;
    this.#random = this.world.random.fork('flease');
    this.network = new Network(this.world, { faults: drawn.links, describe: describePacket });
    this.checker = new Checker(this.world, durations, lateMs + turnMs + lateMs);
    this.timekeeping = new Timekeeping(this.world, durations.clockSkewMs);
    this.operator = new Operator(
      {
        world: this.world,
        random: this.#random.fork('operator'),
        build: (name) => this.#build(name),
        slownessMs: drawn.operatorMs,
        preparationMs: 1.1 * durations.recoveryMs,
        overlookedMs: [durations.recoveryMs, 3 * durations.recoveryMs],
      },
      drawn.members,
    );
  }

  get nodes(): readonly FleaseNode[] {
    return this.operator.nodes;
  }

  #build(name: string): FleaseNode {
    const { durations, busyFrom, lateMs, turnMs, resources, idleMs, holdMs, callersEach } = this.drawn;
    const { bulkResources } = this.drawn;
    const random = this.#random.fork(`node ${name}`);
    const { checker } = this;
    const node: FleaseNode = new FleaseNode(this.world, {
      ...{ name, durations, busyFrom, lateMs, turnMs },
      network: this.network,
      clock: new SimClock({
        originMs: random.between(0, 1e8),
        wallOriginMs: EPOCH_MS + this.#deviationMs(name),
      }),
      observer: {
        began: (whose) => checker.began(whose),
        requested: (whose, resource, request) => checker.requested(whose, resource, request),
        sends: (whose, packet) => checker.sends(whose, packet),
        tells: (whose, event) => {
          checker.tells(whose, event);
          this.#hear(event);
        },
      },
      comparesClocks: this.#comparesClocks,
      view: () => this.operator.view,
      onStart: (runtime) => {
        const forked = random.fork(`life ${node.process.incarnation}`);
        for (let caller = 1; caller <= callersEach; caller++) {
          const context = {
            demand: { resources, idleMs, holdMs, members: () => this.operator.view.members },
            ...{ checker, mood: () => this.mood },
          };
          this.callers.push(new Caller(node, runtime, forked.fork(`caller ${caller}`), context));
        }
        if (bulkResources.length === 0) return;
        const demand = {
          resources: bulkResources,
          idleMs: 4 * durations.leaseMs,
          holdMs: Math.max(...holdMs),
        };
        const context = { demand, mood: () => this.mood };
        this.callers.push(new BulkCaller(node, runtime, forked.fork('bulk caller'), context));
      },
    });
    if (this.#deviationsMs === undefined) this.timekeeping.keep(node);
    return node;
  }

  #deviationMs(name: string): number {
    if (this.#deviationsMs !== undefined) return this.#deviationsMs[name] ?? 0;
    return this.timekeeping.drawDeviationMs();
  }

  #hear(event: MemberEvent): void {
    if (event.kind === 'settled') this.operator.heardOfSettling(event.view);
  }
}

function describePacket({ view, items }: Packet): string {
  return `v${view}[${items.map(describeItem).join(', ')}]`;
}

function describeItem(item: Item): string {
  const ballot = (askedMs: number, round: number): string => `${Math.round(askedMs - EPOCH_MS)}.${round}`;
  switch (item.kind) {
    case 'read':
      return `read ${item.resource} #${item.attempt} ${ballot(item.askedMs, item.round)}`;
    case 'write': {
      const { holder, number, untilMs, state } = item.lease;
      const until = Math.round(untilMs - EPOCH_MS);
      return `write ${item.resource} #${item.attempt} ${holder} ${number} ${state} until ${until}`;
    }
    case 'query':
      return `query #${item.attempt} ${item.resource}`;
    case 'promised':
    case 'found':
      return `${item.kind} #${item.attempt} ${item.lease?.holder ?? 'nobody'} ${item.lease?.number ?? ''}`;
    case 'accepted':
      return `accepted #${item.attempt}`;
    case 'refused':
      return `refused ${item.of} #${item.attempt}: ${item.why}`;
    default:
      return `${item.kind} ${item.resource}`;
  }
}
