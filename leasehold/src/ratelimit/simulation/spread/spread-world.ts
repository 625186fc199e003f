/** A spread limit in a simulated world: a group, a limiter on each server, traffic, and the checker. */

import { resolveRate } from '../../core/local/rate.ts';
import type { Durations } from '../../../membership/core/durations.ts';
import type { MemberEffect } from '../../../membership/core/effects.ts';
import type { AnyMessage } from '../../../membership/core/messages.ts';
import { type Observer, Server } from '../../../membership/simulation/server.ts';
import { SimClock } from '../../../sim/clock.ts';
import { type LinkFaults, Network } from '../../../sim/network.ts';
import type { Random } from '../../../sim/random.ts';
import { World } from '../../../sim/world.ts';
import type { DemandKind } from '../../core/spread/demand.ts';
import { SpreadChecker } from './checker.ts';
import { SpreadMember } from './member.ts';

const EPOCH_MS = 1_750_000_000_000;

export interface SpreadWorldOptions {
  readonly seed: number;
  readonly trace: boolean;
  readonly names: readonly string[];
  readonly durations: Durations;
  readonly links: Partial<LinkFaults>;
  /** How fast each server's clock runs. */
  readonly rates: readonly number[];
  readonly lateMs: number;
  readonly demand: DemandKind;
  /** Tokens a second. */
  readonly limit: number;
  readonly burst: number;
  readonly epochMs: number;
  /** Whether only a majority of the servers acts, as in a group that rests on a quorum. */
  readonly needsMajority?: boolean;
}

/** The traffic at one server. */
export interface Traffic {
  /** Tokens a second that are asked for. */
  offered: number;
  /** The keys that ask, in turn. */
  flows: number;
}

/** Requests come in lumps, so that a world has fewer events. */
const LUMP_MS = [20, 60] as const;
const REQUESTS_IN_LUMP = { most: 24, least: 3, tokens: 4 };

export class SpreadWorld implements Observer {
  readonly world: World;
  readonly options: SpreadWorldOptions;
  readonly network: Network<AnyMessage>;
  readonly members: readonly SpreadMember[];
  readonly traffic: readonly Traffic[];
  readonly checker: SpreadChecker;
  readonly random: Random;
  readonly #memberOf = new Map<Server, SpreadMember>();

  constructor(options: SpreadWorldOptions) {
    const { seed, trace, names, durations, lateMs, rates, limit, burst } = options;
    this.options = options;
    this.world = new World({ seed, trace });
    this.random = this.world.random.fork('spread');
    this.network = new Network(this.world, { faults: options.links });
    const settings = {
      rate: resolveRate({ limit, burst }),
      ...{ maxServers: names.length, demand: options.demand, epochMs: options.epochMs },
    };
    this.members = names.map((name, index) => {
      const random = this.random.fork(`server ${name}`);
      const clock = new SimClock({
        rate: rates[index],
        originMs: random.between(0, 1e8),
        wallOriginMs: EPOCH_MS + random.between(-50, 50),
        uptimeOriginMs: random.between(1e4, 1e9),
      });
      const around = { name, names, durations, lateMs, clock, network: this.network, observer: this };
      const server = new Server(this.world, around);
      const member = new SpreadMember(
        server,
        settings,
        durations.suspensionToleranceMs,
        options.needsMajority === true ? names.length : undefined,
      );
      this.#memberOf.set(server, member);
      return member;
    });
    this.traffic = names.map(() => ({ offered: 0, flows: 1 }));
    this.checker = new SpreadChecker(this);
    this.members.forEach((member, index) => this.#sendRequests(member, index));
  }

  memberAt(index: number): SpreadMember {
    const member = this.members[index];
    if (member === undefined) throw new RangeError(`there is no member ${index}`);
    return member;
  }

  trafficAt(index: number): Traffic {
    const traffic = this.traffic[index];
    if (traffic === undefined) throw new RangeError(`there is no member ${index}`);
    return traffic;
  }

  start(withinMs = 300): void {
    for (const { server } of this.members)
      this.world.after(this.random.between(0, withinMs), () => this.startServer(server));
  }

  startServer(server: Server): void {
    if (!server.process.alive) server.process.start();
  }

  run(ms: number): void {
    this.world.run({ untilMs: this.world.trueMs + ms, maxEvents: 5_000_000 });
  }

  does(server: Server, effect: MemberEffect): void {
    if (effect.do === 'deliver-view') {
      this.world.count('views');
      if (this.world.tracing) server.note('view', { id: effect.view.id, members: effect.view.key });
    }
    if (effect.do === 'trace' && this.world.tracing) this.world.note(server.name, effect.event);
    this.#memberOf.get(server)?.does(effect);
  }

  sent(): void {}

  began(server: Server): void {
    this.world.count('lives');
    this.#memberOf.get(server)?.began();
  }

  #sendRequests(member: SpreadMember, index: number): void {
    const { world } = this;
    const random = this.random.fork(`traffic ${index}`);
    let lastMs = 0;
    let flow = 0;
    world.every(LUMP_MS, () => {
      const elapsedMs = world.trueMs - lastMs;
      lastMs = world.trueMs;
      const { offered, flows } = this.trafficAt(index);
      const limiter = member.running;
      if (offered === 0 || limiter === undefined) return;
      const tokens = (offered * elapsedMs) / 1_000;
      const now = member.server.process.now();
      const { most, least } = REQUESTS_IN_LUMP;
      const requests = Math.max(least, Math.min(most, Math.ceil(tokens / REQUESTS_IN_LUMP.tokens)));
      for (let request = 0; request < requests; request++) {
        const cost = (tokens / requests) * random.between(0.5, 1.5);
        const result = limiter.consume(`flow ${flow % flows}`, cost, now);
        flow += 1;
        this.checker.decided(index, cost, result);
      }
    });
  }
}
