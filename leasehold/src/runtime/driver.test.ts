import { describe, expect, it } from 'vitest';
import { type Alarm, Driver } from './driver.ts';
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
