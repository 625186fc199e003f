import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { later, type Instant } from '../runtime/time.ts';
import { SimClock } from './clock.ts';
import { Network } from './network.ts';
import { SimProcess, type ProcessOptions, type SimRuntime, type WakeAlarm } from './process.ts';
import { World } from './world.ts';

interface Bench {
  readonly world: World;
  readonly process: SimProcess;
  readonly network: Network<string>;
  /** `12 what` for everything that happened in the process, in true milliseconds. */
  readonly seen: string[];
  see(what: string): void;
}

// Not fc.double, which mostly draws numbers next to zero.
const ms = (max: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: max * 7 }).map((n) => n / 7);

/** A started process, with a network whose messages take 1 ms. */
function bench(
  start: (runtime: SimRuntime, bench: Bench, incarnation: number) => void,
  options: Partial<ProcessOptions> = {},
  seed = 1,
): Bench {
  const world = new World({ seed });
  const seen: string[] = [];
  const made: Bench = {
    world,
    seen,
    see: (what) => seen.push(`${Math.round(world.trueMs)} ${what}`),
    network: new Network<string>(world, { faults: { delayMs: [1, 1] } }),
    process: new SimProcess(world, {
      name: 'p',
      start: (runtime, incarnation) => start(runtime, made, incarnation),
      ...options,
    }),
  };
  made.process.start();
  return made;
}

describe('a timer', () => {
  it('fires at the right time of its own clock, once', () => {
    const { world, seen } = bench(
      (runtime, { see }) => {
        runtime.wakeAt(later(runtime.now(), 500), () => see('late'));
        runtime.wakeAt(later(runtime.now(), 100), () => see('early'));
        runtime.wakeAt(later(runtime.now(), -5), () => see('at once'));
      },
      { clock: new SimClock({ rate: 0.5 }) },
    );
    world.run({ untilMs: 5_000 });
    expect(seen).toEqual(['0 at once', '200 early', '1000 late']);
  });

  it('does not fire once disposed of', () => {
    const { world, seen } = bench((runtime, { see }) => {
      runtime.wakeAt(later(runtime.now(), 100), () => see('never'))[Symbol.dispose]();
      runtime.wakeAt(later(runtime.now(), 200), () => see('kept'));
    });
    world.run({ untilMs: 5_000 });
    expect(seen).toEqual(['200 kept']);
  });

  it('never fires early, whatever happens to the clock meanwhile, and at most `lateMs` late', () => {
    const change = fc.record({
      afterMs: ms(400),
      rate: fc.double({ min: 0.5, max: 2, noNaN: true }),
      what: fc.constantFrom('rate', 'suspend', 'suspend frozen', 'step'),
    });
    fc.assert(
      fc.property(
        fc.nat(),
        fc.array(change, { maxLength: 10 }),
        fc.array(ms(2_000), { maxLength: 10 }),
        fc.constantFrom(0, 50),
        (seed, changes, timers, lateMs) => {
          let fired = 0;
          const { world, process } = bench(
            (runtime) => {
              const wake = (at: Instant): void => {
                fired += 1;
                expect(runtime.now()).toBeGreaterThanOrEqual(at);
                expect(runtime.now()).toBeLessThanOrEqual(at + lateMs + 1e-6);
              };
              for (const ms of timers) {
                const at = later(runtime.now(), ms);
                runtime.wakeAt(at, () => wake(at));
                const alarm = runtime.alarm(() => wake(at));
                alarm.set(later(at, -ms / 2));
                alarm.set(at);
              }
            },
            { lateMs },
            seed,
          );
          let at = 0;
          for (const { afterMs, rate, what } of changes) {
            at += afterMs;
            world.at(at, () => {
              if (what === 'rate') process.setRate(rate);
              else if (what === 'step') process.stepWall(1e6 * (rate - 1));
              else process.suspend(rate * 100, { freezeUptime: what === 'suspend frozen' });
            });
          }
          world.run({ untilMs: 1e5 });
          expect(fired).toBe(timers.length * 2);
        },
      ),
    );
  });
});

