import { describe, expect, it } from 'vitest';
import { type Alarm, type CollectingCore, Driver } from './driver.ts';
import { SuspensionGuard } from './suspension.ts';
import { type Instant, instant, later } from './time.ts';

const FAULT = new Error('this effect cannot be carried out');

/** A core whose effects are words; `bad` is one that cannot be carried out. */
function bench() {
  const story: string[] = [];
  const clock = { ms: 1_000, asleepMs: 0 };
  const clocks = {
    now: (): Instant => instant(clock.ms),
    wallMs: () => clock.ms + clock.asleepMs,
    uptimeMs: () => clock.ms + clock.asleepMs,
  };
  let ring = (): void => {};
  const alarm: Alarm = { set: (at) => story.push(`alarm ${at ?? 'off'}`) };
  const driver = new Driver<string>({
    core: {
      get wakeAt() {
        return later(clocks.now(), 500);
      },
      wake: () => ['woken'],
      suspended: () => (clock.asleepMs === 666 ? ['bad'] : ['dropped everything']),
    },
    clock: clocks,
    guard: new SuspensionGuard(clocks, 100),
    alarm: (wake) => {
      ring = wake;
      return alarm;
    },
    execute: (effect) => {
      if (effect === 'bad') throw FAULT;
      story.push(effect);
    },
    suspended: () => story.push('the guard noticed'),
    afterInput: () => story.push('afterwards'),
  });
  return { story, clock, driver, ring: () => ring() };
}

describe('an input', () => {
  it('is carried out in order, and then the alarm is set', () => {
    const { story, driver, ring } = bench();
    driver.input((now) => [`one at ${now}`, 'two']);
    ring();
    expect(story).toEqual([
      ...['one at 1000', 'two', 'alarm 1500', 'afterwards'],
      ...['woken', 'alarm 1500', 'afterwards'],
    ]);
  });

  it('waits for the one that brought it about', () => {
    const { story, driver } = bench();
    driver.input(() => {
      driver.input(() => ['second']);
      return ['first'];
    });
    expect(story).toEqual(['first', 'second', 'alarm 1500', 'afterwards']);
  });

  it('comes after a suspension, which is told once', () => {
    const { story, clock, driver } = bench();
    clock.asleepMs = 100;
    driver.input(() => ['one']);
    driver.input(() => ['two']);
    expect(story.filter((each) => !/alarm|after/.test(each))).toEqual([
      ...['the guard noticed', 'dropped everything', 'one', 'two'],
    ]);
  });

  it('has no effect once it is over', () => {
    const { story, driver } = bench();
    driver.stop();
    driver.input(() => ['one']);
    expect(story).toEqual(['alarm off']);
  });

  it('has no effect if it waited when another one ended everything', () => {
    const { story, driver } = bench();
    driver.input(() => {
      driver.input(() => ['waited']);
      driver.stop();
      return ['last'];
    });
    expect(story).toEqual(['alarm off', 'last', 'afterwards']);
  });
});

describe('an effect that throws', () => {
  it('is thrown to the caller of the input, and the alarm is set all the same', () => {
    const { story, driver } = bench();
    expect(() => driver.input(() => ['one', 'bad', 'never'])).toThrow(FAULT);
    expect(story).toEqual(['one', 'alarm 1500', 'afterwards']);
  });

  it('does not keep those from being taken who wait', () => {
    const { story, driver } = bench();
    const act = (): string[] => {
      driver.input(() => ['second']);
      return ['bad'];
    };
    expect(() => driver.input(act)).toThrow(FAULT);
    expect(story).toEqual(['second', 'alarm 1500', 'afterwards']);
  });

  it('does not keep the input from being taken, if it came of a suspension', () => {
    const { story, clock, driver } = bench();
    clock.asleepMs = 666;
    expect(() => driver.input(() => ['one'])).toThrow(FAULT);
    expect(story).toEqual(['the guard noticed', 'one', 'alarm 1500', 'afterwards']);
  });

  it('does not keep later inputs from being taken', () => {
    const { story, driver, ring } = bench();
    expect(() => driver.input(() => ['bad'])).toThrow(FAULT);
    story.length = 0;
    ring();
    expect(story).toEqual(['woken', 'alarm 1500', 'afterwards']);
  });

  it('is one of several: the first is thrown', () => {
    const { driver } = bench();
    const act = (): string[] => {
      driver.input(() => {
        throw new Error('another');
      });
      return ['bad'];
    };
    expect(() => driver.input(act)).toThrow(FAULT);
  });
});

