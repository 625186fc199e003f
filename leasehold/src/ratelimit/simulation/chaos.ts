/** The course of a few servers that share a limit: a storm of faults and requests, and then a look at what is left. */

import { SimClock } from '../../sim/clock.ts';
import { Network } from '../../sim/network.ts';
import type { Random } from '../../sim/random.ts';
import { World } from '../../sim/world.ts';
import { Checker } from './checker.ts';
import { drawClockRate, type DrawnWorld, drawWorld, SLOTS } from './drawn-world.ts';
import { Ownership } from './ownership.ts';
import { KEYS, type Message, Server } from './server.ts';

const EPOCH_MS = 1_750_000_000_000;
const EVENTS_MAX = 600_000;
/** The rate of requests may change after this time. */
const LOOK_AGAIN_MS = 200;
/** Before that, owners may not mint yet. */
const BEGIN_MS = 1_500;

export class Chaos {
  readonly world: World;
  readonly drawn: DrawnWorld;
  readonly #network: Network<Message>;
  readonly #servers: Server[] = [];
  readonly #ownership: Ownership;
  readonly #checker: Checker;
  readonly #random: Random;
  /** The server that most requests come to. */
  #hot = 0;
  /** Requests are held back, and then come all at once. */
  #pressure = 1;
  #others = 0;

  constructor(seed: number, trace: boolean) {
    this.world = new World({ seed, trace });
    this.drawn = drawWorld(seed);
    this.#random = this.world.random.fork('chaos');
    this.#network = new Network(this.world, { faults: this.drawn.links });
    this.#checker = new Checker(this.world, this.drawn);
    this.drawn.names.forEach((name, index) => {
      const random = this.#random.fork(name);
      const clock = new SimClock({
        rate: this.drawn.rates[index],
        originMs: random.between(0, 1e8),
        wallOriginMs: EPOCH_MS + random.between(-50, 50),
        uptimeOriginMs: random.between(1e4, 1e9),
      });
      this.#servers.push(new Server(this.world, name, this.drawn, clock, this.#network, this.#checker));
    });
    this.#ownership = new Ownership(this.world, this.#servers);
  }