describe('an alarm for a core', () => {
  it('wakes when it was last set for, also if that is put off, brought forward or turned off', () => {
    let alarm: WakeAlarm | undefined;
    const { world, process, seen } = bench((runtime, { see }) => {
      alarm = runtime.alarm(() => see('woken'));
    });
    const set = (trueMs: number, inMs: number | undefined): void =>
      void world.at(trueMs, () => alarm?.set(inMs === undefined ? undefined : later(process.now(), inMs)));
    set(0, 100);
    set(50, 100);
    set(200, 500);
    set(300, 20);
    set(400, 50);
    set(420, undefined);
    world.run({ untilMs: 5_000 });
    expect(seen).toEqual(['150 woken', '320 woken']);
  });

  it('wakes again if set again for the instant at which it woke', () => {
    const { world, seen } = bench((runtime, { see }) => {
      const at = later(runtime.now(), 100);
      const alarm: WakeAlarm = runtime.alarm(() => {
        see('woken');
        if (seen.length < 3) alarm.set(at);
      });
      alarm.set(at);
    });
    world.run({ untilMs: 5_000 });
    expect(seen).toEqual(['100 woken', '100 woken', '100 woken']);
  });
});

describe('a process that is paused', () => {
  it('sees, when resumed, first the messages that came and then the timers that are overdue', () => {
    const { world, process, network, seen } = bench((runtime, { see, network: net }) => {
      runtime.wakeAt(later(runtime.now(), 150), () => see('timer 150'));
      runtime.wakeAt(later(runtime.now(), 120), () => see('timer 120'));
      runtime.wakeAt(later(runtime.now(), 700), () => see('timer 700'));
      runtime.transport(net).listen((from, message) => see(`${message} from ${from}`));
    });
    world.at(100, () => process.pause(500));
    world.at(300, () => network.send('x', 'p', 'first'));
    world.at(400, () => network.send('x', 'p', 'second'));
    world.run({ untilMs: 5_000 });
    expect(seen).toEqual([
      '600 first from x',
      '600 second from x',
      '600 timer 120',
      '600 timer 150',
      '700 timer 700',
    ]);
  });

  it('finds its clock ahead', () => {
    const readings: number[] = [];
    const { world, process } = bench((runtime) => {
      const start = runtime.now();
      runtime.wakeAt(later(start, 100), () => readings.push(runtime.now() - start));
    });
    world.at(50, () => process.pause(1_000));
    world.run({ untilMs: 5_000 });
    expect(readings[0]).toBeCloseTo(1_050);
  });

  it('is resumed by hand, or by the last of its pauses', () => {
    const { world, process, seen } = bench(() => undefined);
    world.at(100, () => process.pause(100));
    world.at(150, () => process.pause(300));
    for (const at of [120, 250, 460]) world.at(at, () => seen.push(`${at} ${process.running}`));
    world.at(500, () => process.pause());
    world.at(600, () => process.resume());
    for (const at of [550, 650]) world.at(at, () => seen.push(`${at} ${process.running}`));
    world.run({ untilMs: 1_000 });
    expect(seen).toEqual(['120 false', '250 false', '460 true', '550 false', '650 true']);
  });

  it('that is stopped again amid its messages sees the rest later, in order', () => {
    const { world, process, network, seen } = bench((runtime, { see, network: net, process: self }) => {
      runtime.transport(net).listen((_, message) => {
        see(message);
        if (message === 'stop') self.pause(100);
      });
    });
    process.pause(50);
    for (const message of ['one', 'stop', 'two', 'three']) network.send('x', 'p', message);
    world.run({ untilMs: 1_000 });
    expect(seen).toEqual(['50 one', '50 stop', '150 two', '150 three']);
  });

  it('lets the checks of the world run between the messages it sees', () => {
    const { world, process, network, seen } = bench((runtime, { see, network: net }) => {
      runtime.transport(net).listen((_, message) => see(message));
    });
    const states = new Set<number>();
    world.afterEach(() => states.add(seen.length));
    process.pause(50);
    for (const message of ['one', 'two', 'three']) network.send('x', 'p', message);
    world.run({ untilMs: 1_000 });
    expect([...states]).toEqual([0, 1, 2, 3]);
  });
});

