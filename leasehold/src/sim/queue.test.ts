import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Alarm } from './alarm.ts';
import { EventQueue, Scheduled } from './queue.ts';

function emptied(queue: EventQueue): void {
  while (queue.size > 0) queue.pop().happen();
}

describe('a queue of happenings', () => {
  it('lets them happen by time, and at the same time in the order in which they were added', () =>
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 300 }), (times) => {
        const queue = new EventQueue();
        const happened: number[] = [];
        times.forEach((at, i) => queue.push(at, new Scheduled(queue, () => happened.push(i))));
        emptied(queue);
        const sorted = times.map((at, i) => ({ at, i })).sort((a, b) => a.at - b.at || a.i - b.i);
        expect(happened).toEqual(sorted.map(({ i }) => i));
      }),
    ));

  it('keeps that order when pushes, pops and cancellations are mixed, and sweeps in between', () => {
    const command = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('push' as const), at: fc.nat(50) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('pop' as const) }) },
    );
    fc.assert(
      fc.property(fc.array(command, { minLength: 200, maxLength: 800, size: 'max' }), (commands) => {
        const queue = new EventQueue();
        let model: { at: number; id: number; scheduled: Scheduled }[] = [];
        const happened: number[] = [];
        const expected: number[] = [];
        let id = 0;
        const popOne = (): void => {
          model.sort((a, b) => a.at - b.at || a.id - b.id);
          const first = model.shift();
          while (queue.size > 0 && !queue.pop().happen());
          if (first !== undefined) expected.push(first.id);
        };
        for (const command of commands) {
          if (command.do === 'push') {
            const mine = id++;
            const scheduled = new Scheduled(queue, () => happened.push(mine));
            queue.push(command.at, scheduled);
            model.push({ at: command.at, id: mine, scheduled });
          } else if (command.do === 'cancel') {
            const victim = model[command.which % Math.max(1, model.length)];
            victim?.scheduled[Symbol.dispose]();
            model = model.filter((entry) => entry !== victim);
          } else popOne();
        }
        while (model.length > 0) popOne();
        expect(happened).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it('does not grow with what was cancelled', () => {
    const queue = new EventQueue();
    for (let i = 0; i < 10_000; i++) {
      const scheduled = new Scheduled(queue, () => undefined);
      queue.push(1e9 + i, scheduled);
      scheduled[Symbol.dispose]();
    }
    expect(queue.size).toBeLessThan(200);
  });
});

describe('an alarm', () => {
  it('goes off exactly when it was last set for, however often it was set', () => {
    const steps = fc.array(fc.tuple(fc.nat(10), fc.option(fc.nat(100), { nil: Number.POSITIVE_INFINITY })));
    fc.assert(
      fc.property(steps, (settings) => {
        const queue = new EventQueue();
        let now = 0;
        let wanted = Number.POSITIVE_INFINITY;
        const alarm = new Alarm(
          { schedule: (at, happening) => queue.push(Math.max(at, now), happening) },
          () => {
            expect(now).toBe(wanted);
            wanted = Number.POSITIVE_INFINITY;
            return true;
          },
        );
        const passUntil = (until: number): void => {
          while (queue.nextAt <= until) {
            now = queue.nextAt;
            queue.pop().happen();
          }
          expect(wanted).toBeGreaterThan(until);
        };
        for (const [pass, ms] of settings) {
          passUntil(now + pass);
          now += pass;
          wanted = now + ms;
          alarm.set(wanted);
        }
        passUntil(1e6);
        expect(queue.size).toBe(0);
      }),
    );
  });

  it('stands in the queue once while it is only put off', () => {
    const queue = new EventQueue();
    const alarm = new Alarm({ schedule: (at, happening) => queue.push(at, happening) }, () => true);
    for (let at = 10; at < 1_000; at++) alarm.set(at);
    expect(queue.size).toBe(1);
  });
});
