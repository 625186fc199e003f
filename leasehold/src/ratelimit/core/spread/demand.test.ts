import { describe, expect, it } from 'vitest';
import { Demand } from './demand.ts';

const epochs = (demand: Demand, count: number, each: () => void, tokensPerMs = 1, mean = 0): number => {
  for (let epoch = 0; epoch < count; epoch++) {
    each();
    demand.epoch({ elapsedMs: 100, tokensPerMs, mean });
  }
  return demand.value;
};

describe('demand', () => {
  it('by arrivals is what is asked for a second, allowed or not', () => {
    const demand = new Demand('arrivals');
    const ask = (): void => {
      demand.count('a', 10, true);
      demand.count('a', 10, false);
    };
    expect(epochs(demand, 60, ask)).toBeCloseTo(200);
  });

  it('by keys is how many keys ask', () => {
    const demand = new Demand('keys');
    const ask = (): void => {
      for (const key of ['a', 'b', 'b', 'c']) demand.count(key, 1, true);
    };
    expect(epochs(demand, 60, ask)).toBeCloseTo(3);
  });

  it('by flows counts greedy flows, and asks for 1.1 times the rate where nothing is denied', () => {
    const greedy = new Demand('flows');
    const ask = (): void => {
      for (let flow = 0; flow < 40; flow++) {
        greedy.count(`flow ${flow}`, 2.5, true);
        greedy.count(`flow ${flow}`, 2.5, false);
      }
    };
    expect(epochs(greedy, 200, ask)).toBeCloseTo(40, 0);
    const before = greedy.value;
    greedy.count('flow 0', 100, true);
    greedy.epoch({ elapsedMs: 100, tokensPerMs: 1, mean: 0 });
    expect(greedy.value).toBeCloseTo(before * (0.7 + 0.3 * 1.1));
  });

  it('never falls below a thousandth of the mean', () => {
    expect(epochs(new Demand('arrivals'), 5, () => {}, 1, 500)).toBe(0.5);
  });
});
