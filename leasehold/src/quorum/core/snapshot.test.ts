import { describe, expect, it } from 'vitest';
import { initialConfiguration } from './configuration.ts';
import { encodeSnapshotPart } from '../wire/frames.ts';
import { batch, compareAndSet, put, remove, revisionOf, type Command } from './operation.ts';
import { itemsOf, type SnapshotPart, SnapshotView } from './snapshot.ts';
import { DEFAULT_LIMITS } from './options.ts';
import { StateMachine } from './state-machine.ts';

const value = new Uint8Array();

const configuration = initialConfiguration([], { mode: 'all' });

const apply = (machine: StateMachine, ...commands: readonly Command[]): void => {
  const rest = { session: 0, number: 0, answeredBelow: 0, origin: 'a~1', life: 1 };
  const requests = commands.map((command, id) => ({ ...rest, command, id }));
  machine.apply(machine.applied + 1, batch(requests));
};

function machineWith(keys: number): StateMachine {
  const machine = new StateMachine(0, DEFAULT_LIMITS);
  apply(machine, ...Array.from({ length: keys }, (_, at) => put(`k${at}`, new Uint8Array(100))));
  return machine;
}

describe('a snapshot in parts', () => {
  it('has every value once, in parts within the bound, and the sessions after the values', () => {
    const machine = machineWith(100);
    machine.sessions.begin(4_100);
    const view = new SnapshotView(machine, 1, configuration);
    const parts: SnapshotPart[] = [];
    do parts.push(view.next(1_000));
    while (parts.at(-1)?.isLast !== true);
    expect(parts.map(({ first }) => first)).toEqual(
      parts.map((_, at) => parts.slice(0, at).reduce((sum, { values }) => sum + values.length, 0)),
    );
    expect(Math.max(...parts.map(({ values }) => values.length))).toBeLessThanOrEqual(9);
    expect(new Set(parts.flatMap(({ values }) => values.map(({ key }) => key))).size).toBe(100);
    expect(parts.filter(({ sessions }) => sessions.length > 0)).toEqual([parts.at(-1)]);
  });

  it('has sessions in parts within the bound, and who takes all parts over applies no request again', () => {
    const machine = machineWith(1);
    const requests = Array.from({ length: 300 }, (_, at) => ({
      ...{ session: revisionOf(2, at % 3), number: 1 + Math.floor(at / 3), answeredBelow: 1 },
      ...{ origin: 'a~1', life: 1, id: at, command: compareAndSet({ key: 'k0', is: 'absent' }, value) },
    }));
    apply(machine, ...[1, 2, 3].map(() => ({ kind: 'open-session' }) as const));
    const results = machine.apply(3, batch(requests));
    const view = new SnapshotView(machine, 3, configuration);
    const copy = new StateMachine(3, DEFAULT_LIMITS);
    let first = 0;
    for (let part = view.next(1_000); ; part = view.next(1_000)) {
      expect(encodeSnapshotPart(part).length).toBeLessThan(1_000);
      expect(part.first).toBe(first);
      first += itemsOf(part);
      copy.load(part.values, part.sessions);
      if (part.isLast) break;
    }
    expect(first).toBeGreaterThan(30);
    const again = results.map((of) => ({ kind: 'duplicate', of }));
    expect(machine.apply(4, batch(requests))).toEqual(again);
    expect(copy.apply(4, batch(requests))).toEqual(again);
  });

  it('has a value that is larger than the bound in a part of its own', () => {
    const view = new SnapshotView(machineWith(3), 1, configuration);
    expect(view.next(10).values.map(({ key }) => key)).toEqual(['k0']);
    expect(view.next(10).values.map(({ key }) => key)).toEqual(['k1']);
  });

  it('is one part if there are no values', () => {
    const view = new SnapshotView(new StateMachine(0, DEFAULT_LIMITS), 0, configuration);
    expect(view.next(10)).toMatchObject({ first: 0, values: [], isLast: true });
  });

  it('shows the state as of its slot, whatever is applied and dropped between two parts', () => {
    const machine = machineWith(10);
    const view = new SnapshotView(machine, 1, configuration);
    const values = [...view.next(300).values];
    apply(machine, remove('k8'), put('k9', Uint8Array.of(1)), put('new', Uint8Array.of(2)));
    expect(machine.pinned).toBe(1);
    machine.forget(['k8', 'k9', 'new'], Math.min(2, machine.pinned));
    for (let part = view.next(300); ; part = view.next(300)) {
      values.push(...part.values);
      if (part.isLast) break;
    }
    expect(values.map(({ key }) => key).toSorted()).toEqual(
      Array.from({ length: 10 }, (_, at) => `k${at}`).toSorted(),
    );
    expect(values.every(({ value }) => value?.length === 100)).toBe(true);
    view.release();
    expect(machine.pinned).toBe(Number.POSITIVE_INFINITY);
    machine.forget(['k8', 'k9', 'new'], 2);
    expect(machine.keys).toBe(10);
  });
});
