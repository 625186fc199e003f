import { describe, expect, it } from 'vitest';
import { shortfalls } from './simulation.ts';

describe('too little happened', () => {
  it('is judged from 100 seeds on', () => {
    expect(shortfalls({ crashes: 1 }, { crashes: 0 }, 99)).toEqual([]);
    expect(shortfalls({ crashes: 1 }, { crashes: 0 }, 100)).toEqual([
      'only 0 crashes in 100 seeds, expected at least 80',
    ]);
  });

  it('leaves room for chance below 300 seeds, and none from there on', () => {
    expect(shortfalls({ crashes: 1 }, { crashes: 80 }, 100)).toEqual([]);
    expect(shortfalls({ crashes: 1 }, { crashes: 299 }, 300)).toEqual([
      'only 299 crashes in 300 seeds, expected at least 300',
    ]);
  });

  it('asks of 100 seeds nothing that may well not happen in them', () => {
    expect(shortfalls({ rarities: 0.02 }, {}, 100)).toEqual([]);
  });
});
