/** One life of a spread limit: faults of every kind and changing demand for a while, then calm (`calm.ts`). */

import { resolveDurations } from '../../../membership/core/durations.ts';
import { drawRate } from '../../../membership/simulation/drawn-world.ts';
import type { LinkFaults } from '../../../sim/network.ts';
import { Random } from '../../../sim/random.ts';
import { Calm } from './calm.ts';
import type { SpreadMember } from './member.ts';
import { SpreadWorld } from './spread-world.ts';

const CHAOS_MS = 24_000;
const LEAVING_MS = 400;
const LIMIT = 1_000;

export class Chaos {
  readonly spread: SpreadWorld;
  readonly #random: Random;
  /** Whether clocks run at different rates. */
  readonly #drifts: boolean;
  readonly #faults: number;

  constructor(seed: number, trace: boolean) {
    const random = new Random(seed).fork('drawn world');
    const drifts = random.chance(0.6);
    const names = Array.from({ length: random.integer(2, 6) }, (_, index) => `s${index}`);
    this.spread = new SpreadWorld({
      ...{ seed, trace, names },
      durations: resolveDurations({ conflictMaxMs: 6_000 }),
      links: drawLinks(random),
      rates: names.map(() => (drifts ? drawRate(random) : 1)),
      lateMs: random.pick([0, 0, 20, 60]),
      demand: random.pick(['arrivals', 'arrivals', 'flows', 'keys']),
      ...{ limit: LIMIT, burst: random.pick([300, 1_000, 4_000]), epochMs: 100 },
    });
    this.#drifts = drifts;
    this.#faults = random.integer(8, 22);
    this.#random = this.spread.world.random.fork('chaos');
  }

  run(): void {
    const { spread } = this;
    const { world } = spread;
    spread.start();
    this.#draw();
    const changing = world.every([500, 3_000], () => this.#draw());
    for (let fault = 0; fault < this.#faults; fault++)
      world.at(this.#random.between(2_500, CHAOS_MS), () => this.#fault());
    spread.run(CHAOS_MS);
    changing[Symbol.dispose]();
    new Calm(spread).run();
  }

  /** New demand: one server hot, all hot, all idle, or anything. */
  #draw(): void {
    const random = this.#random;
    const kind = random.pick(['one', 'all', 'idle', 'any', 'any']);
    const hot = random.integer(0, this.spread.members.length - 1);
    this.spread.traffic.forEach((traffic, index) => {
      const offered = {
        one: index === hot ? 2 : 0.02,
        all: 2,
        idle: 0,
        any: random.pick([0, 0.01, 0.1, 0.5, 2]),
      }[kind];
      traffic.offered = (offered ?? 0) * LIMIT;
      traffic.flows = random.pick([1, 4, 20]);
    });
  }

  #fault(): void {
    const random = this.#random;
    const { members, network, world } = this.spread;
    const member = random.pick(members);
    const { server } = member;
    const other = random.pick(members.filter((each) => each !== member)).server;
    const kinds: readonly (() => void)[] = [
      () => this.#crash(member),
      () => this.#crash(member, random.between(0, 3_000)),
      () => this.#crash(member, random.between(0, 3_000)),
      () => network.cut(server.name, other.name),
      () => network.cutBoth(server.name, other.name),
      () => network.cutBoth(server.name, other.name),
      () => network.cutBoth(server.name, other.name),
      () => this.#partition(),
      () => this.#partition(),
      () => this.#comeOver(member),
      () => this.#comeOver(member),
      () => this.#stickChange(member),
      () => this.#stickChange(member),
      () => network.heal(),
      () => network.heal(),
      () => network.heal(),
      () => network.heal(),
      () => this.#startAll(),
      () => server.pause(random.between(0, 4_000)),
      () => server.pause(random.between(0, 4_000)),
      () => server.suspend(random.between(50, 4_000)),
      () => server.suspend(random.between(50, 4_000)),
      () => (this.#drifts ? server.process.setRate(drawRate(random)) : undefined),
      () => this.#leave(member),
      () => this.#leave(member),
      () => this.#leave(member),
      () => server.report(other.name),
    ];
    world.count('faults');
    kinds[random.integer(0, kinds.length - 1)]?.();
  }

  #crash({ server }: SpreadMember, restartAfterMs?: number): void {
    const { world } = this.spread;
    if (!server.process.alive) return;
    world.count('crashes');
    server.crash();
    if (restartAfterMs !== undefined) world.after(restartAfterMs, () => this.spread.startServer(server));
  }

  #leave({ server }: SpreadMember): void {
    const { world } = this.spread;
    if (!server.process.running) return;
    world.count('leaves');
    server.leave();
    const { incarnation } = server.process;
    world.after(LEAVING_MS, () => {
      if (server.process.incarnation === incarnation) server.crash();
    });
    world.after(LEAVING_MS + this.#random.between(0, 2_000), () => this.spread.startServer(server));
  }

  #partition(): void {
    const { members, network, world } = this.spread;
    const names = this.#random.shuffle(members.map(({ server }) => server.name));
    const at = this.#random.integer(1, names.length - 1);
    world.count('partitions');
    network.partition([names.slice(0, at), names.slice(at)]);
  }

  /** A server loses the members of its view and reaches all others, while one of the members that it loses stops. */
  #comeOver({ server }: SpreadMember): void {
    const { members, network, world } = this.spread;
    const names = server.member?.view?.members.map(({ name }) => name) ?? [];
    const lost = members.filter((each) => each.server !== server && names.includes(each.server.name));
    if (lost.length === 0 || lost.length === members.length - 1) {
      this.#partition();
      return;
    }
    world.count('servers that come over');
    network.heal();
    for (const each of lost) network.cutBoth(server.name, each.server.name);
    this.#random.pick(lost).server.pause(this.#random.between(500, 2_500));
  }

  /**
   * A server is alone for just long enough to be given up, and another one's records are lost: the change lasts until all promises have run out, and
   * then the same members are in one view again.
   */
  #stickChange({ server }: SpreadMember): void {
    const { members, network, world } = this.spread;
    const others = members.filter((each) => each.server !== server);
    world.count('changes that stick');
    network.heal();
    for (const other of others) network.cutBoth(server.name, other.server.name);
    world.after(this.#random.between(900, 1_500), () => network.heal());
    const mute = this.#random.pick(others).server;
    mute.losesLargeMessages = true;
    world.after(this.#random.between(3_000, 5_000), () => (mute.losesLargeMessages = false));
  }

  #startAll(): void {
    for (const { server } of this.spread.members) this.spread.startServer(server);
  }
}

function drawLinks(random: Random): Partial<LinkFaults> {
  const slowMs = [100, 1_500] as const;
  if (random.chance(0.3)) {
    return {
      inOrder: true,
      delayMs: [1, 20],
      breakChance: random.pick([0, 0.002]),
      slowChance: 0.02,
      slowMs,
    };
  }
  return {
    ...{ delayMs: [1, 20], lossChance: random.pick([0, 0.05, 0.2]), duplicateChance: 0.05 },
    ...{ slowChance: random.pick([0, 0.02, 0.3]), slowMs },
  };
}
