/** One life of a group of servers that share a limit: faults of every kind, and requests that come in rushes. */

import { Server as GroupServer } from '../../../membership/simulation/server.ts';
import type { AnyMessage } from '../../../membership/core/messages.ts';
import { SimClock } from '../../../sim/clock.ts';
import { Network } from '../../../sim/network.ts';
import type { Random } from '../../../sim/random.ts';
import { World } from '../../../sim/world.ts';
import { Checker } from './checker.ts';
import { drawClockRate, type DrawnWorld, drawWorld, type WorldKind } from './drawn-world.ts';
import { KEYS, type LimitMessage, LimitedServer } from './limited-server.ts';

const EPOCH_MS = 1_750_000_000_000;
const EVENTS_MAX = 2_000_000;
/** Before that, no server acts. */
const BEGIN_MS = 4_000;
const LEAVING_MS = 400;
/** The rate of requests may change after this time. */
const LOOK_AGAIN_MS = 100;

export class GroupLimits {
  readonly world: World;
  readonly drawn: DrawnWorld;
  readonly servers: readonly LimitedServer[];
  readonly network: Network<AnyMessage>;
  readonly asks: Network<LimitMessage>;
  readonly checker: Checker;

  constructor(seed: number, trace: boolean, drawn: DrawnWorld) {
    this.world = new World({ seed, trace });
    this.drawn = drawn;
    const { names, durations, lateMs, links } = drawn;
    const { world } = this;
    const random = world.random.fork('group');
    this.network = new Network<AnyMessage>(world, {
      faults: { ...links, lossChance: links.lossChance ?? 0 },
    });
    this.asks = new Network<LimitMessage>(world, { faults: links });
    this.checker = new Checker(world, drawn);
    const servers: LimitedServer[] = [];
    this.servers = servers;
    const of = (server: GroupServer): LimitedServer | undefined =>
      servers.find(({ group }) => group === server);
    names.forEach((name, index) => {
      const clock = new SimClock({
        rate: drawn.rates[index],
        originMs: random.between(0, 1e8),
        wallOriginMs: EPOCH_MS + random.between(-50, 50),
        uptimeOriginMs: random.between(1e4, 1e9),
      });
      const observer = {
        began: (server: GroupServer): void => of(server)?.began(),
        sent: (): void => {},
        does: (server: GroupServer, effect: { readonly do: string }): void => {
          if (effect.do === 'deliver-view') of(server)?.delivered();
        },
      };
      const group = new GroupServer(world, {
        name,
        names,
        durations,
        lateMs,
        network: this.network,
        clock,
        observer,
      });
      servers.push(new LimitedServer(group, drawn, this.asks, this.checker));
    });
  }

  start(server: LimitedServer): void {
    if (!server.group.process.alive) server.group.process.start();
  }

  crash(server: LimitedServer): void {
    if (!server.group.process.alive) return;
    this.world.count('crashes');
    server.group.crash();
    server.crashed();
  }

  /**
   * Leaves the group, and starts again later.
   *
   * @param handOverMs so long after its keys were handed over; undefined: without that
   */
  leave(server: LimitedServer, backAfterMs: number, handOverMs?: number): void {
    if (!server.group.process.running) return;
    this.world.count('leaves');
    const { incarnation } = server.group.process;
    const soon = (afterMs: number, act: () => void): void =>
      void this.world.after(afterMs, () => {
        if (server.group.process.incarnation === incarnation) act();
      });
    if (handOverMs === undefined) server.group.leave();
    else {
      server.leave();
      soon(handOverMs, () => server.group.process.running && server.group.leave());
    }
    soon(LEAVING_MS + (handOverMs ?? 0), () => this.crash(server));
    this.world.after(LEAVING_MS + (handOverMs ?? 0) + backAfterMs, () => this.start(server));
  }

  request(server: LimitedServer, key: string): void {
    if (!server.isRunning) return;
    this.checker.requested(server, key);
    server.request(key);
  }

  cutBoth(one: string, other: string): void {
    this.network.cutBoth(one, other);
    this.asks.cutBoth(one, other);
  }

  partition(groups: readonly (readonly string[])[]): void {
    this.world.count('partitions');
    this.network.partition(groups);
    this.asks.partition(groups);
  }

