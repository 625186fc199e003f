import { describe, expect, it } from 'vitest';
import { initialConfiguration } from './configuration.ts';
import type { Snapshot } from './snapshot.ts';
import { partOf } from './transfer.ts';

const snapshot: Snapshot = {
  slot: 9,
  configuration: initialConfiguration([], { mode: 'all' }),
  state: {
    values: Array.from({ length: 100 }, (_, at) => ({
      key: `k${at}`,
      value: new Uint8Array(100),
      revision: at,
    })),
    sessions: [{ id: 5, answeredBelow: 1, outcomes: [] }],
  },
};

describe('a snapshot in parts', () => {
  it('has every value once, in parts within the bound, and the sessions in the last one', () => {
    const keys: string[] = [];
    let parts = 0;
    for (let first = 0; first < 100; parts += 1) {
      const part = partOf(snapshot, first, 1_000);
      expect(part.values.length).toBeLessThanOrEqual(9);
      first += part.values.length;
      expect(part.sessions).toEqual(first === 100 ? snapshot.state.sessions : []);
      keys.push(...part.values.map(({ key }) => key));
    }
    expect(keys).toEqual(snapshot.state.values.map(({ key }) => key));
    expect(parts).toBeGreaterThan(10);
  });

  it('has a value that is larger than the bound in a part of its own', () => {
    expect(partOf(snapshot, 3, 10).values.map(({ key }) => key)).toEqual(['k3']);
  });

  it('is one part, with the sessions, if there are no values', () => {
    const empty = { ...snapshot, state: { ...snapshot.state, values: [] } };
    expect(partOf(empty, 0, 10)).toMatchObject({ count: 0, values: [], sessions: snapshot.state.sessions });
  });
});