/** A core that collects packets: an effect with a colon is one. A turn ends when the test ends it, or at once. */
function turnBench({ turns = true, enough = Number.POSITIVE_INFINITY } = {}) {
  const story: string[] = [];
  const ends: (() => void)[] = [];
  const hooks = { execute: (_effect: string): void => {} };
  let packets: string[] = [];
  let ring = (): void => {};
  const takePackets = (): string[] => packets.splice(0);
  const core: CollectingCore<string, number> = {
    wakeAt: instant(7),
    wake: (reading) => [`woken at ${reading}`],
    get hasFullPackets() {
      return packets.length >= enough;
    },
    takeFullPackets: takePackets,
    endTurn: takePackets,
  };
  const clock = { ms: 1 };
  const driver = new Driver<string, number>({
    core,
    clock: { now: () => clock.ms },
    alarm: (wake) => {
      ring = wake;
      return { set: (at) => story.push(`alarm ${at ?? 'off'}`) };
    },
    atEndOfTurn: (callback) => (turns ? void ends.push(callback) : callback()),
    execute: (effect) => {
      story.push(effect);
      hooks.execute(effect);
    },
    afterInput: () => story.push('after the turn'),
  });
  /** Sends packets, and tells of the instant. */
  const say = (...said: string[]): void =>
    driver.input((reading) => {
      packets = [...packets, ...said];
      return said.map((each) => `said ${each} at ${reading}`);
    });
  const endTurn = (): void => {
    for (const end of ends.splice(0)) end();
  };
  return { story, ends, hooks, clock, driver, say, endTurn, ring: () => ring() };
}

describe('the inputs of a turn', () => {
  it('reach the core at once, and their effects wait for the end of the turn, packets first', () => {
    const { story, ends, clock, say, endTurn } = turnBench();
    say('a');
    clock.ms = 2;
    say('b');
    expect([story, ends.length]).toEqual([[], 1]);
    endTurn();
    expect(story).toEqual(['a', 'b', 'said a at 1', 'said b at 2', 'after the turn', 'alarm 7']);
  });

  it('are carried out one by one where every input is a turn', () => {
    const { story, say, ring } = turnBench({ turns: false });
    say('a');
    ring();
    expect(story).toEqual([
      ...['a', 'said a at 1', 'after the turn', 'alarm 7'],
      ...['woken at 1', 'after the turn', 'alarm 7'],
    ]);
  });

  it('send full packets in the middle of the turn', () => {
    const { story, say, endTurn } = turnBench({ enough: 2 });
    say('a');
    expect(story).toEqual([]);
    say('b');
    expect(story).toEqual(['a', 'b']);
    say('c');
    endTurn();
    expect(story.slice(2, 6)).toEqual(['c', 'said a at 1', 'said b at 1', 'said c at 1']);
  });

  it.each([true, false])(
    'reach the core during an effect, and have their own effects after all earlier ones: turns %s',
    (turns) => {
      const { story, say, hooks, endTurn } = turnBench({ turns });
      hooks.execute = (effect) => {
        if (effect !== 'a') return;
        say('b');
        expect(story).toEqual(['a']);
      };
      say('a');
      endTurn();
      endTurn();
      expect(story.filter((each) => !/alarm|after/.test(each))).toEqual([
        'a',
        'said a at 1',
        'b',
        'said b at 1',
      ]);
    },
  );

  it('throw the error of an effect when the turn ends, once, and carry out all other effects', () => {
    const { story, say, hooks, endTurn } = turnBench();
    hooks.execute = (effect) => {
      throw new Error(`no ${effect}`);
    };
    say('a', 'b');
    expect(endTurn).toThrow('no a');
    expect(story).toEqual(['a', 'b', 'said a at 1', 'said b at 1', 'after the turn', 'alarm 7']);
    hooks.execute = () => {};
    say('c');
    expect(endTurn).not.toThrow();
  });

  it('throw the error of the core to the caller', () => {
    const { story, driver, say, endTurn } = turnBench();
    const fail = (): string[] => {
      throw FAULT;
    };
    expect(() => driver.input(fail)).toThrow(FAULT);
    say('a');
    endTurn();
    expect(story.slice(0, 2)).toEqual(['a', 'said a at 1']);
  });

  it('have no effect once the driver is stopped, but an error that was to be thrown is thrown', () => {
    const { story, driver, say, hooks, endTurn } = turnBench({ enough: 1 });
    hooks.execute = () => {
      throw FAULT;
    };
    say('a');
    driver.stop();
    say('b');
    expect(endTurn).toThrow(FAULT);
    expect(story).toEqual(['a', 'alarm off']);
  });
});
