import { describe, expect, it } from 'vitest';
import {
  type Configuration,
  holdersOf,
  initialConfiguration,
  type Mask,
  objectOf,
  type ReaderMap,
  type ReaderMapChange,
  type ProposedConfiguration,
  UNCHANGED,
} from './configuration.ts';
import { ReplicatedLog } from './log.ts';
import { batch, type Operation, put } from './operation.ts';

const MEMBERS = ['a', 'b', 'c'].map((storage, seat) => ({ seat, storage }));
const INITIAL = initialConfiguration(MEMBERS, { mode: 'all' });
const CHOSEN: ReaderMap = { mode: 'chosen', slices: [0b111], objects: new Map(), automatic: { weight: 1 } };

const proposed = (placement: ReaderMap | ReaderMapChange): Operation => {
  const configuration: ProposedConfiguration = { ...INITIAL, leader: 0, quorum: 'majority', placement };
  return { kind: 'configuration', configuration };
};

const moved = (key: string, holders: Mask | undefined): Operation =>
  proposed({ ...UNCHANGED, objects: new Map([[objectOf(key), holders]]) });

function logOf(...operations: readonly Operation[]): ReplicatedLog {
  const log = new ReplicatedLog({ slot: 0, configuration: INITIAL });
  operations.forEach((operation, place) => log.set(place + 1, { ballot: 32, operation }));
  return log;
}

const commit = (log: ReplicatedLog, slot: number): void => {
  log.choose(slot);
  for (let at = log.committed + 1; at <= slot; at += 1) log.commit(at);
};

const newest = (log: ReplicatedLog): Configuration => log.newestConfiguration;

describe('the position of a read', () => {
  it('lies behind no slot that is not committed, so that a watch from there hears of that slot', () => {
    const log = logOf(proposed(CHOSEN), moved('k', 0b001), moved('l', 0b011));
    log.choose(3);
    log.commit(1);
    log.commit(3); // Before slot 2, whose holder is not heard.
    expect([log.isCommitted(3), log.watchFrom(3), log.watchFrom(1)]).toEqual([true, 1, 1]);
  });
});

describe('a change of tables in the log', () => {
  it('comes to the tables before it with what it says, and leaves the others as they were', () => {
    const log = logOf(proposed(CHOSEN), moved('k', 0b001), moved('l', 0b011), moved('k', undefined));
    expect(holdersOf(newest(log), 'k')).toBe(0b111);
    expect(holdersOf(newest(log), 'l')).toBe(0b011);
    expect(holdersOf(log.configurationAt(2), 'k')).toBe(0b001);
    expect(holdersOf(log.configurationAt(2), 'l')).toBe(0b111);
  });

  it('means nothing where there are no tables', () => {
    expect(newest(logOf(proposed({ mode: 'leader' }), moved('k', 0b111))).placement).toEqual({
      mode: 'leader',
    });
  });

  it('comes to something else when another leader has replaced what is before it', () => {
    const log = logOf(proposed(CHOSEN), moved('k', 0b001), moved('l', 0b011));
    expect(holdersOf(newest(log), 'k')).toBe(0b001);
    log.set(2, { ballot: 64, operation: moved('k', 0b101) });
    expect(holdersOf(newest(log), 'k')).toBe(0b101);
    expect(holdersOf(newest(log), 'l')).toBe(0b011);
    log.truncate(2);
    expect(holdersOf(newest(log), 'l')).toBe(0b111);
  });

  it('comes to the same after commits and compaction', () => {
    const log = logOf(proposed(CHOSEN), moved('k', 0b001), moved('l', 0b011), moved('m', 0b101));
    commit(log, 3);
    log.compact(2);
    expect(holdersOf(log.configurationAt(2), 'k')).toBe(0b001);
    expect(['k', 'l', 'm'].map((key) => holdersOf(newest(log), key))).toEqual([0b001, 0b011, 0b101]);
    commit(log, 4);
    log.compact(4);
    expect(['k', 'l', 'm'].map((key) => holdersOf(newest(log), key))).toEqual([0b001, 0b011, 0b101]);
  });

  it('carries the weight of writes on', () => {
    const log = logOf(proposed(CHOSEN), proposed({ ...UNCHANGED, objects: new Map([[1, 1]]), weight: 2.5 }));
    log.set(3, { ballot: 32, operation: moved('k', 0b001) });
    expect(newest(log).placement).toMatchObject({ automatic: { weight: 2.5 } });
  });
});

describe('a snapshot that is installed', () => {
  it('hides no later write: a reader looks for the last writer of a key behind the snapshot too', () => {
    const write = (key: string): Operation =>
      batch([
        {
          ...{ session: 1, number: 1, answeredBelow: 0, command: put(key, new Uint8Array(1)) },
          ...{ origin: 'a', life: 1, id: 1 },
        },
      ]);
    const log = logOf(write('k'), write('l'), write('k'), write('m'));
    log.install({ slot: 2, configuration: INITIAL });
    expect([log.lastWriter('k'), log.lastWriter('l'), log.lastWriter('m')]).toEqual([3, undefined, 4]);
    expect([log.last, log.chosen, log.committed]).toEqual([4, 2, 2]);
  });
});
