import { describe, expect, it } from 'vitest';
import { digest } from '../../../runtime/digest.ts';
import { instant } from '../../../runtime/time.ts';
import { resolveDurations, takeoverHoldMs } from '../options.ts';
import { consistentHashing } from '../policy/consistent-hashing.ts';
import { decodeBatch, encodeBatch } from '../state.ts';
import { Manager, type ManagerEffect } from './manager.ts';
import { Pauses } from './pauses.ts';

const NAMES = ['a', 'b', 'c'] as const;
const SECRETS = { a: 'secret of a', b: 'secret of b', c: 'secret of c' };
const durations = resolveDurations();

/** A leader, at instant 1, of a pool of three owners with so many points each. */
function leaderOf(virtualNodes: number): Manager {
  const policy = consistentHashing({ virtualNodes });
  const settings = { id: 'm1', durations, policy, maxSpansPerBatch: 10_000, compactEveryBatches: 100 };
  const members = NAMES.map((name) => ({ name, incarnation: `${name}.1`, load: undefined }));
  const placements = policy.place({ rows: [], members });
  const batch = encodeBatch({
    ...{ term: 1, leader: 'm0', takeoverMs: takeoverHoldMs(durations) },
    pools: [
      {
        pool: 'p',
        records: NAMES.flatMap((name) => [
          {
            kind: 'join' as const,
            member: {
              ...{ name, incarnation: `${name}.1`, url: `http://${name}` },
              proof: digest(SECRETS[name]),
            },
          },
          {
            kind: 'grant' as const,
            incarnation: `${name}.1`,
            spans: placements.filter(({ incarnation }) => incarnation === `${name}.1`),
          },
        ]),
      },
    ],
  });
  const manager = new Manager(settings);
  const start = { history: 'h', snapshot: undefined, batches: [{ position: 1, bytes: batch }], floor: 0 };
  manager.elected(2, start, instant(60_000), instant(0));
  manager.appended(2, instant(1)); // The first batch of its term.
  return manager;
}

const die = (manager: Manager, name: (typeof NAMES)[number], at: number): ManagerEffect[] =>
  manager.receive('supervisor', { kind: 'certificate', secret: SECRETS[name] }, instant(at));

/** Who is removed by what is to be appended. */
const removed = (effects: readonly ManagerEffect[]): string[] =>
  effects
    .filter((effect) => effect.do === 'append')
    .flatMap(({ bytes }) => decodeBatch(bytes).pools)
    .flatMap(({ records }) => records)
    .flatMap((record) => (record.kind === 'leave' ? [record.incarnation] : []));

describe('a leader of a large pool', () => {
  it('decides about the first change at once, and gathers those that come close behind', () => {
    const manager = leaderOf(4_000);
    const rows = manager.state.pool('p').rows.length;
    expect(rows).toBeGreaterThan(7_000);
    const at = 1_000;
    expect(removed(die(manager, 'a', at))).toEqual(['a.1']);
    expect(removed(manager.appended(3, instant(at + 1)))).toEqual([]);
    expect(removed(die(manager, 'b', at + 2))).toEqual([]);
    expect(removed(die(manager, 'c', at + 3))).toEqual([]);
    const restedAt = at + 1 + Math.floor(manager.state.pool('p').rows.length / 250);
    expect(manager.wakeAt).toBe(restedAt);
    expect(removed(manager.wake(instant(restedAt - 1)))).toEqual([]);
    expect(manager.wakeAt).toBe(restedAt);
    expect(removed(manager.wake(instant(restedAt)))).toEqual(['b.1', 'c.1']);
  });

  it('waits for nothing when its last change is long ago', () => {
    const manager = leaderOf(4_000);
    expect(removed(die(manager, 'a', 1_000))).toEqual(['a.1']);
    manager.appended(3, instant(1_001));
    expect(removed(die(manager, 'b', 1_100))).toEqual(['b.1']);
  });
});

describe('a leader of a small pool', () => {
  it('never waits', () => {
    const manager = leaderOf(64);
    expect(removed(die(manager, 'a', 1_000))).toEqual(['a.1']);
    manager.appended(3, instant(1_000));
    expect(removed(die(manager, 'b', 1_000))).toEqual(['b.1']);
  });
});

describe('after a refusal', () => {
  it('the longer of two reasons to wait counts', () => {
    const pauses = new Pauses();
    pauses.refused(instant(0), 500);
    pauses.worked(instant(10), 25_000);
    expect(pauses.until(instant(499))).toBe(500);
    expect(pauses.until(instant(500))).toBeUndefined();
  });
});