describe('a process whose machine is suspended', () => {
  it('finds its clock where it was, and its timers as far away as before', () => {
    const { world, process, network, seen } = bench((runtime, { see, network: net }) => {
      const start = runtime.now();
      runtime.wakeAt(later(start, 300), () => see('timer'));
      runtime
        .transport(net)
        .listen((_, message) => see(`${message}, ${Math.round(runtime.now() - start)} by my clock`));
    });
    world.at(100, () => process.suspend(1_000));
    world.at(500, () => network.send('x', 'p', 'hello'));
    world.run({ untilMs: 5_000 });
    expect(seen).toEqual(['1100 hello, 100 by my clock', '1300 timer']);
  });

  it('can notice by wall clock and uptime, unless the uptime was frozen', () => {
    const noticed = (freezeUptime: boolean): number[] => {
      const ahead: number[] = [];
      const { world, process } = bench((runtime) => {
        const start = [runtime.now(), runtime.wallMs(), runtime.uptimeMs()] as const;
        runtime.wakeAt(later(start[0], 300), () => {
          const passed = runtime.now() - start[0];
          ahead.push(
            Math.round(runtime.wallMs() - start[1] - passed),
            Math.round(runtime.uptimeMs() - start[2] - passed),
          );
        });
      });
      world.at(100, () => process.suspend(1_000, { freezeUptime }));
      world.run({ untilMs: 5_000 });
      return ahead;
    };
    expect(noticed(false)).toEqual([1_000, 1_000]);
    expect(noticed(true)).toEqual([1_000, 0]);
  });

  it('is suspended together with all others on that machine', () => {
    const clock = new SimClock();
    const { world, process, seen } = bench(
      (runtime, { see }) => {
        runtime.wakeAt(later(runtime.now(), 200), () => see('p'));
      },
      { clock },
    );
    const other = new SimProcess(world, {
      name: 'q',
      clock,
      start: (runtime) => void runtime.wakeAt(later(runtime.now(), 300), () => seen.push('q')),
    });
    other.start();
    world.at(100, () => process.suspend(1_000));
    world.at(500, () => seen.push(`${process.running} ${other.running}`));
    world.run({ untilMs: 1_250 });
    expect(seen).toEqual(['false false', '1200 p']);
  });

  it('starts, if it is started then, when the machine is resumed', () => {
    const { world, process, seen } = bench((_, { see }, incarnation) => see(`incarnation ${incarnation}`));
    world.at(100, () => process.suspend(1_000));
    world.at(200, () => process.restart());
    world.run({ untilMs: 5_000 });
    expect(seen).toEqual(['0 incarnation 1', '1100 incarnation 2']);
  });
});

describe('a process that crashes', () => {
  // Over several seeds: each incarnation's clock has another origin, so a leftover timer of one incarnation may fall
  // due at once in the next, or never.
  const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

  it('takes its timers, its alarms and what it has not seen with it', () => {
    for (const seed of seeds) {
      const { world, process, network, seen } = bench(
        (runtime, { see, network: net }, incarnation) => {
          runtime.wakeAt(later(runtime.now(), 500), () => see(`timer of incarnation ${incarnation}`));
          runtime.alarm(() => see(`alarm of incarnation ${incarnation}`)).set(later(runtime.now(), 600));
          runtime.transport(net).listen((_, message) => see(`${message} in incarnation ${incarnation}`));
        },
        {},
        seed,
      );
      world.at(100, () => process.pause());
      world.at(200, () => network.send('x', 'p', 'unseen'));
      world.at(300, () => process.crash());
      world.at(400, () => network.send('x', 'p', 'to nobody'));
      world.at(450, () => process.start());
      world.at(460, () => network.send('x', 'p', 'hello'));
      world.run({ untilMs: 1e8 });
      expect(seen).toEqual([
        '461 hello in incarnation 2',
        '950 timer of incarnation 2',
        '1050 alarm of incarnation 2',
      ]);
      expect(network.counts.unclaimed).toBe(1);
    }
  });

  it('does not see in its next incarnation what it was about to see', () => {
    const { world, process, network, seen } = bench(
      (runtime, { see, network: net, process: self }, incarnation) => {
        runtime.transport(net).listen((_, message) => {
          see(`${message} in incarnation ${incarnation}`);
          if (message === 'poison') self.restart();
        });
      },
    );
    process.pause(50);
    for (const message of ['poison', 'unseen', 'unseen']) network.send('x', 'p', message);
    world.run({ untilMs: 5_000 });
    expect(seen).toEqual(['50 poison in incarnation 1']);
  });

  it('has no effect any more: what the old incarnation sends goes nowhere, what it sets never fires', () => {
    for (const seed of seeds) {
      const runtimes: SimRuntime[] = [];
      const { world, process, network, seen } = bench((runtime) => runtimes.push(runtime), {}, seed);
      network.attach('x', (from, message) => seen.push(`${message} from ${from}`));
      process.restart();
      expect(runtimes.map(({ alive }) => alive)).toEqual([false, true]);
      for (const runtime of runtimes) {
        runtime.transport(network).send('x', `incarnation of ${runtime.alive}`);
        runtime.wakeAt(runtime.now(), () => seen.push(`timer of ${runtime.alive}`));
        runtime.alarm(() => seen.push(`alarm of ${runtime.alive}`)).set(runtime.now());
      }
      world.run({ untilMs: 1e8 });
      expect(seen.toSorted()).toEqual(['alarm of true', 'incarnation of true from p', 'timer of true']);
    }
  });

  it('may do so in the middle of its own timer', () => {
    const { world, seen } = bench((runtime, { see, process: self }) => {
      runtime.wakeAt(later(runtime.now(), 100), () => {
        self.crash();
        runtime.wakeAt(runtime.now(), () => see('from the grave'));
      });
      runtime.wakeAt(later(runtime.now(), 100), () => see('too'));
    });
    world.run({ untilMs: 5_000 });
    expect(seen).toEqual([]);
  });

  it('comes back with other chance and another origin of its clock', () => {
    const readings: number[][] = [];
    const { process } = bench((runtime) => readings.push([runtime.now(), runtime.random()]));
    process.restart();
    expect(readings[0]?.[0]).not.toBe(readings[1]?.[0]);
    expect(readings[0]?.[1]).not.toBe(readings[1]?.[1]);
  });
});

