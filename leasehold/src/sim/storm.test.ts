import { describe, expect, it } from 'vitest';

import { later } from '../runtime/time.ts';
import { Network } from './network.ts';
import { SimProcess } from './process.ts';
import { Random } from './random.ts';
import { commonTroubles } from './storm-troubles.ts';
import { type Ground, Storm, type Victim } from './storm.ts';
import { World } from './world.ts';

const LEASE_MS = 500;
const RATES = [0.93, 1.07] as const;
const ALL = Object.fromEntries(Object.keys(commonTroubles()).map((kind) => [kind, 1]));

interface Server extends Victim {
  stuckUntilMs: number;
}

interface Setting {
  readonly world: World;
  readonly network: Network;
  readonly servers: readonly Server[];
  readonly ground: Ground<Server>;
}

function build(seed: number, more: Partial<Ground<Server>> = {}): Setting {
  const world = new World({ seed, trace: true });
  const network = new Network(world, { faults: { lossChance: 0.01 } });
  const servers = ['a', 'b', 'c'].map((name): Server => {
    const process = new SimProcess(world, {
      name,
      start: (runtime) => {
        const transport = runtime.transport(network);
        transport.listen(() => {});
        const alarm = runtime.alarm(() => say());
        const say = (): void => {
          for (const to of ['a', 'b', 'c']) if (to !== name) transport.send(to, 'heartbeat');
          alarm.set(later(runtime.now(), 50));
        };
        say();
      },
    });
    const server: Server = {
      ...{ process, stuckUntilMs: 0, crash: () => process.crash() },
      start: () => process.alive || process.start(),
      stickDisk: (untilMs) => void (server.stuckUntilMs = untilMs),
    };
    server.start();
    return server;
  });
  const names = servers.map(({ process }) => process.name);
  const ground: Ground<Server> = {
    ...{ world, leaseMs: LEASE_MS, suspensionToleranceMs: 50, clockRates: RATES },
    victims: () => servers,
    networks: [{ network, peers: () => names }],
    ...more,
  };
  return { world, network, servers, ground };
}

const everyMs = [10, 40] as const;