  run(): void {
    const { world, drawn } = this;
    const { kind, stormMs } = drawn;
    world.count(`worlds, ${kind}`);
    for (const server of this.#servers) server.process.start();
    world.run({ untilMs: BEGIN_MS, maxEvents: EVENTS_MAX });
    for (const server of this.#servers) for (const key of KEYS) this.#askFor(server, key);
    world.every([300, 1_500], () => (this.#hot = this.#random.integer(0, this.#servers.length - 1)));
    world.every([20, 60], () => this.#askOnce());
    if (kind === 'hoard') this.#hoard();
    if (kind === 'hand-over') world.every([300, 900], () => this.#change());
    if (kind === 'leaving') world.every([600, 1_400], () => this.#leaveAndSpend());
    for (let fault = 0; fault < drawn.faults; fault++) {
      world.at(this.#random.between(BEGIN_MS, BEGIN_MS + stormMs), () => this.#fault());
    }
    world.run({ untilMs: BEGIN_MS + stormMs, maxEvents: EVENTS_MAX });
    if (kind === 'calm' || kind === 'flood') this.#checkCalm();
    this.#checkEnd();
  }

  get #isOver(): boolean {
    return this.world.trueMs > BEGIN_MS + this.drawn.stormMs;
  }

  /** In the middle of a flood the requests of one server end; nothing may be kept for that server. */
  #hasQuit(server: Server): boolean {
    const { kind, stormMs } = this.drawn;
    return kind === 'flood' && server === this.#servers[0] && this.world.trueMs > BEGIN_MS + stormMs / 2;
  }

  /** Requests of one server for one key, one after the other. */
  #askFor(server: Server, key: string): void {
    const { world, drawn } = this;
    const random = this.#random.fork(`${server.name} ${key}`);
    const next = (): void => {
      const size = this.#servers.length;
      const isHot = this.#servers[this.#hot] === server;
      const isEven = drawn.kind === 'flood' || drawn.kind === 'calm';
      const part = isEven ? 1 / size : isHot ? 0.8 : 0.2 / size;
      const perMs = (drawn.demand * part * this.#pressure) / drawn.rate.msPerToken;
      // Exponential, and therefore without memory: a rate that changes meanwhile can be drawn anew.
      const waitMs = random.exponential(1 / perMs);
      world.after(Math.min(LOOK_AGAIN_MS, waitMs), () => {
        if (this.#isOver || this.#hasQuit(server)) return;
        if (waitMs <= LOOK_AGAIN_MS && this.#pressure > 0.01)
          this.#request(server, key, random.chance(0.05) ? 3 : 1);
        next();
      });
    };
    next();
  }

  #request(server: Server, key: string, cost: number): void {
    const bounded = Math.min(cost, Math.floor(this.drawn.rate.burst));
    if (!server.isReady || this.#isOver) return;
    this.#checker.requested(server, key, bounded);
    const isRefunded = this.drawn.kind !== 'calm' && this.#random.chance(0.05);
    server.request(key, bounded, isRefunded ? this.#random.between(0, 600) : undefined);
  }

  /** Keys that are used once make the tables look for keys to forget. */
  #askOnce(): void {
    if (this.#isOver) return;
    this.#others += 1;
    this.#random.pick(this.#servers).request(`k${this.#others}`, 1);
  }

  #hoard(): void {
    const { world } = this;
    world.every([800, 1_300], () => {
      this.#pressure = 0.001;
      // A machine that sleeps with tokens in hand wakes up when the owner has given them up.
      const sleeps = this.#random.chance(0.3);
      const sleepMs = this.#random.between(540, 700);
      if (sleeps) this.#random.pick(this.#servers).suspend(sleepMs);
      world.after(sleeps ? sleepMs + 1 : this.#random.between(100, 380), () => {
        this.#pressure = 1;
        for (const server of this.#servers) {
          for (let count = 0; count < this.drawn.rate.burst; count++) {
            for (const key of KEYS) this.#request(server, key, 1);
          }
        }
      });
    });
  }

  /** A key gets another owner right after its tokens were asked for. */
  #change(): void {
    const slot = this.#random.integer(0, SLOTS - 1);
    const key = KEYS[slot] ?? '';
    for (const server of this.#servers) {
      for (let count = 0; count < this.drawn.rate.burst / 2; count++) this.#request(server, key, 1);
    }
    const holder = this.#ownership.holderOf(slot);
    this.world.after(this.#random.between(0, 30), () => {
      if (holder !== undefined && this.#random.chance(0.3)) this.#crash(holder, true);
      else this.#ownership.move(slot);
    });
    for (const ms of [60, 300, 540, 600, 700]) {
      this.world.after(ms, () => {
        for (const server of this.#servers) {
          for (let count = 0; count < this.drawn.rate.burst / 2; count++) this.#request(server, key, 1);
        }
      });
    }
  }

  /** The holder of a key leaves while tokens of the key are away, and then all spend. */
  #leaveAndSpend(): void {
    const slot = this.#random.integer(0, SLOTS - 1);
    const key = KEYS[slot] ?? '';
    const spend = (): void => {
      for (const server of this.#servers)
        for (let count = 0; count < this.drawn.rate.burst / 2; count++) this.#request(server, key, 1);
    };
    this.#pressure = this.#random.pick([0.001, 1]);
    const holder = this.#ownership.holderOf(slot);
    if (this.#random.chance(0.7)) spend();
    this.world.after(this.#random.between(0, 30), () => holder !== undefined && this.#leave(holder));
    for (const ms of [10, 40, 70, 120, 300, 540, 590]) this.world.after(ms, spend);
    this.world.after(600, () => (this.#pressure = 1));
  }

  #fault(): void {
    const random = this.#random;
    const server = random.pick(this.#servers);
    const other = random.pick(this.#servers);
    const kinds: readonly (() => void)[] = [
      () => this.#crash(server, true),
      () => this.#crash(server, false),
      () => this.#leave(server),
      () => this.#leave(server),
      () => server.pause(random.between(50, 1_500)),
      () => server.suspend(random.between(50, 1_500)),
      () => server.suspend(random.between(5, 39)),
      () => this.#partition(),
      () => this.#network.cut(server.name, other.name),
      () => this.#network.heal(),
      () => this.#network.heal(),
      () => this.#isolate(server),
      () => this.#ownership.move(random.integer(0, SLOTS - 1)),
      () => this.#ownership.move(random.integer(0, SLOTS - 1)),
      () => server.process.setRate(drawClockRate(random)),
      () => server.process.stepWall(random.between(-20_000, 20_000)),
    ];
    this.world.count('faults');
    kinds[random.integer(0, kinds.length - 1)]?.();
  }

  #crash(server: Server, isKnown: boolean): void {
    if (!server.process.alive) return;
    this.world.count('crashes');
    server.crash();
    if (isKnown) this.#ownership.died(server);
    this.world.after(this.#random.between(50, 2_000), () => {
      if (!server.process.alive) server.process.start();
    });
  }

  /** Leaves as planned, ends, and starts again. */
  #leave(server: Server): void {
    if (!server.isReady || server.isLeaving) return;
    const { world } = this;
    const { incarnation } = server.process;
    world.count('planned leaves');
    server.leave();
    const isSame = (): boolean => server.process.incarnation === incarnation;
    world.after(this.#random.between(0, 60), () => isSame() && this.#ownership.left(server));
    world.after(this.#random.between(100, 600), () => isSame() && this.#crash(server, true));
  }

  #partition(): void {
    const names = this.#random.shuffle(this.#servers.map(({ name }) => name));
    const at = this.#random.integer(1, names.length - 1);
    this.world.count('partitions');
    this.#network.partition([names.slice(0, at), names.slice(at)]);
  }

  #isolate(server: Server): void {
    this.world.count('servers without leases');
    server.isIsolated = true;
    this.world.after(this.#random.between(500, 3_000), () => (server.isIsolated = false));
  }

  #checkCalm(): void {
    const { world, drawn } = this;
    const { counts } = world;
    const allowed = counts.get(`${drawn.kind}: tokens allowed`) ?? 0;
    const central = counts.get(`${drawn.kind}: tokens of a central limiter`) ?? 0;
    if (allowed < (drawn.kind === 'calm' ? 0.8 : 0.6) * central) {
      throw world.broken('calm-use', `${allowed.toFixed(0)} of ${central.toFixed(0)} tokens`);
    }
    if (drawn.demand < 1) return;
    const part = drawn.stormMs / drawn.rate.msPerToken / drawn.names.length;
    for (const server of this.#servers) {
      for (const key of KEYS) {
        const gained = this.#checker.gained(server, key);
        if (gained >= part / 5) continue;
        throw world.broken('no-starvation', `${server.name} got ${gained} of ${key}, its part is ${part}`);
      }
    }
    const perSecond = this.#checker.asks / drawn.names.length / (drawn.stormMs / 1_000);
    if (drawn.kind === 'flood' && perSecond > ASKS_PER_SECOND_MAX) {
      throw world.broken('flood', `${perSecond.toFixed(0)} asks a second for a limit of ${drawn.rate.limit}`);
    }
  }

  /** All is quiet: every request is decided, and used-up keys are forgotten as new ones come. */
  #checkEnd(): void {
    const { world } = this;
    world.run({ untilMs: world.trueMs + 5_000, maxEvents: EVENTS_MAX });
    for (const server of this.#servers) {
      if (server.process.running && server.undecided > 0) {
        throw world.broken('decided-once', `${server.undecided} requests of ${server.name} are not decided`);
      }
    }
    if (this.drawn.kind === 'calm' || this.drawn.kind === 'flood') this.#checkForgets();
  }

  /** New keys come, one after the other, many more than fit into a table; the tables forget those before them. */
  #checkForgets(): void {
    const { world } = this;
    const before = world.counts.get('denied, table full') ?? 0;
    for (let count = 0; count < NEW_KEYS; count++) {
      const server = this.#servers[count % this.#servers.length];
      world.after(count * 10, () => server?.request(`k${100_000 + count}`, 1));
    }
    world.run({ untilMs: world.trueMs + NEW_KEYS * 10, maxEvents: EVENTS_MAX });
    const denied = (world.counts.get('denied, table full') ?? 0) - before;
    if (denied > 0) throw world.broken('forgets', `${denied} requests were denied because a table is full`);
  }
}

/** A table holds 60. */
const NEW_KEYS = 600;
/** For three keys of 20 tokens a second; the flood is of 400 requests a second for each. */
const ASKS_PER_SECOND_MAX = 140;