describe('work from outside', () => {
  it('is done now, later or never: as the process runs, is stopped or is dead', () => {
    const { world, process, seen, see } = bench(() => undefined);
    process.perform(() => see('now'));
    process.pause(100);
    process.perform(() => see('later'));
    world.run({ untilMs: 1_000 });
    process.crash();
    process.perform(() => see('never'));
    process.start();
    world.run({ untilMs: 2_000 });
    expect(seen).toEqual(['0 now', '100 later']);
  });
});

describe('a whole world of processes', () => {
  /** Four processes that gossip, crash, pause and are suspended, over a bad network. */
  function restless(seed: number): World {
    const world = new World({ seed, trace: true });
    const network = new Network<number>(world, {
      faults: { lossChance: 0.1, duplicateChance: 0.1, delayMs: [1, 50], slowChance: 0.05 },
      describe: String,
    });
    const names = ['a', 'b', 'c', 'd'];
    const dice = world.random.fork('dice');
    const processes = names.map(
      (name) =>
        new SimProcess(world, {
          name,
          lateMs: 5,
          clock: new SimClock({ rate: dice.between(0.9, 1.1), originMs: dice.between(0, 1e6) }),
          start: (runtime) => {
            const transport = runtime.transport(network);
            const peer = (): string => names[Math.floor(runtime.random() * names.length)] ?? 'a';
            transport.listen((_, message) => {
              world.count('received');
              if (message > 0) transport.send(peer(), message - 1);
            });
            const speak = (): void => {
              transport.send(peer(), 3);
              runtime.wakeAt(later(runtime.now(), 100), speak);
            };
            speak();
          },
        }),
    );
    for (const process of processes) {
      process.start();
      world.every([500, 3_000], () => {
        if (!process.alive) process.start();
        else dice.pick([() => process.crash(), () => process.pause(200), () => process.suspend(300)])();
      });
    }
    world.every([1_000, 2_000], () => {
      network.heal();
      if (dice.chance(0.5)) network.partition([names.slice(0, 2), names.slice(2)]);
    });
    return world;
  }

  it('plays out the same way twice from the same seed, to the byte', () => {
    for (const seed of [1, 2, 2 ** 40]) {
      const [one, two] = [restless(seed), restless(seed)];
      one.run({ untilMs: 20_000 });
      // In many small runs just as in one.
      for (let untilMs = 100; untilMs <= 20_000; untilMs += 100) two.run({ untilMs });
      expect(one.story().length).toBeGreaterThan(1_000);
      expect(two.story().join('\n')).toBe(one.story().join('\n'));
      expect([...two.counts]).toEqual([...one.counts]);
      expect(two.events).toBe(one.events);
    }
  });

  it('plays out differently from another seed', () => {
    const [one, two] = [restless(1), restless(2)];
    one.run({ untilMs: 2_000 });
    two.run({ untilMs: 2_000 });
    expect(two.story()).not.toEqual(one.story());
  });
});