describe('a storm', () => {
  it('draws one to six kinds of its table for a world, and each kind for some worlds', () => {
    const { ground } = build(1);
    const storms = Array.from(
      { length: 300 },
      (_, seed) =>
        new Storm({ common: commonTroubles(), ground, random: new Random(seed), weights: ALL, everyMs }),
    );
    expect(new Set(storms.map(({ kinds }) => kinds.length))).toEqual(new Set([1, 2, 3, 4, 6]));
    expect(storms.every(({ kinds }) => new Set(kinds).size === kinds.length)).toBe(true);
    expect(new Set(storms.flatMap(({ kinds }) => kinds))).toEqual(new Set(Object.keys(ALL)));
  });

  it('draws a kind of three times the weight about three times as often, and a kind without weight never', () => {
    const { ground } = build(1);
    const weights = { crash: 3, pause: 1, partition: 0 };
    const drawn = Array.from(
      { length: 1_000 },
      (_, seed) =>
        new Storm({
          common: commonTroubles(),
          ground,
          random: new Random(seed),
          weights,
          everyMs,
          kinds: [1],
        }).kinds[0],
    );
    const crashes = drawn.filter((kind) => kind === 'crash').length;
    expect(crashes).toBeGreaterThan(700);
    expect(crashes).toBeLessThan(800);
    expect(drawn).not.toContain('partition');
  });

  it('refuses a table that names an unknown trouble, or leaves out one of the module', () => {
    const { ground } = build(1);
    const options = { ground, random: new Random(1), everyMs };
    expect(() => new Storm({ common: commonTroubles(), ...options, weights: { crahs: 1 } })).toThrow(
      /no such trouble/,
    );
    expect(
      () => new Storm({ common: commonTroubles(), ...options, weights: {}, own: { flood: () => {} } }),
    ).toThrow(/no weight/);
  });

  it.each(Object.keys(ALL))('leaves nothing broken behind after: %s', (kind) => {
    let troubles = 0;
    for (let seed = 1; seed <= 5; seed += 1) {
      const { world, network, servers, ground } = build(seed);
      const before = servers.map(({ process }) => [process.clock.rate, process.lateMs]);
      const offsetMs = servers.map(({ process }) => process.clock.wallMs(0));
      const storm = new Storm({
        common: commonTroubles(),
        ground,
        random: new Random(seed),
        weights: { [kind]: 1 },
        everyMs,
      });
      storm.begin();
      world.run({ untilMs: 3_000 });
      storm.end();
      troubles += world.counts.get(`trouble: ${kind}`) ?? 0;
      for (const { process, stuckUntilMs } of servers) {
        expect(process.running).toBe(true);
        expect(stuckUntilMs).toBe(0);
        for (const other of servers) expect(network.isCut(process.name, other.process.name)).toBe(false);
      }
      expect(servers.map(({ process }) => [process.clock.rate, process.lateMs])).toEqual(before);
      if (kind === 'wall clock step')
        servers.forEach(({ process }, index) =>
          expect(process.clock.wallMs(world.trueMs) - world.trueMs).toBeCloseTo(offsetMs[index] ?? 0, 1),
        );
      expect(network.faults.lossChance).toBe(0.01);
      expect([network.faults.slowChance, network.faults.duplicateChance, network.faults.breakChance]).toEqual(
        [0, 0, 0],
      );
      const story = world.story().length;
      world.run({ untilMs: 6_000 });
      expect(world.story().slice(story)).toEqual([]);
    }
    expect(troubles).toBeGreaterThan(300);
  });

  it('restores a link when the last of its cuts is over, and no other direction with it', () => {
    const { world, network, ground } = build(1);
    const storm = new Storm({
      common: commonTroubles(),
      ground,
      random: new Random(1),
      weights: {},
      everyMs,
    });
    storm.cut(network, 'a', 'b', 100);
    storm.cut(network, 'a', 'b', 300);
    storm.cut(network, 'b', 'a', 200);
    world.run({ untilMs: 150 });
    expect([network.isCut('a', 'b'), network.isCut('b', 'a')]).toEqual([true, true]);
    world.run({ untilMs: 250 });
    expect([network.isCut('a', 'b'), network.isCut('b', 'a')]).toEqual([true, false]);
    world.run({ untilMs: 350 });
    expect(network.isCut('a', 'b')).toBe(false);
  });

  it('lets troubles begin about the deadlines that the world names, in most worlds', () => {
    // One deadline in every lease: troubles at drawn times would be near it, by a tenth of a lease, in one of five cases.
    const shares = Array.from({ length: 20 }, (_, seed) => {
      const deadlines = (): number[] => [Math.ceil((world.trueMs + 1) / LEASE_MS) * LEASE_MS];
      const { world, ground } = build(seed, { deadlines });
      let [near, all] = [0, 0];
      const look = (): void => {
        const sinceMs = world.trueMs % LEASE_MS;
        all += 1;
        if (Math.min(sinceMs, LEASE_MS - sinceMs) <= 0.1 * LEASE_MS + 1e-6) near += 1;
      };
      const storm = new Storm({
        common: commonTroubles(),
        ...{ ground, random: new Random(seed), everyMs },
        ...{ weights: { look: 1 }, own: { look } },
      });
      storm.begin();
      world.run({ untilMs: 20_000 });
      storm.end();
      return near / all;
    });
    expect(shares.filter((share) => share > 0.5).length).toBeGreaterThan(8);
    expect(shares.filter((share) => share < 0.3).length).toBeGreaterThan(2);
  });

  it('chooses victims among the favourites more often than among the others, and spares who is to be spared', () => {
    const { world, servers, ground } = build(1, { favourites: () => servers.slice(0, 1) });
    const struck = new Map<Server, number>();
    const look = (victim: Server): void => void struck.set(victim, (struck.get(victim) ?? 0) + 1);
    const storm = new Storm({
      common: commonTroubles<Server>(),
      ...{ ground, random: new Random(1), everyMs },
      ...{ weights: { look: 1 }, own: { look } },
    });
    const [first, second, third] = servers as [Server, Server, Server];
    storm.spare(third, 60_000);
    storm.begin();
    world.run({ untilMs: 50_000 });
    expect(struck.get(first)).toBeGreaterThan(struck.get(second) ?? 0);
    expect(struck.get(second)).toBeGreaterThan(100);
    expect(struck.has(third)).toBe(false);
  });

  it('lets few troubles disturb one that has been staged, and takes no further step once it is over', () => {
    const { world, ground } = build(1);
    let [looks, steps] = [0, 0];
    const own = { look: () => void (looks += 1) };
    const storm = new Storm({
      common: commonTroubles(),
      ground,
      random: new Random(1),
      weights: { look: 1 },
      own,
      everyMs,
    });
    storm.stage(10_000);
    storm.begin();
    world.run({ untilMs: 10_000 });
    expect(looks).toBeLessThan(50);
    expect(looks).toBeGreaterThan(0);
    storm.after(100, () => void (steps += 1));
    storm.end();
    world.run({ untilMs: 11_000 });
    expect(steps).toBe(0);
  });

  it('is the same storm for the same seed', () => {
    const tell = (): string[] => {
      const { world, ground } = build(5, { deadlines: () => [world.trueMs + 100] });
      const storm = new Storm({
        common: commonTroubles(),
        ground,
        random: world.random.fork('storm'),
        weights: ALL,
        everyMs,
      });
      storm.begin();
      world.run({ untilMs: 5_000 });
      storm.end();
      return world.story();
    };
    expect(tell()).toEqual(tell());
    expect(tell().length).toBeGreaterThan(100);
  });
});
