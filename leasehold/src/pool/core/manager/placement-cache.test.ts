import { describe, expect, it } from 'vitest';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { instant } from '../../../runtime/time.ts';
import type { Report } from '../messages.ts';
import type { Policy, PolicyInput } from '../policy/policy.ts';
import { PoolTable } from '../table.ts';
import { Session } from './session.ts';
import { PlacementCache, policyInForce } from './placement-cache.ts';

/** Gives everything to the first member, and remembers what it was asked. */
class FirstTakesAll implements Policy {
  readonly name = 'first-takes-all';
  readonly adaptive: boolean;
  readonly asked: PolicyInput[] = [];

  constructor(adaptive = false) {
    this.adaptive = adaptive;
  }

  place(input: PolicyInput) {
    this.asked.push(input);
    return input.members.slice(0, 1).map(({ incarnation }) => ({ start: 0n, end: RING_SIZE, incarnation }));
  }
}

/** A table after these joined, one commit each; `a.2` is the second incarnation of `a`. */
const tableOf = (...incarnations: string[]): PoolTable =>
  incarnations.reduce((table, incarnation, index) => {
    const name = incarnation.split('.')[0] ?? '';
    return table.apply(
      [{ kind: 'join', member: { incarnation, name, url: 'http://x', proof: undefined } }],
      index + 1,
    );
  }, PoolTable.empty);

const report = (incarnation: string, parts: Partial<Report>): Report => ({
  ...{ kind: 'report', pool: 'p', incarnation, name: incarnation, url: 'http://x', proof: undefined },
  ...{ sequence: 1, wantsAnswer: true, heard: undefined, seen: undefined, held: [], letGo: [] },
  ...{ leaving: false, load: 0 },
  ...parts,
});
const sessions = (...reports: Report[]): ReadonlyMap<string, Session> =>
  new Map(reports.map((said) => [said.incarnation, new Session('x', said, instant(0))]));

const namesAsked = (policy: FirstTakesAll): string[] =>
  (policy.asked.at(-1)?.members ?? []).map(({ incarnation }) => incarnation);

describe('where the policy wants keys', () => {
  it('is asked again only when the members are others', () => {
    const policy = new FirstTakesAll();
    const placements = new PlacementCache(() => ({ policy: policy }));
    placements.of('p', tableOf('a', 'b'), sessions());
    placements.of('p', tableOf('a', 'b'), sessions());
    expect(policy.asked).toHaveLength(1);
    placements.of('p', tableOf('a'), sessions());
    expect(policy.asked).toHaveLength(2);
  });

  it('is another question for every pool', () => {
    const policy = new FirstTakesAll();
    const placements = new PlacementCache(() => ({ policy: policy }));
    expect(placements.of('p', tableOf('a'), sessions())[0]?.incarnation).toBe('a');
    expect(placements.of('q', tableOf('b'), sessions())[0]?.incarnation).toBe('b');
    expect(placements.of('p', tableOf('a'), sessions())[0]?.incarnation).toBe('a');
  });

  it('is asked every time if the policy looks at more than members', () => {
    const policy = new FirstTakesAll(true);
    const placements = new PlacementCache(() => ({ policy: policy }));
    placements.of('p', tableOf('a'), sessions());
    placements.of('p', tableOf('a'), sessions(report('a', { load: 7 })));
    expect(policy.asked.map(({ members }) => members[0]?.load)).toEqual([undefined, 7]);
  });

  it('is not to be with those who want to leave', () => {
    const policy = new FirstTakesAll();
    new PlacementCache(() => ({ policy: policy })).of(
      'p',
      tableOf('a', 'b'),
      sessions(report('a', { leaving: true })),
    );
    expect(namesAsked(policy)).toEqual(['b']);
  });

  it('is to be with the later of two lives of one owner', () => {
    const policy = new FirstTakesAll();
    new PlacementCache(() => ({ policy: policy })).of('p', tableOf('a.1', 'b', 'a.2'), sessions());
    expect(namesAsked(policy).sort()).toEqual(['a.2', 'b']);
  });

  it('is not taken for an old answer by what owners call themselves', () => {
    const policy = new FirstTakesAll();
    const placements = new PlacementCache(() => ({ policy: policy }));
    placements.of('p', tableOf('a b', 'c'), sessions());
    expect(placements.of('p', tableOf('a', 'b c'), sessions())[0]?.incarnation).toBe('a');
  });
});

describe('the policy in force', () => {
  it('is another one once keys of the pool move with their state', () => {
    const policy = new FirstTakesAll();
    const still = tableOf('a', 'b');
    const moves = still.apply([{ kind: 'moves' }], 3);
    expect(policyInForce({ policy }, still)).toBe(policy);
    expect(policyInForce({ policy }, moves).name).toBe('sticky');
    expect(policyInForce({ policy, movesPolicy: policy }, moves)).toBe(policy);
  });
});

describe('where keys would belong without a member', () => {
  it('is asked of the policy in force, and changes nothing of the target', () => {
    const table = tableOf('a', 'b', 'c').apply(
      [
        { kind: 'grant', incarnation: 'a', spans: [{ start: 0n, end: RING_SIZE / 4n }] },
        { kind: 'grant', incarnation: 'b', spans: [{ start: RING_SIZE / 4n, end: RING_SIZE }] },
        { kind: 'moves' },
      ],
      4,
    );
    const placements = new PlacementCache(() => ({ policy: new FirstTakesAll() }));
    placements.of('p', table, sessions());
    const before = placements.last('p');
    const rowsOf = ({ rows }: PoolTable) => rows;
    expect(
      placements.without('p', 'a', table, sessions(), rowsOf).map(({ incarnation }) => incarnation),
    ).toEqual(['c', 'b']);
    const cordoned = sessions(report('c', { intent: 'cordoned' }));
    expect(
      placements.without('p', 'a', table, cordoned, rowsOf).map(({ incarnation }) => incarnation),
    ).toEqual(['b', 'b']);
    expect(placements.last('p')).toBe(before);
  });
});