  heal(): void {
    this.network.heal();
    this.asks.heal();
  }
}

export class Chaos {
  readonly limits: GroupLimits;
  readonly #random: Random;
  /** The server that most requests come to. */
  #hot = 0;
  #pressure = 1;

  constructor(seed: number, trace: boolean) {
    this.limits = new GroupLimits(seed, trace, drawWorld(seed));
    this.#random = this.limits.world.random.fork('chaos');
  }

  run(): void {
    const { limits } = this;
    const { world, drawn, servers, checker } = limits;
    const { kind, stormMs, faults } = drawn;
    world.count(`worlds, ${kind}`);
    if (drawn.strangers.length > 0) world.count('worlds with a server that does not share');
    for (const server of servers) world.after(this.#random.between(0, 300), () => limits.start(server));
    world.run({ untilMs: BEGIN_MS, maxEvents: EVENTS_MAX });
    for (const server of servers) for (const key of KEYS) this.#askFor(server, key);
    world.every(
      kind === 'one-hot' ? [2_000, 8_000] : [300, 1_500],
      () => (this.#hot = this.#random.integer(0, servers.length - 1)),
    );
    world.every([60, 140], () => checker.look(servers, KEYS));
    for (let fault = 0; fault < faults; fault++) {
      world.at(this.#random.between(BEGIN_MS, BEGIN_MS + stormMs), () => this.#fault());
    }
    if (kind === 'mixed') this.#rushes();
    if (drawn.sharersChange) world.every([1_000, 4_000], () => this.#changeSharers());
    if (kind === 'sleeping') {
      this.#pressure = 0.001;
      world.after(4_500, () => this.#sleep());
    }
    if (kind === 'leaving') world.every([4_000, 5_000], () => this.#leaveWithTokensAway());
    if (kind === 'handing') world.every([2_500, 4_000], () => this.#leaveOneAfterTheOther());
    if (kind === 'there-and-back') world.every([5_000, 6_000], () => this.#thereAndBack());
    if (kind === 'comes-over') world.every([7_000, 8_000], () => this.#comeOver());
    if (kind === 'parted') world.every([500, 8_000], () => this.#part());
    world.run({ untilMs: BEGIN_MS + stormMs, maxEvents: EVENTS_MAX });
    if (kind === 'calm') this.#checkCalm();
  }

  /** Requests of one server for one key, one after the other. */
  #askFor(server: LimitedServer, key: string): void {
    const { world, drawn, servers } = this.limits;
    const random = this.#random.fork(`${server.name} ${key}`);
    const next = (): void => {
      const isHot = servers[this.#hot] === server;
      const part = partOf(drawn.kind, isHot, servers.length);
      const perMs = (drawn.demand * part * this.#pressure) / drawn.rate.msPerToken;
      // Exponential, and therefore without memory: a rate that changes meanwhile can be drawn anew.
      const waitMs = random.exponential(1 / perMs);
      world.after(Math.min(LOOK_AGAIN_MS, waitMs), () => {
        if (waitMs <= LOOK_AGAIN_MS && this.#pressure > 0.01) this.limits.request(server, key);
        next();
      });
    };
    next();
  }

  /** All servers spend what they can. */
  #spend(keys: readonly string[] = KEYS, servers: readonly LimitedServer[] = this.limits.servers): void {
    const { drawn } = this.limits;
    for (const server of servers) {
      for (let count = 0; count < drawn.rate.burst / 2; count++) {
        for (const key of keys) this.limits.request(server, key);
      }
    }
  }

  /** Quiet times, in which buckets fill and batches lie idle, and then all spend at once. */
  #rushes(): void {
    const { world } = this.limits;
    world.every([2_000, 6_000], () => {
      this.#pressure = 0.001;
      world.after(this.#random.between(300, 2_500), () => {
        this.#pressure = 1;
        this.#spend();
      });
    });
  }

  #quietThenSpend(quietMs: number, spendAfterMs: readonly number[]): void {
    const { world } = this.limits;
    this.#pressure = 0.001;
    world.after(quietMs, () => (this.#pressure = 1));
    for (const ms of spendAfterMs) world.after(ms, () => this.#spend());
  }

  /** A server stands still. The others go on and spend, also when the sleeper is awake and alone; all spend when they act together. */
  #sleep(): void {
    const { world, servers } = this.limits;
    const sleeper = this.#random.pick(servers);
    const others = servers.filter((server) => server !== sleeper);
    const sleepMs = this.#random.between(8_000, 9_000);
    world.count('sleepers');
    sleeper.group.pause(sleepMs);
    const look = (): void => {
      const isBack = KEYS.some((key) => sleeper.claim(key)?.share === 1);
      this.#spend(KEYS, isBack ? servers : others);
      world.after(isBack ? 30 : 60, look);
    };
    world.after(sleepMs - 50, look);
  }

  /** A server leaves while the others hold its tokens and do not use them; all spend a key at the instant at which the key has a new owner. */
  #leaveWithTokensAway(): void {
    const { limits } = this;
    const { world, servers } = limits;
    const server = this.#random.pick(servers);
    const keys = KEYS.filter((key) => server.claim(key) !== undefined);
    this.#pressure = 0.001;
    world.after(this.#random.between(5, 60), () => limits.leave(server, 1_000));
    const look = (): void => {
      for (const key of keys) {
        if (!servers.some((each) => each !== server && each.claim(key) !== undefined)) continue;
        keys.splice(keys.indexOf(key), 1);
        this.#spend([key]);
        world.after(5, () => this.#spend([key]));
      }
      if (keys.length > 0) world.after(4, look);
    };
    world.after(62, look);
    world.after(1_500, () => (this.#pressure = 1));
  }

  /** A server leaves as planned while its tokens are away, and all spend before and after; another may follow at once. */
  #leaveOneAfterTheOther(): void {
    const { limits } = this;
    const { world } = limits;
    const [first, second] = this.#random.shuffle(limits.servers);
    if (first === undefined || second === undefined) return;
    this.#pressure = this.#random.pick([0.001, 1]);
    if (this.#random.chance(0.7)) this.#spend();
    const leavesMs = this.#random.between(0, 60);
    const spendAt = [20, 40, 80, 130, 180, 300, 450, 600, 900];
    for (const ms of spendAt) world.after(leavesMs + ms, () => this.#spend());
    world.after(leavesMs, () =>
      limits.leave(first, this.#random.between(300, 1_000), this.#random.between(20, 200)),
    );
    const isFollowed = this.#random.chance(0.4);
    const followsMs = leavesMs + this.#random.between(10, 400);
    world.after(followsMs, () => isFollowed && limits.leave(second, 500, this.#random.between(20, 200)));
    world.after(1_000, () => (this.#pressure = 1));
  }

  /** One server stops sharing for a while; or several do, one close after the other, while views that count the one before are still agreed on. */
  #changeSharers(): void {
    const { world, servers, drawn } = this.limits;
    const sharers = this.#random.shuffle(servers.filter(({ name }) => !drawn.strangers.includes(name)));
    const isHasty = this.#random.chance(0.5);
    for (const server of sharers.slice(0, isHasty ? this.#random.integer(1, 3) : 1)) {
      const forMs = isHasty ? this.#random.between(1, 60) : this.#random.between(0, 2_000);
      world.after(this.#random.between(0, 40), () => this.#stopSharing(server, forMs));
    }
  }

  /** The server stays in the group. */
  #stopSharing(server: LimitedServer, forMs: number): void {
    const { world } = this.limits;
    if (!server.isRunning) return;
    world.count('servers that stop sharing');
    const { incarnation } = server.group.process;
    if (this.#random.chance(0.7)) server.leave();
    world.after(this.#random.between(0, Math.min(forMs, 200)), () => {
      if (server.group.process.incarnation !== incarnation || !server.isRunning) return;
      server.stopSharing();
      world.after(forMs, () => server.beginToShare());
    });
  }

  /** A server leaves and comes back; its keys are spent elsewhere, at home, and elsewhere again. */
  #thereAndBack(): void {
    const { limits } = this;
    const server = this.#random.pick(limits.servers);
    limits.leave(server, 300);
    this.#quietThenSpend(4_500, [3_600, 3_700]);
    limits.world.after(3_750, () => limits.leave(server, this.#random.between(800, 1_500)));
    for (const ms of [50, 300, 600, 800]) limits.world.after(3_750 + ms, () => this.#spend());
  }

  /** {0 1} and {2 3} act apart; 2 comes over to {0 1} while 3 does not notice; then 1 may leave. */
  #comeOver(): void {
    const { limits } = this;
    const { world, network, asks, servers } = limits;
    const [zero, one, two, three] = this.#random.shuffle(servers);
    if (zero === undefined || one === undefined || two === undefined || three === undefined) return;
    limits.heal();
    limits.partition([
      [zero.name, one.name],
      [two.name, three.name],
    ]);
    const comesMs = 3_300 + this.#random.between(0, 200);
    world.after(comesMs, () => {
      world.count('servers that come over');
      for (const { name } of [zero, one]) {
        network.heal(two.name, name);
        asks.heal(two.name, name);
      }
    });
    const partedMs = comesMs + this.#random.between(100, 900);
    world.after(partedMs, () => {
      limits.cutBoth(two.name, three.name);
      two.group.report(three.name);
    });
    world.after(partedMs + this.#random.between(50, 400), () => {
      if (this.#random.chance(0.5)) limits.leave(one, 1_000);
    });
  }

  /** One or two servers are parted from the others, and the others report them at once. */
  #part(): void {
    const { limits } = this;
    const names = this.#random.shuffle(limits.servers.map(({ name }) => name));
    const apart = names.slice(0, this.#random.integer(1, 2));
    limits.partition([apart, names.slice(apart.length)]);
    const reporters = limits.servers.filter(({ name }) => !apart.includes(name));
    for (const server of reporters) for (const name of apart) server.group.report(name);
    const { world } = limits;
    const begun = Array.from({ length: 12 }, (_, at) => 1_400 + at * 100);
    this.#quietThenSpend(3_000, begun);
    // The buckets of both sides fill; then tokens are lent and lie idle, and all spend.
    world.after(3_000, () => (this.#pressure = 0.001));
    world.after(7_000, () => (this.#pressure = 1));
    world.after(7_200, () => (this.#pressure = 0.001));
    world.after(7_250, () => this.#spend());
    world.after(7_260, () => this.#spend());
    world.after(7_500, () => {
      this.#pressure = 1;
      limits.heal();
    });
  }

  #fault(): void {
    const random = this.#random;
    const { limits } = this;
    const { servers, world } = limits;
    const server = random.pick(servers);
    const other = random.pick(servers);
    const names = random.shuffle(servers.map(({ name }) => name));
    const at = random.integer(1, names.length - 1);
    const kinds: readonly (() => void)[] = [
      () => this.#crash(server),
      () => this.#crash(server),
      () => limits.partition([names.slice(0, at), names.slice(at)]),
      () => limits.partition([names.slice(0, at), names.slice(at)]),
      () => limits.network.cut(server.name, other.name),
      () => limits.cutBoth(server.name, other.name),
      () => limits.heal(),
      () => limits.heal(),
      () => limits.heal(),
      () => server.group.pause(random.between(50, 4_000)),
      () => server.group.suspend(random.between(50, 4_000)),
      () => server.group.suspend(random.between(5, 39)),
      () => limits.leave(server, random.between(0, 2_000)),
      () => limits.leave(server, random.between(0, 2_000), random.between(0, 300)),
      () => limits.leave(server, random.between(0, 2_000), random.between(0, 300)),
      () => server.group.process.setRate(drawClockRate(random)),
    ];
    world.count('faults');
    kinds[random.integer(0, kinds.length - 1)]?.();
  }

  #crash(server: LimitedServer): void {
    this.limits.crash(server);
    this.limits.world.after(this.#random.between(0, 4_000), () => this.limits.start(server));
  }

  #checkCalm(): void {
    const { world } = this.limits;
    const allowed = world.counts.get('calm: tokens allowed') ?? 0;
    const central = world.counts.get('calm: tokens of a central limiter') ?? 0;
    if (allowed < 0.8 * central) throw world.broken('calm-use', `${allowed} of ${central} tokens`);
  }
}

/** The part of all requests for a key that comes to a server. */
function partOf(kind: WorldKind, isHot: boolean, servers: number): number {
  if (kind === 'calm') return 1 / servers;
  if (kind === 'one-hot') return isHot ? 1 : 0.02;
  return isHot ? 0.7 : 0.3 / servers;
}
